// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bypass: is software skipped, how do we know, and what breaks it. Everything is in the report that
 * policy made; here it gets a name, a cost, and the packets of the last seconds.
 */
#include "daemon/service/samples.h"
#include "daemon/service/serving.h"
#include "daemon/service/tally.h"
#include "daemon/service/verbs.h"
#include "daemon/service/write.h"

static void write_culprits(struct jsonw *w, const struct bypass_report *r)
{
	char protocol[16];

	jsonw_key_u64(w, "culprit_count", r->culprit_count);
	jsonw_key(w, "culprits");
	jsonw_array(w);
	for (size_t i = 0; i < MIN(r->culprit_count, (size_t)BYPASS_CULPRITS); i++) {
		const struct bypass_culprit *p = &r->culprits[i];

		jsonw_object(w);
		jsonw_key_u64(w, "chain", p->chain);
		jsonw_key_u64(w, "pref", p->pref);
		ethertype_print(p->protocol, protocol);
		jsonw_key_string(w, "protocol", protocol);
		jsonw_key_u64(w, "handle", p->handle);
		jsonw_key_string(w, "owner", p->owner == OWNER_OURS ? "ours" : "foreign");
		jsonw_key_string(w, "text", p->text);
		jsonw_key_string(w, "mend", p->mend);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
}

static void write_packets(struct jsonw *w, const struct call *c, const struct bypass_report *r)
{
	uint64_t packets, ms;

	if (r->evidence == BYPASS_BY_READBACK)
		jsonw_key_u64(w, "packets", r->reading.packets);
	else
		write_null(w, "packets");
	if (samples_delta(c->service->samples, r->block, &packets, &ms)) {
		jsonw_key_u64(w, "recent_packets", packets);
		jsonw_key_u64(w, "recent_ms", ms);
	} else {
		write_null(w, "recent_packets");
		write_null(w, "recent_ms");
	}
}

/* Filters a packet walks in software: with the kernel's bypass none, with the shortcut one. */
static uint64_t cost(const struct bypass_report *r)
{
	if (r->state != BYPASS_ON)
		return r->walked;
	return r->strategy == BYPASS_STRATEGY_SHORTCUT ? 1 : 0;
}

static void write_bypass(struct jsonw *w, const struct call *c, const struct block *b)
{
	const struct snapshot *s = c->snapshot;
	const struct bypass_report *r = snapshot_bypass(s, b->id);
	struct bypass_report unknown = { .block = b->id, .state = BYPASS_UNKNOWN };
	struct tally t = { 0 };
	size_t first, end;

	r = r ? r : &unknown;
	tally_block(s, b->id, &t);
	state_block_rules(s->config->wanted, b->id, &first, &end);

	jsonw_object(w);
	jsonw_key_string(w, "block", b->name);
	jsonw_key_u64(w, "id", b->id);
	jsonw_key_string(w, "wanted", bypass_want_name(b->bypass));
	jsonw_key_string(w, "strategy", bypass_strategy_name(r->strategy));
	jsonw_key_string(w, "state", bypass_state_name(r->state));
	jsonw_key_string(w, "evidence", bypass_evidence_name(r->evidence));
	write_ms(w, "since_ms", r->since_ns);
	jsonw_key_u64(w, "rules", end - first);
	jsonw_key_u64(w, "filters", r->filters);
	jsonw_key_u64(w, "filters_sw", r->filters_sw);
	jsonw_key_u64(w, "filters_dead", r->filters_dead);
	jsonw_key_u64(w, "in_hw", t.in_hw);
	jsonw_key_u64(w, "cost", cost(r));
	write_packets(w, c, r);
	write_culprits(w, r);
	jsonw_object_end(w);
}

void verb_bypass(struct call *c)
{
	const char *name = varlink_param_string(c->message.parameters, "block");
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	const struct snapshot *s = c->snapshot;
	const struct state *wanted = s->config ? s->config->wanted : NULL;

	if (!w) {
		call_lost(c);
		return;
	}
	if (name && !(wanted && state_block_named(wanted, name))) {
		call_error_text(c, IO_SWD "NoSuchBlock", "block", name);
		return;
	}
	jsonw_object(w);
	write_ability(w, s);
	jsonw_key(w, "blocks");
	jsonw_array(w);
	for (size_t i = 0; wanted && i < state_count(wanted, KIND_BLOCK); i++) {
		const struct block *b = state_at(wanted, KIND_BLOCK, i);

		if (!name || streq(b->name, name))
			write_bypass(w, c, b);
	}
	jsonw_array_end(w);
	jsonw_object_end(w);
	call_reply(c, w);
}
