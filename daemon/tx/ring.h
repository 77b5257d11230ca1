/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring: frames out of one Ethernet device through AF_PACKET's TX_RING, without a copy by the kernel
 * and with one system call for many. Whoever has a ring fills slots (ring_put), asks the kernel to
 * send (ring_kick) and sleeps when told to (ring_wait); nothing here runs by itself. One thread.
 *
 * TPACKET_V2: of V3 the kernel takes the header alone, and its blocks say nothing in this
 * direction.
 *
 * Frames go in the order in which they were put. The kernel walks the slots one by one and stops at
 * the first that holds no frame, so none is ever passed over: a ring whose next slot is busy is
 * full. Only ring.c's own repairs take a frame out, and close the gap.
 *
 * What the kernel took has not left yet. `left` is what the device counted; it counts the frames of
 * all senders, so it says nothing exact of ours on a device that others use too.
 */
#ifndef SWD_TX_RING_H
#define SWD_TX_RING_H

#include <stdint.h>

#include "config/base/util.h"

#define RING_SHARE_MAX 64

struct ring;

/* In all but READY the ring is at rest: frames stay in it, and nobody tries. */
enum ring_state {
	RING_READY,
	RING_NO_CARRIER, /* up, and the cable is out */
	RING_DOWN,
	RING_GONE, /* no such device; ring_wait() takes up one that comes under its name */
};

struct ring_options {
	uint32_t slots;	   /* at least, 1 to GEOMETRY_SLOTS_MAX; 0: 2048 */
	bool bypass;	   /* PACKET_QDISC_BYPASS: past all queueing; what a full device refuses
			      is told instead of queued */
	uint32_t tries;	   /* for a frame that the device refuses, before it is dropped; 0: 10 */
	uint32_t pause_us; /* of sleep before the second try, and twice as long each time, up to
			      16 times; 0: 200 */
	uint32_t look_ms;  /* the state of the device is not older than that; 0: 20 */
};

struct ring_counts {
	uint64_t put;	  /* frames that ring_put() took. Each is or will be one of: */
	uint64_t handed;  /* the kernel took it */
	uint64_t dropped; /* refused in all tries */
	uint64_t wrong;	  /* the kernel found it malformed: too long since the MTU has shrunk */
	uint64_t unsent;  /* given up, by a drain whose time was over or with a device that went */
	uint64_t waiting; /* still in the ring */

	uint64_t flying; /* of those handed, not given back by device or qdisc yet */
	uint64_t left;	 /* by the device's counter, as of the last look */
	uint64_t lost;	 /* by the device's counters of errors and drops */
	uint64_t came;	 /* by the device's counter, too: what it received */
	uint64_t full;	 /* times that ring_put() found the ring full */
	uint64_t busy;	 /* times that a frame was refused */
	uint64_t rests;	 /* times that the ring came to rest */
};

/*
 * dev: of the current network namespace. It need not be up. options: may be NULL. 0; -ENODEV: no
 * such device; -EPROTONOSUPPORT: no Ethernet; -ERANGE: its MTU or the number of slots is out of
 * range (geometry.h); -EPERM: no CAP_NET_RAW; -ENOMEM; -errno.
 */
int ring_open(const char *dev, const struct ring_options *options, struct ring **ret);
/* Waits for nothing: what is still in the ring is not sent. See ring_drain(). */
void ring_close(struct ring *r);
DEFINE_CLEANUP(struct ring *, ring_close);

/*
 * Copies a frame, Ethernet header first and without FCS, into the next slot. 0; -EAGAIN: the ring
 * is full (ring_kick(), ring_wait()); -EMSGSIZE: longer than the device's MTU has room for, or
 * shorter than a header; nothing was put then.
 */
int ring_put(struct ring *r, const void *frame, size_t length);

/*
 * Asks the kernel to send what is in the ring, without waiting for what is busy. If the device or
 * its qdisc refuses a frame, it is tried again after a sleep, and dropped when `tries` are over;
 * one call sleeps no longer than the tries of one frame take (some 15 ms with what is set at
 * first). 0: all is handed; -EAGAIN: some is waiting, come again after ring_wait(); -ENOBUFS: the
 * same, and a frame was dropped; -ENETDOWN: at rest, see ring_state(); -errno: cannot go on.
 */
int ring_kick(struct ring *r);

/*
 * Sleeps until the ring may get on: until a slot is free, a while if the device was busy, until it
 * is ready if the ring is at rest. 0; -ETIMEDOUT: not within timeout_ms, never later than 20 ms
 * behind it unless the kernel holds rtnl; -errno: cannot go on.
 */
int ring_wait(struct ring *r, uint32_t timeout_ms);

/*
 * Kicks and waits until the ring is empty and all was given back, timeout_ms at most. What the
 * kernel has not taken by then is given up and counted as unsent. 0; -ETIMEDOUT: some was given up,
 * or is still flying; -errno. The counts are fresh then.
 */
int ring_drain(struct ring *r, uint32_t timeout_ms);

/* Asks the kernel how the device is now, and what it has counted. 0 or -errno. */
int ring_look(struct ring *r);

enum ring_state ring_state(const struct ring *r);
const char *ring_state_words(enum ring_state state); /* "interface is down" */
void ring_counts(const struct ring *r, struct ring_counts *ret);
/*
 * How many frames share a doorbell, from the next kick on, with `bypass` alone: 1 to
 * RING_SHARE_MAX; 0, as at first: the device's number. 0; -EOPNOTSUPP: this kernel, without our
 * patch, rings for each frame; -ERANGE; -ENETDOWN: the device is gone; -errno.
 */
int ring_share(struct ring *r, uint32_t frames);

uint32_t ring_slots(const struct ring *r);
uint32_t ring_ifindex(const struct ring *r); /* of the device, or of the one that was */

#endif
