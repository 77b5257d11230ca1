/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dice: random numbers for property tests, from a seed that is printed and can be given again with
 * SWD_TEST_SEED.
 */
#ifndef SWD_TESTS_DICE_H
#define SWD_TESTS_DICE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct dice {
	uint64_t state;
};

static inline struct dice dice_new(const char *what)
{
	const char *given = getenv("SWD_TEST_SEED");
	struct timespec now;
	uint64_t seed;

	clock_gettime(CLOCK_REALTIME, &now);
	seed = given ? strtoull(given, NULL, 0)
		     : (uint64_t)now.tv_nsec * 2654435761u ^ (uint64_t)now.tv_sec;
	printf("%s: SWD_TEST_SEED=%llu\n", what, (unsigned long long)seed);
	fflush(stdout);
	return (struct dice){ seed * 2 + 1 };
}

/* splitmix64 */
static inline uint64_t dice_roll(struct dice *d)
{
	uint64_t z = d->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* 0 to n - 1; n is not 0. */
static inline size_t dice_below(struct dice *d, size_t n)
{
	return (size_t)(dice_roll(d) % n);
}

#endif
