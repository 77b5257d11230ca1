/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * alerts: what an operator should know of now, each once. An alert is known by its id and what it
 * is about; setting it again renews its text and says nothing new. The caller learns what is new or
 * gone through a function, to log it and to tell clients.
 */
#ifndef SWD_ENGINE_ALERTS_H
#define SWD_ENGINE_ALERTS_H

#include "daemon/engine/snapshot.h"

#define ALERTS_MAX 256 /* more are dropped: the first ones say enough */

typedef void (*alert_fn)(const struct alert *a, bool raised, void *data);

struct alert_mark {
	bool seen;
	uint64_t set_ns; /* monotonic: when it was last set */
};

struct alerts {
	struct alert *list; /* in order of appearance */
	struct alert_mark *marks;
	size_t count;
	alert_fn fn;
	void *data;
};

/* 0 or -ENOMEM. */
int alerts_init(struct alerts *a, alert_fn fn, void *data);
void alerts_clear(struct alerts *a);

void alert_set(struct alerts *a, const char *id, const char *about, const char *fmt, ...)
	_printf_(4, 5);
void alert_end(struct alerts *a, const char *id, const char *about);
/* Those of `id` that nobody has set since that (monotonic) time are over. */
void alerts_expire(struct alerts *a, const char *id, uint64_t before_ns);
/* For a set that is found out anew as a whole: those of `id` that are not set between the two end.
 */
void alerts_begin(struct alerts *a, const char *id);
/* Between the two: it stays as it is, if it is there. */
void alert_keep(struct alerts *a, const char *id, const char *about);
void alerts_finish(struct alerts *a, const char *id);

#endif
