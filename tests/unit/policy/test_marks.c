// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The marks of 6.12 against a model of that kernel in a few lines, with random changes; and with as
 * many prefs and filters as a block can have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/policy/dice.h"
#include "tests/unit/policy/story.h"

#define MODEL_PREFS 6
#define MODEL_HANDLES 4

/* The kernel of 6.12 in a few lines: prefs with a mark and a set of filters. */
struct model {
	struct {
		bool marked, there[MODEL_HANDLES], software[MODEL_HANDLES];
		size_t count;
	} protos[MODEL_PREFS];
};

static bool model_bypassed(const struct model *m)
{
	for (size_t i = 0; i < MODEL_PREFS; i++)
		if (m->protos[i].count && m->protos[i].marked)
			return false;
	return true;
}

static void model_step(struct story *s, struct model *m, struct dice *d)
{
	size_t p = dice_below(d, MODEL_PREFS), h = dice_below(d, MODEL_HANDLES);

	if (dice_below(d, 3)) {
		bool software = !dice_below(d, 8);

		if (!m->protos[p].count)
			m->protos[p].marked = false;
		m->protos[p].count += !m->protos[p].there[h];
		m->protos[p].there[h] = true;
		m->protos[p].marked |= software;
		story_flower(s, (uint16_t)(p + 1), (uint32_t)h + 1, software ? SOFTWARE : SKIP_SW,
			     true);
	} else if (m->protos[p].there[h]) {
		bool whole = !dice_below(d, 3);

		m->protos[p].count = whole ? 0 : m->protos[p].count - 1;
		for (size_t i = 0; i < MODEL_HANDLES; i++)
			m->protos[p].there[i] &= !whole && i != h;
		story_gone(s, (uint16_t)(p + 1), 0x0800, whole ? 0 : (uint32_t)h + 1);
	}
}

static void test_against_the_model(void **state)
{
	struct dice dice = dice_new("marks");
	size_t on = 0, off = 0;

	for (size_t round = 0; round < 200; round++) {
		struct model m = { 0 };
		struct story s;

		story_begin(&s, BYPASS_ABILITY_MARKS);
		assert_int_equal(bypass_block_born(s.b, 10), 0);
		for (size_t step = 0; step < 200; step++) {
			bool bypassed;

			model_step(&s, &m, &dice);
			bypassed = model_bypassed(&m);
			story_state(&s, bypassed ? BYPASS_ON : BYPASS_OFF, BYPASS_BY_HISTORY);
			on += bypassed;
			off += !bypassed;
		}
		story_end(&s);
	}
	print_message("40,000 steps: %zu on, %zu off\n", on, off);
	assert_true(on > 1000 && off > 1000);
}

/* 60,000 prefs and as many handles in one: the table grows, and loses none. */
static void test_large(void **state)
{
	struct story s;
	struct bypass_proto heal[2];

	story_begin(&s, BYPASS_ABILITY_MARKS);
	assert_int_equal(bypass_block_born(s.b, 10), 0);
	for (uint32_t i = 1; i <= 60000; i++)
		story_flower(&s, (uint16_t)i, 1, SKIP_SW, true);
	for (uint32_t i = 2; i <= 60000; i++)
		story_flower(&s, 60000, i, SKIP_SW, true);
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.filters, 119999);
	story_flower(&s, 30000, 2, SOFTWARE, false);
	story_gone(&s, 30000, 0x0800, 2);
	assert_int_equal(story_heal(&s, heal, 2), 1);
	assert_int_equal(heal[0].pref, 30000);
	for (uint32_t i = 60000; i >= 1; i--)
		story_gone(&s, 60000, 0x0800, i);
	story_gone(&s, 30000, 0x0800, 1);
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.filters, 59998);
	story_end(&s);
}

/* Counts that are kept come to what each judgement counts anew. */
static void test_kept_counts(void **state)
{
	static const uint32_t flags[] = { SKIP_SW, DEAD, SOFTWARE };
	_cleanup_(bypass_freep) struct bypass *kept = bypass_new(BYPASS_ABILITY_NONE),
					      *anew = bypass_new(BYPASS_ABILITY_NONE);
	_cleanup_(state_freep) struct state *found = state_new();
	struct dice dice = dice_new("counts");
	size_t software = 0;

	assert_int_equal(bypass_foreign(kept, 10), SIZE_MAX);
	for (int i = 0; i < 3000; i++) {
		struct filter *f = filter_new((struct match_view){ 0 }, NULL, 0);
		const struct filter *before;
		struct bypass_report a, b;
		size_t foreign = 0;

		f->block = 10 + (uint32_t)dice_below(&dice, 3);
		f->chain = (uint32_t)dice_below(&dice, 2);
		f->pref = (uint16_t)(1 + dice_below(&dice, 20));
		f->protocol = 0x0800;
		f->handle = 1;
		f->flags = flags[dice_below(&dice, ARRAY_SIZE(flags))];
		f->owner = dice_below(&dice, 4) ? OWNER_OURS : OWNER_FOREIGN;
		before = state_find(found, f);
		if (before)
			bypass_count(kept, before, -1);
		if (dice_below(&dice, 3)) {
			bypass_count(kept, f, 1);
			assert_int_equal(state_put(found, f), 0);
		} else {
			state_remove(found, f);
			object_unref(f);
		}
		if (i % 50 || i == 0)
			continue;
		assert_int_equal(bypass_judge(kept, 10, found, NULL, &a), 0);
		assert_int_equal(bypass_judge(anew, 10, found, NULL, &b), 0);
		assert_int_equal(a.filters, b.filters);
		assert_int_equal(a.filters_sw, b.filters_sw);
		assert_int_equal(a.filters_dead, b.filters_dead);
		assert_int_equal(a.walked, b.walked);
		assert_int_equal(a.culprit_count, b.culprit_count);
		software += a.filters_sw;
		for (size_t k = 0; k < state_count(found, KIND_FILTER); k++) {
			const struct filter *in = state_at(found, KIND_FILTER, k);

			foreign += in->block == 10 && in->owner == OWNER_FOREIGN;
		}
		assert_int_equal(bypass_foreign(kept, 10), foreign);
	}
	assert_true(software > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_the_model),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_kept_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
