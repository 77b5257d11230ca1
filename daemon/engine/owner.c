// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The engine thread's state, its birth and its dispatch: see owner.h.
 */
#include "daemon/engine/owner.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>

#include "config/base/log.h"
#include "daemon/engine/commit.h"
#include "daemon/engine/confirm.h"
#include "daemon/engine/history.h"
#include "daemon/engine/measure.h"
#include "daemon/engine/observe.h"
#include "daemon/engine/publish.h"
#include "daemon/engine/renames.h"
#include "daemon/engine/reopen.h"
#include "daemon/engine/repair.h"
#include "daemon/kernel/cookie.h"
#include "daemon/kernel/privilege.h"

#define MS 1000000ULL
#define START_AGAIN_MS 250 /* after a first look that failed */
#define DOUBT_MOST_MS 1000 /* so long clients go without news */
/* What an apply and the generation before it took goes back to the system once nobody reads it. */
#define TRIM_AFTER_MS 3000

static const struct daemon_settings defaults = {
	.settle_ms = 5,
	.audit_ms = 60000,
	.port_wait_ms = 10000,
	.history = HISTORY_DEFAULT,
	.log_level = LOG_LEVEL_INFO,
};

/* ---- what the other rooms call ---- */

const struct daemon_settings *owner_settings(const struct engine_owner *o)
{
	return o->config ? &o->config->daemon : &defaults;
}

void owner_news(struct engine_owner *o)
{
	owner_sooner(&o->publish_due, o->published_ns + PUBLISH_GAP_NS);
}

void owner_changed(struct engine_owner *o)
{
	owner_sooner(&o->repair_due, o->repaired_ns + owner_settings(o)->settle_ms * MS);
	o->judge = true;
	owner_news(o);
}

void owner_event(struct engine_owner *o, enum engine_event_type type, const char *about,
		 const char *fmt, ...)
{
	struct engine_event e = { .type = type, .at_ns = now_realtime_ns() };
	va_list ap;

	snprintf(e.about, sizeof(e.about), "%s", about);
	va_start(ap, fmt);
	vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	o->listener.event(&e, o->listener.data);
}

void owner_store_result(struct engine_owner *o, const char *what, int r)
{
	/* Why it is not open was said when it was to be opened. */
	if (r == -ENODEV && !o->store)
		return;
	if (r < 0 && r != -ENOENT)
		alert_set(&o->alerts, "store", "store", "%s: %s", what, strerror(-r));
	else if (o->store)
		alert_end(&o->alerts, "store", "store");
	owner_news(o);
}

static void on_alert(const struct alert *a, bool raised, void *data)
{
	struct engine_owner *o = data;

	flaps_changed(&o->flaps, a->id, a->about, now_monotonic_ns(),
		      raised ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "%s: %s: %s",
		      raised ? "alert" : "alert is over", a->about, a->text);
	owner_event(o, ENGINE_EVENT_ALERT, a->about, "%s%s", raised ? "" : "over: ", a->text);
	owner_news(o);
}

static void on_flap(enum log_level level, const char *line, void *data)
{
	log_write(level, "%s", line);
}

/* ---- birth and death ---- */

/*
 * Whose a filter is must not depend on what a disk keeps, or filters would be foreign once the
 * store is lost. So what tells one swd from another is where its state folder lies; its lock is the
 * one thing that two can't share.
 */
static uint32_t instance_of(const char *state_dir)
{
	_cleanup_free_ char *real = realpath(state_dir, NULL);
	const char *path = real ? real : state_dir;
	uint64_t hash = hash_bytes(HASH_START, path, strlen(path));

	return (uint32_t)(hash ^ hash >> 32);
}

int owner_new(const struct engine_options *options, const struct owner_listener *listener,
	      struct pulse *pulse, struct engine_owner **ret)
{
	_cleanup_(owner_freep) struct engine_owner *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return -ENOMEM;
	o->listener = *listener;
	o->pulse = pulse;
	o->ability_how = "not probed yet";
	o->touched.all = true;
	o->measure_due = OWNER_NEVER;
	o->start_due = o->look_due = o->trim_due = o->walk.due = OWNER_NEVER;
	o->repair_due = o->audit_due = o->publish_due = o->ready_due = OWNER_NEVER;
	o->config_path = strdup(options->config_path);
	o->state_dir = strdup(options->state_dir);
	o->found = state_new();
	o->ask = state_new();
	o->owned = state_new();
	if (!o->config_path || !o->state_dir || !o->found || !o->ask || !o->owned ||
	    alerts_init(&o->alerts, on_alert, o) < 0 || backoff_init(&o->backoff) < 0 ||
	    flaps_init(&o->flaps, on_flap, NULL) < 0)
		return -ENOMEM;
	r = kernel_open(&o->kernel);
	if (r < 0)
		return r;
	o->instance = instance_of(o->state_dir);
	kernel_set_instance(o->kernel, o->instance);
	*ret = take(o);
	return 0;
}

