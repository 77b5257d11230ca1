/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history: what was in force before: asked for, shown, and brought back. The store has it all; a
 * generation that is brought back becomes a new one, so that history is only ever added to.
 */
#ifndef SWD_ENGINE_HISTORY_H
#define SWD_ENGINE_HISTORY_H

#include "daemon/engine/owner.h"

/* JOB_HISTORY, JOB_GENERATION and JOB_REVERT; they fill the job's results. */
void history_list(struct engine_owner *o, struct job *job);
void history_show(struct engine_owner *o, struct job *job);
/* An armed generation is taken back without a number and without a time; else as an apply. */
void history_revert(struct engine_owner *o, struct job *job);

#endif
