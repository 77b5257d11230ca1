/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * backoff: who has to wait before swd tries again. An object whose repair the kernel refuses waits
 * longer each time; one that is put right again and again (someone else keeps changing it) as well.
 * Objects are known by a hash of their label. Pure: time comes from the caller.
 */
#ifndef SWD_ENGINE_BACKOFF_H
#define SWD_ENGINE_BACKOFF_H

#include "config/model/object.h"

#define BACKOFF_SLOTS 2048
#define BACKOFF_FREE 5 /* repairs of one object in BACKOFF_WINDOW_MS that cost no waiting */
#define BACKOFF_WINDOW_MS 10000
#define BACKOFF_FIRST_MS 100 /* doubled each time */
#define BACKOFF_MOST_MS 60000

struct backoff_slot {
	uint64_t hash;	    /* 0: free */
	uint64_t window_ns; /* when counting began */
	uint64_t next_ns;   /* not before */
	uint32_t repairs, refusals;
};

struct backoff {
	struct backoff_slot *slots;
	size_t used;
};

int backoff_init(struct backoff *b); /* 0 or -ENOMEM */
void backoff_clear(struct backoff *b);
/* Forgets all: after an apply everything may be tried. */
void backoff_forget(struct backoff *b);

/* What it was refused for has changed: it may be tried at once. */
void backoff_pardon(struct backoff *b, const struct object *o);

/* When the object may be tried: 0 for now, or a time after `now_ns`. */
uint64_t backoff_until(struct backoff *b, const struct object *o, uint64_t now_ns);
/* Note an outcome; returns until when the object has to wait, 0 if it need not. *ret_times: how
 * often it was repaired of late. */
uint64_t backoff_repaired(struct backoff *b, const struct object *o, uint64_t now_ns,
			  uint32_t *ret_times);
uint64_t backoff_refused(struct backoff *b, const struct object *o, uint64_t now_ns);

#endif
