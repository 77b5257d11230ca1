// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Moving filters out of marked protos: see heal.h. Which protos, the bypass room says; to which
 * prefs, compile; that additions come before removals, diff. What a rule ties to its pref takes a
 * detour: it is copied to a free pref next to it, and comes back.
 */
#include "daemon/engine/heal.h"

#include <errno.h>

#include "config/base/log.h"
#include "daemon/engine/apply.h"
#include "daemon/engine/wanted.h"

#define HEAL_MOST 4096		     /* protos at once */
#define HEAL_AGAIN_NS 30000000000ULL /* after one that failed */

static bool worth_it(struct engine_owner *o, const struct block *block)
{
	/* As judge.c asks: what was not changed since is told again. */
	struct bypass_words words = {
		.filters = o->filters,
		.block_wanted = block,
		.file = o->config->file,
		.version = o->users.version,
	};
	struct bypass_report report = { 0 };

	return bypass_judge(o->bypass, block->id, o->found, &words, &report) == 0 &&
	       bypass_worth_healing(report.state, block);
}

static size_t collect(struct engine_owner *o, struct pref_avoid *away, size_t most)
{
	_cleanup_free_ struct bypass_proto *protos = calloc(most, sizeof(*protos));
	size_t n = 0;

	if (!protos)
		return 0;
	for (size_t i = 0; i < state_count(o->config->wanted, KIND_BLOCK) && n < most; i++) {
		const struct block *block = state_at(o->config->wanted, KIND_BLOCK, i);
		size_t got;

		if (!worth_it(o, block))
			continue;
		got = bypass_to_heal(o->bypass, block->id, o->found, protos, most - n);
		for (size_t j = 0; j < got; j++)
			away[n++] = (struct pref_avoid){
				.block = block->id,
				.chain = protos[j].chain,
				.pref = protos[j].pref,
			};
	}
	return n;
}

static void tell(struct engine_owner *o, size_t prefs, size_t steps)
{
	o->repairs += prefs;
	owner_event(o, ENGINE_EVENT_REPAIRED, "bypass",
		    "%zu marked prefs were rebuilt in %zu steps", prefs, steps);
	log_notice("bypass: %zu marked prefs were rebuilt in %zu steps", prefs, steps);
}

/* All of the plan, or all as it was. */
static int carry_out(struct engine_owner *o, const struct plan *plan, struct diags *d)
{
	_cleanup_(apply_clear) struct apply apply = { 0 };
	int r = apply_run(o, plan, APPLY_ALL, d, &apply);

	if (r < 0)
		apply_undo(o, &apply, d);
	return r;
}

static int move(struct engine_owner *o, const struct pref_avoid *away, size_t n, struct diags *d)
{
	_cleanup_(state_freep) struct state *filters = NULL;
	_cleanup_(plan_clear) struct plan plan = { 0 };
	int r = candidate_move(o, away, n, d, &filters);

	if (r == 0)
		r = wanted_plan(o, o->config, filters, PLAN_HEAL, &plan);
	if (r == 0 && plan.count == 0)
		r = -ENOSPC;
	if (r == 0)
		r = carry_out(o, &plan, d);
	if (r < 0)
		return r;
	state_free(o->filters);
	o->filters = take(filters);
	users_forget(&o->users);
	o->touched.all = true;
	tell(o, n, plan.count);
	return 0;
}

/* The filters of one pref, as they are wanted. -EAGAIN: repair comes first. */
static int list_wanted(const struct engine_owner *o, const struct pref_avoid *at,
		       const struct filter ***ret, size_t *ret_n)
{
	struct filter key = {
		.obj.kind = KIND_FILTER, .block = at->block, .chain = at->chain, .pref = at->pref
	};
	_cleanup_free_ const struct filter **list = NULL;
	size_t n = 0, space = 0;

	for (size_t i = state_lower(o->found, &key); i < state_count(o->found, KIND_FILTER); i++) {
		const struct filter *f = state_at(o->found, KIND_FILTER, i);
		const struct filter *wanted = state_find(o->filters, f);
		int r;

		if (f->block != at->block || f->chain != at->chain || f->pref != at->pref)
			break;
		if (!wanted || !kind_ops(KIND_FILTER)->satisfied(&wanted->obj, &f->obj))
			return -EAGAIN;
		r = grow(&list, &space, n, sizeof(*list));
		if (r < 0)
			return r;
		list[n++] = wanted;
	}
	*ret = take(list);
	*ret_n = n;
	return 0;
}

