// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames for the probe: see probe_packets.h. */
#include "daemon/kernel/probe_packets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "config/base/util.h"

#define ETHERTYPE 0x88b5 /* IEEE 802: for local experiments */

static int packet_socket(const char *dev, uint16_t protocol)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = (int)if_nametoindex(dev),
	};
	int fd, r;

	if (at.sll_ifindex == 0)
		return -ENODEV;
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

static int send_all(int fd, size_t n)
{
	uint8_t frame[ETH_ZLEN];
	struct ethhdr eth = { .h_proto = htons(ETHERTYPE) };

	memset(frame, 0, sizeof(frame));
	memset(eth.h_dest, 0xff, sizeof(eth.h_dest));
	eth.h_source[0] = 0x02;
	memcpy(frame, &eth, sizeof(eth));
	for (size_t i = 0; i < n; i++)
		if (send(fd, frame, sizeof(frame), 0) < 0 && errno != EAGAIN && errno != ENOBUFS)
			return -errno;
	return 0;
}

int probe_packets(const char *from, const char *to, size_t n, int wait_ms)
{
	uint64_t end = now_monotonic_ns() + (uint64_t)wait_ms * 1000000;
	_cleanup_close_ int in = packet_socket(to, ETHERTYPE);
	_cleanup_close_ int out = packet_socket(from, 0);
	size_t arrived = 0;
	int r;

	if (in < 0 || out < 0)
		return in < 0 ? in : out;
	r = send_all(out, n);
	if (r < 0)
		return r;
	while (arrived < n) {
		struct pollfd p = { .fd = in, .events = POLLIN };
		uint8_t frame[ETH_FRAME_LEN];

		if (recv(in, frame, sizeof(frame), 0) > 0) {
			arrived++;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (now_monotonic_ns() >= end)
			return -ETIMEDOUT;
		poll(&p, 1, 10);
	}
	return 0;
}
