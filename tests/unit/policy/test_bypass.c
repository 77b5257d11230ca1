// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The judgement on a block through stories: what happened to its filters, what is found there, and
 * what must be said of its bypass, with each ability of the kernel. Among them the story that the
 * lab told on 6.12: 50 rules, a software filter added to a pref and deleted again, and the bypass
 * gone for good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/policy/story.h"

/* ---- marks (6.12) ---- */

static void fifty_rules(struct story *s)
{
	assert_int_equal(bypass_block_born(s->b, 10), 0);
	for (uint16_t i = 1; i <= 50; i++)
		story_flower(s, i, 1, SKIP_SW, true);
}

static void test_the_story_of_the_lab(void **state)
{
	struct story s;
	struct bypass_proto heal[4];
	char cost[BYPASS_COST];

	story_begin(&s, BYPASS_ABILITY_MARKS);
	fifty_rules(&s);
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.strategy, BYPASS_STRATEGY_KERNEL);
	assert_int_equal(s.report.filters, 50);
	assert_int_equal(story_heal(&s, heal, 4), 0);

	/* A software filter comes into pref 12 ... */
	story_flower(&s, 12, 2, SOFTWARE, false);
	story_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.culprit_count, 1);
	story_culprit(
		&s, 0, "pref 12 protocol ip flower handle 0x2, foreign: not skip_sw",
		"tc filter del block 10 pref 12 protocol ip handle 0x2 flower, or foreign: evict "
		"in swd.yaml:12");
	assert_int_equal(s.report.filters_sw, 1);
	bypass_cost(&s.report, cost);
	assert_string_equal(cost, "up to 51 filters walked for each packet that reaches the CPU");
	assert_int_equal(story_heal(&s, heal, 4), 0);

	/* ... and goes. Nothing shows it, and the bypass stays off. */
	story_gone(&s, 12, 0x0800, 2);
	story_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.culprit_count, 1);
	story_culprit(&s, 0, "pref 12 protocol ip: marked by a filter that is gone",
		      "swd rebuilds it");
	assert_int_equal(s.report.culprits[0].handle, 0);
	assert_int_equal(s.report.filters_sw, 0);
	assert_int_equal(story_heal(&s, heal, 4), 1);
	assert_int_equal(heal[0].pref, 12);
	assert_int_equal(heal[0].protocol, 0x0800);

	/* Healed: beside it first, then the old one goes, and its pref with it. */
	story_flower(&s, 112, 1, SKIP_SW, true);
	story_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	story_gone(&s, 12, 0x0800, 1);
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	bypass_cost(&s.report, cost);
	assert_string_equal(cost, "");
	story_end(&s);
}

/* What nobody told of is not seen, until something else is heard or wanted: nothing was walked. */
static void test_what_did_not_change_is_not_walked(void **state)
{
	struct filter *soft = story_filter(0, 12, 0x0800, 2, SOFTWARE, "flower", false), *left;
	struct bypass_proto heal[4];
	struct story s;

	story_begin(&s, BYPASS_ABILITY_MARKS);
	fifty_rules(&s);
	for (size_t i = 0; i < state_count(s.found, KIND_FILTER); i++)
		bypass_count(s.b, state_at(s.found, KIND_FILTER, i), 1);
	story_put(&s, object_ref(soft));
	story_gone(&s, 12, 0x0800, 2);
	object_unref(soft);
	s.words.version = 1;
	story_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.culprit_count, 1);
	assert_int_equal(story_heal(&s, heal, 4), 1);

	left = object_ref(state_at(s.found, KIND_FILTER, 11));
	assert_int_equal(left->pref, 12);
	state_remove(s.found, left);
	story_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.culprit_count, 1);
	s.words.version = 2;
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);

	assert_int_equal(story_heal(&s, heal, 4), 0);
	assert_int_equal(state_put(s.found, left), 0);
	assert_int_equal(story_heal(&s, heal, 4), 0);
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	bypass_count(s.b, left, 0);
	assert_int_equal(story_heal(&s, heal, 4), 1);
	story_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	/* Events were lost: the others may be marked too. */
	bypass_all_stale(s.b);
	story_judge(&s);
	assert_int_equal(s.report.culprit_count, 50);
	story_end(&s);
}

