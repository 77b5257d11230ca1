/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trial: one text on its way to be wanted; what commit.c, start.c and confirm.c share.
 */
#ifndef SWD_ENGINE_TRIAL_H
#define SWD_ENGINE_TRIAL_H

#include "daemon/engine/owner.h"
#include "daemon/engine/plan.h"
#include "daemon/engine/wanted.h"

struct trial {
	const char *text; /* not owned, or `read` */
	char *read;	  /* owned: what was read from the file */
	size_t size;
	uint64_t hash;	       /* of the text, once it is prepared */
	const char *who, *why; /* why may be NULL */
	uid_t uid;
	uint64_t reverts;    /* the generation whose text it is, or 0 */
	uint32_t confirm_ms; /* it is to be confirmed within; 0: it is committed at once */
	struct diags *diags; /* the caller's */
	bool allow_gap;	     /* a rule may have none of its filters in force for a moment */
	bool lenient; /* what something foreign stands in the way of is left out, not refused */

	struct candidate candidate;
	struct plan plan;
	bool blocked;
	bool gapped; /* there is a gap in the plan that nobody allowed */
	enum apply_outcome outcome;
	size_t changes;
};

/* Frees all but what is the caller's. */
void trial_clear(struct trial *t);
/* The text of the daemon's file; 0 or -errno with an error in the diags. */
int trial_read_file(struct engine_owner *o, struct trial *t);
/* Load, check, compile, look, diff. Changes nothing. 0, -EINVAL with errors, or -errno. */
int trial_prepare(struct engine_owner *o, struct trial *t);
/* What something foreign stands in the way of becomes messages; so do gaps. */
void trial_conflicts(struct trial *t);
/*
 * Carries it out: the outcome in t, 0 or -errno. After APPLY_DONE it is what is wanted: committed,
 * or armed.
 */
int trial_run(struct engine_owner *o, struct trial *t);
/* Takes the candidate as wanted; the kernel is brought there by repair. */
void trial_adopt(struct engine_owner *o, struct trial *t, uint64_t generation);
/* Notes the outcome for clients; returns result. */
int trial_end(struct engine_owner *o, struct trial *t, enum apply_outcome outcome, int result);
/* The line of the first error; "" if there is none. */
void trial_first_error(const struct diags *d, char *to, size_t size);
/* What is wrong with a text, to the log: up to 100 lines, and how many more. NULL: nothing. */
void trial_log(const struct diags *d);
/* The plan for whoever asked for an apply; left out if it has more than 1,000 steps. */
void trial_tell_plan(const struct trial *t, char **ret);
uint64_t trial_hash(const char *text, size_t size);

#endif