void owner_free(struct engine_owner *o)
{
	if (!o)
		return;
	config_unref(o->config);
	state_free(o->filters);
	users_forget(&o->users);
	state_free(o->found);
	state_free(o->ask);
	state_free(o->owned);
	observe_walk_clear(o);
	state_free(o->before);
	bypass_free(o->bypass);
	generation_clear(&o->back);
	store_close(o->store);
	kernel_close(o->kernel);
	alerts_clear(&o->alerts);
	flaps_clear(&o->flaps);
	backoff_clear(&o->backoff);
	ways_clear(&o->ways);
	free(o->reports);
	free(o->measured.list);
	turns_clear(&o->turns);
	free(o->stale.blocks);
	free(o->config_path);
	free(o->state_dir);
	free(o);
}

/* ---- start ---- */

static void probe(struct engine_owner *o)
{
	const char *how = "the probe failed";
	int r;

	pulse_wait(o->pulse);
	r = kernel_probe_bypass(&o->ability, &how);
	pulse_go(o->pulse);
	o->ability_how = how;
	privilege_drop(); /* nothing but the probe needs it */
	if (o->ability != BYPASS_ABILITY_MARKS)
		kernel_ignore_own_filters(o->kernel);
	if (r < 0) {
		o->ability = BYPASS_ABILITY_UNKNOWN;
		alert_set(&o->alerts, "probe", "bypass",
			  "the kernel's ability is not known: %s: %s", how, strerror(-r));
	}
}

static void read_owned(struct engine_owner *o)
{
	int r;

	if (!o->store)
		return;
	pulse_wait(o->pulse);
	r = store_owned(o->store, o->found, o->owned);
	pulse_go(o->pulse);
	if (r < 0)
		owner_store_result(o, "what is ours can't be read", r);
	else
		renames_since(o);
}

static int first_look(struct engine_owner *o)
{
	bool again = o->full_dump_ns != 0;
	int r;

	if (!o->bypass)
		o->bypass = bypass_new(o->ability);
	if (!o->bypass)
		return -ENOMEM;
	/* Events wait in the socket from here on; what happens during the dump comes behind it. */
	r = again ? observe_refresh(o) : observe_all(o, true);
	if (r < 0)
		return r;
	read_owned(o);
	measure_read(o);
	observe_events(o);
	return 0;
}

/* Nothing is in force before the kernel was read whole. On a busy machine that may take a while. */
static void begin(struct engine_owner *o)
{
	int r = first_look(o);

	if (r < 0) {
		o->start_due = now_monotonic_ns() + START_AGAIN_MS * MS;
		observe_tell(o, r);
		return;
	}
	o->start_due = OWNER_NEVER;
	observe_tell(o, r);
	/* An apply may have come before. */
	if (!o->config)
		commit_start(o);
}

static void check_ready(struct engine_owner *o, bool late)
{
	if (o->ready || (!late && (o->waiting || o->start_due != OWNER_NEVER)))
		return;
	o->ready = true;
	o->ready_due = OWNER_NEVER;
	o->listener.ready(o->listener.data);
}

/* What a bind or a lost event made doubtful is read before anything is said of it; but a big block
 * takes a while. */
static uint64_t publish_at(const struct engine_owner *o)
{
	bool waits = o->publish_due != OWNER_NEVER && observe_is_stale(o) && !o->walk.due;

	return o->publish_due + (waits ? DOUBT_MOST_MS * MS : 0);
}

/* What every piece of work ends with. */
static void after(struct engine_owner *o)
{
	if (publish_at(o) <= now_monotonic_ns())
		publish(o);
	if (o->ready_due != OWNER_NEVER)
		check_ready(o, false);
}

/* Nothing in it is doubtful, if that can be had. */
static void publish_true(struct engine_owner *o)
{
	observe_refresh(o);
	publish(o);
}

