// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How ports send: each value of the ports whose `tx:` says something, as wanted and as found.
 */
#include <stdio.h>

#include "config/model/tx.h"
#include "daemon/service/errand.h"
#include "daemon/service/serving.h"
#include "daemon/service/verbs.h"
#include "daemon/service/write.h"

static const struct state *wanted_of(const struct call *c)
{
	return c->snapshot->config ? c->snapshot->config->wanted : NULL;
}

static bool queues_differ(const struct tx *t, unsigned int i)
{
	for (uint32_t q = 1; q < t->queues; q++)
		if (t->queue[q][i] != t->queue[0][i])
			return true;
	return false;
}

static void write_value(struct jsonw *w, const struct tx *wanted, const struct tx *found,
			enum tx_part part, unsigned int i)
{
	bool is = found && found->has & 1u << i;

	jsonw_object(w);
	jsonw_key_string(w, "part", tx_part_name(part));
	jsonw_key_string(w, "name", tx_value_name(part, i));
	jsonw_key_bool(w, "auto", wanted && wanted->automatic);
	if (wanted && wanted->has & 1u << i)
		jsonw_key_u64(w, "wanted", wanted->value[i]);
	else
		write_null(w, "wanted");
	if (is)
		jsonw_key_u64(w, "found", found->value[i]);
	else
		write_null(w, "found");
	jsonw_key_bool(w, "differs",
		       wanted && found && tx_other_queue(wanted, found, i) != TX_SAME);
	jsonw_key_bool(w, "queues_differ", is && queues_differ(found, i));
	if (is && i == 0 && found->most)
		jsonw_key_u64(w, "most", found->most);
	else
		write_null(w, "most");
	jsonw_object_end(w);
}

static bool is_there(const struct call *c, const char *dev)
{
	return state_port(c->snapshot->found, dev) || state_vlan(c->snapshot->found, dev);
}

/* "as wanted", "differs", "waiting" (the device is not there), "lacks" (it can't do all of it, or
 * does not tell) */
static const char *state_of(const struct call *c, const char *dev)
{
	const char *state = "as wanted";

	for (unsigned int part = 0; part < TX_PART_COUNT_; part++) {
		const struct tx *wanted = tx_find(wanted_of(c), dev, (enum tx_part)part);
		const struct tx *found = tx_find(c->snapshot->found, dev, (enum tx_part)part);

		if (!wanted)
			continue;
		if (!found)
			return is_there(c, dev) ? "lacks" : "waiting";
		if (tx_lacks(wanted, found))
			return "lacks";
		if (!kind_ops(KIND_TX)->satisfied(&wanted->obj, &found->obj))
			state = "differs";
	}
	return state;
}

