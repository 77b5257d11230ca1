// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The engine's thread and the two boxes between it and the loop thread: jobs go in; snapshots,
 * events and finished jobs come out. See engine.h. What is done with them is owner.c's.
 */
#include "daemon/engine/engine.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "config/base/log.h"
#include "daemon/engine/jobs.h"
#include "daemon/engine/owner.h"

#define EVENTS_MOST 1024 /* waiting for the loop; more are counted and told as lost */

struct engine {
	struct loop *outer; /* the loop thread's */
	struct engine_listener listener;
	struct pulse pulse;
	pthread_t thread;

	/* The engine thread's alone. */
	struct loop *inner;
	struct loop_timer *timer;
	struct loop_io *ios[KERNEL_EVENT_FDS];
	size_t io_count;
	struct engine_owner *owner;
	bool stopping;

	pthread_mutex_t lock; /* guards all below */
	struct jobs jobs;
	struct job *finished, **finished_end;
	struct job *under_way; /* with news of how far it is; NULL: there are none */
	struct job_progress progress;
	struct engine_event *events;
	size_t event_count, events_lost;
	struct snapshot *newest;
	bool fresh; /* newest was not told yet */
	bool ready, ready_told;
};

/* ---- from the engine thread outward ---- */

static void on_snapshot(struct snapshot *s, void *data)
{
	struct engine *e = data;
	struct snapshot *old;

	pthread_mutex_lock(&e->lock);
	old = e->newest;
	e->newest = s;
	e->fresh = true;
	pthread_mutex_unlock(&e->lock);
	snapshot_unref(old);
	loop_wake(e->outer);
}

static void on_event(const struct engine_event *event, void *data)
{
	struct engine *e = data;

	pthread_mutex_lock(&e->lock);
	if (e->event_count < EVENTS_MOST)
		e->events[e->event_count++] = *event;
	else
		e->events_lost++;
	pthread_mutex_unlock(&e->lock);
	loop_wake(e->outer);
}

static void on_ready(void *data)
{
	struct engine *e = data;

	pthread_mutex_lock(&e->lock);
	e->ready = true;
	pthread_mutex_unlock(&e->lock);
	loop_wake(e->outer);
}

/* Only the newest is kept. */
static void on_progress(struct job *job, const struct job_progress *p, void *data)
{
	struct engine *e = data;

	pthread_mutex_lock(&e->lock);
	e->under_way = job;
	e->progress = *p;
	pthread_mutex_unlock(&e->lock);
	loop_wake(e->outer);
}

static enum jobs_waiting what_waits(void *data)
{
	struct engine *e = data;
	enum jobs_waiting waiting;

	pthread_mutex_lock(&e->lock);
	waiting = jobs_waiting(&e->jobs);
	pthread_mutex_unlock(&e->lock);
	return waiting;
}

static void finish(struct engine *e, struct job *list)
{
	pthread_mutex_lock(&e->lock);
	*e->finished_end = list;
	e->finished_end = &jobs_last(list)->next;
	pthread_mutex_unlock(&e->lock);
	loop_wake(e->outer);
}

/* ---- in the loop thread ---- */

static void tell_events(struct engine *e, struct engine_event *list, size_t n, size_t lost)
{
	for (size_t i = 0; i < n && e->listener.event; i++)
		e->listener.event(&list[i], e->listener.data);
	if (lost)
		log_warning("%zu events were not told: they came too fast", lost);
}

static void run_done(struct job *list)
{
	while (list) {
		struct job *job = list;

		list = job->next;
		if (job->done)
			job->done(job, job->data);
		job_free(job);
	}
}

static struct job *take_finished(struct engine *e)
{
	struct job *list = e->finished;

	e->finished = NULL;
	e->finished_end = &e->finished;
	return list;
}