static void test_whole_pref_deleted(void **state)
{
	struct story s;

	story_begin(&s, BYPASS_ABILITY_MARKS);
	fifty_rules(&s);
	story_put(&s, story_filter(0, 1, ETHERTYPE_ALL, 1, SOFTWARE, "matchall", false));
	story_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	story_culprit(&s, 0, "pref 1 protocol all matchall handle 0x1, foreign: not skip_sw",
		      "tc filter del block 10 pref 1, or foreign: evict in swd.yaml:12");
	story_gone(&s, 1, ETHERTYPE_ALL, 0);
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	/* A new proto in the old place is a new one. */
	story_flower(&s, 7, 9, SOFTWARE, true);
	story_gone(&s, 7, 0x0800, 0);
	story_flower(&s, 7, 1, SKIP_SW, true);
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	story_end(&s);
}

/* A replace by skip_sw in the same pref leaves the mark. */
static void test_replaced(void **state)
{
	struct story s;
	struct bypass_proto heal[1];

	story_begin(&s, BYPASS_ABILITY_MARKS);
	assert_int_equal(bypass_block_born(s.b, 10), 0);
	story_flower(&s, 5, 1, SOFTWARE, true);
	story_flower(&s, 5, 1, SKIP_SW, true);
	story_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	story_culprit(&s, 0, "pref 5 protocol ip: marked by a filter that is gone",
		      "swd rebuilds it");
	assert_int_equal(story_heal(&s, heal, 1), 1);
	story_end(&s);
}

/* An unbind takes in_hw away and marks nothing; those filters are nowhere at all, and are counted.
 */
static void test_lost_hardware(void **state)
{
	struct story s;

	story_begin(&s, BYPASS_ABILITY_MARKS);
	fifty_rules(&s);
	story_flower(&s, 3, 1, DEAD, true);
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.filters_dead, 1);
	/* One that comes that way would have marked. */
	story_flower(&s, 60, 1, DEAD, true);
	story_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.filters_dead, 2);
	story_end(&s);
}

static void test_unseen_history(void **state)
{
	struct block required = make_block;
	struct story s;
	struct bypass_proto heal[64];
	char cost[BYPASS_COST];

	story_begin(&s, BYPASS_ABILITY_MARKS);
	for (uint16_t i = 1; i <= 3; i++)
		story_flower(&s, i, 1, SKIP_SW, i != 2);
	story_state(&s, BYPASS_UNKNOWN, BYPASS_BY_NOTHING); /* not even dumped */
	assert_int_equal(bypass_block_found(s.b, 10, s.found), 0);
	story_state(&s, BYPASS_UNKNOWN, BYPASS_BY_NOTHING);
	assert_int_equal(s.report.culprit_count, 3);
	story_culprit(&s, 0, "pref 1 protocol ip: may be marked by a filter that swd did not see",
		      "bypass: required in swd.yaml:12, so that swd rebuilds it");
	story_culprit(&s, 1, "pref 2 protocol ip: may be marked by a filter that swd did not see",
		      "tc filter del block 10 pref 2, or foreign: evict in swd.yaml:12");
	bypass_cost(&s.report, cost);
	assert_string_equal(
		cost, "up to 3 filters walked for each packet that reaches the CPU, if it is off");
	required.bypass = BYPASS_WANT_REQUIRED;
	s.words.block_wanted = &required;
	story_judge(&s);
	assert_true(bypass_worth_healing(s.report.state, &required));
	story_culprit(&s, 0, "pref 1 protocol ip: may be marked by a filter that swd did not see",
		      "swd rebuilds it");
	/* What is foreign is not ours to rebuild. */
	assert_int_equal(story_heal(&s, heal, 64), 2);
	assert_int_equal(heal[0].pref, 1);
	assert_int_equal(heal[1].pref, 3);
	/* Each proto that was rebuilt before our eyes is known. */
	story_flower(&s, 10, 1, SKIP_SW, true);
	story_gone(&s, 1, 0x0800, 1);
	story_flower(&s, 11, 1, SKIP_SW, true);
	story_gone(&s, 3, 0x0800, 0);
	story_state(&s, BYPASS_UNKNOWN, BYPASS_BY_NOTHING);
	story_gone(&s, 2, 0x0800, 1);
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	story_end(&s);
}

