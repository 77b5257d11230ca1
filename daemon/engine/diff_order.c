// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/engine/diff_order.h"

#include "daemon/engine/chains.h"

void order_clear(struct order *o)
{
	for (size_t i = 0; i < o->kept_count; i++)
		object_unref(o->kept[i]);
	free(o->kept);
	free(o->list);
	*o = (struct order){ 0 };
}

int order_keep(struct order *o, struct filter *f)
{
	int r = grow(&o->kept, &o->kept_space, o->kept_count, sizeof(struct filter *));

	if (r < 0)
		object_unref(f);
	else
		o->kept[o->kept_count++] = f;
	return r;
}

int order_add(struct order *o, enum phase phase, enum kernel_op op, enum step_reason reason,
	      const struct filter *wanted, const struct filter *found)
{
	int r = grow(&o->list, &o->space, o->count, sizeof(*o->list));

	if (r < 0)
		return r;
	o->list[o->count] = (struct pending){
		.phase = phase,
		.chain = (wanted ? wanted : found)->chain,
		.number = 2 * o->count + 1,
		.op = op,
		.reason = reason,
		.wanted = wanted,
		.found = found,
	};
	o->count++;
	return 0;
}

static int compare_pending(const void *pa, const void *pb)
{
	const struct pending *a = pa, *b = pb;
	int c = CMP(a->phase, b->phase);

	if (c)
		return c;
	c = CMP(a->rank, b->rank);
	if (c)
		return a->phase == PHASE_TAKE || a->phase == PHASE_CLEAR ? -c : c;
	c = CMP(a->number, b->number);
	return a->phase == PHASE_TAKE ? -c : c;
}

static bool one_chain(const struct order *o)
{
	for (size_t i = 1; i < o->count; i++)
		if (o->list[i].chain != o->list[0].chain)
			return false;
	return true;
}

static int add_chains(struct chains *chains, const struct state *filters, uint32_t block)
{
	size_t i, end;
	int r = 0;

	if (!filters)
		return 0;
	state_block_filters(filters, block, &i, &end);
	for (; i < end && r == 0; i++)
		r = chains_add(chains, state_at(filters, KIND_FILTER, i));
	return r;
}

/* Which chain jumps to which, what is wanted and what is found alike. */
static int rank(struct order *o, const struct diff_walk *w, uint32_t block)
{
	_cleanup_(chains_clear) struct chains chains = { 0 };
	int r = add_chains(&chains, w->in->filters, block);

	if (r == 0)
		r = add_chains(&chains, w->in->found, block);
	if (r == 0)
		r = chains_rank(&chains);
	for (size_t i = 0; i < o->count && r == 0; i++)
		o->list[i].rank = chains_rank_of(&chains, o->list[i].chain);
	return r;
}

static bool in_order(const struct order *o)
{
	for (size_t i = 1; i < o->count; i++)
		if (compare_pending(&o->list[i - 1], &o->list[i]) > 0)
			return false;
	return true;
}

int order_emit(struct order *o, struct diff_walk *w, uint32_t block)
{
	int r = one_chain(o) ? 0 : rank(o, w, block);

	if (r == 0 && !in_order(o))
		qsort(o->list, o->count, sizeof(*o->list), compare_pending);
	for (size_t i = 0; i < o->count && r == 0; i++) {
		const struct pending *p = &o->list[i];

		r = plan_add(w->plan, p->op, p->reason, p->wanted ? &p->wanted->obj : NULL,
			     p->found ? &p->found->obj : NULL);
	}
	return r;
}