static int add_steps(struct plan *plan, enum kernel_op op, const struct filter *const *list,
		     size_t n, uint16_t pref)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		_cleanup_object_ struct filter *f = filter_copy(list[i]);

		if (!f)
			return -ENOMEM;
		f->pref = pref;
		r = op == KERNEL_ADD ? plan_add(plan, op, STEP_HEAL, &f->obj, NULL)
				     : plan_add(plan, op, STEP_HEAL, NULL, &f->obj);
	}
	return r;
}

/* -ENOENT: there is no room beside it. */
static int detour(struct engine_owner *o, const struct pref_avoid *at, struct diags *d)
{
	_cleanup_free_ const struct filter **list = NULL;
	_cleanup_(plan_clear) struct plan plan = { 0 };
	size_t n = 0;
	uint16_t beside;
	int r = list_wanted(o, at, &list, &n);

	if (r < 0 || n == 0)
		return r;
	beside = bypass_free_beside(o->found, list[0]);
	if (!beside)
		return -ENOENT;
	r = add_steps(&plan, KERNEL_ADD, list, n, beside);
	if (r == 0)
		r = add_steps(&plan, KERNEL_REMOVE, list, n, at->pref);
	if (r == 0)
		r = add_steps(&plan, KERNEL_ADD, list, n, at->pref);
	if (r == 0)
		r = add_steps(&plan, KERNEL_REMOVE, list, n, beside);
	if (r == 0)
		r = carry_out(o, &plan, d);
	if (r == 0)
		tell(o, 1, plan.count);
	return r;
}

/* True if a rule says that very pref. */
static bool is_tied(const struct engine_owner *o, const struct pref_avoid *at)
{
	const struct filter key = {
		.obj.kind = KIND_FILTER, .block = at->block, .chain = at->chain, .pref = at->pref
	};
	size_t i = state_lower(o->filters, &key);
	const struct filter *f;

	if (i >= state_count(o->filters, KIND_FILTER))
		return false;
	f = state_at(o->filters, KIND_FILTER, i);
	return f->block == at->block && f->chain == at->chain && f->pref == at->pref && f->rule &&
	       f->rule->pref;
}

/* Moves what may move, and then leads what may not around. The first error, and how many stay. */
static int heal(struct engine_owner *o, struct pref_avoid *away, size_t n, struct diags *d,
		bool *ret_changed, size_t *ret_stuck)
{
	size_t free_count = 0, stuck = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_tied(o, &away[i]))
			continue;
		struct pref_avoid swapped = away[free_count];

		away[free_count++] = away[i];
		away[i] = swapped;
	}
	if (free_count)
		r = move(o, away, free_count, d);
	*ret_changed = free_count && r == 0;
	for (size_t i = free_count; i < n && r == 0; i++) {
		r = detour(o, &away[i], d);
		*ret_changed |= r == 0;
		stuck += r == -ENOENT;
		r = r == -ENOENT || r == -EAGAIN ? 0 : r;
	}
	*ret_stuck = stuck;
	return r;
}

bool heal_run(struct engine_owner *o)
{
	_cleanup_free_ struct pref_avoid *away = NULL;
	_cleanup_(diags_freep) struct diags *d = NULL;
	uint64_t now = now_monotonic_ns();
	bool changed = false;
	size_t n, stuck = 0;
	int r;

	if (!o->config || !o->filters || o->ability != BYPASS_ABILITY_MARKS || now < o->heal_due)
		return false;
	away = calloc(HEAL_MOST, sizeof(*away));
	d = diags_new(o->config->file);
	if (!away || !d)
		return false;
	n = collect(o, away, HEAL_MOST);
	if (n == 0) {
		alert_end(&o->alerts, "heal", "bypass");
		return false;
	}
	r = heal(o, away, n, d, &changed, &stuck);
	if (r == 0 && stuck == 0)
		return changed;
	o->heal_due = now + HEAL_AGAIN_NS;
	owner_sooner(&o->repair_due, o->heal_due);
	if (r == 0)
		alert_set(&o->alerts, "heal", "bypass",
			  "%zu marked prefs can't be rebuilt: their rules say the pref, and none "
			  "beside it is free",
			  stuck);
	else
		alert_set(&o->alerts, "heal", "bypass", "marked prefs can't be rebuilt: %s",
			  diags_count(d) ? diags_at(d, 0)->text : strerror(-r));
	return changed || r < 0;
}
