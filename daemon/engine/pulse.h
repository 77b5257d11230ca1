/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pulse: where the engine thread is, for the watchdog that the loop thread feeds. Written by the
 * engine thread, read by the loop thread, no lock.
 */
#ifndef SWD_ENGINE_PULSE_H
#define SWD_ENGINE_PULSE_H

#include <stdatomic.h>

#include "config/base/util.h"

enum pulse_where {
	PULSE_IDLE,   /* waits for work */
	PULSE_WORK,   /* in a piece of work of its own, since .since_ns */
	PULSE_KERNEL, /* in a call that may wait for rtnl or for the disk */
};

/* What it is at, for people who wait. */
enum pulse_task {
	PULSE_NOTHING,
	PULSE_LOOK,  /* reads, checks, compiles, looks: what is to be done */
	PULSE_APPLY, /* carries it out */
	PULSE_UNDO,  /* takes it back */
	PULSE_REPAIR,
	PULSE_MEASURE, /* sends, to learn what a doorbell costs */
};

struct pulse {
	atomic_int where;
	_Atomic uint64_t since_ns; /* monotonic */

	atomic_int task;
	_Atomic uint64_t task_since_ns; /* monotonic */
	atomic_uint done, total;	/* steps */
};

static inline void pulse_at(struct pulse *p, enum pulse_where where)
{
	atomic_store(&p->since_ns, now_monotonic_ns());
	atomic_store(&p->where, where);
}

/* In front of and behind each call that may wait. */
static inline void pulse_wait(struct pulse *p)
{
	pulse_at(p, PULSE_KERNEL);
}

static inline void pulse_go(struct pulse *p)
{
	pulse_at(p, PULSE_WORK);
}

static inline void pulse_begin(struct pulse *p, enum pulse_task task, size_t steps)
{
	atomic_store(&p->done, 0);
	atomic_store(&p->total, (unsigned int)steps);
	atomic_store(&p->task_since_ns, now_monotonic_ns());
	atomic_store(&p->task, task);
}

static inline void pulse_step(struct pulse *p, size_t done)
{
	atomic_store(&p->done, (unsigned int)done);
}

static inline bool pulse_busy(struct pulse *p)
{
	return atomic_load(&p->where) != PULSE_IDLE;
}

static inline bool pulse_alive(struct pulse *p, uint32_t stuck_ms)
{
	uint64_t since = atomic_load(&p->since_ns), now = now_monotonic_ns();

	if (atomic_load(&p->where) != PULSE_WORK)
		return true;
	return now < since || now - since <= stuck_ms * 1000000ULL;
}

#endif
