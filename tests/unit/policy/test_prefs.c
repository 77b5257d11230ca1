// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * prefs_assign() does what prefs.h promises: prefs rise and stay in their range, fixed ones hold,
 * and nobody could keep more old ones. The last is proved against a search through all subsets, for
 * tables small enough; for large ones after each of many random edits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>
#include <errno.h>

#include "config/base/util.h"
#include "daemon/policy/prefs.h"
#include "tests/unit/policy/dice.h"

static void assert_valid(const struct pref_slot *slots, size_t n, uint16_t min, uint16_t max)
{
	for (size_t i = 0; i < n; i++) {
		assert_in_range(slots[i].ret, min, max);
		if (i)
			assert_true(slots[i].ret > slots[i - 1].ret);
		if (slots[i].fixed)
			assert_int_equal(slots[i].ret, slots[i].fixed);
	}
}

static size_t count_kept(const struct pref_slot *slots, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		kept += !slots[i].fixed && slots[i].before && slots[i].ret == slots[i].before;
	return kept;
}

/* Could all slots of the set keep their old pref, together with the fixed ones? */
static bool feasible(const struct pref_slot *slots, size_t n, unsigned int set, uint16_t min,
		     uint16_t max)
{
	int64_t last = min - 1;

	for (size_t i = 0; i < n; i++) {
		int64_t at = slots[i].fixed ? slots[i].fixed : set & 1u << i ? slots[i].before : 0;

		if (at && (at <= last || at < min))
			return false;
		last = at ? at : last + 1;
	}
	return last <= max;
}

/* The most that can be kept, or -1 if not even the fixed ones can be had. */
static int most_kept(const struct pref_slot *slots, size_t n, uint16_t min, uint16_t max)
{
	int most = -1;

	for (unsigned int set = 0; set < 1u << n; set++) {
		bool sense = true;

		for (size_t i = 0; i < n; i++)
			sense &= !(set & 1u << i) || (slots[i].before && !slots[i].fixed);
		if (sense && feasible(slots, n, set, min, max))
			most = MAX(most, __builtin_popcount(set));
	}
	return most;
}

static void test_keeps_as_many_as_possible(void **state)
{
	struct dice dice = dice_new("prefs");
	size_t refused = 0, compared = 0;

	for (size_t round = 0; round < 20000; round++) {
		size_t n = 1 + dice_below(&dice, 9), bad = SIZE_MAX;
		uint16_t min = (uint16_t)(1 + dice_below(&dice, 5));
		uint16_t max = (uint16_t)(min + n - 1 + dice_below(&dice, 8));
		struct pref_slot slots[9] = { 0 };
		int most, r;

		for (size_t i = 0; i < n; i++) {
			if (dice_below(&dice, 3))
				slots[i].before = (uint16_t)(1 + dice_below(&dice, max + 3u));
			if (!dice_below(&dice, 6))
				slots[i].fixed = (uint16_t)(1 + dice_below(&dice, max + 1u));
		}
		most = most_kept(slots, n, min, max);
		r = prefs_assign(slots, n, min, max, &bad);
		if (most < 0) {
			assert_int_equal(r, -EINVAL);
			assert_true(bad < n && slots[bad].fixed);
			refused++;
			continue;
		}
		assert_int_equal(r, 0);
		assert_valid(slots, n, min, max);
		assert_int_equal(count_kept(slots, n), most);
		compared++;
	}
	assert_true(refused > 1000 && compared > 1000);
}

static void test_gaps(void **state)
{
	struct pref_slot fresh[3] = { 0 },
			 middle[3] = { { .before = 64 }, { 0 }, { .before = 128 } };
	struct pref_slot front[2] = { { 0 }, { .before = 500 } },
			 behind[2] = { { .before = 7 }, { 0 } };
	struct pref_slot one = { 0 };
	size_t bad;

	assert_int_equal(prefs_assign(fresh, 3, 1, 65535, &bad), 0);
	assert_int_equal(fresh[0].ret, 64);
	assert_int_equal(fresh[1].ret, 128);
	assert_int_equal(fresh[2].ret, 192);
	assert_int_equal(prefs_assign(middle, 3, 1, 65535, &bad), 0);
	assert_int_equal(middle[1].ret, 96);
	assert_int_equal(prefs_assign(front, 2, 1, 65535, &bad), 0);
	assert_int_equal(front[0].ret, 436);
	assert_int_equal(prefs_assign(behind, 2, 1, 65535, &bad), 0);
	assert_int_equal(behind[1].ret, 71);
	assert_int_equal(prefs_assign(&one, 1, 9, 9, &bad), 0);
	assert_int_equal(one.ret, 9);
	assert_int_equal(prefs_assign(NULL, 0, 1, 1, &bad), 0);
}

static void test_full_gap_moves_one(void **state)
{
	struct pref_slot s[4] = { { .before = 10 }, { 0 }, { .before = 11 }, { .before = 13 } };
	size_t bad;

	assert_int_equal(prefs_assign(s, 4, 1, 65535, &bad), 0);
	assert_int_equal(count_kept(s, 4), 2);
	assert_valid(s, 4, 1, 65535);
}

static void test_too_many(void **state)
{
	struct pref_slot s[4] = { 0 };
	size_t bad;

	assert_int_equal(prefs_assign(s, 4, 5, 7, &bad), -ERANGE);
	assert_int_equal(prefs_assign(s, 3, 5, 7, &bad), 0);
	assert_valid(s, 3, 5, 7);
}

static void test_every_pref_there_is(void **state)
{
	struct pref_slot *s = calloc(65535, sizeof(*s));
	struct timespec before, after;
	size_t bad;
	double ms;

	assert_non_null(s);
	assert_int_equal(prefs_assign(s, 65535, 1, 65535, &bad), 0);
	assert_valid(s, 65535, 1, 65535);
	/* Once more, with a bad case for a quadratic search: everything reversed. */
	for (size_t i = 0; i < 65535; i++)
		s[i].before = (uint16_t)(65535 - i);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	assert_int_equal(prefs_assign(s, 65535, 1, 65535, &bad), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	ms = (double)(after.tv_sec - before.tv_sec) * 1e3 +
	     (double)(after.tv_nsec - before.tv_nsec) / 1e6;
	print_message("65,535 reversed slots: %.1f ms\n", ms);
	assert_true(ms < 1000);
	assert_valid(s, 65535, 1, 65535);
	free(s);
}

/* A table that lives: rules come and go at random places, and few others move (a hundredth, as a
 * rule). */
static void test_edits(void **state)
{
	static struct pref_slot s[2048];
	struct dice dice = dice_new("edits");
	size_t n = 900, moved = 0, bad;

	memset(s, 0, sizeof(s));
	for (size_t round = 0; round < 4000; round++) {
		size_t at = dice_below(&dice, n);

		if (n > 800 && (n == 1000 || dice_below(&dice, 2) == 0)) {
			memmove(s + at, s + at + 1, (--n - at) * sizeof(*s));
		} else {
			memmove(s + at + 1, s + at, (n++ - at) * sizeof(*s));
			s[at] = (struct pref_slot){ 0 };
		}
		assert_int_equal(prefs_assign(s, n, 1, 65535, &bad), 0);
		assert_valid(s, n, 1, 65535);
		for (size_t i = 0; i < n; i++) {
			moved += s[i].before && s[i].before != s[i].ret;
			s[i].before = s[i].ret;
		}
	}
	print_message("4,000 edits of some 900 slots: %zu moves\n", moved);
	assert_true(moved < 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps_as_many_as_possible), cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_full_gap_moves_one),	  cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_every_pref_there_is),	  cmocka_unit_test(test_edits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
