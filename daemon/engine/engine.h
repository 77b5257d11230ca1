/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine: the thread that does everything that may wait for the kernel or the disk. The loop thread
 * gives it jobs and gets snapshots and events; they share nothing else. engine_*() functions are
 * for the loop thread; callbacks run there.
 */
#ifndef SWD_ENGINE_ENGINE_H
#define SWD_ENGINE_ENGINE_H

#include <sys/types.h>

#include "config/base/diag.h"
#include "daemon/engine/pulse.h"
#include "daemon/engine/store_generation.h"
#include "daemon/loop.h"

struct engine;

struct engine_options {
	const char *config_path;
	const char *state_dir;
};

enum job_type {
	JOB_APPLY,    /* text, or NULL: the file at config_path */
	JOB_PLAN,     /* the same, and changes nothing */
	JOB_COUNTERS, /* reads the counters of `block` (0: all) into a new snapshot */
	JOB_STOP,     /* ends the engine after what runs now; the kernel keeps everything */
	JOB_TEARDOWN, /* removes all that is ours */
	JOB_CONFIRM,  /* the generation that is in force on trial stays */
	JOB_REVERT,   /* back to the text of generation `target`; 0: the one before, at once if that
			 in force is on trial */
	JOB_HISTORY,
	JOB_GENERATION, /* all of generation `target`; 0: that in force */
	JOB_MEASURE,	/* how many frames should share a doorbell on `port` */
};

/* Why a job was refused that could be done otherwise; `words` say it to people. */
enum job_refusal {
	JOB_ALLOWED,
	JOB_ARMED,	   /* another generation waits for its confirmation */
	JOB_NOT_ARMED,	   /* none does */
	JOB_NO_GENERATION, /* there is no such one, or it was never committed */
	JOB_NOT_MEASURED,  /* the port can't be measured, or not now */
	JOB_NEEDS_GAP,	   /* a rule can't be replaced without a gap, and none was allowed */
};

/* How far a measurement is. */
struct job_progress {
	uint32_t done, total; /* slices, roughly */
	uint32_t frames;      /* to a doorbell, that are tried now; 0: none yet */
};

struct job {
	enum job_type type;
	char *text; /* owned; JOB_APPLY, JOB_PLAN, JOB_REVERT */
	size_t text_size;
	char name[DIAG_FILE_MAX + 1]; /* what messages call the text; "": they say "given text" */
	uint32_t block;
	uint64_t target;	  /* a generation */
	char port[IFNAMSIZ];	  /* JOB_MEASURE */
	bool force;		  /* JOB_MEASURE: although others use it */
	_Atomic bool unwanted;	  /* JOB_MEASURE: who asked has gone; told by the loop */
	uint32_t confirm_ms;	  /* JOB_APPLY, JOB_REVERT: on trial for so long; 0: for good */
	bool allow_gap;		  /* JOB_APPLY, JOB_REVERT: see trial.h */
	uid_t uid;		  /* who asked: for the store's history */
	char who[GENERATION_WHO]; /* "sw-cli pid 123", "SIGHUP", "start" */
	char why[GENERATION_WHY_TEXT]; /* what they say it is for; at most GENERATION_WHY bytes */

	/* Results, valid in done(). */
	int result; /* 0, or -errno: -EINVAL with diags when the file is wrong */
	enum apply_outcome outcome;
	uint64_t generation;
	struct diags *diags;		 /* errors and warnings with places; may be NULL */
	char *plan_json;		 /* JOB_PLAN and JOB_APPLY: what was (to be) done; owned */
	size_t steps;			 /* how many */
	size_t removed;			 /* JOB_TEARDOWN: how many of them were done */
	char covered_by[GENERATION_WHO]; /* JOB_APPLY: who asked for the later one that was carried
					    out in its stead; "": it was itself */
	enum job_refusal refusal;
	char words[256];	  /* with a refusal, or why it failed without diags; "" */
	struct armed armed;	  /* what waits for its confirmation behind the job */
	struct measured measured; /* JOB_MEASURE; `words` say it to people */
	struct generation *list;  /* JOB_HISTORY, JOB_GENERATION; owned, each of them too */
	size_t list_count;

	/* Runs in the loop thread, now and then until done(); may be NULL. JOB_MEASURE alone. */
	void (*progress)(const struct job_progress *p, void *data);
	/* Runs in the loop thread, once, also when the engine stops before the job's turn
	 * (-ECANCELED). The job is freed behind it. */
	void (*done)(struct job *job, void *data);
	void *data;
	struct job *next; /* the engine's */
};

struct job *job_new(enum job_type type);
void job_free(struct job *job);

/* Something happened: for `monitor`, journal lines and metrics. */
enum engine_event_type {
	ENGINE_EVENT_APPLIED,
	ENGINE_EVENT_REPAIRED,
	ENGINE_EVENT_BYPASS,
	ENGINE_EVENT_FOREIGN,
	ENGINE_EVENT_PORT,
	ENGINE_EVENT_LOST,
	ENGINE_EVENT_ALERT,
	ENGINE_EVENT_ARMED,
	ENGINE_EVENT_CONFIRMED,
	ENGINE_EVENT_REVERTED,
	ENGINE_EVENT_MEASURED,
};
struct engine_event {
	enum engine_event_type type;
	uint64_t at_ns; /* realtime */
	char about[64];
	char text[256];
};
const char *engine_event_name(enum engine_event_type t);

struct engine_listener {
	void (*snapshot)(struct snapshot *s, void *data); /* a newer one is there */
	void (*event)(const struct engine_event *e, void *data);
	void (*ready)(void *data); /* the first apply is over and ports were waited for: once */
	void *data;
};

/* Starts the thread. loop: of the loop thread; engine_stop() comes before it is freed. 0 or -errno.
 */
int engine_start(struct loop *loop, const struct engine_options *options,
		 const struct engine_listener *listener, struct engine **ret);
/* Ends the thread and frees all; waits at most wait_ms, then -ETIMEDOUT and the process should
 * exit. */
int engine_stop(struct engine *e, uint32_t wait_ms);

/* Takes over the job. Of applies that wait together the last is carried out for all: jobs.h. */
void engine_submit(struct engine *e, struct job *job);

/* What takes its time. */
struct engine_work {
	enum pulse_task task;
	uint32_t done, total; /* steps; total 0: they are not known yet */
	uint64_t for_ns;      /* how long it has been at it */
	size_t waiting;	      /* applies behind it */
};
void engine_work(struct engine *e, struct engine_work *ret);

/* The newest snapshot, a reference; never NULL after engine_start(). */
struct snapshot *engine_snapshot(struct engine *e);

/*
 * For the watchdog: true while the engine moves, waits for work, or is known to wait in the kernel.
 * False when it has sat in one piece of work of its own for more than `stuck_ms`.
 */
bool engine_alive(const struct engine *e, uint32_t stuck_ms);
/* True while it does something, be it that it waits in the kernel; false: it waits for work. */
bool engine_busy(const struct engine *e);

#endif
