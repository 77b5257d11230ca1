// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames in the slots of a ring, and the kernel's answers to them: see ring.h. */
#include "daemon/tx/ring.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "daemon/tx/ring_room.h"

#define SLOTS 2048
#define TRIES 10
#define PAUSE_US 200
#define PAUSE_DOUBLINGS 4
#define LOOK_MS 20
#define NAP_MS 1   /* while a device is busy, or holds what it took */
#define REST_MS 20 /* between two looks at a device that cannot send */

#define STATUS_MASK (TP_STATUS_SEND_REQUEST | TP_STATUS_SENDING | TP_STATUS_WRONG_FORMAT)

static void nap_us(uint64_t us)
{
	struct timespec t = { .tv_sec = (time_t)(us / 1000000),
			      .tv_nsec = (long)(us % 1000000) * 1000 };

	nanosleep(&t, NULL);
}

/* ---- slots ---- */

/* i: counted from head on, or back from it if negative. */
static struct tpacket2_hdr *slot(const struct ring *r, int64_t i)
{
	uint32_t at = (uint32_t)((r->head + i + r->g.slots) % r->g.slots);

	return (void *)(r->map + geometry_slot(&r->g, at));
}

static uint32_t status_of(const struct tpacket2_hdr *h)
{
	return __atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & STATUS_MASK;
}

static void set_status(struct tpacket2_hdr *h, uint32_t status)
{
	__atomic_store_n(&h->tp_status, status, __ATOMIC_RELEASE);
}

/* What the kernel has given back, oldest first. A slot behind a busy one is not used before it. */
static void reap(struct ring *r)
{
	while (r->flying && status_of(slot(r, -(int64_t)r->flying)) == TP_STATUS_AVAILABLE)
		r->flying--;
}

/* Follows the kernel's head. True if it has moved. */
static bool follow(struct ring *r)
{
	bool moved = false;

	while (r->waiting) {
		uint32_t status = status_of(slot(r, 0));

		if (status & (TP_STATUS_SEND_REQUEST | TP_STATUS_WRONG_FORMAT))
			break;
		r->head = (r->head + 1) % r->g.slots;
		r->waiting--;
		r->flying++;
		r->counts.handed++;
		moved = true;
	}
	if (moved)
		r->tried = 0;
	reap(r);
	return moved;
}

static uint8_t *frame_in(const struct ring *r, struct tpacket2_hdr *h)
{
	return (uint8_t *)h + r->g.frame_at;
}

static bool is_tagged(const uint8_t *frame, size_t length)
{
	return length >= 14 && frame[12] == 0x81 && frame[13] == 0x00;
}

static bool fits(const struct ring *r, const uint8_t *frame, size_t length)
{
	return length <= r->g.frame_max &&
	       geometry_takes(r->seen.mtu, length, is_tagged(frame, length));
}

/*
 * Takes the frame at head out, and with it all behind it that the device is too small for by now;
 * the rest moves up, since the kernel would stop at a gap.
 */
static void drop_head(struct ring *r, uint64_t *count)
{
	uint32_t kept = 0;

	(*count)++;
	for (uint32_t i = 1; i < r->waiting; i++) {
		struct tpacket2_hdr *from = slot(r, i), *to = slot(r, kept);

		if (!fits(r, frame_in(r, from), from->tp_len)) {
			r->counts.wrong++;
			continue;
		}
		memcpy(frame_in(r, to), frame_in(r, from), from->tp_len);
		to->tp_len = from->tp_len;
		set_status(to, TP_STATUS_SEND_REQUEST);
		kept++;
	}
	for (uint32_t i = kept; i < r->waiting; i++)
		set_status(slot(r, i), TP_STATUS_AVAILABLE);
	r->waiting = kept;
	r->tried = 0;
}

