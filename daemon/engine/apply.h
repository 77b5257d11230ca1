/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * apply: carries a plan out. The only room that changes the kernel. Steps go in batches of one
 * kind, many messages in one send; after each batch found learns what was taken and events are
 * read, so that a device made by one batch has its number for the next. An error becomes a message
 * at the place of the rule that wanted it, with the kernel's words.
 */
#ifndef SWD_ENGINE_APPLY_H
#define SWD_ENGINE_APPLY_H

#include "daemon/engine/owner.h"
#include "daemon/engine/plan.h"

enum apply_mode {
	APPLY_ALL,  /* stop at the first batch with a refusal; the caller undoes */
	APPLY_EACH, /* a refused step stops no other */
};

struct apply {
	const struct plan *plan;	     /* the caller's; outlives this */
	bool undo;			     /* a way back: what is refused is said so */
	struct state *before, *owned_before; /* as they were; NULL for APPLY_EACH */
	enum kernel_outcome *outcomes;	     /* of each step; UNKNOWN is settled by reading back */
	int *errors;			     /* -errno of each refused step */
	size_t *said; /* 1 + the index of its message in d; 0: none was kept */
	size_t done, refused;
	size_t noted; /* removals that found nothing of ours to remove */
	/* How many messages the kernel was asked, by the room's own counting. */
	size_t sent;
};

/* Frees what apply_run() filled; ret of apply_run() starts as { 0 }, or with .undo. */
void apply_clear(struct apply *a);

/*
 * 0 if every step was done; -EIO if one was refused, its message in d; -ENOMEM; or what the store
 * said (then nothing was sent). Look at ret in every case.
 */
int apply_run(struct engine_owner *o, const struct plan *plan, enum apply_mode mode,
	      struct diags *d, struct apply *ret);
/*
 * Takes back what was done, last step first; what was there comes back as it was. 0, or -EIO with
 * what could not be undone in d.
 */
int apply_undo(struct engine_owner *o, const struct apply *a, struct diags *d);
/* Forgets that an object is ours, here and in the store. */
void apply_disown(struct engine_owner *o, const struct object *object);

#endif