/* A software filter in a dump proves the mark, whatever was not seen. */
static void test_found_with_software(void **state)
{
	struct block off = make_block;
	struct story s;

	story_begin(&s, BYPASS_ABILITY_MARKS);
	story_flower(&s, 1, 1, SKIP_SW, true);
	story_flower(&s, 2, 1, SOFTWARE, false);
	story_flower(&s, 2, 2, SKIP_SW, true);
	assert_int_equal(bypass_block_found(s.b, 10, s.found), 0);
	story_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.culprit_count, 2); /* that one for sure, pref 1 perhaps */
	story_gone(&s, 2, 0x0800, 1);
	story_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	story_culprit(&s, 0, "pref 2 protocol ip: marked by a filter that is gone",
		      "swd rebuilds it");
	/* Where it rebuilds for a mark that is sure, it does not stop at those that may be. */
	assert_true(bypass_worth_healing(s.report.state, &make_block));
	story_culprit(&s, 1, "pref 1 protocol ip: may be marked by a filter that swd did not see",
		      "swd rebuilds it");
	off.bypass = BYPASS_WANT_OFF;
	s.words.block_wanted = &off;
	story_judge(&s);
	assert_false(bypass_worth_healing(s.report.state, &off));
	story_culprit(&s, 0, "pref 2 protocol ip: marked by a filter that is gone",
		      "bypass: preferred in swd.yaml:12, so that swd rebuilds it");
	story_end(&s);
}

static void test_lost_events(void **state)
{
	struct story s;

	story_begin(&s, BYPASS_ABILITY_MARKS);
	fifty_rules(&s);
	bypass_all_stale(s.b);
	story_state(&s, BYPASS_UNKNOWN, BYPASS_BY_NOTHING);
	assert_int_equal(s.report.culprit_count, 50);
	/* Before the dump a proto that seems new may be an old one. */
	story_flower(&s, 70, 1, SKIP_SW, true);
	for (uint16_t i = 1; i <= 50; i++)
		story_gone(&s, i, 0x0800, 1);
	story_state(&s, BYPASS_UNKNOWN, BYPASS_BY_NOTHING);
	assert_int_equal(s.report.culprit_count, 1);
	assert_int_equal(bypass_block_found(s.b, 10, s.found), 0);
	story_state(&s, BYPASS_UNKNOWN, BYPASS_BY_NOTHING);
	story_flower(&s, 71, 1, SKIP_SW, true);
	story_gone(&s, 70, 0x0800, 1);
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	story_end(&s);
}

static void test_other_classifiers(void **state)
{
	struct story s;

	story_begin(&s, BYPASS_ABILITY_MARKS);
	assert_int_equal(bypass_block_born(s.b, 10), 0);
	/* A hash table of u32 marks nothing (the probe lives on that), its knodes do. */
	story_put(&s, story_filter(0, 1, ETHERTYPE_ALL, 0x100000, 0, "u32", false));
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.filters, 0);
	story_put(&s, story_filter(0, 1, ETHERTYPE_ALL, 0x100800, SKIP_SW, "u32", false));
	story_put(&s, story_filter(0, 2, ETHERTYPE_ALL, 1, SKIP_SW, "bpf", false));
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.filters, 2);
	/* One that can't be offloaded marks by being there. */
	story_put(&s, story_filter(0, 3, 0x0800, 1, 0, "basic", false));
	story_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	story_culprit(&s, 0, "pref 3 protocol ip basic handle 0x1, foreign: can't be offloaded",
		      "tc filter del block 10 pref 3, or foreign: evict in swd.yaml:12");
	story_gone(&s, 3, 0x0800, 1);
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	story_end(&s);
}

