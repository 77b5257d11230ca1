// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Status: the whole in one screen. From the snapshot alone, and the counting is done once a
 * snapshot, so that nobody who asks often makes it expensive.
 */
#include "daemon/service/errand.h"
#include "daemon/service/serving.h"
#include "daemon/service/verbs.h"
#include "daemon/service/write.h"

static size_t wanted_count(const struct snapshot *s, enum kind kind)
{
	return s->config ? state_count(s->config->wanted, kind) : 0;
}

static size_t absent_ports(const struct snapshot *s)
{
	size_t n = 0;

	for (size_t i = 0; i < wanted_count(s, KIND_PORT); i++)
		n += !s->found || !state_find(s->found, state_at(s->config->wanted, KIND_PORT, i));
	for (size_t i = 0; i < wanted_count(s, KIND_VLAN); i++)
		n += !s->found || !state_find(s->found, state_at(s->config->wanted, KIND_VLAN, i));
	return n;
}

static const struct tally *totals(struct service *service)
{
	const struct snapshot *s = service->snapshot;

	if (service->totals_of != s->number || s->number == 0) {
		service->totals = (struct tally){ 0 };
		for (size_t i = 0; i < wanted_count(s, KIND_BLOCK); i++) {
			const struct block *b = state_at(s->config->wanted, KIND_BLOCK, i);

			tally_block(s, b->id, &service->totals);
		}
		service->totals_of = s->number;
	}
	return &service->totals;
}

static void write_applied(struct jsonw *w, const struct snapshot *s)
{
	jsonw_key_u64(w, "generation", s->generation);
	jsonw_key_bool(w, "settled", s->settled);
	errand_write_deadline(w, &s->armed);
	jsonw_key_string(w, "last_outcome", apply_outcome_name(s->last_outcome));
	if (s->last_apply_ns)
		write_ms(w, "last_apply_ms", s->last_apply_ns);
	else
		write_null(w, "last_apply_ms");
	write_text(w, "last_error", s->last_error);
	write_text(w, "file", s->config ? s->config->file : NULL);
	write_text(w, "own_file", s->own_path);
	jsonw_key_string(w, "own_file_state", own_file_name(s->own_file));
}

static const char *task_name(enum pulse_task t)
{
	switch (t) {
	case PULSE_NOTHING:
		return NULL;
	case PULSE_LOOK:
		return "look";
	case PULSE_APPLY:
		return "apply";
	case PULSE_UNDO:
		return "undo";
	case PULSE_REPAIR:
		return "repair";
	case PULSE_MEASURE:
		return "measure";
	}
	return NULL;
}

static void write_work(struct jsonw *w, struct engine *engine)
{
	struct engine_work work;

	engine_work(engine, &work);
	if (work.task == PULSE_NOTHING) {
		write_null(w, "work");
		return;
	}
	jsonw_key(w, "work");
	jsonw_object(w);
	jsonw_key_string(w, "task", task_name(work.task));
	jsonw_key_u64(w, "done", work.done);
	jsonw_key_u64(w, "total", work.total);
	write_ms(w, "for_ms", work.for_ns);
	jsonw_key_u64(w, "waiting", work.waiting);
	jsonw_object_end(w);
}

static void write_counts(struct jsonw *w, const struct kernel_counts *c)
{
	jsonw_key(w, "counts");
	jsonw_object(w);
	jsonw_key_u64(w, "sends", c->sends);
	jsonw_key_u64(w, "messages", c->messages);
	jsonw_key_u64(w, "refused", c->refused);
	jsonw_key_u64(w, "dumps", c->dumps);
	jsonw_key_u64(w, "events", c->events);
	jsonw_key_u64(w, "overruns", c->overruns);
	jsonw_object_end(w);
}

void verb_status(struct call *c)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	const struct snapshot *s = c->snapshot;
	const struct tally *t = totals(c->service);
	size_t bypass_on = 0;

	if (!w) {
		call_lost(c);
		return;
	}
	for (size_t i = 0; i < s->bypass_count; i++)
		bypass_on += s->bypass[i].state == BYPASS_ON;

	jsonw_object(w);
	jsonw_key_string(w, "version", SWD_VERSION);
	jsonw_key_string(w, "kernel", s->kernel_release);
	write_applied(w, s);
	write_work(w, c->service->engine);
	write_ability(w, s);
	jsonw_key_u64(w, "ports", wanted_count(s, KIND_PORT) + wanted_count(s, KIND_VLAN));
	jsonw_key_u64(w, "ports_waiting", absent_ports(s));
	jsonw_key_u64(w, "blocks", wanted_count(s, KIND_BLOCK));
	jsonw_key_u64(w, "bypass_on", bypass_on);
	jsonw_key_u64(w, "rules", wanted_count(s, KIND_RULE));
	jsonw_key_u64(w, "filters", t->wanted);
	jsonw_key_u64(w, "in_hw", t->in_hw);
	jsonw_key_u64(w, "missing", t->missing);
	jsonw_key_u64(w, "foreign_filters", t->foreign);
	jsonw_key_u64(w, "repairs", s->repairs);
	jsonw_key_u64(w, "clients", c->service->client_count);
	write_counts(w, &s->counts);
	jsonw_key(w, "alerts");
	jsonw_array(w);
	for (size_t i = 0; i < s->alert_count; i++)
		write_alert(w, &s->alerts[i]);
	jsonw_array_end(w);
	jsonw_key_u64(w, "snapshot", s->number);
	write_ms(w, "snapshot_ms", s->made_ns);
	jsonw_object_end(w);
	call_reply(c, w);
}
