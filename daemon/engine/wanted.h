/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wanted: from text to what the kernel shall hold: load, check, compile. Nothing is committed here;
 * a candidate is thrown away if it is no good. Also the two short ways to a plan that everyone
 * takes.
 */
#ifndef SWD_ENGINE_WANTED_H
#define SWD_ENGINE_WANTED_H

#include "daemon/engine/owner.h"
#include "daemon/engine/plan.h"
#include "daemon/policy/compile.h"

struct candidate {
	struct config *config;
	struct state *filters;
};
void candidate_clear(struct candidate *c);

/* 0; -EINVAL with errors in d; or -ENOMEM. */
int candidate_make(struct engine_owner *o, const char *text, size_t size, struct diags *d,
		   struct candidate *ret);
/*
 * The same rules in other prefs: those filters of what is wanted now that stand in one of the
 * protos are moved, all others stay.
 */
int candidate_move(struct engine_owner *o, const struct pref_avoid *away, size_t n, struct diags *d,
		   struct state **ret);

enum plan_for {
	PLAN_TRIAL, /* what is there is in use: gaps are avoided, or told */
	PLAN_MEND,  /* what is there is broken, or may go */
	PLAN_HEAL,  /* the same filters in other prefs */
};
/* The plan from found to these; NULLs: nothing is wanted. ret starts as { 0 }. */
int wanted_plan(const struct engine_owner *o, const struct config *config,
		const struct state *filters, enum plan_for why, struct plan *ret);
/* What may have to be done for what is wanted now: looks where something was touched. */
int wanted_work(const struct engine_owner *o, struct plan *ret);

#endif
