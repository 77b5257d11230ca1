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

struct pulse {
	atomic_int where;
	_Atomic uint64_t since_ns; /* monotonic */
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