static void give_up(struct ring *r)
{
	for (uint32_t i = 0; i < r->waiting; i++)
		set_status(slot(r, i), TP_STATUS_AVAILABLE);
	r->counts.unsent += r->waiting;
	r->waiting = 0;
	r->tried = 0;
}

int ring_put(struct ring *r, const void *frame, size_t length)
{
	struct tpacket2_hdr *h;

	if (!fits(r, frame, length))
		return -EMSGSIZE;
	if (r->fd < 0)
		return -EAGAIN;
	if (r->waiting + r->flying == r->g.slots)
		reap(r);
	if (r->waiting + r->flying == r->g.slots) {
		r->counts.full++;
		return -EAGAIN;
	}
	h = slot(r, r->waiting);
	memcpy(frame_in(r, h), frame, length);
	h->tp_len = (uint32_t)length;
	set_status(h, TP_STATUS_SEND_REQUEST);
	r->waiting++;
	r->counts.put++;
	return 0;
}

/* ---- sending ---- */

/* The device, or its qdisc, did not take the frame at head. 0: it may be tried again. */
static int refused(struct ring *r, uint32_t *slept)
{
	int e = ring_look(r);

	if (e < 0)
		return e;
	if (r->state != RING_READY)
		return -ENETDOWN;
	r->counts.busy++;
	if (++r->tried >= r->o.tries) {
		drop_head(r, &r->counts.dropped);
		return -ENOBUFS;
	}
	if (*slept >= r->o.tries)
		return -EAGAIN;
	nap_us((uint64_t)r->o.pause_us << MIN(r->tried - 1, PAUSE_DOUBLINGS));
	(*slept)++;
	return 0;
}

/* One answer of the kernel that is no success. 0: go on. */
static int answered(struct ring *r, int error, uint32_t *slept)
{
	if (status_of(slot(r, 0)) == TP_STATUS_WRONG_FORMAT) {
		int e = ring_look(r); /* its MTU is another one */

		if (e == 0 && r->waiting)
			drop_head(r, &r->counts.wrong);
		return e;
	}
	switch (error) {
	case EINTR:
		return 0;
	case EAGAIN: /* no room for more to fly */
		return -EAGAIN;
	case ENXIO: /* for good, even if there is one of that number again */
		ring_device_lost(r);
		return -ENETDOWN;
	case ENOBUFS:
	case ENOMEM:
	case ENETDOWN: /* also: a device without a qdisc that has stopped its queue */
		return refused(r, slept);
	default:
		return -error;
	}
}

static int look_if_old(struct ring *r)
{
	if (now_monotonic_ns() - r->looked_ns < r->o.look_ms * 1000000ULL)
		return 0;
	return ring_look(r);
}

int ring_kick(struct ring *r)
{
	uint32_t slept = 0;
	int e = look_if_old(r);

	if (e < 0)
		return e;
	reap(r);
	if (r->state != RING_READY)
		return -ENETDOWN;
	while (r->waiting) {
		ssize_t n = sendto(r->fd, NULL, 0, MSG_DONTWAIT, NULL, 0);
		int error = n < 0 ? errno : EAGAIN;

		follow(r);
		if (!r->waiting)
			break;
		e = answered(r, error, &slept);
		if (e < 0)
			return e;
	}
	return r->state == RING_READY ? 0 : -ENETDOWN;
}

/* ---- waiting ---- */

/* Until a slot comes back: the kernel says so when all are taken and none is waiting. */
static void wait_for_slot(struct ring *r, int ms)
{
	struct pollfd p = { .fd = r->fd, .events = POLLOUT };

	if (r->waiting || r->flying < r->g.slots) {
		nap_us((uint64_t)NAP_MS * 1000);
	} else if (poll(&p, 1, ms) > 0 && p.revents & POLLERR) {
		int error;
		socklen_t size = sizeof(error);

		getsockopt(r->fd, SOL_SOCKET, SO_ERROR, &error, &size); /* or it stays */
		nap_us((uint64_t)NAP_MS * 1000);
	}
	reap(r);
}

