// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks: what the file says of each block, where it is bound, and its numbers.
 */
#include "daemon/service/serving.h"
#include "daemon/service/tally.h"
#include "daemon/service/verbs.h"
#include "daemon/service/write.h"

static void write_binding(struct jsonw *w, const char *port, const char *direction,
			  const char *state)
{
	jsonw_object(w);
	jsonw_key_string(w, "port", port);
	jsonw_key_string(w, "direction", direction);
	jsonw_key_string(w, "state", state);
	jsonw_object_end(w);
}

static void wanted_binding(struct jsonw *w, const struct snapshot *s, const struct qdisc *wanted,
			   const struct qdisc *found, uint32_t block)
{
	const char *absent = device_there(s, wanted->dev) ? "missing" : "waiting";

	if (wanted->ingress_block == block)
		write_binding(w, wanted->dev, "ingress",
			      found && found->ingress_block == block ? "bound" : absent);
	if (wanted->egress_block == block)
		write_binding(w, wanted->dev, "egress",
			      found && found->egress_block == block ? "bound" : absent);
}

static void write_bindings(struct jsonw *w, const struct snapshot *s, uint32_t block)
{
	const struct state *wanted = s->config->wanted;

	jsonw_key(w, "bindings");
	jsonw_array(w);
	for (size_t i = 0; i < state_count(wanted, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(wanted, KIND_QDISC, i);

		wanted_binding(w, s, q, s->found ? state_find(s->found, q) : NULL, block);
	}
	/* Someone else bound our block to another device: it counts for the hardware too. */
	for (size_t i = 0; s->found && i < state_count(s->found, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(s->found, KIND_QDISC, i);
		const struct qdisc *own = state_find(wanted, q);

		if (q->ingress_block == block && !(own && own->ingress_block == block))
			write_binding(w, q->dev, "ingress", "foreign");
		if (q->egress_block == block && !(own && own->egress_block == block))
			write_binding(w, q->dev, "egress", "foreign");
	}
	jsonw_array_end(w);
}

static void write_block(struct jsonw *w, const struct snapshot *s, const struct block *b)
{
	const struct bypass_report *r = snapshot_bypass(s, b->id);
	struct tally t = { 0 };
	size_t first, end;

	tally_block(s, b->id, &t);
	state_block_rules(s->config->wanted, b->id, &first, &end);

	jsonw_object(w);
	jsonw_key_string(w, "name", b->name);
	jsonw_key_u64(w, "id", b->id);
	jsonw_key_string(w, "offload", offload_name(b->offload));
	jsonw_key_string(w, "foreign", foreign_name(b->foreign));
	jsonw_key_string(w, "tagging", tagging_name(b->tagging));
	jsonw_key_string(w, "bypass_wanted", bypass_want_name(b->bypass));
	jsonw_key_string(w, "bypass", bypass_state_name(r ? r->state : BYPASS_UNKNOWN));
	write_bindings(w, s, b->id);
	jsonw_key_u64(w, "rules", end - first);
	jsonw_key_u64(w, "filters_wanted", t.wanted);
	jsonw_key_u64(w, "filters", t.found);
	jsonw_key_u64(w, "in_hw", t.in_hw);
	jsonw_key_u64(w, "missing", t.missing);
	jsonw_key_u64(w, "foreign_filters", t.foreign);
	jsonw_object_end(w);
}

void verb_blocks(struct call *c)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	const struct snapshot *s = c->snapshot;

	if (!w) {
		call_lost(c);
		return;
	}
	jsonw_object(w);
	jsonw_key(w, "blocks");
	jsonw_array(w);
	for (size_t i = 0; s->config && i < state_count(s->config->wanted, KIND_BLOCK); i++)
		write_block(w, s, state_at(s->config->wanted, KIND_BLOCK, i));
	jsonw_array_end(w);
	jsonw_object_end(w);
	call_reply(c, w);
}
