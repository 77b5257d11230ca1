// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check_chains: where frames go by goto. Chains are the nodes of a graph and gotos its edges: a
 * goto needs rules at its end, a chain needs a way from chain 0, and no way may come back to where
 * it was.
 */
#include <errno.h>
#include <stdio.h>

#include "config/yaml/check.h"

/* The kernel drops a frame at its 17th goto (tcf_classify: max_reclassify_loop, 6.1 and 6.12). */
#define GOTO_MAX 16

struct chain {
	uint32_t number;
	const struct draft_rule *first; /* its first rule; NULL: only chain 0, when it has none */
	uint32_t from_count;		/* gotos that lead here and are not walked yet */
	uint32_t depth;			/* most gotos on a way from chain 0 */
	bool reached;
};

struct jump {
	uint32_t from, to; /* indexes of chains */
	const struct draft_rule *rule;
};

struct graph {
	struct chain *chains; /* by number */
	size_t chain_count;
	struct jump *jumps; /* by from */
	size_t jump_count;
};

static int by_number(const void *a, const void *b)
{
	const struct chain *x = a, *y = b;

	return x->number != y->number ? CMP(x->number, y->number) : CMP(x->first, y->first);
}

static int by_from(const void *a, const void *b)
{
	const struct jump *x = a, *y = b;

	return x->from != y->from ? CMP(x->from, y->from) : CMP(x->rule, y->rule);
}

static struct chain *find_chain(const struct graph *g, uint32_t number)
{
	size_t at = LOWER_BOUND(g->chains, g->chain_count, number, number);

	return at < g->chain_count && g->chains[at].number == number ? &g->chains[at] : NULL;
}

/* The goto of a rule: it can only be the last action. NULL if it has none. */
static const struct action *rule_goto(const struct draft_rule *r)
{
	const struct action *last;

	if (!HAS(r, RULE_ACTION) || r->actions.count == 0)
		return NULL;
	last = &r->actions.list[r->actions.count - 1];
	return last->kind == ACTION_GOTO ? last : NULL;
}

static struct origin goto_at(const struct draft_rule *r)
{
	return action_at(r, r->actions.count - 1u);
}

static int collect_chains(const struct checker *c, const struct draft_block *b, struct graph *g)
{
	const struct draft_rule *r;
	size_t n = 0, kept = 0;

	g->chains = arena_alloc(c->arena, (b->rules.count + 1) * sizeof(*g->chains));
	if (!g->chains)
		return -ENOMEM;
	/* Most rules are in their neighbour's chain. */
	FOR_EACH_ITEM(r, b->rules)
		if (n == 0 || g->chains[n - 1].number != r->chain)
			g->chains[n++] = (struct chain){ .number = r->chain, .first = r };
	qsort(g->chains, n, sizeof(*g->chains), by_number);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || g->chains[i].number != g->chains[kept - 1].number)
			g->chains[kept++] = g->chains[i];
	g->chain_count = kept;
	return 0;
}

/* The gotos that lead somewhere; those that do not are errors. */
static int collect_jumps(const struct checker *c, const struct draft_block *b, struct graph *g)
{
	const struct draft_rule *r;

	g->jumps = arena_alloc(c->arena, (b->rules.count + 1) * sizeof(*g->jumps));
	if (!g->jumps)
		return -ENOMEM;
	FOR_EACH_ITEM(r, b->rules) {
		const struct action *jump = rule_goto(r);
		struct chain *to;

		if (!jump)
			continue;
		to = find_chain(g, jump->chain);
		if (jump->chain == r->chain) {
			check_add_rule(
				c, DIAG_ERROR, b, r, goto_at(r),
				"goto %u leads back to the chain the rule is in, which never "
				"ends, expected another chain",
				jump->chain);
		} else if (!to) {
			check_add_rule(
				c, DIAG_ERROR, b, r, goto_at(r),
				"goto %u leads to a chain without rules, expected at least one "
				"rule with chain: %u",
				jump->chain, jump->chain);
		} else {
			g->jumps[g->jump_count++] = (struct jump){
				.from = (uint32_t)(find_chain(g, r->chain) - g->chains),
				.to = (uint32_t)(to - g->chains),
				.rule = r,
			};
			to->from_count++;
		}
	}
	qsort(g->jumps, g->jump_count, sizeof(*g->jumps), by_from);
	return 0;
}

