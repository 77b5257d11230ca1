/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobs: those that wait for the engine, and which of them one apply answers. Of applies that wait
 * together only the last is carried out, since it would undo what the others did: one runs, one is
 * pending, the last file wins, and each caller gets the outcome that covers it, or the errors of
 * its own text. Not thread-safe.
 */
#ifndef SWD_ENGINE_JOBS_H
#define SWD_ENGINE_JOBS_H

#include "daemon/engine/engine.h"

struct jobs {
	struct job *first, **end;
	size_t applies; /* among them, of every kind */
};

/* What waits while a job runs, by how much of a hurry it is in. */
enum jobs_waiting {
	JOBS_OTHERS, /* or none */
	JOBS_APPLY,
	JOBS_PRESS, /* what has a deadline: a confirmation, the end of the engine */
};

void jobs_init(struct jobs *q);
void jobs_put(struct jobs *q, struct job *job);
/* To the front, in the list's order; but a JOB_STOP that is there stays the first. */
void jobs_put_back(struct jobs *q, struct job *list);
enum jobs_waiting jobs_waiting(const struct jobs *q);
/*
 * The next piece of work, NULL if there is none; a measurement only if nothing else waits, for it
 * takes seconds. A list of one job; or, if that is an apply for
 * good, with all such applies that wait behind it, up to the first job that an apply must not
 * overtake (a confirmation, a revert, a trial, an end). What only reads is overtaken.
 */
struct job *jobs_take(struct jobs *q);
/* The one of the list to carry out: its last. */
struct job *jobs_last(struct job *list);
/* Is its text one that could be carried out? 0; or -errno, with its results filled in. */
typedef int (*jobs_check_fn)(struct job *job, void *data);
/*
 * Once that was carried out: gives its outcome to those that it covers. Done, it covers all whose
 * own text is good: of each other text the first is checked. Refused or failed, those with the
 * same text and the same leave. Returns the others, whose turn comes still, and leaves *list to
 * those that are answered.
 */
struct job *jobs_cover(struct job **list, jobs_check_fn check, void *data);

#endif
