// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stream: sends numbered frames on one device as fast as it can, and takes note of where each of
 * them comes out, until SIGTERM. Meanwhile it listens to what happens to filters, so that one can
 * tell which frames were on their way between two changes. One process does it all, in turns: on
 * the one CPU of a guest nothing can overtake it, and no socket runs full unseen.
 *
 *   stream FROM DST PROGRESS MS PLACE...
 *
 * FROM: the device to send on. DST: the IPv4 address that the frames go to. PROGRESS: a file that
 * always holds the number of frames sent, as 8 bytes. MS: for how many milliseconds at least the
 * kernel was at work on a filter when it told of it. PLACE: devices on which frames may arrive.
 * What it found goes to standard output as JSON.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64
#define FRAME 60	/* bytes, without the frame check sequence */
#define NUMBER 42	/* where the number stands in it */
#define MOST (1u << 23) /* frames */
#define PLACES 4
#define SLOT 256 /* bytes of a ring */
#define SLOTS 32768
#define CHANGES 4096
#define QUIET_NS 200000000ULL /* after the last frame */

struct place {
	const char *dev;
	int fd;
	uint8_t *ring;
	uint32_t next;
	uint64_t count, twice;
};

struct change {
	uint64_t sent, ns;
	bool gone;
	unsigned int pref;
};

static struct place places[PLACES];
static size_t place_count;
static uint8_t *came;  /* of each frame: 1 + the place where it came out */
static uint64_t *when; /* of each batch */
static struct change changes[CHANGES];
static size_t change_count;
static uint64_t strange; /* frames without a number of ours */
static volatile uint64_t *progress;
static volatile sig_atomic_t stop;

static void die(const char *what)
{
	fprintf(stderr, "stream: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void on_term(int number)
{
	stop = 1;
}

/* A page fault takes longer here than many frames: so all come before the first of them. */
static void touch(void *at, size_t size)
{
	for (size_t i = 0; i < size; i += 4096)
		((volatile uint8_t *)at)[i] += 0;
}

static void *reserve(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap");
	touch(at, size);
	return at;
}

static int open_packet(const char *dev, uint16_t protocol)
{
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = (int)if_nametoindex(dev),
	};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0 || !to.sll_ifindex)
		die(dev);
	if (bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("bind");
	return fd;
}

static void open_place(struct place *p, const char *dev)
{
	int version = TPACKET_V2, on = 1, fd = socket(AF_PACKET, SOCK_RAW, 0);
	struct tpacket_req ring = {
		.tp_block_size = 1 << 16,
		.tp_block_nr = SLOT * SLOTS >> 16,
		.tp_frame_size = SLOT,
		.tp_frame_nr = SLOTS,
	};
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_IP),
		.sll_ifindex = (int)if_nametoindex(dev),
	};

	p->dev = dev;
	p->fd = fd;
	if (fd < 0 || !at.sll_ifindex)
		die(dev);
	if (setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) < 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof(ring)) < 0)
		die("ring");
	p->ring = mmap(NULL, (size_t)SLOT * SLOTS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p->ring == MAP_FAILED)
		die("mmap of a ring");
	touch(p->ring, (size_t)SLOT * SLOTS);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		die("bind");
}

static int open_changes(void)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK, .nl_groups = 1 << (RTNLGRP_TC - 1) };
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), size = 4 << 20;

	if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("netlink");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	return fd;
}

