/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owner: all that the engine thread knows, and its dispatch. Wanted is written only by commit,
 * found only by observe, the kernel only by apply; everybody here may read. It knows no loop and no
 * thread, so tests drive it step by step: engine.c gives it jobs, tells it when the kernel's events
 * can be read, and calls owner_tick() when owner_due() has come.
 */
#ifndef SWD_ENGINE_OWNER_H
#define SWD_ENGINE_OWNER_H

#include "daemon/engine/alerts.h"
#include "daemon/engine/backoff.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/flaps.h"
#include "daemon/engine/jobs.h"
#include "daemon/engine/own_file.h"
#include "daemon/engine/places.h"
#include "daemon/engine/pulse.h"
#include "daemon/engine/seen.h"
#include "daemon/engine/store_generation.h"
#include "daemon/engine/turns.h"
#include "daemon/engine/users.h"
#include "daemon/engine/ways.h"

#define OWNER_NEVER UINT64_MAX

/* What the owner tells upward; in the engine thread. */
struct owner_listener {
	void (*snapshot)(struct snapshot *s, void *data); /* takes over the reference */
	void (*event)(const struct engine_event *e, void *data);
	void (*ready)(void *data);
	/* Of a job that wants to know; NULL: nobody does. */
	void (*progress)(struct job *job, const struct job_progress *p, void *data);
	/* What waits for the job that runs? NULL: nothing ever does. */
	enum jobs_waiting (*waiting)(void *data);
	void *data;
};

/* What may be out of date in found, and is to be dumped again. */
struct stale {
	bool links, addresses, qdiscs, tx, all_blocks;
	bool unknown; /* events were lost: the history of all blocks too */
	uint32_t *blocks;
	size_t count, space;
};

/* The block that is being read, and those to come: only for observe_walk.c. */
struct walk {
	uint64_t due; /* monotonic; OWNER_NEVER: nothing is to be read */

	bool all; /* the bound blocks from `next` on */
	uint32_t next;
	bool all_stale, all_unknown;

	enum {
		WALK_NONE,
		WALK_READ, /* part after part */
		WALK_SIFT, /* what is in found and was not read: is to be asked for */
		WALK_ASK,
		WALK_COMPARE, /* what is wanted and is not in found */
	} phase;
	uint32_t block;
	bool stale, unknown; /* more than an audit; the history of its marks as well */
	bool again;	     /* it is read a second time */
	size_t at;	     /* how far the phase is */
	struct seen seen;    /* the filters that were read and put into found */
	struct state *heard; /* keys of those heard of meanwhile, which is newer */
	struct state *missing;
};

struct engine_owner {
	char *config_path, *state_dir;
	uint32_t instance; /* in our filters' cookies: told by the state folder */
	struct owner_listener listener;
	struct pulse *pulse;
	struct kernel *kernel;

	enum bypass_ability ability;
	const char *ability_how;
	struct bypass *bypass;

	/* Wanted. Only commit (and heal, which moves prefs) writes it. */
	struct config *config; /* NULL before the first good file */
	struct state *filters; /* compiled; NULL likewise */
	struct users users;    /* of the devices that `filters` name */
	uint64_t generation;   /* in force; 0: none */
	uint64_t text_hash;    /* of its text */
	bool text_quiet;       /* there was nothing to say of it */
	struct own_file own_file;
	/* Only confirm writes these. */
	struct deadline deadline; /* .generation 0: that in force needs no confirmation */
	struct generation back;	  /* what comes back at the deadline */
	struct state *before;	  /* see before.h; NULL: no records */
	uint64_t unrecorded;	  /* taken back, and the store does not know; 0: none */
	char unrecorded_words[96];
	uint64_t record_due; /* monotonic: when it is told again */
	enum apply_outcome last_outcome;
	uint64_t last_apply_ns;
	char last_error[512];

	/* Found. Only observe writes it. */
	struct state *found;
	struct stale stale;
	struct walk walk;
	struct places touched; /* all else is as wanted, and nothing waits or is in the way */
	struct state *ask;     /* keys to be asked for by name */
	uint64_t counters_ns;  /* realtime */
	uint64_t full_dump_ns; /* monotonic: of the last dump of everything */

	/* What is ours and carries no mark; the store holds the same. */
	struct store *store; /* NULL: there is none to write to */
	bool store_lost;     /* and there will be none before the next start */
	struct state *owned;

	bool qdiscs_read;	       /* since judge last looked: their counters are new */
	struct bypass_report *reports; /* for each wanted block, by id */
	size_t report_count;
	struct measured_list measured;
	struct turns turns; /* of the ports that are to be measured */
	struct ways ways;   /* of replacing, as far as the kernel told */
	struct alerts alerts;
	struct flaps flaps; /* of alerts and of bypasses, for the journal */
	struct backoff backoff;

	/* Monotonic times of what is to come; OWNER_NEVER: nothing. */
	uint64_t repair_due, audit_due, publish_due, ready_due;
	uint64_t repaired_ns; /* the end of the last repair */
	uint64_t start_due;   /* of another first look */
	uint64_t measure_due; /* a port may be to be measured */
	uint64_t look_due;    /* at links, of which something was missing */
	uint32_t looks;	      /* done since the last new one */
	uint64_t trim_due;    /* memory goes back to the system */
	uint64_t published_ns;
	uint64_t snapshot_number;
	uint64_t repairs;
	uint64_t heal_due; /* not before, after a heal that failed */
	bool settled;	   /* all found is as wanted, as far as is known */
	bool ready, judge;
	size_t waiting; /* objects that wait for a port */
};

/*
 * Opens the kernel's sockets in this network namespace; the thread that calls owner_start() may be
 * another. 0 or -errno.
 */
int owner_new(const struct engine_options *options, const struct owner_listener *listener,
	      struct pulse *pulse, struct engine_owner **ret);
void owner_free(struct engine_owner *o);
DEFINE_CLEANUP(struct engine_owner *, owner_free);

/* Store, probe, first dump, first apply. What fails becomes an alert. */
void owner_start(struct engine_owner *o);
/* Store and first dump alone: nothing becomes wanted. For the teardown. 0 or -errno. */
int owner_look(struct engine_owner *o);
/* Does the job and fills in its results; done() is the caller's. */
void owner_job(struct engine_owner *o, struct job *job);
/* Of an apply that is not carried out: 0 if its text could be; else -errno, and it is refused. */
int owner_check(struct engine_owner *o, struct job *job);
/* Reads events; true if more are left. */
bool owner_readable(struct engine_owner *o);
/* When owner_tick() wants to be called (monotonic), or OWNER_NEVER. */
uint64_t owner_due(const struct engine_owner *o);
void owner_tick(struct engine_owner *o);

/* ---- for the rooms of the engine ---- */

/* Something was found changed: repair at once, or a settle time after the last repair; judge the
 * bypass, tell clients. */
void owner_changed(struct engine_owner *o);
/* Clients should get a new snapshot. */
void owner_news(struct engine_owner *o);
void owner_event(struct engine_owner *o, enum engine_event_type type, const char *about,
		 const char *fmt, ...) _printf_(4, 5);
/* Between two pieces of a long work: takes events and repairs. */
void owner_between(struct engine_owner *o);
/* The settings in force: the file's, or the defaults. */
const struct daemon_settings *owner_settings(const struct engine_owner *o);
/* Tells the operator that the store failed (r < 0), or that it works. */
void owner_store_result(struct engine_owner *o, const char *what, int r);

static inline void owner_sooner(uint64_t *due, uint64_t at)
{
	if (at < *due)
		*due = at;
}

#endif
