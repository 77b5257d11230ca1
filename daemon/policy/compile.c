// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a configuration to the filters of all its blocks. The steps, each in a file of its own:
 * which frames (expand.c with payload.c), what happens to them (lower.c), in which order (place.c
 * with same.c and prefs.c). Here they are joined, block by block, and what concerns a block as a
 * whole is checked: a bypass that must be, and the shortcut in front.
 */
#include "daemon/policy/compile.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/kernel/cookie.h"
#include "daemon/policy/alike.h"
#include "daemon/policy/lower.h"
#include "daemon/policy/place.h"

/* The filters of one block under construction. */
struct building {
	const struct compile_input *in;
	const struct block *block;
	struct diags *d;
	struct place_item *items;
	size_t count, space;
	bool shortcut;
	struct alike alike;
};

static void building_clear(struct building *b)
{
	for (size_t i = 0; i < b->count; i++)
		object_unref(b->items[i].filter);
	free(b->items);
}

static uint32_t offload_flags(const struct rule *r, const struct block *b)
{
	switch ((enum offload)(r->offload ? r->offload : b->offload)) {
	case OFFLOAD_REQUIRED:
		return TCA_CLS_FLAGS_SKIP_SW;
	case OFFLOAD_OFF:
		return TCA_CLS_FLAGS_SKIP_HW;
	case OFFLOAD_PREFERRED:
	case OFFLOAD_UNSET:
		return 0;
	}
	return 0;
}

static void mark_ours(struct building *b, struct filter *f)
{
	f->owner = OWNER_OURS;
	f->handle = 1;
	cookie_make(f, b->in->instance, f->cookie);
	f->has_cookie = true;
}

/* The i-th filter of a rule, which it takes over. A pref the rule says is the first one's, the
 * others follow behind it. */
static int add_filter(struct building *b, const struct rule *r, size_t i, struct filter *f)
{
	int err = f ? grow(&b->items, &b->space, b->count, sizeof(*b->items)) : -ENOMEM;

	if (err < 0) {
		object_unref(f);
		return err;
	}
	f->obj.origin = r->obj.origin;
	f->rule = object_ref(r);
	b->items[b->count++] =
		(struct place_item){ .filter = f,
				     .fixed = r->pref ? (uint16_t)MIN(r->pref + i, 65535u) : 0 };
	return 0;
}

static int make_filter(struct building *b, const struct rule *r, const struct variant *v,
		       uint32_t flags, struct filter **ret)
{
	struct action actions[LOWERED_MAX];
	struct filter *f;
	size_t n;
	int err = lower(r, b->block, v, flags, b->d, actions, &n);

	if (err < 0)
		return err;
	f = filter_new(match_view(&v->match), actions, n);
	if (!f)
		return -ENOMEM;
	f->block = r->block;
	f->chain = r->chain;
	f->protocol = v->protocol;
	f->type = !v->match.size && v->protocol == ETHERTYPE_ALL ? FILTER_MATCHALL : FILTER_FLOWER;
	f->role = FILTER_ROLE_RULE;
	f->flags = flags;
	mark_ours(b, f);
	*ret = f;
	return 0;
}

static int expand_rule(struct building *b, const struct rule *r, uint32_t flags)
{
	struct variant variants[VARIANTS_MAX];
	size_t n, first = b->count;
	int err;

	b->alike.rule = NULL;
	err = expand(r, b->block, b->d, variants, &n);
	for (size_t i = 0; err == 0 && i < n; i++) {
		struct filter *f;

		err = make_filter(b, r, &variants[i], flags, &f);
		if (err == 0)
			err = add_filter(b, r, i, f);
	}
	if (err < 0)
		return err;
	alike_begin(&b->alike, r);
	for (; first < b->count; first++)
		alike_add(&b->alike, b->items[first].filter);
	return 0;
}

static int repeat_rule(struct building *b, const struct rule *r)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < b->alike.count; i++)
		err = add_filter(b, r, i, alike_filter(&b->alike, i, r, b->in->instance));
	return err;
}