static void on_outer_wake(void *data)
{
	struct engine *e = data;
	struct engine_event *events = NULL, *empty = malloc(EVENTS_MOST * sizeof(*empty));
	struct snapshot *s = NULL;
	struct job *done, *under_way;
	struct job_progress progress;
	size_t n = 0, lost = 0;
	bool ready;

	pthread_mutex_lock(&e->lock);
	if (e->event_count && empty) {
		events = e->events;
		n = e->event_count;
		lost = e->events_lost;
		e->events = take(empty);
		e->event_count = e->events_lost = 0;
	}
	if (e->fresh)
		s = snapshot_ref(e->newest);
	e->fresh = false;
	ready = e->ready && !e->ready_told;
	e->ready_told |= ready;
	/* Taken with the jobs that ended: it may be one of them. */
	under_way = e->under_way;
	e->under_way = NULL;
	progress = e->progress;
	done = take_finished(e);
	pthread_mutex_unlock(&e->lock);
	free(empty);

	if (s && e->listener.snapshot)
		e->listener.snapshot(s, e->listener.data);
	snapshot_unref(s);
	tell_events(e, events, n, lost);
	free(events);
	if (ready && e->listener.ready)
		e->listener.ready(e->listener.data);
	if (under_way)
		under_way->progress(&progress, under_way->data);
	run_done(done);
}

/* ---- the engine thread ---- */

static void plan_next(struct engine *e)
{
	uint64_t due = owner_due(e->owner), now = now_monotonic_ns();

	if (due == OWNER_NEVER)
		loop_timer_stop(e->timer);
	else
		loop_timer_start(e->timer, due > now ? (due - now + 999999) / 1000000 : 0, 0);
	pulse_begin(&e->pulse, PULSE_NOTHING, 0);
	pulse_at(&e->pulse, PULSE_IDLE);
}

static void on_timer(void *data)
{
	struct engine *e = data;

	pulse_go(&e->pulse);
	owner_tick(e->owner);
	plan_next(e);
}

static void on_readable(int fd, int events, void *data)
{
	struct engine *e = data;

	pulse_go(&e->pulse);
	owner_readable(e->owner);
	plan_next(e);
}

static struct job *next_jobs(struct engine *e)
{
	struct job *list;

	pthread_mutex_lock(&e->lock);
	list = jobs_take(&e->jobs);
	pthread_mutex_unlock(&e->lock);
	return list;
}

static void put_back(struct engine *e, struct job *list)
{
	pthread_mutex_lock(&e->lock);
	jobs_put_back(&e->jobs, list);
	pthread_mutex_unlock(&e->lock);
}

/* Jobs may come without end; what the kernel tells and what is due does not wait for theirs. */
static void between_jobs(struct engine *e)
{
	owner_readable(e->owner);
	if (owner_due(e->owner) <= now_monotonic_ns())
		owner_tick(e->owner);
}

static int check(struct job *job, void *data)
{
	struct engine *e = data;

	return owner_check(e->owner, job);
}

static void on_inner_wake(void *data)
{
	struct engine *e = data;
	struct job *list;

	while (!e->stopping && (list = next_jobs(e))) {
		pulse_go(&e->pulse);
		if (list->type == JOB_STOP) {
			e->stopping = true;
		} else {
			owner_job(e->owner, jobs_last(list));
			between_jobs(e);
			put_back(e, jobs_cover(&list, check, e));
		}
		finish(e, list);
	}
	if (e->stopping)
		loop_stop(e->inner);
	else
		plan_next(e);
}

static void *run(void *data)
{
	struct engine *e = data;

	pulse_go(&e->pulse);
	owner_start(e->owner);
	/* Jobs may have come meanwhile. */
	on_inner_wake(e);
	if (!e->stopping)
		loop_run(e->inner);
	pulse_at(&e->pulse, PULSE_IDLE);
	return NULL;
}

/* ---- birth and death ---- */

static void engine_free(struct engine *e)
{
	if (!e)
		return;
	loop_off_wake(e->outer, on_outer_wake, e);
	for (size_t i = 0; i < e->io_count; i++)
		loop_io_free(e->ios[i]);
	loop_timer_free(e->timer);
	loop_free(e->inner);
	owner_free(e->owner);
	snapshot_unref(e->newest);
	free(e->events);
	pthread_mutex_destroy(&e->lock);
	free(e);
}
DEFINE_CLEANUP(struct engine *, engine_free);

