/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * commit: the only room that changes what is wanted. A text becomes a generation: load, check,
 * compile, noted in the store as "trying", diff, apply; then it is committed, or what was before is
 * back.
 */
#ifndef SWD_ENGINE_COMMIT_H
#define SWD_ENGINE_COMMIT_H

#include "daemon/engine/owner.h"

/* JOB_APPLY, JOB_PLAN and JOB_TEARDOWN; they fill the job's results. */
void commit_apply(struct engine_owner *o, struct job *job);
/* A later apply was carried out instead: was its own text good? 0, or -errno, and it is refused. */
int commit_check(struct engine_owner *o, struct job *job);
void commit_plan(struct engine_owner *o, struct job *job);
void commit_teardown(struct engine_owner *o, struct job *job);

/*
 * The first apply after a start. The file, if it is good; else the last generation that was; else
 * nothing, and an alert. What is there and as it should be is adopted without a change.
 */
void commit_start(struct engine_owner *o);

#endif
