/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * confirm: a generation that is in force on trial. Until it is confirmed the one before it stays
 * the committed one; when the deadline passes, that comes back by the road of every apply. The
 * deadline is in the store, so that it outlasts swd; the text to go back to is held in memory, so
 * that the way back needs no disk.
 */
#ifndef SWD_ENGINE_CONFIRM_H
#define SWD_ENGINE_CONFIRM_H

#include "daemon/engine/owner.h"

/*
 * In front of a trial that is to be confirmed: reads what it would go back to. 0; or -errno with an
 * error in d, and then nothing must be changed.
 */
int confirm_prepare(struct engine_owner *o, struct diags *d);
/* The trial is in force. */
void confirm_arm(struct engine_owner *o, const struct deadline *d, const char *who);
/* Behind a trial: what was prepared is forgotten if nothing is armed. */
void confirm_settle(struct engine_owner *o);
/*
 * After a start: the armed generation is in force again, and waits on. Takes over what it would go
 * back to.
 */
void confirm_resume(struct engine_owner *o, const struct deadline *d, struct generation *back);

bool confirm_is_armed(const struct engine_owner *o);
/* For clients; all 0 if nothing is armed. */
struct armed confirm_armed(const struct engine_owner *o);
/* The committed generation; it is not the one in force while that waits. */
uint64_t confirm_committed(const struct engine_owner *o);
/* Refuses a job since something is armed. */
void confirm_refuse(const struct engine_owner *o, struct job *job);

/* When confirm_tick() wants to be called (monotonic), or OWNER_NEVER. */
uint64_t confirm_due(const struct engine_owner *o);
void confirm_tick(struct engine_owner *o);

/* JOB_CONFIRM. */
void confirm_job(struct engine_owner *o, struct job *job);
/* JOB_REVERT, when it takes back what is armed. */
void confirm_back(struct engine_owner *o, struct job *job);
/* Nothing is wanted any more, so nothing shall come back. */
void confirm_forget(struct engine_owner *o);

/*
 * A generation is taken back, for the reason in words ("not confirmed within 60s"): into the store,
 * before anything else; and told to everyone, once the one before it is in force.
 */
void confirm_record_back(struct engine_owner *o, uint64_t generation, const char *words);
void confirm_tell_back(struct engine_owner *o, uint64_t generation, const char *words);
/* Tells if the file on disk is one that was taken back: a start will not take it. */
void confirm_check_file(struct engine_owner *o);
/* "not confirmed", "reverted": what became of a shunned generation. */
const char *confirm_word(const struct generation *g);

#endif
