/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * before: how devices were before a generation on trial changed them. A file that says nothing of a
 * port leaves it as it is; so going back to such a file would leave a port down, or its MTU small,
 * that the trial made so. What a trial changes is recorded here and in the store before it begins,
 * and put back behind the file's own values when the trial is taken back.
 *
 * Records are ports (and parts of how they send) in a state: a name, and those values that were
 * changed, the oldest of each.
 */
#ifndef SWD_ENGINE_BEFORE_H
#define SWD_ENGINE_BEFORE_H

#include "daemon/engine/owner.h"
#include "daemon/engine/plan.h"

/* What the plan changes and no record says yet. 0 and a new state, which may be empty, or -ENOMEM.
 */
int before_collect(const struct engine_owner *o, const struct plan *plan, struct state **ret);
/* These are records from now on. 0 or -ENOMEM. */
int before_keep(struct engine_owner *o, const struct state *more);
/* Adds the steps that put back what is recorded, but for what the configuration says. 0 or -ENOMEM.
 */
int before_plan(const struct engine_owner *o, const struct config *config, struct plan *plan);

/* ---- before_tx.c: the same for how ports send ---- */

int before_tx_collect(const struct engine_owner *o, const struct step *step, struct state *into);
int before_tx_keep(struct engine_owner *o, const struct state *more);
int before_tx_plan(const struct engine_owner *o, const struct config *config, struct plan *plan);

/* True if there are records. */
bool before_any(const struct engine_owner *o);
/*
 * Nothing is on trial any more: puts back what is recorded, as far as the kernel lets us, and
 * forgets it; keeps it if memory is short.
 */
void before_put_back(struct engine_owner *o);
/* All is put back, or stays: forgets the records, here and in the store. */
void before_forget(struct engine_owner *o);

#endif
