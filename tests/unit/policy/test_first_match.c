// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A rule means what it says, for every packet it says it for, and the first that matches decides:
 * before, during and after edits. See course.h.
 */
#include "tests/unit/check.h"

#include <stdio.h>
#include <time.h>

#include "daemon/policy/lower.h"
#include "tests/unit/policy/course.h"
#include "tests/unit/policy/make.h"
#include "tests/unit/policy/table.h"

/* How many: so many as the test's argument says. */
static size_t rounds;

static void print_tally(const struct course_tally *t)
{
	print_message("%zu lists (%zu edits), %zu rules, %zu filters (%zu beside others), %zu "
		      "packets: %zu hits (%zu tagged, %zu over chains, %zu in software)\n",
		      t->lists, t->edits, t->rules, t->filters, t->shared, t->packets, t->hits,
		      t->tagged, t->chained, t->software);
	print_message("%zu steps (%zu adds, %zu changes, %zu removes), %zu looks on the way; "
		      "%zu edits (%zu looks) mixed chains, %zu with a gap (%zu met, %zu looks)\n",
		      t->steps, t->adds, t->changes, t->removes, t->looks, t->mixed, t->mixed_looks,
		      t->gaps, t->gaped, t->gap_looks);
}

static void one_round(uint64_t seed, struct course_tally *t)
{
	struct dice d = { seed * 2 + 1 };
	struct course_failure f;
	struct course c;
	enum course_end end;

	course_random(&d, &c);
	end = course_run(&c, t, &f);
	if (end != COURSE_HOLDS) {
		print_error("SWD_TEST_SEED=%llu\n", (unsigned long long)seed);
		if (end == COURSE_FAILS)
			course_shrink(&c, &f);
		course_print(&c, &f, stderr);
	}
	course_clear(&c);
	assert_int_equal(end, COURSE_HOLDS);
}

/* A round has a seed of its own, so that one can be run alone. */
static void test_first_match_before_during_and_after(void **state)
{
	struct dice start = dice_new("first match");
	struct course_tally t = { 0 };

	for (size_t i = 0; i < rounds; i++)
		one_round(start.state / 2 + i, &t);
	print_tally(&t);
	if (rounds < 500)
		return;
	/* A test in which nothing meets anything would prove nothing. */
	assert_true(t.lists > rounds * 19 / 10 && t.edits > rounds / 2);
	assert_true(t.hits > t.packets / 8 && t.hits < t.packets * 3 / 4);
	assert_true(t.tagged > t.hits / 10 && t.chained > t.hits / 50);
	assert_true(t.shared > t.filters / 20);
}

/* A removed rule's frames fell to one that was on its way out: at once, and when a copy went. */
static void test_what_goes_early_falls_to_nothing(void **state)
{
	struct course_tally t = { 0 };

	one_round(206711, &t);
	assert_true(t.removes > 0);
}

/* The two judges must be able to differ: a filter that flower would read too widely is caught. */
static void test_judges_can_differ(void **state)
{
	struct dice dice = dice_new("judges");
	struct written w = {
		.dport = { true, 1000, 1000 },
		.tagging = TAGGING_ANY,
		.deeds = { { DEED_DROP, 0 } },
		.deed_count = 1,
	};
	struct written_block list = { OFFLOAD_REQUIRED, TAGGING_NONE, 0, 1, &w };
	const struct action drop = { .kind = ACTION_DROP };
	_cleanup_object_ struct filter *f = NULL;
	size_t wider = 0, escaped = 0;
	struct match m;

	make_match("dport=1000", &m); /* without a proto: flower drops the key */
	f = filter_new(match_view(&m), &drop, 1);
	assert_non_null(f);
	f->protocol = 0x0800;
	for (size_t i = 0; i < 2000; i++) {
		struct packet p = packet_random(&dice);
		bool wanted = written_walk(&list, SIDE_HARDWARE, &p).hit_count;

		wider += filter_matches(f, &p) && !wanted;
		escaped += !filter_matches(f, &p) && wanted;
	}
	assert_true(wider > 50);
	assert_true(escaped > 10);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_match_before_during_and_after),
		cmocka_unit_test(test_what_goes_early_falls_to_nothing),
		cmocka_unit_test(test_judges_can_differ),
	};

	rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000;
	setenv("SWD_TEST_SEED", "1", false);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
