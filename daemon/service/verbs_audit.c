// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Audit: findings of engine/audit.c. The engine looks at the kernel first, as for Rules; if that
 * takes too long, what it knew before is told, and how old that is.
 */
#include "daemon/engine/audit.h"
#include "daemon/service/counters.h"
#include "daemon/service/serving.h"
#include "daemon/service/verbs.h"
#include "daemon/service/write.h"

struct ask {
	struct counters_waiter *waiter;
	uint32_t only; /* one block, or 0: all, and what is in none */
};

static void ask_free(void *data)
{
	struct ask *a = data;

	counters_forget(a->waiter);
	free(a);
}

static void write_finding(struct jsonw *w, const struct audit_finding *n)
{
	jsonw_object(w);
	jsonw_key_string(w, "kind", audit_kind_name(n->kind));
	if (n->block) {
		jsonw_key_string(w, "block", n->block->name);
		jsonw_key_u64(w, "block_id", n->block->id);
	} else {
		write_null(w, "block");
		write_null(w, "block_id");
	}
	jsonw_key_string(w, "rule", n->rule ? n->rule->name : NULL);
	write_text(w, "place", n->place);
	if (n->filter) {
		jsonw_key(w, "filter");
		write_filter(w, NULL, n->filter);
	} else {
		write_null(w, "filter");
	}
	jsonw_key_u64(w, "filters", n->filters);
	jsonw_key_bool(w, "breaks", n->breaks);
	if (n->filter)
		jsonw_key_bool(w, "counts", n->filter->action_count > 0);
	else
		write_null(w, "counts");
	jsonw_key_string(w, "text", n->text);
	jsonw_key_string(w, "risk", n->risk);
	jsonw_key_string(w, "mend", n->mend);
	jsonw_object_end(w);
}

static int look(const struct snapshot *s, uint32_t only, struct audit *a)
{
	const struct state *wanted = s->config ? s->config->wanted : NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && wanted && i < state_count(wanted, KIND_BLOCK); i++) {
		const struct block *b = state_at(wanted, KIND_BLOCK, i);

		if (!only || b->id == only)
			r = audit_block(s, b, a);
	}
	return r == 0 && !only ? audit_leftovers(s, a) : r;
}

static void answer(struct call *c)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	_cleanup_(audit_clear) struct audit a = { 0 };
	const struct ask *ask = c->work;
	const struct snapshot *s;
	uint64_t now = now_realtime_ns();

	snapshot_unref(c->snapshot);
	c->snapshot = engine_snapshot(c->service->engine);
	s = c->snapshot;
	if (!w || look(s, ask->only, &a) < 0) {
		call_lost(c);
		return;
	}
	jsonw_object(w);
	jsonw_key_u64(w, "count", a.count + a.hidden);
	jsonw_key_bool(w, "settled", s->settled);
	write_ms(w, "age_ms", now > s->counters_ns ? now - s->counters_ns : 0);
	jsonw_key(w, "findings");
	jsonw_array(w);
	for (size_t i = 0; i < a.count; i++)
		write_finding(w, &a.list[i]);
	jsonw_array_end(w);
	jsonw_object_end(w);
	call_reply(c, w);
}

static void on_looked(bool fresh, void *data)
{
	struct call *c = data;
	struct ask *a = c->work;

	a->waiter = NULL;
	answer(c);
}

void verb_audit(struct call *c)
{
	const char *name = varlink_param_string(c->message.parameters, "block");
	const struct state *wanted = c->snapshot->config ? c->snapshot->config->wanted : NULL;
	const struct block *block = name && wanted ? state_block_named(wanted, name) : NULL;
	struct ask *a;

	if (name && !block) {
		call_error_text(c, IO_SWD "NoSuchBlock", "block", name);
		return;
	}
	a = calloc(1, sizeof(*a));
	if (!a) {
		call_lost(c);
		return;
	}
	c->work = a;
	c->work_free = ask_free;
	a->only = block ? block->id : 0;
	if (counters_want(c->service->counters, a->only, on_looked, c, &a->waiter) < 0)
		call_lost(c);
}
