/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snapshot: what the engine tells the rest of the process: a picture of everything at one moment,
 * shared by reference count and never changed. The loop thread answers clients from the newest one.
 */
#ifndef SWD_ENGINE_SNAPSHOT_H
#define SWD_ENGINE_SNAPSHOT_H

#include "config/model/config.h"
#include "daemon/engine/measured.h"
#include "daemon/engine/own_file.h"
#include "daemon/engine/turns.h"
#include "daemon/policy/bypass.h"

enum apply_outcome {
	APPLY_NONE, /* nothing was ever applied */
	APPLY_DONE,
	APPLY_REFUSED,	/* the file was wrong: nothing was tried */
	APPLY_REVERTED, /* the kernel refused; what was before is back */
	APPLY_FAILED,	/* the kernel refused, and undoing failed too */
};

/* Something an operator should know of now. */
struct alert {
	char id[32];	/* stable: "bypass-off", "port-waiting", "store", "drift", "foreign" */
	char about[64]; /* "block edge", "port lan3" */
	char text[256];
	uint64_t since_ns; /* realtime */
};

/* A generation that is in force until it is confirmed or its time is over. */
struct armed {
	uint64_t generation; /* 0: there is none */
	uint64_t back_to;    /* what comes back then */
	uint32_t confirm_ms; /* how long it was given */
	uint64_t until_ns;   /* clock_boot_ns() */
};

struct snapshot {
	uint32_t refs;	  /* atomic */
	uint64_t number;  /* rises with each one */
	uint64_t made_ns; /* realtime */

	uint64_t generation; /* in force; 0: none */
	struct armed armed;
	enum apply_outcome last_outcome;
	uint64_t last_apply_ns; /* realtime; 0: never */
	char last_error[512]; /* first error of the last apply, with its place; "" if it was fine */

	char own_path[256]; /* the daemon's own file */
	enum own_file_state own_file;
	struct config *config; /* wanted, as written; NULL before the first good file */
	struct state *filters; /* wanted filters, compiled; NULL likewise */
	struct state *found;   /* what the kernel holds */
	struct state *owned;   /* what is ours and carries no mark */
	uint64_t counters_ns;  /* realtime: when filter counters in `found` were read */

	enum bypass_ability ability;
	char ability_how[128];
	char kernel_release[65];
	struct bypass_report *bypass; /* one for each wanted block, in order of id */
	size_t bypass_count;

	struct measured_list measured;
	struct turns turns; /* of ports that are to be measured (again) */

	struct alert *alerts;
	size_t alert_count;

	struct kernel_counts counts;
	uint64_t repairs; /* objects put right since start */
	bool settled;	  /* nothing to do that swd knows of */
};

struct snapshot *snapshot_ref(struct snapshot *s);
void snapshot_unref(struct snapshot *s);
DEFINE_CLEANUP(struct snapshot *, snapshot_unref);

const struct bypass_report *snapshot_bypass(const struct snapshot *s, uint32_t block);
const char *apply_outcome_name(enum apply_outcome o); /* "done", "refused", ... */

#endif
