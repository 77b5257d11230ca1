/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ring_room: the inside of struct ring, for ring.c (frames) and ring_device.c (socket, device). */
#ifndef SWD_TX_RING_ROOM_H
#define SWD_TX_RING_ROOM_H

#include <net/if.h>

#include "daemon/kernel/traffic.h"
#include "daemon/tx/geometry.h"
#include "daemon/tx/ring.h"

struct ring {
	char dev[IFNAMSIZ];
	struct ring_options o; /* with nothing left open */
	uint32_t shared;       /* frames to a doorbell; 0: the device's */
	struct traffic *traffic;

	/* Of the device that is there now, or was last. */
	int fd; /* -1: none */
	uint8_t *map;
	struct geometry g;
	uint32_t ifindex;
	enum ring_state state;
	struct traffic_reading seen;
	uint64_t looked_ns; /* monotonic */

	/*
	 * The slots in their order: `flying` in front of head, which the kernel has taken, then
	 * from head on `waiting` that it has not. The kernel looks at head next, as we do.
	 */
	uint32_t head, waiting, flying;
	uint32_t tried; /* times that the frame at head was refused */

	struct ring_counts counts; /* but for waiting and flying */
};

/* Opens socket and ring on the device that has the name now. 0 or -errno; then nothing is open. */
int ring_device_open(struct ring *r);
/* What is waiting is counted as unsent. */
void ring_device_close(struct ring *r);
/* The same; and its state is RING_GONE until another comes. */
void ring_device_lost(struct ring *r);

#endif
