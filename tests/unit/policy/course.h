/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * course: a block's rules, what becomes of them in some edits, and packets that come by all the
 * while. Each list is loaded, compiled with the filters before it, and brought into a kernel of
 * paper step by step, as an apply does. Whoever reads the list must see the same decisions there:
 * - at rest each packet meets what a walk over the list says, and nothing else in that pref;
 * - on the way each packet meets what it met before or what it meets afterwards;
 * - the same list again is the same filters in the same places, and no step.
 */
#ifndef SWD_TESTS_COURSE_H
#define SWD_TESTS_COURSE_H

#include "daemon/policy/profile.h"
#include "tests/unit/policy/written.h"

#define COURSE_LISTS 6
#define COURSE_PACKETS 64

struct course {
	struct profile profile;
	bool shortcut; /* the kernel has no bypass of its own */
	size_t count;
	struct written_block lists[COURSE_LISTS];
	size_t packet_count;
	struct packet packets[COURSE_PACKETS];
};

struct course_tally {
	size_t lists, rules, filters, shared; /* shared: filters that have their pref with others */
	size_t packets, hits, tagged, chained, software;
	size_t edits, steps, adds, changes, removes, looks;
	size_t moved;		       /* filters of unchanged rules that were put elsewhere */
	size_t gaps, gaped, gap_looks; /* edits whose plan has a gap, and where packets met it */
	size_t mixed, mixed_looks;     /* where chains of both lists decided on one packet */
};

enum course_end {
	COURSE_HOLDS,
	COURSE_FAILS,
	COURSE_IS_NONE, /* the language or the profile takes some list not */
};
/* Why: for people; and which packet. */
struct course_failure {
	size_t list, packet;
	char text[3000];
};
enum course_end course_run(const struct course *c, struct course_tally *t,
			   struct course_failure *ret);

/* ---- making them (course_random.c) ---- */

void course_random(struct dice *d, struct course *ret);
void course_clear(struct course *c);
/* Takes away what the failure does not need; ret: the failure that is left. */
void course_shrink(struct course *c, struct course_failure *ret);
void course_print(const struct course *c, const struct course_failure *f, FILE *to);

#endif
