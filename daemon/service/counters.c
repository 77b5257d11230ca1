// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/service/counters.h"

#include <errno.h>

#include "daemon/service/serving.h"

/* A job of ours that is with the engine. It may outlive the service, so it points here and not
 * there. */
struct fetch {
	struct counters *counters; /* NULL: the service has gone */
	uint32_t block;
	struct fetch *next;
};

struct counters_waiter {
	struct counters *counters;
	struct counters_waiter *next;
	struct loop_timer *timer;
	struct fetch *fetch; /* waits for this one; NULL: for one that is not sent yet */
	uint32_t block;
	counters_fn fn;
	void *data;
};

struct counters {
	struct service *service;
	struct counters_waiter *waiters;
	struct fetch *fetches;
};

struct counters *counters_new(struct service *s)
{
	struct counters *c = calloc(1, sizeof(*c));

	if (c)
		c->service = s;
	return c;
}

void counters_free(struct counters *c)
{
	if (!c)
		return;
	while (c->waiters)
		counters_forget(c->waiters);
	for (struct fetch *e = c->fetches; e; e = e->next)
		e->counters = NULL;
	free(c);
}

void counters_forget(struct counters_waiter *w)
{
	struct counters_waiter **link;

	if (!w)
		return;
	for (link = &w->counters->waiters; *link != w; link = &(*link)->next)
		;
	*link = w->next;
	loop_timer_free(w->timer);
	free(w);
}

static void finish(struct counters_waiter *w, bool fresh)
{
	counters_fn fn = w->fn;
	void *data = w->data;

	counters_forget(w);
	fn(fresh, data);
}

static void on_timer(void *data)
{
	struct counters_waiter *w = data;
	struct service *s = w->counters->service;

	finish(w, false);
	service_settle(s);
}

static bool under_way(const struct counters *c, uint32_t block)
{
	for (const struct fetch *e = c->fetches; e; e = e->next) {
		if (e->block == block)
			return true;
	}
	return false;
}

static int send_fetch(struct counters *c, uint32_t block);

static void on_done(struct job *job, void *data)
{
	struct fetch *e = data;
	struct counters *c = e->counters;
	uint32_t block = e->block;
	struct counters_waiter *w;
	struct service *s;
	bool again = false;

	if (!c) {
		free(e);
		return;
	}
	for (struct fetch **link = &c->fetches; *link; link = &(*link)->next) {
		if (*link == e) {
			*link = e->next;
			break;
		}
	}
	s = c->service;
	/* An answer may bring the next question in: start over after each. */
	do {
		for (w = c->waiters; w && w->fetch != e; w = w->next)
			;
		if (w)
			finish(w, job->result == 0);
	} while (w);
	free(e);

	/* Those who asked while it ran; unless a question of just now has sent one. */
	for (w = c->waiters; w; w = w->next)
		again |= !w->fetch && w->block == block;
	if (again && !under_way(c, block) && job->result != -ECANCELED)
		send_fetch(c, block);
	service_settle(s);
}

/* Sends a job for the block; all who wait for one that is not sent wait for this one. */
static int send_fetch(struct counters *c, uint32_t block)
{
	_cleanup_free_ struct fetch *e = calloc(1, sizeof(*e));
	struct job *job = job_new(JOB_COUNTERS);

	if (!e || !job) {
		job_free(job);
		return -ENOMEM;
	}
	e->counters = c;
	e->block = block;
	e->next = c->fetches;
	c->fetches = e;
	for (struct counters_waiter *w = c->waiters; w; w = w->next) {
		if (!w->fetch && w->block == block)
			w->fetch = e;
	}
	job->block = block;
	job->done = on_done;
	job->data = take(e);
	engine_submit(c->service->engine, job);
	return 0;
}

int counters_want(struct counters *c, uint32_t block, counters_fn fn, void *data,
		  struct counters_waiter **ret)
{
	struct counters_waiter *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	*w = (struct counters_waiter){
		.counters = c,
		.next = c->waiters,
		.block = block,
		.fn = fn,
		.data = data,
	};
	w->timer = loop_timer_new(c->service->loop, on_timer, w);
	if (!w->timer) {
		free(w);
		return -ENOMEM;
	}
	c->waiters = w;
	if (!under_way(c, block) && send_fetch(c, block) < 0) {
		counters_forget(w);
		return -ENOMEM;
	}
	loop_timer_start(w->timer, c->service->counters_wait_ms, 0);
	*ret = w;
	return 0;
}
