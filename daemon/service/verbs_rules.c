// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules: every rule with the filters that do its work and their counters, and what else is in the
 * block.
 *
 * It asks the engine to read the counters first, and waits a moment for that; then it walks the
 * snapshot in pieces, each made when the client has read the one before.
 */
#include <errno.h>

#include "daemon/policy/bypass_marks.h"
#include "daemon/service/counters.h"
#include "daemon/service/serving.h"
#include "daemon/service/tally.h"
#include "daemon/service/verbs.h"
#include "daemon/service/write.h"

#define PIECE_BYTES (96u << 10)
#define WHOLE_BYTES (1u << 20) /* the longest answer without "more" */

/* Where we are: first the rules of all blocks that are asked for, then what else is in them. */
struct walk {
	struct counters_waiter *waiter;
	uint32_t only;		 /* one block, or 0: all */
	bool others;		 /* the second round */
	bool begun;		 /* the members below are of the current block */
	size_t block, block_end; /* in the wanted state, KIND_BLOCK */

	const struct filter **filters; /* the wanted ones that do rules' work, in order of rules */
	size_t filter_count, filter_at;
	size_t rule, rule_end;
	uint32_t most_in_hw; /* of the block's filters */

	size_t wanted, wanted_end; /* both states side by side */
	size_t found, found_end;
};

static void walk_free(void *data)
{
	struct walk *k = data;

	counters_forget(k->waiter);
	free(k->filters);
	free(k);
}

static int by_rule(const void *a, const void *b)
{
	const struct filter *x = *(const struct filter *const *)a,
			    *y = *(const struct filter *const *)b;
	int order = CMP(x->rule->position, y->rule->position);

	return order ? order : kind_ops(KIND_FILTER)->compare(&x->obj, &y->obj);
}

static int begin_rules(struct walk *k, const struct snapshot *s, uint32_t block)
{
	size_t first = 0, end = 0;

	free(k->filters);
	k->filters = NULL;
	k->filter_count = k->filter_at = 0;
	k->most_in_hw = s->found ? filters_most_in_hw(s->found, block) : 0;
	state_block_rules(s->config->wanted, block, &k->rule, &k->rule_end);
	if (s->filters)
		state_block_filters(s->filters, block, &first, &end);
	if (first == end)
		return 0;
	k->filters = malloc((end - first) * sizeof(*k->filters));
	if (!k->filters)
		return -ENOMEM;
	for (size_t i = first; i < end; i++) {
		const struct filter *f = state_at(s->filters, KIND_FILTER, i);

		if (f->rule)
			k->filters[k->filter_count++] = f;
	}
	qsort(k->filters, k->filter_count, sizeof(*k->filters), by_rule);
	return 0;
}

static int begin_others(struct walk *k, const struct snapshot *s, uint32_t block)
{
	k->wanted = k->wanted_end = k->found = k->found_end = 0;
	if (s->filters)
		state_block_filters(s->filters, block, &k->wanted, &k->wanted_end);
	if (s->found)
		state_block_filters(s->found, block, &k->found, &k->found_end);
	return 0;
}

static void write_sums(struct jsonw *w, const struct snapshot *s,
		       const struct filter *const *filters, size_t n)
{
	struct filter_stats sum = { .last_used_ms = UINT64_MAX };

	for (size_t i = 0; i < n; i++) {
		const struct filter *f = s->found ? state_find(s->found, filters[i]) : NULL;

		if (!f || f->owner != OWNER_OURS)
			continue;
		sum.packets += f->stats.packets;
		sum.bytes += f->stats.bytes;
		sum.hw_packets += f->stats.hw_packets;
		sum.hw_bytes += f->stats.hw_bytes;
		sum.last_used_ms = MIN(sum.last_used_ms, f->stats.last_used_ms);
	}
	jsonw_key_u64(w, "packets", sum.packets);
	jsonw_key_u64(w, "bytes", sum.bytes);
	jsonw_key_u64(w, "hw_packets", sum.hw_packets);
	jsonw_key_u64(w, "hw_bytes", sum.hw_bytes);
	if (sum.last_used_ms == UINT64_MAX)
		write_null(w, "last_used_ms");
	else
		jsonw_key_u64(w, "last_used_ms", sum.last_used_ms);
}

static void write_rule(struct jsonw *w, const struct snapshot *s, const struct block *b,
		       const struct rule *r, const struct filter *const *filters, size_t n,
		       uint32_t most_in_hw)
{
	char ethertype[16];

	jsonw_object(w);
	jsonw_key_string(w, "name", r->name);
	jsonw_key_string(w, "block", b->name);
	jsonw_key_u64(w, "block_id", b->id);
	jsonw_key(w, "place");
	jsonw_stringf(w, "%s:%u", s->config->file, r->obj.origin.line);
	jsonw_key_u64(w, "position", r->position);
	jsonw_key_u64(w, "chain", r->chain);
	jsonw_key_string(w, "offload",
			 offload_name(r->offload == OFFLOAD_UNSET ? b->offload : r->offload));
	jsonw_key_string(w, "tagging",
			 tagging_name(r->tagging == TAGGING_UNSET ? b->tagging : r->tagging));
	if (r->ethertype)
		ethertype_print(r->ethertype, ethertype);
	jsonw_key_string(w, "ethertype", r->ethertype ? ethertype : NULL);
	jsonw_key_string(w, "state", rule_state_name(rule_state(s, filters, n, most_in_hw)));
	jsonw_key(w, "match");
	match_json(rule_match(r), w);
	jsonw_key(w, "actions");
	write_actions(w, rule_actions(r), r->action_count);
	jsonw_key(w, "filters");
	jsonw_array(w);
	for (size_t i = 0; i < n; i++)
		write_filter(w, filters[i], s->found ? state_find(s->found, filters[i]) : NULL);
	jsonw_array_end(w);
	write_sums(w, s, filters, n);
	jsonw_object_end(w);
}