static int add_rule(struct building *b, const struct rule *r)
{
	uint32_t flags = offload_flags(r, b->block);
	size_t first = b->count, n;
	int err;

	err = alike_fits(&b->alike, r) ? repeat_rule(b, r) : expand_rule(b, r, flags);
	if (err < 0)
		return err;
	n = b->count - first;
	if (r->pref && r->pref + n - 1 > 65535)
		return rule_refuse(
			r, b->block, b->d, "pref", NULL,
			"the rule takes %zu filters, and behind pref %u there is no room for them",
			n, r->pref);
	if (b->block->bypass == BYPASS_WANT_REQUIRED && !(flags & TCA_CLS_FLAGS_SKIP_SW))
		return rule_refuse(
			r, b->block, b->d, "offload", NULL,
			"a rule that software must look at would end the bypass that block %s "
			"requires: each packet to the CPU would walk the block's filters",
			b->block->name);
	return 0;
}

/* By chain; within one the items stand in their order already, and must keep it. */
static int sort_by_chain(struct building *b)
{
	_cleanup_free_ struct place_item *sorted = NULL;
	size_t n = 0;

	for (size_t i = 1; i < b->count; i++)
		if (b->items[i - 1].filter->chain > b->items[i].filter->chain) {
			sorted = malloc(b->count * sizeof(*sorted));
			if (!sorted)
				return -ENOMEM;
			break;
		}
	if (!sorted)
		return 0;
	/* Few chains, many filters: a pass for each chain, in rising order. */
	for (uint64_t chain = 0, next; n < b->count; chain = next) {
		next = UINT64_MAX;
		for (size_t i = 0; i < b->count; i++) {
			uint32_t c = b->items[i].filter->chain;

			if (c == chain)
				sorted[n++] = b->items[i];
			else if (c > chain)
				next = MIN(next, (uint64_t)c);
		}
	}
	memcpy(b->items, sorted, n * sizeof(*sorted));
	return 0;
}

static void report_pref(struct building *b, const struct place_item *items, size_t n, size_t bad,
			uint16_t min, uint16_t max)
{
	const struct place_item *item = &items[MIN(bad, n - 1)], *before = NULL;
	const struct rule *r = item->filter->rule;

	for (size_t i = 0; i < bad; i++)
		if (items[i].fixed)
			before = &items[i];
	if (item->fixed < min || item->fixed > max)
		rule_refuse(r, b->block, b->d, "pref", NULL,
			    "rule %s needs pref %u, and only %u to %u can be used here", r->name,
			    item->fixed, min, max);
	else if (before && before->filter->rule != r)
		rule_refuse(
			r, b->block, b->d, "pref", NULL,
			"rule %s says pref %u, but rule %s (line %u) before it already uses %u, "
			"and %zu filters must go between them",
			r->name, r->pref, before->filter->rule->name,
			before->filter->rule->obj.origin.line, before->fixed,
			bad - (size_t)(before - items) - 1);
	else
		rule_refuse(
			r, b->block, b->d, "pref", NULL,
			"rule %s says pref %u, which leaves no room for the %zu filters before or "
			"the %zu behind it",
			r->name, r->pref, bad, n - bad - 1);
}

static int place_chain(struct building *b, struct place_item *items, size_t n)
{
	uint32_t chain = items[0].filter->chain;
	uint16_t min = b->in->profile.pref_min, max = b->in->profile.pref_max;
	struct placed placed = { 0 };
	int r;

	if (b->shortcut && chain == 0)
		min++;
	r = place(items, n, b->in, min, max, &placed);
	if (r == -EINVAL)
		report_pref(b, items, n, placed.bad, min, max);
	if (r == -ERANGE)
		diags_add(b->d, DIAG_ERROR, b->block->obj.origin, NULL,
			  "block %s needs %zu prefs in chain %u, and there are %zu", b->block->name,
			  placed.needed, chain, placed.room);
	return r == -ERANGE ? -EINVAL : r;
}

