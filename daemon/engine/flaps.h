/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flaps: what the journal is told of things that come and go. Each is known by an id and what it is
 * about. What is rare is told at once; what changes again and again is told at intervals that
 * double, with how often it changed meanwhile; in the end its last word is told. Time comes from
 * the caller, monotonic.
 */
#ifndef SWD_ENGINE_FLAPS_H
#define SWD_ENGINE_FLAPS_H

#include "config/base/log.h"

#define FLAPS_MAX 512	 /* things at once; those that find no room share one place */
#define FLAPS_FREE 8	 /* changes that are told at once: four times up and down */
#define FLAPS_QUIET_S 60 /* who did not change for so long begins afresh */
#define FLAPS_FIRST_S 10 /* the first interval */
#define FLAPS_LONGEST_S 320

typedef void (*flaps_say_fn)(enum log_level level, const char *line, void *data);

struct flap {
	uint64_t hash;	  /* of id and about */
	uint64_t last_ns; /* of its last change */
	uint64_t next_ns; /* not told before; 0: it does not flap */
	uint32_t changes, seconds;
	enum log_level level;
	char *line; /* its last word, if that was not told */
};

struct flaps {
	struct flap *list;
	size_t count;
	flaps_say_fn say;
	void *data;
};

/* 0 or -ENOMEM. */
int flaps_init(struct flaps *f, flaps_say_fn say, void *data);
void flaps_clear(struct flaps *f);

/* It changed: the line says to what. */
void flaps_changed(struct flaps *f, const char *id, const char *about, uint64_t now_ns,
		   enum log_level level, const char *fmt, ...) _printf_(6, 7);
/* When flaps_tick() has something to tell; UINT64_MAX: nothing is held back. */
uint64_t flaps_due(const struct flaps *f);
void flaps_tick(struct flaps *f, uint64_t now_ns);

#endif