static void put_header(uint8_t frame[FRAME], const char *dst)
{
	static const uint8_t head[NUMBER] = {
		2,    0, 0, 0,		0, 1,	       2, 0, 0,	 0,  0, 2, 8, 0, /* Ethernet */
		0x45, 0, 0, FRAME - 14, 0, 0,	       0, 0, 64, 17, 0, 0,	 /* IPv4, UDP */
		10,   1, 0, 1,		0, 0,	       0, 0,			 /* from, to */
		4,    0, 0, 9,		0, FRAME - 34, 0, 0,			 /* ports 1024, 9 */
	};
	uint32_t sum = 0;

	memset(frame, 0, FRAME);
	memcpy(frame, head, sizeof(head));
	if (inet_pton(AF_INET, dst, frame + 30) != 1)
		die(dst);
	for (size_t i = 14; i < 34; i += 2)
		sum += (uint32_t)frame[i] << 8 | frame[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	frame[24] = (uint8_t)(~sum >> 8);
	frame[25] = (uint8_t)~sum;
}

/* ---- one turn ---- */

static uint64_t send_batch(int fd, uint8_t frames[BATCH][FRAME], uint64_t sent)
{
	static struct mmsghdr list[BATCH];
	static struct iovec parts[BATCH];
	int n;

	for (size_t i = 0; i < BATCH; i++) {
		uint64_t number = sent + i;

		memcpy(frames[i] + NUMBER, &number, sizeof(number));
		parts[i] = (struct iovec){ frames[i], FRAME };
		list[i].msg_hdr = (struct msghdr){ .msg_iov = &parts[i], .msg_iovlen = 1 };
	}
	when[sent / BATCH] = now_ns();
	for (unsigned int done = 0; done < BATCH; done += (unsigned int)n) {
		n = sendmmsg(fd, list + done, BATCH - done, 0);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			die("send");
	}
	return sent + BATCH;
}

static void take_frame(struct place *p, const uint8_t *data, uint32_t size, uint64_t sent)
{
	uint64_t number;

	if (size < NUMBER + sizeof(number)) {
		strange++;
		return;
	}
	memcpy(&number, data + NUMBER, sizeof(number));
	if (number >= sent) {
		strange++;
		return;
	}
	p->count++;
	if (came[number])
		p->twice++;
	else
		came[number] = (uint8_t)(1 + (p - places));
}

static void take_frames(struct place *p, uint64_t sent)
{
	for (;;) {
		struct tpacket2_hdr *h = (void *)(p->ring + (size_t)p->next * SLOT);

		if (!(__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
			return;
		take_frame(p, (uint8_t *)h + h->tp_mac, h->tp_snaplen, sent);
		__atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		p->next = (p->next + 1) % SLOTS;
	}
}

static void note_change(const struct nlmsghdr *h, uint64_t sent)
{
	const struct tcmsg *t = NLMSG_DATA(h);

	if ((h->nlmsg_type != RTM_NEWTFILTER && h->nlmsg_type != RTM_DELTFILTER) ||
	    change_count == CHANGES)
		return;
	changes[change_count++] = (struct change){ sent, now_ns(), h->nlmsg_type == RTM_DELTFILTER,
						   TC_H_MAJ(t->tcm_info) >> 16 };
}

static void take_changes(int fd, uint64_t sent)
{
	static uint8_t buffer[65536] __attribute__((aligned(8)));
	ssize_t n;

	while ((n = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT)) > 0) {
		size_t left = (size_t)n;

		for (struct nlmsghdr *h = (void *)buffer; NLMSG_OK(h, left);
		     h = NLMSG_NEXT(h, left))
			note_change(h, sent);
	}
}

/* ---- the end ---- */

/* Frames that did not come out at one of the first `good` places: how many, and over which time. */
static void print_gap(const char *name, uint64_t sent, size_t place)
{
	uint64_t n = 0, first = 0, last = 0;

	for (uint64_t i = 0; i < sent; i++) {
		if (came[i] != place)
			continue;
		if (n++ == 0)
			first = i;
		last = i;
	}
	printf(",\"%s\":{\"frames\":%llu,\"first\":%llu,\"last\":%llu,\"ns\":%llu}", name,
	       (unsigned long long)n, (unsigned long long)first, (unsigned long long)last,
	       (unsigned long long)(n ? when[last / BATCH] - when[first / BATCH] : 0));
}

/* How many frames were sent when the kernel had begun with a change. */
static uint64_t begun(const struct change *c, uint64_t ns)
{
	uint64_t batch = c->sent / BATCH;

	while (!c->gone && batch > 0 && when[batch - 1] + ns > c->ns)
		batch--;
	return batch * BATCH;
}

static void print_result(uint64_t sent, uint64_t ns, uint64_t change_ns)
{
	unsigned int turns = 0;
	uint8_t at = 0;

	for (uint64_t i = 0; i < sent; i++) {
		turns += at && came[i] && came[i] != at;
		at = came[i] ? came[i] : at;
	}
	printf("{\"sent\":%llu,\"ns\":%llu,\"strange\":%llu,\"turns\":%u", (unsigned long long)sent,
	       (unsigned long long)ns, (unsigned long long)strange, turns);
	print_gap("lost", sent, 0);
	printf(",\"places\":{");
	for (size_t i = 0; i < place_count; i++) {
		struct tpacket_stats stats = { 0 };
		socklen_t size = sizeof(stats);

		getsockopt(places[i].fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size);
		printf("%s\"%s\":{\"count\":%llu,\"twice\":%llu,\"overflow\":%u", i ? "," : "",
		       places[i].dev, (unsigned long long)places[i].count,
		       (unsigned long long)places[i].twice, stats.tp_drops);
		print_gap("span", sent, i + 1);
		printf("}");
	}
	printf("},\"changes\":[");
	for (size_t i = 0; i < change_count; i++)
		printf("%s{\"begun\":%llu,\"sent\":%llu,\"gone\":%s,\"pref\":%u}", i ? "," : "",
		       (unsigned long long)begun(&changes[i], change_ns),
		       (unsigned long long)changes[i].sent, changes[i].gone ? "true" : "false",
		       changes[i].pref);
	printf("]}\n");
}

static void open_progress(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(*progress)) < 0)
		die(path);
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (progress == MAP_FAILED)
		die(path);
}

int main(int argc, char **argv)
{
	static uint8_t frames[BATCH][FRAME];
	uint64_t sent = 0, start, end;
	int out, events;

	if (argc < 6 || argc - 5 > PLACES) {
		fprintf(stderr, "usage: stream FROM DST PROGRESS MS PLACE...\n");
		return 2;
	}
	came = reserve(MOST);
	when = reserve(MOST / BATCH * sizeof(*when));
	for (int i = 5; i < argc; i++)
		open_place(&places[place_count++], argv[i]);
	for (size_t i = 0; i < BATCH; i++)
		put_header(frames[i], argv[2]);
	out = open_packet(argv[1], 0);
	events = open_changes();
	open_progress(argv[3]);
	signal(SIGTERM, on_term);

	start = now_ns();
	while (!stop && sent + BATCH <= MOST) {
		take_changes(events, sent);
		sent = send_batch(out, frames, sent);
		*progress = sent;
		for (size_t i = 0; i < place_count; i++)
			take_frames(&places[i], sent);
	}
	end = now_ns();
	while (now_ns() - end < QUIET_NS)
		for (size_t i = 0; i < place_count; i++)
			take_frames(&places[i], sent);
	take_changes(events, sent);
	print_result(sent, end - start, strtoull(argv[4], NULL, 10) * 1000000);
	return 0;
}
