// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Moving filters out of marked protos: see heal.h. Which protos, the bypass room says; to which
 * prefs, compile; that additions come before removals, diff.
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
	struct bypass_words words = { .block_wanted = block };
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

static int move(struct engine_owner *o, const struct pref_avoid *away, size_t n, struct diags *d)
{
	_cleanup_(state_freep) struct state *filters = NULL;
	_cleanup_(plan_clear) struct plan plan = { 0 };
	_cleanup_(apply_clear) struct apply apply = { 0 };
	int r = candidate_move(o, away, n, d, &filters);

	if (r == 0)
		r = wanted_plan(o, o->config, filters, true, &plan);
	if (r < 0)
		return r;
	/* A rule that says its pref stays there. */
	if (plan.count == 0)
		return -ENOENT;
	r = apply_run(o, &plan, APPLY_ALL, d, &apply);
	if (r < 0) {
		apply_undo(o, &apply, d);
		return r;
	}
	state_free(o->filters);
	o->filters = take(filters);
	o->repairs += n;
	owner_event(o, ENGINE_EVENT_REPAIRED, "bypass",
		    "%zu marked prefs were rebuilt in %zu steps", n, plan.count);
	log_notice("bypass: %zu marked prefs were rebuilt in %zu steps", n, plan.count);
	return 0;
}

bool heal_run(struct engine_owner *o)
{
	_cleanup_free_ struct pref_avoid *away = NULL;
	_cleanup_(diags_freep) struct diags *d = NULL;
	uint64_t now = now_monotonic_ns();
	size_t n;
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
	r = move(o, away, n, d);
	if (r == 0)
		return true;
	o->heal_due = now + HEAL_AGAIN_NS;
	owner_sooner(&o->repair_due, o->heal_due);
	if (r == -ENOENT)
		alert_set(
			&o->alerts, "heal", "bypass",
			"%zu prefs keep a mark that ends the bypass, and their rules say the pref",
			n);
	else if (diags_count(d))
		alert_set(&o->alerts, "heal", "bypass", "marked prefs can't be rebuilt: %s",
			  diags_at(d, 0)->text);
	else
		alert_set(&o->alerts, "heal", "bypass", "marked prefs can't be rebuilt: %s",
			  strerror(-r));
	return r != -ENOENT;
}