/* A device at rest is looked at; one that came again under the name is taken up. */
static int wait_at_rest(struct ring *r, uint64_t ms)
{
	int e;

	nap_us(ms * 1000);
	e = ring_look(r);
	if (e < 0 || r->state != RING_GONE)
		return e;
	e = ring_device_open(r);
	return e == -ENODEV ? 0 : e;
}

int ring_wait(struct ring *r, uint32_t timeout_ms)
{
	uint64_t now = now_monotonic_ns(), end = now + timeout_ms * 1000000ULL;

	reap(r);
	for (;;) {
		bool full = r->waiting + r->flying == r->g.slots;
		uint64_t left = now < end ? (end - now) / 1000000 : 0;
		int e;

		if (r->state == RING_READY && !full && !r->waiting)
			return 0;
		if (now >= end)
			return -ETIMEDOUT;
		if (r->state == RING_READY) {
			wait_for_slot(r, (int)MIN(left + 1, REST_MS));
			if (r->waiting)
				return 0;
			e = look_if_old(r);
		} else {
			e = wait_at_rest(r, MIN(left + 1, REST_MS));
		}
		if (e < 0)
			return e;
		now = now_monotonic_ns();
	}
}

int ring_drain(struct ring *r, uint32_t timeout_ms)
{
	uint64_t end = now_monotonic_ns() + timeout_ms * 1000000ULL, unsent = r->counts.unsent;
	int e = 0, looked;

	while (e == 0 && (r->waiting || r->flying) && now_monotonic_ns() < end) {
		e = ring_kick(r);
		if (e == 0 && r->flying)
			nap_us((uint64_t)NAP_MS * 1000);
		if (e == -EAGAIN || e == -ENOBUFS || e == -ENETDOWN)
			e = ring_wait(r, REST_MS);
		if (e == -ETIMEDOUT)
			e = 0;
	}
	give_up(r);
	looked = ring_look(r);
	if (e < 0 || looked < 0)
		return e < 0 ? e : looked;
	return r->flying || r->counts.unsent > unsent ? -ETIMEDOUT : 0;
}

/* ---- birth, death, and what is told ---- */

int ring_open(const char *dev, const struct ring_options *options, struct ring **ret)
{
	struct ring *r = calloc(1, sizeof(*r));
	int e;

	if (!r)
		return -ENOMEM;
	r->fd = -1;
	if (options)
		r->o = *options;
	r->o.slots = r->o.slots ? r->o.slots : SLOTS;
	r->o.tries = r->o.tries ? r->o.tries : TRIES;
	r->o.pause_us = r->o.pause_us ? r->o.pause_us : PAUSE_US;
	r->o.look_ms = r->o.look_ms ? r->o.look_ms : LOOK_MS;
	e = COPY_NAME(r->dev, dev) ? traffic_open(&r->traffic) : -ENODEV;
	if (e == 0)
		e = ring_device_open(r);
	if (e < 0) {
		ring_close(r);
		return e;
	}
	*ret = r;
	return 0;
}

void ring_close(struct ring *r)
{
	if (!r)
		return;
	ring_device_close(r);
	traffic_close(r->traffic);
	free(r);
}

enum ring_state ring_state(const struct ring *r)
{
	return r->state;
}

const char *ring_state_words(enum ring_state state)
{
	switch (state) {
	case RING_READY:
		return "ready";
	case RING_NO_CARRIER:
		return "interface has no carrier";
	case RING_DOWN:
		return "interface is down";
	case RING_GONE:
		return "interface is gone";
	}
	return NULL;
}

void ring_counts(const struct ring *r, struct ring_counts *ret)
{
	*ret = r->counts;
	ret->waiting = r->waiting;
	ret->flying = r->flying;
}

uint32_t ring_slots(const struct ring *r)
{
	return r->g.slots;
}

uint32_t ring_ifindex(const struct ring *r)
{
	return r->ifindex;
}