static void next_rule(struct walk *k, const struct snapshot *s, const struct block *b,
		      struct jsonw *w)
{
	const struct rule *r = state_at(s->config->wanted, KIND_RULE, k->rule);
	size_t first = k->filter_at;

	while (k->filter_at < k->filter_count &&
	       k->filters[k->filter_at]->rule->position == r->position)
		k->filter_at++;
	write_rule(w, s, b, r, k->filter_count ? k->filters + first : NULL, k->filter_at - first,
		   k->most_in_hw);
	k->rule++;
}

/* One step of the walk of both states; writes what does no rule's work. */
static void next_other(struct walk *k, const struct snapshot *s, struct jsonw *w)
{
	const struct filter *wanted = NULL, *found = NULL;
	int order;

	if (k->wanted < k->wanted_end)
		wanted = state_at(s->filters, KIND_FILTER, k->wanted);
	if (k->found < k->found_end)
		found = state_at(s->found, KIND_FILTER, k->found);
	order = !wanted	 ? 1
		: !found ? -1
			 : kind_ops(KIND_FILTER)->compare(&wanted->obj, &found->obj);
	k->wanted += order <= 0;
	k->found += order >= 0;
	wanted = order <= 0 ? wanted : NULL;
	found = order >= 0 ? found : NULL;
	if (!wanted || !wanted->rule)
		write_filter(w, wanted, found);
}

/* The block at k->block, or the next one that is asked for; NULL behind the last. */
static const struct block *current_block(struct walk *k, const struct snapshot *s)
{
	for (; k->block < k->block_end; k->block++) {
		const struct block *b = state_at(s->config->wanted, KIND_BLOCK, k->block);

		if (!k->only || b->id == k->only)
			return b;
	}
	return NULL;
}

static bool block_done(const struct walk *k)
{
	if (k->others)
		return k->wanted == k->wanted_end && k->found == k->found_end;
	return k->rule == k->rule_end;
}

/* Goes on with this round until `most` bytes are written. 1: the round is over, 0: it is not,
 * -ENOMEM. */
static int write_round(struct walk *k, const struct snapshot *s, struct jsonw *w, size_t most)
{
	const struct block *b;

	while ((b = current_block(k, s))) {
		if (!k->begun) {
			int err = k->others ? begin_others(k, s, b->id) : begin_rules(k, s, b->id);

			if (err < 0)
				return err;
			k->begun = true;
		}
		while (!block_done(k)) {
			if (jsonw_size(w) >= most)
				return 0;
			if (k->others)
				next_other(k, s, w);
			else
				next_rule(k, s, b, w);
		}
		k->begun = false;
		k->block++;
	}
	return 1;
}

/* 1: that was all, 0: there is more, -ENOMEM. */
static int write_piece(struct walk *k, const struct snapshot *s, struct jsonw *w, size_t most)
{
	int over = 0;

	jsonw_key(w, "rules");
	jsonw_array(w);
	if (!k->others) {
		over = write_round(k, s, w, most);
		if (over == 1) {
			k->others = true;
			k->block = 0;
			over = 0;
		}
	}
	jsonw_array_end(w);
	jsonw_key(w, "others");
	jsonw_array(w);
	if (k->others)
		over = write_round(k, s, w, most);
	jsonw_array_end(w);
	return over;
}

static void write_age(struct jsonw *w, const struct snapshot *s)
{
	uint64_t now = now_realtime_ns();

	write_ms(w, "counters_age_ms", now > s->counters_ns ? now - s->counters_ns : 0);
}

static void send_piece(struct call *c)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	bool more = c->message.more;
	int over = -ENOMEM;

	if (w) {
		jsonw_object(w);
		over = write_piece(c->work, c->snapshot, w, more ? PIECE_BYTES : WHOLE_BYTES);
		write_age(w, c->snapshot);
		jsonw_object_end(w);
	}
	if (over < 0)
		call_lost(c);
	else if (over)
		call_reply(c, w);
	else if (more)
		call_piece(c, w);
	else
		call_error(c, ORG_VARLINK "ExpectedMore", NULL);
}

/* The counters are as fresh as they get: take the newest picture and begin. */
static void begin(struct call *c)
{
	struct walk *k = c->work;

	snapshot_unref(c->snapshot);
	c->snapshot = engine_snapshot(c->service->engine);
	k->block_end =
		c->snapshot->config ? state_count(c->snapshot->config->wanted, KIND_BLOCK) : 0;
	if (c->message.more)
		c->next = send_piece;
	send_piece(c);
}

static void on_counters(bool fresh, void *data)
{
	struct call *c = data;
	struct walk *k = c->work;

	k->waiter = NULL;
	begin(c);
}

void verb_rules(struct call *c)
{
	const char *name = varlink_param_string(c->message.parameters, "block");
	const struct state *wanted = c->snapshot->config ? c->snapshot->config->wanted : NULL;
	const struct block *block = name && wanted ? state_block_named(wanted, name) : NULL;
	struct walk *k;

	if (name && !block) {
		call_error_text(c, IO_SWD "NoSuchBlock", "block", name);
		return;
	}
	k = calloc(1, sizeof(*k));
	if (!k) {
		call_lost(c);
		return;
	}
	c->work = k;
	c->work_free = walk_free;
	k->only = block ? block->id : 0;
	if (counters_want(c->service->counters, k->only, on_counters, c, &k->waiter) < 0)
		call_lost(c);
}
