/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counters: asks the engine to read a block's counters, on behalf of any number of calls. However
 * many ask, and however long the kernel keeps the engine waiting, at most one job a block is with
 * the engine. Who asks while one runs waits for the next: an answer is never older than its
 * question.
 */
#ifndef SWD_SERVICE_COUNTERS_H
#define SWD_SERVICE_COUNTERS_H

#include <stdint.h>

#include "config/base/util.h"

struct counters;
struct counters_waiter;
struct service;

struct counters *counters_new(struct service *s); /* NULL: memory short */
void counters_free(struct counters *c);

/* fresh: the newest snapshot has counters read after the question; else time is up or reading
 * failed. */
typedef void (*counters_fn)(bool fresh, void *data);
/* fn runs once, later; block 0: all. 0 or -ENOMEM. */
int counters_want(struct counters *c, uint32_t block, counters_fn fn, void *data,
		  struct counters_waiter **ret);
/* The waiter is not interested any more. Not from within fn, nor after it. NULL is fine. */
void counters_forget(struct counters_waiter *w);

#endif