void owner_start(struct engine_owner *o)
{
	uint64_t now;

	reopen_first(o);
	probe(o);
	begin(o);
	now = now_monotonic_ns();
	o->audit_due = now + owner_settings(o)->audit_ms * MS;
	o->ready_due = now + owner_settings(o)->port_wait_ms * MS;
	o->trim_due = now + TRIM_AFTER_MS * MS;
	o->judge = true;
	publish_true(o);
	after(o);
}

int owner_look(struct engine_owner *o)
{
	reopen_first(o);
	if (!o->bypass)
		o->bypass = bypass_new(BYPASS_ABILITY_UNKNOWN);
	return o->bypass ? first_look(o) : -ENOMEM;
}

/* ---- dispatch ---- */

/* Before anything is told of it. */
static bool hear_and_repair(struct engine_owner *o)
{
	bool more = observe_events(o);

	if (o->repair_due <= now_monotonic_ns())
		repair_run(o);
	/* What the kernel room has read ahead wakes nobody: the next tick takes it. */
	if (more)
		owner_sooner(&o->repair_due, now_monotonic_ns());
	return more;
}

void owner_between(struct engine_owner *o)
{
	hear_and_repair(o);
}

static void counters(struct engine_owner *o, struct job *job)
{
	job->result = observe_counters(o, job->block, owner_between);
	o->judge = true;
	publish(o);
}

void owner_job(struct engine_owner *o, struct job *job)
{
	if (!o->bypass) {
		job->result = -ENOMEM;
		return;
	}
	switch (job->type) {
	case JOB_APPLY:
		commit_apply(o, job);
		publish_true(o); /* before done(): the caller's next question finds it */
		o->trim_due = now_monotonic_ns() + TRIM_AFTER_MS * MS;
		break;
	case JOB_PLAN:
		commit_plan(o, job);
		break;
	case JOB_COUNTERS:
		counters(o, job);
		break;
	case JOB_CONFIRM:
		confirm_job(o, job);
		measure_confirmed(o);
		publish_true(o);
		break;
	case JOB_REVERT:
		history_revert(o, job);
		publish_true(o);
		break;
	case JOB_HISTORY:
		history_list(o, job);
		break;
	case JOB_GENERATION:
		history_show(o, job);
		break;
	case JOB_MEASURE:
		measure_job(o, job);
		publish_true(o);
		break;
	case JOB_TEARDOWN:
		commit_teardown(o, job);
		publish_true(o);
		break;
	case JOB_STOP:
		break;
	}
	after(o);
}

int owner_check(struct engine_owner *o, struct job *job)
{
	int r = commit_check(o, job);

	after(o);
	return r;
}

bool owner_readable(struct engine_owner *o)
{
	bool more;

	if (!o->bypass)
		return false;
	more = hear_and_repair(o);
	after(o);
	return more;
}

uint64_t owner_due(const struct engine_owner *o)
{
	uint64_t due = MIN(MIN(o->repair_due, o->audit_due), MIN(publish_at(o), o->ready_due));

	due = MIN(MIN(due, flaps_due(&o->flaps)), o->trim_due);
	due = MIN(due, MIN(MIN(o->look_due, o->measure_due), o->walk.due));
	return MIN(MIN(due, o->start_due), confirm_due(o));
}

void owner_tick(struct engine_owner *o)
{
	uint64_t now = now_monotonic_ns();

	if (o->start_due <= now)
		begin(o);
	flaps_tick(&o->flaps, now);
	if (!o->bypass)
		return;
	confirm_tick(o);
	if (o->look_due <= now) {
		o->look_due = OWNER_NEVER;
		o->looks++;
		o->stale.links = true;
		owner_sooner(&o->repair_due, now);
	}
	if (o->audit_due <= now) {
		o->audit_due = now + owner_settings(o)->audit_ms * MS;
		reopen_store(o);
		repair_audit(o);
		measure_soon(o);
	} else if (o->repair_due <= now) {
		hear_and_repair(o);
	}
	if (o->walk.due <= now)
		observe_walk(o);
	if (o->ready_due <= now)
		check_ready(o, true);
	if (o->measure_due <= now)
		measure_tick(o);
	if (o->trim_due <= now) {
		o->trim_due = OWNER_NEVER;
		malloc_trim(0);
	}
	after(o);
}