static void write_measured(struct jsonw *w, const struct measured *m)
{
	jsonw_key(w, "measured");
	if (!m) {
		jsonw_null(w);
		return;
	}
	jsonw_object(w);
	jsonw_key_string(w, "port", m->dev);
	jsonw_key_string(w, "driver", m->driver);
	write_ms(w, "at_ms", m->at_ns);
	jsonw_key_u64(w, "frames", m->frames);
	jsonw_key_bool(w, "noisy", m->noisy);
	jsonw_key_u64(w, "doorbell_ps", m->doorbell_ps);
	jsonw_key_u64(w, "frame_ps", m->frame_ps);
	jsonw_key_u64(w, "noise_ps", m->noise_ps);
	jsonw_key(w, "tries");
	jsonw_array(w);
	for (uint32_t i = 0; i < m->tries; i++) {
		jsonw_object(w);
		jsonw_key_u64(w, "frames", m->tried[i]);
		jsonw_key_u64(w, "took_ps", m->took_ps[i]);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
	jsonw_object_end(w);
}

static void write_wait(struct jsonw *w, const char *text, const struct turn *turn)
{
	uint64_t now = now_monotonic_ns();

	jsonw_key(w, "waits");
	jsonw_object(w);
	jsonw_key_string(w, "text", text);
	if (turn)
		write_ms(w, "left_ms", turn->due_ns > now ? turn->due_ns - now : 0);
	else
		write_null(w, "left_ms");
	jsonw_object_end(w);
}

/* What its measurement waits for, if one is wanted. */
static void write_waits(struct jsonw *w, const struct call *c, const char *dev)
{
	const struct snapshot *s = c->snapshot;
	const struct tx *wanted = tx_find(wanted_of(c), dev, TX_FLUSH);
	const struct tx *found = tx_find(s->found, dev, TX_FLUSH);
	const struct measured *m = measured_of(&s->measured, s->found, dev);
	const struct port *p = state_port(s->found, dev);
	const struct turn *turn = turns_find(&s->turns, dev);

	if (!p || !wanted || !wanted->automatic || !found || !found->has || (m && !m->noisy))
		write_null(w, "waits");
	else if (!p->up || !p->facts.carrier)
		write_wait(w, p->up ? "no carrier" : "it is down", NULL);
	else if (s->armed.generation)
		write_wait(w, "a generation waits for its confirmation", NULL);
	else if (turn && turn->why[0])
		write_wait(w, turn->why, turn);
	else
		write_null(w, "waits");
}

static void write_port(struct jsonw *w, const struct call *c, const char *dev)
{
	const struct snapshot *s = c->snapshot;

	jsonw_object(w);
	jsonw_key_string(w, "name", dev);
	jsonw_key_string(w, "state", state_of(c, dev));
	jsonw_key(w, "values");
	jsonw_array(w);
	for (unsigned int part = 0; part < TX_PART_COUNT_; part++)
		for (unsigned int i = 0; i < TX_VALUES && tx_value_name((enum tx_part)part, i); i++)
			write_value(w, tx_find(wanted_of(c), dev, (enum tx_part)part),
				    tx_find(s->found, dev, (enum tx_part)part), (enum tx_part)part,
				    i);
	jsonw_array_end(w);
	write_measured(w, measured_of(&s->measured, s->found, dev));
	write_waits(w, c, dev);
	jsonw_object_end(w);
}

void verb_tx(struct call *c)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	const struct state *wanted = wanted_of(c);
	const char *last = "";

	if (!w) {
		call_lost(c);
		return;
	}
	jsonw_object(w);
	jsonw_key(w, "ports");
	jsonw_array(w);
	for (size_t i = 0; wanted && i < state_count(wanted, KIND_TX); i++) {
		const struct tx *t = state_at(wanted, KIND_TX, i);

		if (!streq(t->dev, last))
			write_port(w, c, t->dev);
		last = t->dev;
	}
	jsonw_array_end(w);
	jsonw_object_end(w);
	call_reply(c, w);
}

/* ---- measuring ---- */

static void write_result(struct jsonw *w, const struct job *job)
{
	jsonw_key_string(w, "text", job->words);
	write_measured(w, &job->measured);
	write_null(w, "progress");
}

static void write_progress(struct jsonw *w, const struct job_progress *p)
{
	char text[96] = "listens whether others use it";

	if (p->frames)
		snprintf(text, sizeof(text), "%u frame%s to a doorbell, %u of %u steps", p->frames,
			 p->frames == 1 ? "" : "s", p->done, p->total);
	jsonw_key_string(w, "text", text);
	write_measured(w, NULL);
	jsonw_key(w, "progress");
	jsonw_object(w);
	jsonw_key_u64(w, "done", p->done);
	jsonw_key_u64(w, "total", p->total);
	if (p->frames)
		jsonw_key_u64(w, "frames", p->frames);
	else
		write_null(w, "frames");
	jsonw_object_end(w);
}

static const struct errand_kind measure = { .write = write_result, .progress = write_progress };

void verb_measure_tx(struct call *c)
{
	const char *port = varlink_param_string(c->message.parameters, "port");
	struct job *job = errand_job(c, JOB_MEASURE);

	if (!job)
		return;
	if (!COPY_NAME(job->port, port)) {
		job_free(job);
		call_error_text(c, ORG_VARLINK "InvalidParameter", "parameter", "port");
		return;
	}
	job->force = varlink_param_bool(c->message.parameters, "force");
	errand_submit(c, job, &measure);
}
