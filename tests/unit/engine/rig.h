/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rig: an engine's owner over the kernel of paper, without threads: a test writes a file, lets it
 * start, breaks something, and lets it settle.
 */
#ifndef SWD_TESTS_UNIT_ENGINE_RIG_H
#define SWD_TESTS_UNIT_ENGINE_RIG_H

#include "daemon/engine/jobs.h"
#include "daemon/engine/owner.h"
#include "fake_kernel.h"

struct rig {
	char dir[64], config[96], state[96];
	struct pulse pulse;
	struct engine_owner *o;
	struct snapshot *newest;
	bool ready;
	enum jobs_waiting waiting; /* what waits behind a job */
	char events[64][400];	   /* "repaired about: text"; the last ones are dropped */
	size_t event_count;
};

/* A world of cpu0, lan1, lan2 (users of cpu0) and eth0, and a folder for files. */
void rig_begin(struct rig *r, enum bypass_ability ability);
void rig_end(struct rig *r);

void rig_write(struct rig *r, const char *yaml); /* NULL: no file */
void rig_start(struct rig *r);
void rig_make(struct rig *r); /* its first half: owner_start() is the caller's */
void rig_stop(struct rig *r); /* the kernel and the folder stay */
/* Works until there is nothing due within 300 ms. */
void rig_settle(struct rig *r);
/* Reloads the file; the caller frees the job. */
struct job *rig_reload(struct rig *r);
/* Applies a text (NULL: the file), for confirm_ms on trial (0: for good); likewise. */
struct job *rig_apply(struct rig *r, const char *yaml, uint32_t confirm_ms);
/* Any other job, about a generation. */
struct job *rig_job(struct rig *r, enum job_type type, uint64_t target);
/* The same, and it must have succeeded. Returns how many requests the kernel got. */
size_t rig_reload_ok(struct rig *r);
/* The same, and its k-th request is refused: the kernel must hold what it held. */
void rig_reload_reverts(struct rig *r, size_t k);

/* Runs SQL on the store of an engine that is stopped. */
void rig_sql(struct rig *r, const char *sql);
bool rig_has_event(const struct rig *r, const char *part);
const struct alert *rig_alert(const struct rig *r, const char *id);
/* Two of fake_text(); prints what differs. */
void assert_same_kernel(const char *before, const char *after);
/* Takes over a text and gives it back without the lines that have `part`. */
char *without(char *text, const char *part);

#endif
