/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fault: failures on demand, for tests. Built in with -Dfaults=true only; else nothing of it is in
 * the program. Each time the program is about to ask the kernel for a change, to write to the
 * store, or to allocate memory, it counts, and where a test says so it fails, or ends as by kill
 * -9.
 *
 * A test shares `struct fault` with the program: in one process through `fault`, else through a
 * file of its size that the environment names as SWD_FAULTS. What was counted outlives a kill.
 */
#ifndef SWD_CONFIG_BASE_FAULT_H
#define SWD_CONFIG_BASE_FAULT_H

#include <stdint.h>

enum fault_point {
	FAULT_REQUEST, /* one change of the kernel */
	FAULT_STORE,   /* one statement that writes, BEGIN and COMMIT among them; not ROLLBACK */
	FAULT_MEMORY,  /* one malloc() or its like, of our own code alone */
	FAULT_POINTS_
};

enum fault_how {
	FAULT_NONE,
	FAULT_FAIL,	    /* with `error`; a request is not sent */
	FAULT_LOST_ANSWER,  /* requests: carried out, and the answer lost; else as FAULT_FAIL */
	FAULT_LOST_REQUEST, /* requests: neither sent nor answered; else as FAULT_FAIL */
	FAULT_KILL,	    /* what was asked for before it is carried out, it is not */
};

/* All 32 bits wide, in this order: tests/lab/faults.py has the same. */
struct fault {
	uint32_t armed; /* nothing is counted and nothing fails before */
	uint32_t how;
	uint32_t point;
	uint32_t first, last; /* those that fail, from 1 */
	uint32_t error;	      /* an errno */
	uint32_t counts[FAULT_POINTS_];
};

#ifdef SWD_FAULTS
extern struct fault *fault; /* never NULL */
/* Counts. What is to happen, which the caller does. */
enum fault_how fault_at(enum fault_point point);
/* Counts, and ends the process if that is to happen. 0 or -errno. */
int fault_fails(enum fault_point point);
_Noreturn void fault_kill(void);
static inline int fault_error(void) /* -errno, of what fails */
{
	return -(int)fault->error;
}
#else
static inline enum fault_how fault_at(enum fault_point point)
{
	return FAULT_NONE;
}
static inline int fault_fails(enum fault_point point)
{
	return 0;
}
static inline void fault_kill(void)
{
}
static inline int fault_error(void)
{
	return 0;
}
#endif

#endif