/* A block whose every filter is skip_sw, with something in chain 0 that is worth skipping. */
static bool may_have_shortcut(const struct building *b)
{
	bool chain_0 = false;

	if (!b->in->shortcut || b->block->bypass == BYPASS_WANT_OFF)
		return false;
	for (size_t i = 0; i < b->count; i++) {
		if (!(b->items[i].filter->flags & TCA_CLS_FLAGS_SKIP_SW))
			return false;
		if (b->items[i].filter->chain != 0)
			continue;
		chain_0 = true;
		if (b->items[i].fixed == b->in->profile.pref_min) {
			const struct rule *r = b->items[i].filter->rule;

			diags_add(
				b->d,
				b->block->bypass == BYPASS_WANT_REQUIRED ? DIAG_ERROR
									 : DIAG_WARNING,
				r->obj.origin, NULL,
				"rule %s takes pref %u, where the shortcut that bypasses block %s "
				"on this kernel would have to stand",
				r->name, r->pref, b->block->name);
			return false;
		}
	}
	return chain_0;
}

static int add_shortcut(struct building *b, struct state *into)
{
	static const struct action pass = { .kind = ACTION_PASS };
	_cleanup_object_ struct filter *f = filter_new((struct match_view){ 0 }, &pass, 1);
	int r;

	if (!f)
		return -ENOMEM;
	f->obj.origin = b->block->obj.origin;
	f->block = b->block->id;
	f->pref = b->in->profile.pref_min;
	f->protocol = ETHERTYPE_ALL;
	f->type = FILTER_MATCHALL;
	f->role = FILTER_ROLE_SHORTCUT;
	f->flags = TCA_CLS_FLAGS_SKIP_HW;
	mark_ours(b, f);
	r = state_add(into, f, NULL);
	if (r == 0)
		take(f);
	return r;
}

static int finish_block(struct building *b, struct state *into)
{
	int r, result = 0;

	b->shortcut = may_have_shortcut(b);
	r = sort_by_chain(b);
	if (r < 0)
		return r;
	for (size_t i = 0, end; i < b->count; i = end) {
		for (end = i + 1; end < b->count; end++)
			if (b->items[end].filter->chain != b->items[i].filter->chain)
				break;
		r = place_chain(b, b->items + i, end - i);
		if (r == -ENOMEM)
			return r;
		result = r < 0 ? r : result;
	}
	if (result < 0)
		return result;
	if (b->shortcut)
		r = add_shortcut(b, into);
	for (size_t i = 0; r == 0 && i < b->count; i++) {
		r = state_add(into, b->items[i].filter, NULL);
		if (r == 0)
			object_ref(b->items[i].filter); /* ours goes with building_clear() */
	}
	return r;
}

static int compile_block(const struct compile_input *in, const struct block *block, struct diags *d,
			 struct state *into)
{
	_cleanup_(building_clear) struct building b = { .in = in, .block = block, .d = d };
	const struct state *wanted = in->config->wanted;
	size_t first, end;
	int r, result = 0;

	state_block_rules(wanted, block->id, &first, &end);
	for (size_t i = first; i < end; i++) {
		r = add_rule(&b, state_at(wanted, KIND_RULE, i));
		if (r == -ENOMEM)
			return r;
		result = r < 0 ? r : result;
	}
	return result < 0 ? result : finish_block(&b, into);
}

int compile(const struct compile_input *in, struct diags *d, struct state *into)
{
	const struct state *wanted = in->config->wanted;
	size_t errors = diags_errors(d);
	int r;

	for (size_t i = 0; i < state_count(wanted, KIND_BLOCK); i++) {
		r = compile_block(in, state_at(wanted, KIND_BLOCK, i), d, into);
		if (r < 0 && r != -EINVAL)
			return r;
	}
	return diags_errors(d) > errors ? -EINVAL : 0;
}

int compile_avoid_foreign(const struct state *found, struct pref_avoid **ret, size_t *ret_count)
{
	_cleanup_free_ struct pref_avoid *list = NULL;
	size_t n = 0, space = 0;
	int r;

	for (size_t i = 0; i < state_count(found, KIND_FILTER); i++) {
		const struct filter *f = state_at(found, KIND_FILTER, i);

		if (f->owner == OWNER_OURS)
			continue;
		r = grow(&list, &space, n, sizeof(*list));
		if (r < 0)
			return r;
		list[n++] = (struct pref_avoid){ f->block, f->chain, f->pref };
	}
	*ret = take(list);
	*ret_count = n;
	return 0;
}
