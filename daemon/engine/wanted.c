// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The road from text to filters, as far as it is pure: see wanted.h.
 */
#include "daemon/engine/wanted.h"

#include <errno.h>

#include "config/yaml/load.h"
#include "daemon/engine/diff.h"
#include "daemon/engine/measure.h"

void candidate_clear(struct candidate *c)
{
	config_unref(c->config);
	state_free(c->filters);
	*c = (struct candidate){ 0 };
}

/* After a start nothing was compiled before: what the kernel holds of ours tells the prefs. */
static int found_ours(const struct engine_owner *o, struct state **ret)
{
	_cleanup_(state_freep) struct state *ours = state_new();

	if (!ours)
		return -ENOMEM;
	for (size_t i = 0; i < state_count(o->found, KIND_FILTER); i++) {
		const struct filter *f = state_at(o->found, KIND_FILTER, i);
		void *ref;
		int r;

		if (f->owner != OWNER_OURS)
			continue;
		ref = object_ref(f);
		r = state_add(ours, ref, NULL);
		if (r < 0) {
			object_unref(ref);
			return r;
		}
	}
	*ret = take(ours);
	return 0;
}

/* True if one of ours stands in that pref already: then a foreign filter there moves nothing. */
static bool holds(const struct state *before, const struct pref_avoid *at)
{
	struct filter key = {
		.obj.kind = KIND_FILTER,
		.block = at->block,
		.chain = at->chain,
		.pref = at->pref,
	};
	size_t i = state_lower(before, &key);
	const struct filter *f;

	if (i >= state_count(before, KIND_FILTER))
		return false;
	f = state_at(before, KIND_FILTER, i);
	return f->block == at->block && f->chain == at->chain && f->pref == at->pref;
}

/* The prefs that foreign filters hold alone, and those to be left. */
static int list_avoid(const struct engine_owner *o, const struct state *before,
		      const struct pref_avoid *away, size_t away_count, struct pref_avoid **ret,
		      size_t *ret_n)
{
	_cleanup_free_ struct pref_avoid *foreign = NULL;
	struct pref_avoid *list;
	size_t n = 0, foreign_count = 0;
	int r = compile_avoid_foreign(o->found, &foreign, &foreign_count);

	if (r < 0)
		return r;
	list = calloc(foreign_count + away_count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < foreign_count; i++)
		if (!holds(before, &foreign[i]))
			list[n++] = foreign[i];
	for (size_t i = 0; i < away_count; i++)
		list[n++] = away[i];
	*ret = list;
	*ret_n = n;
	return 0;
}

static int run_compile(const struct engine_owner *o, const struct config *config,
		       const struct state *before, const struct pref_avoid *away, size_t away_count,
		       struct diags *d, struct state **ret)
{
	_cleanup_free_ struct pref_avoid *avoid = NULL;
	_cleanup_(state_freep) struct state *filters = state_new();
	struct compile_input in = {
		.config = config,
		.before = before,
		.shortcut = bypass_strategy_for(o->ability) == BYPASS_STRATEGY_SHORTCUT,
		.instance = o->instance,
		.profile = PROFILE_WIDE,
	};
	int r;

	if (!filters)
		return -ENOMEM;
	r = list_avoid(o, before, away, away_count, &avoid, &in.avoid_count);
	in.avoid = avoid;
	if (r == 0)
		r = compile(&in, d, filters);
	if (r == 0)
		*ret = take(filters);
	return r;
}

int candidate_make(struct engine_owner *o, const char *text, size_t size, struct diags *d,
		   struct candidate *ret)
{
	_cleanup_(config_unrefp) struct config *config = NULL;
	_cleanup_(state_freep) struct state *ours = NULL;
	struct state *filters;
	int r = config_load(text, size, d, &config);

	pulse_go(o->pulse);
	if (r == 0)
		r = measure_resolve(o, config);
	if (r == 0 && !o->filters)
		r = found_ours(o, &ours);
	if (r == 0)
		r = run_compile(o, config, o->filters ? o->filters : ours, NULL, 0, d, &filters);
	pulse_go(o->pulse);
	if (r < 0)
		return r;
	*ret = (struct candidate){ take(config), filters };
	return 0;
}

int candidate_move(struct engine_owner *o, const struct pref_avoid *away, size_t n, struct diags *d,
		   struct state **ret)
{
	return run_compile(o, o->config, o->filters, away, n, d, ret);
}

int wanted_plan(const struct engine_owner *o, const struct config *config,
		const struct state *filters, enum plan_for why, struct plan *ret)
{
	struct diff_input in = {
		.found = o->found,
		.wanted = config ? config->wanted : NULL,
		.filters = filters,
		.owned = o->owned,
		.heal = why == PLAN_HEAL,
		.ways = &o->ways,
		.in_use = why == PLAN_TRIAL,
	};
	int r = diff(&in, ret);

	pulse_go(o->pulse);
	return r;
}

int wanted_work(const struct engine_owner *o, struct plan *ret)
{
	struct diff_input in = {
		.found = o->found,
		.wanted = o->config->wanted,
		.filters = o->filters,
		.owned = o->owned,
		.only = &o->touched,
		.ways = &o->ways,
	};
	int r = diff(&in, ret);

	pulse_go(o->pulse);
	return r;
}