static void test_counter_disproves(void **state)
{
	struct story s;

	story_begin(&s, BYPASS_ABILITY_MARKS);
	uint64_t later = now_monotonic_ns() + 1100000000ULL;

	fifty_rules(&s);
	story_judge(&s);
	/* Not known yet, too soon, the first reading, the same again, and twice more. */
	bypass_disproved(s.b, 10, "lan1");
	assert_false(bypass_counted(s.b, 10, "lan1", 7, later - 1000000000ULL));
	assert_false(bypass_counted(s.b, 10, "lan1", 8, later));
	assert_false(bypass_counted(s.b, 10, "lan1", 8, later));
	for (uint64_t n = 9; n < 11; n++) {
		story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
		assert_true(bypass_counted(s.b, 10, "lan1", n, later));
		bypass_disproved(s.b, 10, "lan1");
	}
	story_state(&s, BYPASS_OFF, BYPASS_BY_COUNTERS);
	story_flower(&s, 51, 1, SKIP_SW, true);
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	story_end(&s);
}

static void test_chains(void **state)
{
	struct story s;

	story_begin(&s, BYPASS_ABILITY_MARKS);
	assert_int_equal(bypass_block_born(s.b, 10), 0);
	story_flower(&s, 1, 1, SKIP_SW, true);
	story_put(&s, story_filter(5, 1, 0x0800, 1, SOFTWARE, "flower", false));
	story_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.walked, 1);
	story_culprit(&s, 0, "chain 5 pref 1 protocol ip flower handle 0x1, foreign: not skip_sw",
		      "tc filter del block 10 chain 5 pref 1, or foreign: evict in swd.yaml:12");
	story_end(&s);
}

/* ---- words about our own rules ---- */

static void test_our_own_rule(void **state)
{
	const struct make_rule rules[] = {
		{ .name = "fast", .match = "dst=10.0.0.1" },
		{ .name = "slow", .match = "dst=10.0.0.2", .offload = OFFLOAD_PREFERRED },
		{ .name = "there", .match = "dst=10.0.0.3", .pref = 900 },
	};
	struct story s;

	story_begin(&s, BYPASS_ABILITY_MARKS);
	s.config = make_config(&make_block, rules, 3);
	s.wanted = make_filters(s.config, NULL);
	s.words.filters = s.wanted;
	assert_int_equal(bypass_block_born(s.b, 10), 0);
	for (size_t i = 0; i < 3; i++) {
		struct filter *f = filter_copy(state_at(s.wanted, KIND_FILTER, i));

		f->flags |= i == 1 ? TCA_CLS_FLAGS_NOT_IN_HW : TCA_CLS_FLAGS_IN_HW;
		story_put(&s, f);
	}
	story_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.culprit_count, 1);
	/* In front of a pref that a rule says, numbers count down from it: 772, 836, 900. */
	story_culprit(&s, 0, "pref 836 protocol ip flower handle 0x1, rule slow: not skip_sw",
		      "offload: required for rule slow in swd.yaml:21");
	/* A mark in a pref that the file says takes a free one beside it to be rebuilt. */
	story_flower(&s, 900, 2, SOFTWARE, false);
	story_gone(&s, 900, 0x0800, 2);
	story_judge(&s);
	story_culprit(&s, 1, "pref 900 protocol ip: marked by a filter that is gone",
		      "swd rebuilds it");
	story_flower(&s, 899, 1, SKIP_SW, true);
	story_flower(&s, 901, 1, SKIP_SW, true);
	story_judge(&s);
	story_culprit(
		&s, 1, "pref 900 protocol ip: marked by a filter that is gone",
		"a free pref beside that of rule there in swd.yaml:22, so that swd can rebuild it");
	/* Of ours, and not wanted any more. */
	story_flower(&s, 5, 1, SOFTWARE, true);
	story_judge(&s);
	story_culprit(&s, 0,
		      "pref 5 protocol ip flower handle 0x1, left over from swd: not skip_sw",
		      "swd removes it: it is not wanted any more");
	story_end(&s);
}

