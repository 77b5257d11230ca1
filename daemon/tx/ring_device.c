// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The socket of a ring, and the device behind it: found by name, from then on known by its number.
 * A device that went away never comes back to a socket, not even under its old number; one of the
 * same name gets a socket of its own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/packet_doorbell.h>
#include <net/if_arp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "daemon/tx/ring_room.h"

_Static_assert(RING_SHARE_MAX == PACKET_TX_DOORBELL_FRAMES_MAX, "as the kernel has it");

static int set_option(int fd, int option, int value)
{
	return setsockopt(fd, SOL_PACKET, option, &value, sizeof(value)) < 0 ? -errno : 0;
}

/* Room for all slots to fly at once; else the kernel holds back what is more. */
static void give_room(int fd, size_t bytes)
{
	int room = (int)MIN(bytes * 2, (size_t)1 << 30);

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) < 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
}

static int open_socket(const struct ring *r, const struct geometry *g, int *ret)
{
	struct tpacket_req req = {
		.tp_block_size = g->block_size,
		.tp_block_nr = g->blocks,
		.tp_frame_size = g->slot_size,
		.tp_frame_nr = g->slots,
	};
	/* Protocol 0: we receive nothing. */
	_cleanup_close_ int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	int e;

	if (fd < 0)
		return -errno;
	e = set_option(fd, PACKET_VERSION, TPACKET_V2);
	if (e == 0 && r->o.bypass)
		e = set_option(fd, PACKET_QDISC_BYPASS, 1);
	if (e == 0 && r->shared)
		e = set_option(fd, PACKET_TX_DOORBELL_FRAMES, (int)r->shared);
	if (e == 0 && setsockopt(fd, SOL_PACKET, PACKET_TX_RING, &req, sizeof(req)) < 0)
		e = -errno;
	if (e < 0)
		return e;
	give_room(fd, g->bytes);
	*ret = fd;
	fd = -1;
	return 0;
}

static enum ring_state state_of(const struct traffic_reading *t)
{
	if (!t->up)
		return RING_DOWN;
	return t->carrier ? RING_READY : RING_NO_CARRIER;
}

/* What a counter has gained; some drivers begin anew when the device goes down. */
static uint64_t gain(uint64_t before, uint64_t now)
{
	return now >= before ? now - before : now;
}

static void set_state(struct ring *r, enum ring_state state)
{
	if (state != RING_READY && r->state == RING_READY)
		r->counts.rests++;
	r->state = state;
}

int ring_look(struct ring *r)
{
	struct traffic_reading now;
	int e = r->fd < 0 ? -ENODEV : traffic_read(r->traffic, r->ifindex, &now);

	if (e == -ENODEV) {
		ring_device_lost(r);
		e = 0;
	} else if (e == 0) {
		r->counts.left += gain(r->seen.tx_packets, now.tx_packets);
		r->counts.lost += gain(r->seen.tx_errors, now.tx_errors) +
				  gain(r->seen.tx_dropped, now.tx_dropped);
		r->counts.came += gain(r->seen.rx_packets, now.rx_packets);
		r->seen = now;
		set_state(r, state_of(&now));
	}
	r->looked_ns = now_monotonic_ns();
	return e;
}

int ring_device_open(struct ring *r)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET };
	struct traffic_reading seen;
	struct geometry g;
	uint32_t ifindex = if_nametoindex(r->dev);
	_cleanup_close_ int fd = -1;
	void *map;
	int e;

	if (!ifindex)
		return -ENODEV;
	e = traffic_read(r->traffic, ifindex, &seen);
	if (e < 0)
		return e;
	if (seen.type != ARPHRD_ETHER)
		return -EPROTONOSUPPORT;
	e = geometry_of(seen.mtu, r->o.slots, (uint32_t)sysconf(_SC_PAGESIZE), &g);
	if (e == 0)
		e = open_socket(r, &g, &fd);
	if (e < 0)
		return e;
	map = mmap(NULL, g.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	at.sll_ifindex = (int)ifindex;
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
		e = -errno;
		munmap(map, g.bytes);
		return e;
	}
	ring_device_close(r);
	r->fd = fd;
	fd = -1;
	r->map = map;
	r->g = g;
	r->ifindex = ifindex;
	r->seen = seen;
	r->looked_ns = now_monotonic_ns();
	set_state(r, state_of(&seen));
	return 0;
}

int ring_share(struct ring *r, uint32_t frames)
{
	int e;

	if (r->fd < 0)
		return -ENETDOWN;
	if (frames > RING_SHARE_MAX)
		return -ERANGE;
	e = set_option(r->fd, PACKET_TX_DOORBELL_FRAMES, (int)frames);
	if (e == 0)
		r->shared = frames;
	return e == -ENOPROTOOPT ? -EOPNOTSUPP : e;
}

void ring_device_lost(struct ring *r)
{
	ring_device_close(r);
	set_state(r, RING_GONE);
}

void ring_device_close(struct ring *r)
{
	if (r->fd < 0)
		return;
	munmap(r->map, r->g.bytes);
	close(r->fd);
	r->fd = -1;
	r->map = NULL;
	r->counts.unsent += r->waiting;
	r->head = r->waiting = r->flying = r->tried = 0;
}
