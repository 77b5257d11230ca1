// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ringtool: a ring of daemon/tx driven by hand. It opens one on a device, carries out what it reads
 * from standard input, a command a line, and says after each what came of it: a line of JSON with
 * the result, the time it took, the processor time it used, the state, and all counts.
 *
 *   ringtool DEV SLOTS BYPASS TRIES PAUSE_US    (0: as the ring has it)
 *
 *   put COUNT LENGTH     puts numbered frames until the ring is full
 *   send COUNT LENGTH MS puts, kicks and waits, MS milliseconds at most
 *   kick | look | wait MS | drain MS
 *
 * The number of a frame stands behind its Ethernet header, 4 bytes, in network order.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "daemon/tx/ring.h"

#define HEADER 14

static struct ring *ring;
static uint32_t number;
static unsigned int kicks;
static uint8_t frame[65536] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5 };

static int put(unsigned int length)
{
	uint32_t n = htonl(number);
	int r;

	memcpy(frame + HEADER, &n, sizeof(n));
	r = ring_put(ring, frame, length);
	if (r == 0)
		number++;
	return r;
}

static int put_many(unsigned int count, unsigned int length)
{
	int r = 0;

	for (unsigned int i = 0; i < count && r == 0; i++)
		r = put(length);
	return r;
}

/* As one who wants frames to go: kicks when the ring is full, sleeps when it is told to. */
static int send_many(unsigned int count, unsigned int length, unsigned int ms)
{
	uint64_t end = now_monotonic_ns() + ms * 1000000ULL;
	unsigned int sent = 0;

	while (now_monotonic_ns() < end) {
		int r = 0;

		while (sent < count && r == 0) {
			r = put(length);
			sent += r == 0;
		}
		if (r < 0 && r != -EAGAIN)
			return r;
		kicks++;
		r = ring_kick(ring);
		if (r == 0 && sent == count)
			return 0;
		if (r < 0 && r != -EAGAIN && r != -ENOBUFS && r != -ENETDOWN)
			return r;
		r = ring_wait(ring, 50);
		if (r < 0 && r != -ETIMEDOUT)
			return r;
	}
	return -ETIMEDOUT;
}

static int carry_out(const char *line)
{
	unsigned int a, b, c;

	if (sscanf(line, "put %u %u", &a, &b) == 2)
		return put_many(a, b);
	if (sscanf(line, "send %u %u %u", &a, &b, &c) == 3)
		return send_many(a, b, c);
	if (sscanf(line, "wait %u", &a) == 1)
		return ring_wait(ring, a);
	if (sscanf(line, "drain %u", &a) == 1)
		return ring_drain(ring, a);
	if (strcmp(line, "kick\n") == 0)
		return ring_kick(ring);
	if (strcmp(line, "look\n") == 0)
		return ring_look(ring);
	fprintf(stderr, "ringtool: what is %s", line);
	exit(2);
}

static uint64_t cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void tell(int result, uint64_t took_ns, uint64_t used_us)
{
	struct ring_counts c;

	ring_counts(ring, &c);
	printf("{\"result\": %d, \"words\": \"%s\", \"ms\": %.3f, \"cpu_ms\": %.3f, "
	       "\"state\": \"%s\", \"slots\": %u, \"kicks\": %u",
	       result, strerror(-result), (double)took_ns / 1e6, (double)used_us / 1e3,
	       ring_state_words(ring_state(ring)), ring_slots(ring), kicks);
#define COUNT(name) printf(", \"" #name "\": %llu", (unsigned long long)c.name)
	COUNT(put);
	COUNT(handed);
	COUNT(dropped);
	COUNT(wrong);
	COUNT(unsent);
	COUNT(waiting);
	COUNT(flying);
	COUNT(left);
	COUNT(lost);
	COUNT(full);
	COUNT(busy);
	COUNT(rests);
	printf("}\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct ring_options o = { 0 };
	char line[128];
	int r;

	if (argc != 6)
		return 2;
	o.slots = (uint32_t)atoi(argv[2]);
	o.bypass = atoi(argv[3]);
	o.tries = (uint32_t)atoi(argv[4]);
	o.pause_us = (uint32_t)atoi(argv[5]);
	r = ring_open(argv[1], &o, &ring);
	if (r < 0) {
		printf("{\"result\": %d, \"words\": \"%s\"}\n", r, strerror(-r));
		return 1;
	}
	tell(0, 0, 0);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t start = now_monotonic_ns(), used = cpu_us();

		r = carry_out(line);
		tell(r, now_monotonic_ns() - start, cpu_us() - used);
	}
	ring_close(ring);
	return 0;
}
