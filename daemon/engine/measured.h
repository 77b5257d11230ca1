/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measured: how many frames should share a doorbell on a device, and by which figures: what the
 * store keeps, and what clients are shown.
 */
#ifndef SWD_ENGINE_MEASURED_H
#define SWD_ENGINE_MEASURED_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct state;

#define MEASURED_TRIES 8

struct measured {
	char dev[IFNAMSIZ], driver[32]; /* it holds for that driver alone */
	uint64_t at_ns;			/* realtime */
	uint32_t frames;		/* the right number */
	bool noisy; /* the machine was busy: another number may be the right one */
	/* Picoseconds: what a doorbell costs and a frame beside it, and what counts as nothing. */
	uint64_t doorbell_ps, frame_ps, noise_ps;
	uint32_t tries;
	uint32_t tried[MEASURED_TRIES];	  /* frames to a doorbell */
	uint64_t took_ps[MEASURED_TRIES]; /* for each frame, the median */
};

struct measured_list {
	struct measured *list;
	size_t count, space;
};

/* NULL: there is none. */
const struct measured *measured_find(const struct measured_list *l, const char *dev);
/* The same, but what another driver took says nothing of the device that was found. */
const struct measured *measured_of(const struct measured_list *l, const struct state *found,
				   const char *dev);
/* In the place of what is known of the device. 0 or -ENOMEM. */
int measured_put(struct measured_list *l, const struct measured *m);

struct store;
int store_put_measured(struct store *s, const struct measured *m); /* 0 or -errno */
int store_measured(struct store *s, struct measured_list *into);   /* likewise */

#endif
