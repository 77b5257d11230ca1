// SPDX-License-Identifier: GPL-2.0-or-later
/* The right number of frames to a doorbell, from samples made up by the law that is to be found. */
#include "tests/unit/check.h"

#include <stdlib.h>

#include "config/base/util.h"
#include "daemon/tx/choose.h"

static const uint32_t numbers[] = { 1, 2, 4, 8, 16, 32, 64 };

/* What a machine does: a level that wanders from round to round, noise on each sample, and now and
 * then one that took many times as long. */
struct machine {
	uint64_t frame_ps, doorbell_ps;
	uint32_t wander, noise; /* parts in a thousand, up and down */
	uint32_t rare;		/* one in so many is an outlier; 0: none */
	unsigned int seed;
};

static uint64_t about(uint64_t ps, uint32_t parts, unsigned int *seed)
{
	if (!parts)
		return ps;
	return ps * (1000 - parts + (uint32_t)rand_r(seed) % (2 * parts + 1)) / 1000;
}

static struct samples measured(struct machine m, size_t rounds)
{
	struct samples s = { .rows = ARRAY_SIZE(numbers), .rounds = rounds };

	for (size_t row = 0; row < s.rows; row++)
		s.frames[row] = numbers[row];
	for (size_t round = 0; round < rounds; round++) {
		uint64_t level = about(1000000, m.wander, &m.seed);

		for (size_t row = 0; row < s.rows; row++) {
			uint64_t ps = m.frame_ps + m.doorbell_ps / numbers[row];

			ps = about(ps * level / 1000000, m.noise, &m.seed);
			if (m.rare && (uint32_t)rand_r(&m.seed) % m.rare == 0)
				ps *= 10;
			s.ps[row][round] = ps;
		}
	}
	return s;
}

static uint64_t law(const struct machine *m, uint32_t frames)
{
	return m->frame_ps + m->doorbell_ps / frames;
}

static void test_exact(void **state)
{
	struct machine m = { .frame_ps = 600000, .doorbell_ps = 53000 };
	struct samples s = measured(m, 9);
	struct choice c;

	choose(&s, &c);
	assert_int_equal(c.fastest, 64);
	/* 8 is 1.0 % of the fastest behind it, and 4 more than 2. */
	assert_int_equal(c.frames, 8);
	assert_int_equal(c.median_ps[0], 653000);
	assert_int_equal(c.median_ps[3], 606625);
	assert_int_equal(c.spread_ps[0], 0);
	assert_int_equal(c.behind_ps, law(&m, 8) - law(&m, 64));
	assert_in_range(c.doorbell_ps, 52500, 53500);
	assert_in_range(c.frame_ps, 599500, 600500);
}

static void test_no_doorbell(void **state)
{
	unsigned int wrong = 0;

	for (unsigned int seed = 0; seed < 400; seed++) {
		struct machine m = { 600000, 0, 100, 30, 15, seed };
		struct samples s = measured(m, 15);
		struct choice c;

		choose(&s, &c);
		wrong += c.frames != 1;
	}
	assert_in_range(wrong, 0, 12); /* three in a hundred */
}

/* The gain is there in spite of a level that wanders ten times as far as the gain. */
static void test_dear_doorbell(void **state)
{
	for (unsigned int seed = 0; seed < 400; seed++) {
		struct machine m = { 700000, 1000000, 300, 20, 15, seed };
		struct samples s = measured(m, 15);
		struct choice c;

		choose(&s, &c);
		assert_in_range(c.frames, 16, 64);
		assert_true(law(&m, c.frames) < law(&m, 64) * 108 / 100);
		assert_in_range(c.doorbell_ps, 500000, 1500000);
	}
}

/* A device that is slower with many at once: the fastest is in the middle. */
static void test_fastest_in_the_middle(void **state)
{
	static const uint64_t cost[] = { 900000, 700000, 600000, 560000, 560000, 800000, 900000 };
	struct samples s = { .rows = ARRAY_SIZE(numbers), .rounds = 3 };
	struct choice c;

	for (size_t row = 0; row < s.rows; row++) {
		s.frames[row] = numbers[row];
		for (size_t round = 0; round < s.rounds; round++)
			s.ps[row][round] = cost[row];
	}
	choose(&s, &c);
	assert_int_equal(c.frames, 8);
	assert_int_equal(c.fastest, 8);
	assert_int_equal(c.behind_ps, 0);
}

static void test_one_sample(void **state)
{
	struct samples s = { .rows = 1, .rounds = 1, .frames = { 1 }, .ps = { { 5000 } } };
	struct choice c;

	choose(&s, &c);
	assert_int_equal(c.frames, 1);
	assert_int_equal(c.median_ps[0], 5000);
	assert_int_equal(c.doorbell_ps, 0);
}

/* Quartiles lie between the samples where there are not enough of them. */
static void test_medians(void **state)
{
	struct samples s = { .rows = 7, .rounds = 4, .ps = { { 400, 100, 300, 200 } } };
	struct choice c;

	for (size_t row = 0; row < s.rows; row++) {
		s.frames[row] = numbers[row];
		for (size_t round = 0; row && round < s.rounds; round++)
			s.ps[row][round] = 100;
	}
	choose(&s, &c);
	assert_int_equal(c.median_ps[0], 250);
	assert_int_equal(c.spread_ps[0], 325 - 175);
}

/* One round took twice as long as the others, whatever was tried in it. */
static void test_a_slow_round(void **state)
{
	struct samples s = {
		.rows = 3,
		.rounds = 3,
		.frames = { 1, 2, 4 },
		.ps = { { 800, 1600, 800 }, { 600, 1200, 600 }, { 500, 1000, 500 } },
	};
	struct choice c;

	choose(&s, &c);
	assert_int_equal(c.frames, 4);
	assert_int_equal(c.median_ps[0], 800);
	assert_int_equal(c.spread_ps[0], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),	      cmocka_unit_test(test_no_doorbell),
		cmocka_unit_test(test_dear_doorbell), cmocka_unit_test(test_fastest_in_the_middle),
		cmocka_unit_test(test_one_sample),    cmocka_unit_test(test_medians),
		cmocka_unit_test(test_a_slow_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