static int watch_kernel(struct engine *e)
{
	int fds[KERNEL_EVENT_FDS];
	size_t n = kernel_event_fds(e->owner->kernel, fds);

	for (size_t i = 0; i < n; i++) {
		e->ios[i] = loop_io_new(e->inner, fds[i], LOOP_READ, on_readable, e);
		if (!e->ios[i])
			return -ENOMEM;
		e->io_count++;
	}
	return 0;
}

/* Signals are the loop thread's. */
static int start_thread(struct engine *e)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = -pthread_create(&e->thread, NULL, run, e);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

int engine_start(struct loop *loop, const struct engine_options *options,
		 const struct engine_listener *listener, struct engine **ret)
{
	struct owner_listener inner = { on_snapshot, on_event,	 on_ready,
					on_progress, what_waits, NULL };
	_cleanup_(engine_freep) struct engine *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	pthread_mutex_init(&e->lock, NULL);
	e->outer = loop;
	e->listener = *listener;
	jobs_init(&e->jobs);
	e->finished_end = &e->finished;
	e->events = calloc(EVENTS_MOST, sizeof(*e->events));
	e->newest = calloc(1, sizeof(*e->newest));
	e->inner = loop_new();
	e->timer = e->inner ? loop_timer_new(e->inner, on_timer, e) : NULL;
	if (!e->events || !e->newest || !e->timer)
		return -ENOMEM;
	e->newest->refs = 1;
	e->newest->found = state_new();
	if (!e->newest->found)
		return -ENOMEM;
	inner.data = e;
	r = owner_new(options, &inner, &e->pulse, &e->owner);
	if (r == 0)
		r = watch_kernel(e);
	if (r == 0)
		r = loop_on_wake(e->inner, on_inner_wake, e);
	if (r == 0)
		r = loop_on_wake(loop, on_outer_wake, e);
	if (r == 0)
		r = start_thread(e);
	if (r == 0)
		*ret = take(e);
	return r;
}

static void cancel_jobs(struct engine *e)
{
	struct job *list;

	while ((list = next_jobs(e))) {
		for (struct job *job = list; job; job = job->next)
			job->result = -ECANCELED;
		finish(e, list);
	}
	run_done(take_finished(e));
}

int engine_stop(struct engine *e, uint32_t wait_ms)
{
	struct job *stop;
	struct timespec until;
	uint64_t at;

	if (!e)
		return 0;
	stop = job_new(JOB_STOP);
	if (!stop)
		return -ENOMEM;
	/* In front of those that wait: they are cancelled. */
	put_back(e, stop);
	loop_wake(e->inner);

	at = now_realtime_ns() + wait_ms * 1000000ULL;
	until = (struct timespec){ (time_t)(at / 1000000000), (long)(at % 1000000000) };
	if (pthread_timedjoin_np(e->thread, NULL, &until) != 0)
		return -ETIMEDOUT;
	cancel_jobs(e);
	engine_free(e);
	return 0;
}

void engine_submit(struct engine *e, struct job *job)
{
	pthread_mutex_lock(&e->lock);
	jobs_put(&e->jobs, job);
	pthread_mutex_unlock(&e->lock);
	loop_wake(e->inner);
}

struct snapshot *engine_snapshot(struct engine *e)
{
	struct snapshot *s;

	pthread_mutex_lock(&e->lock);
	s = snapshot_ref(e->newest);
	pthread_mutex_unlock(&e->lock);
	return s;
}

void engine_work(struct engine *e, struct engine_work *ret)
{
	uint64_t since = atomic_load(&e->pulse.task_since_ns), now = now_monotonic_ns();

	*ret = (struct engine_work){
		.task = (enum pulse_task)atomic_load(&e->pulse.task),
		.done = atomic_load(&e->pulse.done),
		.total = atomic_load(&e->pulse.total),
		.for_ns = now > since ? now - since : 0,
	};
	pthread_mutex_lock(&e->lock);
	ret->waiting = e->jobs.applies;
	pthread_mutex_unlock(&e->lock);
}

bool engine_alive(const struct engine *e, uint32_t stuck_ms)
{
	return pulse_alive((struct pulse *)&e->pulse, stuck_ms);
}

bool engine_busy(const struct engine *e)
{
	return pulse_busy((struct pulse *)&e->pulse);
}