static void test_free_beside(void **state)
{
	static const struct {
		uint16_t pref, beside;
	} cases[] = { { 10, 9 }, { 11, 0 }, { 12, 13 }, { 1, 2 }, { 20, 21 }, { 65535, 65534 } };
	struct story s;

	story_begin(&s, BYPASS_ABILITY_MARKS);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		story_flower(&s, cases[i].pref, 1, SKIP_SW, true);
	/* Other chains and blocks are no neighbours. */
	story_put(&s, story_filter(1, 13, 0x0800, 1, SKIP_SW, "flower", true));
	story_put(&s, story_filter(1, 2, 0x0800, 1, SKIP_SW, "flower", true));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_object_ struct filter *f =
			story_filter(0, cases[i].pref, 0x0800, 1, SKIP_SW, "flower", true);

		assert_int_equal(bypass_free_beside(s.found, f), cases[i].beside);
	}
	story_end(&s);
}

static void test_foreign_evicted(void **state)
{
	struct block evict = make_block;
	struct story s;

	evict.foreign = FOREIGN_EVICT;
	story_begin(&s, BYPASS_ABILITY_MARKS);
	s.words.block_wanted = &evict;
	assert_int_equal(bypass_block_born(s.b, 10), 0);
	story_flower(&s, 1, 1, SOFTWARE, false);
	story_judge(&s);
	story_culprit(&s, 0, "pref 1 protocol ip flower handle 0x1, foreign: not skip_sw",
		      "swd evicts it");
	story_end(&s);
}

static void test_more_culprits_than_fit(void **state)
{
	struct story s;

	story_begin(&s, BYPASS_ABILITY_MARKS);
	assert_int_equal(bypass_block_born(s.b, 10), 0);
	for (uint16_t i = 1; i <= 20; i++)
		story_flower(&s, i, 1, SOFTWARE, false);
	story_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.culprit_count, 20);
	assert_int_equal(s.report.culprits[BYPASS_CULPRITS - 1].pref, BYPASS_CULPRITS);
	story_end(&s);
}

/* ---- our patch ---- */

static void test_read_back(void **state)
{
	struct bypass_reading reading = { .block = 10, .members = 2, .bypassed = 1, .filters = 1 };
	struct story s;
	uint64_t since;

	story_begin(&s, BYPASS_ABILITY_READBACK);
	story_flower(&s, 1, 1, SKIP_SW, true);
	story_state(&s, BYPASS_UNKNOWN, BYPASS_BY_NOTHING);
	assert_int_equal(bypass_read(s.b, &reading), 0);
	story_state(&s, BYPASS_ON, BYPASS_BY_READBACK);
	assert_int_equal(s.report.reading.members, 2);
	since = s.report.since_ns;
	assert_true(since > 0);
	story_judge(&s);
	assert_int_equal(s.report.since_ns, since);

	/* The kernel's word wins, the filters explain it. */
	story_flower(&s, 2, 1, SOFTWARE, false);
	story_state(&s, BYPASS_ON, BYPASS_BY_READBACK);
	assert_int_equal(s.report.culprit_count, 0);
	reading.bypassed = 0;
	assert_int_equal(bypass_read(s.b, &reading), 0);
	story_state(&s, BYPASS_OFF, BYPASS_BY_READBACK);
	assert_int_equal(s.report.culprit_count, 1);
	assert_true(s.report.since_ns > since);
	story_gone(&s, 2, 0x0800, 1);
	reading.bypassed = 1;
	assert_int_equal(bypass_read(s.b, &reading), 0);
	story_state(&s, BYPASS_ON, BYPASS_BY_READBACK); /* nothing to heal there */
	assert_int_equal(bypass_to_heal(s.b, 10, s.found, NULL, 0), 0);
	story_end(&s);
}

/* ---- the shortcut ---- */

