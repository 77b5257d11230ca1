// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order of chains: see chains.h. A walk of the graph of jumps, without recursion, since a file
 * may have as many chains as rules.
 */
#include "daemon/engine/chains.h"

#include <errno.h>

void chains_clear(struct chains *c)
{
	free(c->list);
	free(c->ranks);
	free(c->jumps);
	*c = (struct chains){ 0 };
}

int chains_add(struct chains *c, const struct filter *f)
{
	int r;

	/* Filters come sorted, so a chain's filters follow each other. */
	if (c->count == 0 || c->list[c->count - 1] != f->chain) {
		r = grow(&c->list, &c->space, c->count, sizeof(*c->list));
		if (r < 0)
			return r;
		c->list[c->count++] = f->chain;
	}
	for (size_t i = 0; i < f->action_count; i++) {
		const struct action *a = &filter_actions(f)[i];

		if (a->kind != ACTION_GOTO)
			continue;
		r = grow(&c->jumps, &c->jump_space, c->jump_count, sizeof(*c->jumps));
		if (r < 0)
			return r;
		c->jumps[c->jump_count++] = (struct chain_jump){ f->chain, a->chain };
	}
	return 0;
}

static int compare_chain(const void *a, const void *b)
{
	return CMP(*(const uint32_t *)a, *(const uint32_t *)b);
}

static int compare_jump(const void *a, const void *b)
{
	const struct chain_jump *x = a, *y = b;
	int c = CMP(x->from, y->from);

	return c ? c : CMP(x->to, y->to);
}

static size_t find(const struct chains *c, uint32_t chain)
{
	const uint32_t *at =
		c->count ? bsearch(&chain, c->list, c->count, sizeof(*c->list), compare_chain)
			 : NULL;

	return at ? (size_t)(at - c->list) : SIZE_MAX;
}

static size_t first_jump(const struct chains *c, uint32_t from)
{
	return LOWER_BOUND(c->jumps, c->jump_count, from, from);
}

/* A chain on the way down, and the next of its jumps to follow. */
struct visit {
	size_t chain, jump;
};

static void visit_from(struct chains *c, size_t start, bool *seen, struct visit *stack,
		       size_t *rank)
{
	size_t depth = 0;

	if (seen[start])
		return;
	seen[start] = true;
	stack[depth++] = (struct visit){ start, first_jump(c, c->list[start]) };
	while (depth > 0) {
		struct visit *v = &stack[depth - 1];
		size_t to;

		if (v->jump == c->jump_count || c->jumps[v->jump].from != c->list[v->chain]) {
			c->ranks[v->chain] = (*rank)++;
			depth--;
			continue;
		}
		to = find(c, c->jumps[v->jump++].to);
		if (to == SIZE_MAX || seen[to])
			continue;
		seen[to] = true;
		stack[depth++] = (struct visit){ to, first_jump(c, c->list[to]) };
	}
}

int chains_rank(struct chains *c)
{
	_cleanup_free_ bool *seen = NULL;
	_cleanup_free_ struct visit *stack = NULL;
	size_t unique = 0, rank = 0;

	if (c->count)
		qsort(c->list, c->count, sizeof(*c->list), compare_chain);
	for (size_t i = 0; i < c->count; i++)
		if (unique == 0 || c->list[unique - 1] != c->list[i])
			c->list[unique++] = c->list[i];
	c->count = unique;
	if (c->jump_count)
		qsort(c->jumps, c->jump_count, sizeof(*c->jumps), compare_jump);

	seen = calloc(c->count + 1, sizeof(*seen));
	stack = calloc(c->count + 1, sizeof(*stack));
	free(c->ranks);
	c->ranks = calloc(c->count + 1, sizeof(*c->ranks));
	if (!seen || !stack || !c->ranks)
		return -ENOMEM;
	for (size_t i = 0; i < c->count; i++)
		visit_from(c, i, seen, stack, &rank);
	return 0;
}

size_t chains_rank_of(const struct chains *c, uint32_t chain)
{
	size_t i = find(c, chain);

	return i == SIZE_MAX ? 0 : c->ranks[i];
}
