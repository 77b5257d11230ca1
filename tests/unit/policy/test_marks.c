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

static size_t looks;
const void *__real_state_at(const struct state *s, enum kind kind, size_t i);
const void *__wrap_state_at(const struct state *s, enum kind kind, size_t i);

const void *__wrap_state_at(const struct state *s, enum kind kind, size_t i)
{
	looks++;
	return __real_state_at(s, kind, i);
}

static void put_counted(struct story *s, struct filter *f)
{
	bypass_count(s->b, f, 1);
	story_put(s, f);
}

static void test_a_clean_block_is_not_walked(void **state)
{
	struct bypass_proto heal[2];
	struct story s;

	story_begin(&s, BYPASS_ABILITY_MARKS);
	assert_int_equal(bypass_block_born(s.b, 10), 0);
	for (uint16_t i = 1; i <= 10000; i++)
		put_counted(&s, story_filter(0, i, 0x0800, 1, SKIP_SW, "flower", true));
	looks = 0;
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	assert_int_equal(story_heal(&s, heal, 2), 0);
	assert_int_equal(looks, 0);
	/* One that was not heard of makes a walk, and doubt. */
	bypass_count(s.b, state_at(s.found, KIND_FILTER, 0), -1);
	bypass_count(s.b, state_at(s.found, KIND_FILTER, 1), 1);
	looks = 0;
	assert_int_equal(story_heal(&s, heal, 2), 0);
	assert_true(looks >= 10000);
	bypass_count(s.b, state_at(s.found, KIND_FILTER, 1), -1);
	bypass_count(s.b, state_at(s.found, KIND_FILTER, 0), 1);
	/* So does one that was marked, until its pref has gone. */
	story_flower(&s, 5000, 2, SOFTWARE, false);
	story_gone(&s, 5000, 0x0800, 2);
	story_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(story_heal(&s, heal, 2), 1);
	assert_int_equal(heal[0].pref, 5000);
	bypass_count(s.b, state_at(s.found, KIND_FILTER, 4999), -1);
	story_gone(&s, 5000, 0x0800, 1);
	looks = 0;
	story_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	assert_int_equal(story_heal(&s, heal, 2), 0);
	assert_int_equal(looks, 0);
	story_end(&s);
}

/* True if it is on, with something in it. */
static bool same_judgement(struct bypass *kept, struct bypass *anew, const struct state *found)
{
	struct bypass_proto heal_a[200], heal_b[200];
	struct bypass_report a, b;
	size_t n;

	assert_int_equal(bypass_judge(kept, 10, found, NULL, &a), 0);
	assert_int_equal(bypass_judge(anew, 10, found, NULL, &b), 0);
	assert_int_equal(a.state, b.state);
	assert_int_equal(a.evidence, b.evidence);
	assert_int_equal(a.culprit_count, b.culprit_count);
	n = bypass_to_heal(kept, 10, found, heal_a, ARRAY_SIZE(heal_a));
	assert_int_equal(n, bypass_to_heal(anew, 10, found, heal_b, ARRAY_SIZE(heal_b)));
	return a.state == BYPASS_ON && a.filters;
}

/* What is heard, and what is found, in any order: one may be ahead of the other, or know better. */
static void hear(struct bypass *b, struct dice d, const struct filter *f, bool gone,
		 const struct state *found)
{
	struct filter key = { .obj.kind = KIND_FILTER,
			      .block = 10,
			      .chain = f->chain,
			      .pref = f->pref,
			      .protocol = f->protocol,
			      .handle = f->handle };

	switch (dice_below(&d, 100)) {
	case 0:
		bypass_all_stale(b);
		return;
	case 1:
		assert_int_equal(bypass_block_found(b, 10, found), 0);
		return;
	case 2:
		key.pref = 0;
		key.handle = 0;
		break;
	case 3:
		assert_int_equal(bypass_block_born(b, 10), 0);
		return;
	case 4:
		key.handle = 0;
		break;
	default:
		if (!gone) {
			assert_int_equal(bypass_filter_new(b, f), 0);
			return;
		}
	}
	bypass_filter_gone(b, &key);
}

static struct filter *any_filter(struct dice *d)
{
	size_t strange = dice_below(d, 200), flags = dice_below(d, 100);

	return story_filter((uint32_t)dice_below(d, 2), (uint16_t)(1 + dice_below(d, 4)), 0x0800,
			    dice_below(d, 100) ? 1 + (uint32_t)dice_below(d, 2) : 0,
			    flags == 0	 ? DEAD
			    : flags == 1 ? SOFTWARE
					 : SKIP_SW,
			    strange == 0   ? "u32"
			    : strange == 1 ? "basic"
					   : "flower",
			    true);
}

static size_t one_round(struct dice *dice)
{
	_cleanup_(bypass_freep) struct bypass *kept = bypass_new(BYPASS_ABILITY_MARKS),
					      *anew = bypass_new(BYPASS_ABILITY_MARKS);
	_cleanup_(state_freep) struct state *found = state_new();
	size_t on = 0;

	assert_int_equal(bypass_block_born(kept, 10), 0);
	assert_int_equal(bypass_block_born(anew, 10), 0);
	for (int i = 0; i < 50; i++) {
		_cleanup_object_ struct filter *f = any_filter(dice);
		const struct filter *before = state_find(found, f);
		bool heard = dice_below(dice, 50), gone = !dice_below(dice, 3);

		if (heard) {
			hear(kept, *dice, f, gone, found);
			hear(anew, *dice, f, gone, found);
		}
		if (dice_below(dice, 50)) {
			if (before)
				bypass_count(kept, before, -1);
			if (!gone)
				bypass_count(kept, f, 1);
			if (!gone)
				assert_int_equal(state_put(found, object_ref(f)), 0);
			else
				state_remove(found, f);
		}
		on += same_judgement(kept, anew, found);
	}
	return on;
}

/* The way around the walk is taken only where the walk finds nothing. */
static void test_without_a_walk_as_with_it(void **state)
{
	struct dice dice = dice_new("walks");
	size_t on = 0;

	for (int i = 0; i < 2000; i++)
		on += one_round(&dice);
	print_message("100,000 steps: %zu on\n", on);
	assert_true(on > 5000 && on < 90000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_the_model),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_kept_counts),
		cmocka_unit_test(test_a_clean_block_is_not_walked),
		cmocka_unit_test(test_without_a_walk_as_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