static void test_shortcut(void **state)
{
	struct block off = make_block;
	struct story s;

	story_begin(&s, BYPASS_ABILITY_NONE);
	story_flower(&s, 64, 1, SKIP_SW, true);
	story_flower(&s, 128, 1, SKIP_SW, true);
	story_state(&s, BYPASS_OFF, BYPASS_BY_FILTERS);
	assert_int_equal(s.report.strategy, BYPASS_STRATEGY_SHORTCUT);
	story_culprit(&s, 0, "block 10 has no shortcut in front",
		      "swd puts it there once every filter is skip_sw");
	story_put(&s, story_filter(0, 2, ETHERTYPE_ALL, 1, TCA_CLS_FLAGS_SKIP_HW | SOFTWARE,
				   "matchall", true));
	story_state(&s, BYPASS_ON, BYPASS_BY_FILTERS);
	assert_int_equal(s.report.filters, 2);
	assert_int_equal(s.report.filters_sw, 0);

	/* A foreign filter behind it that would have needed software. */
	story_flower(&s, 200, 1, SOFTWARE, false);
	story_state(&s, BYPASS_OFF, BYPASS_BY_FILTERS);
	assert_int_equal(s.report.culprit_count, 1);
	/* The shortcut goes for its sake, and that is said. */
	story_gone(&s, 2, ETHERTYPE_ALL, 1);
	story_state(&s, BYPASS_OFF, BYPASS_BY_FILTERS);
	assert_int_equal(s.report.culprit_count, 2);
	story_culprit(&s, 0, "pref 200 protocol ip flower handle 0x1, foreign: not skip_sw",
		      "tc filter del block 10 pref 200, or foreign: evict in swd.yaml:12");
	story_culprit(
		&s, 1,
		"block 10 has no shortcut in front: it would hide pref 200 protocol ip flower "
		"handle 0x1, foreign, from software",
		"swd puts it there once no such filter is left");
	story_gone(&s, 200, 0x0800, 1);
	story_put(&s, story_filter(0, 2, ETHERTYPE_ALL, 1, TCA_CLS_FLAGS_SKIP_HW | SOFTWARE,
				   "matchall", true));
	/* And one in front, harmless but for its place. */
	story_flower(&s, 1, 1, SKIP_SW, false);
	story_state(&s, BYPASS_OFF, BYPASS_BY_FILTERS);
	story_gone(&s, 1, 0x0800, 1);
	story_state(&s, BYPASS_ON, BYPASS_BY_FILTERS);

	/* The same without our cookie is somebody else's. */
	story_put(&s, story_filter(0, 2, ETHERTYPE_ALL, 1, TCA_CLS_FLAGS_SKIP_HW | SOFTWARE,
				   "matchall", false));
	story_state(&s, BYPASS_OFF, BYPASS_BY_FILTERS);

	/* Not wanted: then there is none. */
	off.bypass = BYPASS_WANT_OFF;
	s.words.block_wanted = &off;
	story_state(&s, BYPASS_OFF, BYPASS_BY_NOTHING);
	assert_int_equal(s.report.strategy, BYPASS_STRATEGY_NONE);
	story_end(&s);
}

static void test_unknown_ability(void **state)
{
	struct story s;

	story_begin(&s, BYPASS_ABILITY_UNKNOWN);
	story_flower(&s, 64, 1, SKIP_SW, true);
	story_state(&s, BYPASS_UNKNOWN, BYPASS_BY_NOTHING);
	assert_int_equal(s.report.strategy, BYPASS_STRATEGY_NONE);
	story_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_story_of_the_lab),
		cmocka_unit_test(test_what_did_not_change_is_not_walked),
		cmocka_unit_test(test_whole_pref_deleted),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_lost_hardware),
		cmocka_unit_test(test_unseen_history),
		cmocka_unit_test(test_found_with_software),
		cmocka_unit_test(test_lost_events),
		cmocka_unit_test(test_other_classifiers),
		cmocka_unit_test(test_counter_disproves),
		cmocka_unit_test(test_chains),
		cmocka_unit_test(test_our_own_rule),
		cmocka_unit_test(test_free_beside),
		cmocka_unit_test(test_foreign_evicted),
		cmocka_unit_test(test_more_culprits_than_fit),
		cmocka_unit_test(test_read_back),
		cmocka_unit_test(test_shortcut),
		cmocka_unit_test(test_unknown_ability),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
