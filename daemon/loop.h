/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * loop: an event loop per thread, and the only room that knows which library does it. All calls are
 * for the thread that runs the loop, but for loop_wake() and loop_stop().
 */
#ifndef SWD_LOOP_H
#define SWD_LOOP_H

#include "config/base/util.h"

struct loop;
struct loop_io;
struct loop_timer;

struct loop *loop_new(void);
void loop_free(struct loop *l);
DEFINE_CLEANUP(struct loop *, loop_free);
int loop_run(struct loop *l);	/* until loop_stop(); 0 or -errno */
void loop_stop(struct loop *l); /* from any thread */

#define LOOP_READ 1
#define LOOP_WRITE 2
typedef void (*loop_io_fn)(int fd, int events, void *data);
/* NULL: memory short. The descriptor stays the caller's. */
struct loop_io *loop_io_new(struct loop *l, int fd, int events, loop_io_fn fn, void *data);
void loop_io_set(struct loop_io *io, int events); /* 0: watch nothing */
void loop_io_free(struct loop_io *io);		  /* NULL is fine; also from within its callback */

typedef void (*loop_timer_fn)(void *data);
struct loop_timer *loop_timer_new(struct loop *l, loop_timer_fn fn, void *data);
void loop_timer_start(struct loop_timer *t, uint64_t after_ms,
		      uint64_t every_ms); /* every 0: once */
void loop_timer_stop(struct loop_timer *t);
bool loop_timer_active(const struct loop_timer *t);
void loop_timer_free(struct loop_timer *t);

typedef void (*loop_signal_fn)(int signo, void *data);
/* Watched for the loop's life. Only in the main thread's loop. */
int loop_signal(struct loop *l, int signo, loop_signal_fn fn, void *data);

typedef void (*loop_wake_fn)(void *data);
/*
 * fn runs in the loop's thread soon after each loop_wake(); several wakes may become one. Up to 8
 * may be registered; all are called. 0 or -ENOSPC.
 */
int loop_on_wake(struct loop *l, loop_wake_fn fn, void *data);
/* Not called any more; nothing if it was not registered. */
void loop_off_wake(struct loop *l, loop_wake_fn fn, void *data);
void loop_wake(struct loop *l); /* from any thread */

#endif