static size_t first_jump(const struct graph *g, uint32_t from)
{
	return LOWER_BOUND(g->jumps, g->jump_count, from, from);
}

/* Marks what frames can get to. queue has room for all chains. */
static void mark_reached(struct graph *g, uint32_t *queue)
{
	size_t head = 0, tail = 0;
	struct chain *start = find_chain(g, 0);

	if (!start)
		return;
	start->reached = true;
	queue[tail++] = (uint32_t)(start - g->chains);
	while (head < tail) {
		uint32_t at = queue[head++];

		for (size_t i = first_jump(g, at); i < g->jump_count && g->jumps[i].from == at;
		     i++) {
			struct chain *to = &g->chains[g->jumps[i].to];

			if (to->reached)
				continue;
			to->reached = true;
			queue[tail++] = g->jumps[i].to;
		}
	}
}

static void check_reached(const struct checker *c, const struct draft_block *b,
			  const struct graph *g)
{
	for (size_t i = 0; i < g->chain_count; i++) {
		const struct chain *chain = &g->chains[i];

		/* Chain 0 without rules: then nothing else can be reached, and each says so. */
		if (!chain->reached)
			check_add_rule(
				c, DIAG_WARNING, b, chain->first,
				draft_at(&chain->first->draft, "chain"),
				"no goto leads from chain 0 to chain %u, so its rules are never "
				"met",
				chain->number);
	}
}

/*
 * Takes away chains to which nothing leads, again and again; what is left over is on a loop, or
 * behind one. On the way the longest way to each chain is known.
 */
static void check_loops(const struct checker *c, const struct draft_block *b, struct graph *g,
			uint32_t *queue)
{
	size_t head = 0, tail = 0;
	bool told = false;

	for (size_t i = 0; i < g->chain_count; i++)
		if (g->chains[i].from_count == 0)
			queue[tail++] = (uint32_t)i;
	while (head < tail) {
		const struct chain *at = &g->chains[queue[head]];
		size_t i = first_jump(g, queue[head++]);

		for (; i < g->jump_count && g->jumps[i].from == (uint32_t)(at - g->chains); i++) {
			struct chain *to = &g->chains[g->jumps[i].to];

			if (at->depth == GOTO_MAX && !told) {
				told = true;
				check_add_rule(
					c, DIAG_ERROR, b, g->jumps[i].rule,
					goto_at(g->jumps[i].rule),
					"this is goto number %d on a frame's way, expected at "
					"most %d: the kernel drops it then",
					GOTO_MAX + 1, GOTO_MAX);
			}
			to->depth = MAX(to->depth, at->depth + 1);
			if (--to->from_count == 0)
				queue[tail++] = g->jumps[i].to;
		}
	}
	for (size_t i = 0; i < g->jump_count; i++) {
		const struct jump *j = &g->jumps[i];

		if (!g->chains[j->from].from_count || !g->chains[j->to].from_count ||
		    g->chains[j->to].number > g->chains[j->from].number)
			continue;
		/* A loop goes down at least once. */
		check_add_rule(
			c, DIAG_ERROR, b, j->rule, goto_at(j->rule),
			"goto %u leads from chain %u back to where the frame has been, expected "
			"chains without a loop",
			g->chains[j->to].number, g->chains[j->from].number);
		return;
	}
}

int check_chains(const struct checker *c, const struct draft_block *b)
{
	struct graph g = { 0 };
	uint32_t *queue;
	int r;

	r = collect_chains(c, b, &g);
	if (r < 0)
		return r;
	r = collect_jumps(c, b, &g);
	if (r < 0)
		return r;
	queue = arena_alloc(c->arena, (g.chain_count + 1) * sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	mark_reached(&g, queue);
	check_reached(c, b, &g);
	check_loops(c, b, &g, queue);
	return 0;
}
