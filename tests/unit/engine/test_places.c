// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looking where something was touched finds what a look over everything finds: through random
 * breakages of two blocks with prefs that filters share; and then there is nothing left.
 */
#include "../check.h"

#include <stdio.h>

#include "daemon/engine/observe.h"
#include "daemon/engine/wanted.h"
#include "files.h"
#include "rig.h"
#include "tests/unit/policy/dice.h"

static struct filter at(uint32_t block, uint32_t chain, uint16_t pref)
{
	return (struct filter){
		.obj.kind = KIND_FILTER, .block = block, .chain = chain, .pref = pref
	};
}

static void add(struct places *p, uint32_t block, uint32_t chain, uint16_t pref)
{
	struct filter f = at(block, chain, pref);

	places_add(p, &f);
}

static void places_are_kept_by_block(void **state)
{
	struct places p = { 0 };
	size_t first, end;

	add(&p, 20, 0, 1);
	add(&p, 10, 0, 1);
	add(&p, 20, 0, 1);
	add(&p, 20, 1, 1);
	assert_int_equal(p.count, 3);
	places_of(&p, 20, &first, &end);
	assert_int_equal(end - first, 2);
	places_of(&p, 15, &first, &end);
	assert_int_equal(end - first, 0);
	places_add_block(&p, 20);
	add(&p, 20, 0, 9);
	places_of(&p, 20, &first, &end);
	assert_int_equal(end - first, 1);
	assert_int_equal(p.list[first].pref, 0);
	places_add_block(&p, 0);
	assert_int_equal(p.count, 2);
	assert_false(p.all);
}

static void too_many_become_a_block_and_then_all(void **state)
{
	struct places p = { 0 };

	for (uint16_t pref = 1; pref <= PLACES_MOST + 1; pref++)
		add(&p, 10, 0, pref);
	assert_int_equal(p.count, 1);
	assert_int_equal(p.list[0].pref, 0);
	for (uint32_t block = 11; block < 10 + PLACES_MOST; block++)
		add(&p, block, 0, 1);
	assert_false(p.all);
	add(&p, 1000, 0, 1);
	assert_true(p.all);
	places_clear(&p);
	assert_true(!p.all && p.count == 0);
}

/* ---- the same as a look over everything ---- */

#define RULES_EACH 60

/* Two blocks of ports of their own; runs of five rules with one mask each. */
static char *two_blocks(void)
{
	char *text = malloc(64 * 1024);
	size_t n;

	assert_non_null(text);
	n = (size_t)sprintf(text, "version: 1\nports:\n  lan1: { up: true }\n  lan2: { up: true }\n"
				  "blocks:\n");
	for (int block = 0; block < 2; block++) {
		n += (size_t)sprintf(text + n,
				     "  b%d:\n    id: %d\n    bind: [lan%d]\n    tagging: none\n"
				     "    foreign: evict\n    rules:\n",
				     block, 10 + block, 1 + block);
		for (int i = 0; i < RULES_EACH; i++)
			n += (size_t)sprintf(text + n,
					     "      - { name: r%d, match: { dst: 10.%d.0.%d, "
					     "src: 128.0.0.0/%d }, action: drop }\n",
					     i, block, i, 1 + i / 5 % 4);
	}
	return text;
}

static char *steps_text(const struct plan *p)
{
	char *text = NULL, line[OBJECT_LABEL + 128];
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	for (size_t i = 0; i < p->count; i++) {
		step_print(&p->steps[i], line, sizeof(line));
		fprintf(to, "%s\n", line);
	}
	fclose(to);
	return text;
}

/* Returns how many steps there are. */
static size_t compare_looks(struct engine_owner *o)
{
	struct plan some = { 0 }, all = { 0 };
	char *a, *b;
	size_t n;

	assert_int_equal(wanted_work(o, &some), 0);
	assert_int_equal(wanted_plan(o, o->config, o->filters, PLAN_MEND, &all), 0);
	a = steps_text(&some);
	b = steps_text(&all);
	assert_string_equal(a, b);
	n = all.count;
	free(a);
	free(b);
	plan_clear(&some);
	plan_clear(&all);
	return n;
}

static void break_one(struct dice *d)
{
	uint32_t block = 10 + (uint32_t)dice_below(d, 2);
	size_t i = dice_below(d, fake_filters(block) + 1);

	if (fake_filters(block) == 0)
		return; /* the device lost its clsact already */
	if (i == fake_filters(block)) {
		fake_del_qdisc(block == 10 ? "lan1" : "lan2");
		return;
	}
	switch (dice_below(d, 4)) {
	case 0:
		fake_del_pref(block, fake_filter(block, i)->pref);
		return;
	case 1: {
		/* Another under its handle, that does something else, and is nobody's. */
		struct filter *f = filter_copy(fake_filter(block, i));

		memset(f->cookie, 0, sizeof(f->cookie));
		f->has_cookie = false;
		f->owner = OWNER_FOREIGN;
		fake_del_filter(block, i);
		fake_add_object(f);
		return;
	}
	default:
		fake_del_filter(block, i);
	}
}

static void random_breakages_are_found_where_they_are(void **state)
{
	struct dice dice = dice_new("breakages");
	char *text = two_blocks(), *before;
	size_t steps = 0, narrow = 0;
	struct rig r;

	rig_begin(&r, BYPASS_ABILITY_READBACK);
	rig_write(&r, text);
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(r.newest->last_outcome, APPLY_DONE);
	before = fake_text();
	for (int i = 0; i < 150; i++) {
		char *after;

		assert_int_equal(r.o->touched.count, 0);
		assert_false(r.o->touched.all);
		backoff_forget(&r.o->backoff);
		for (size_t n = 1 + dice_below(&dice, 3); n; n--)
			break_one(&dice);
		observe_events(r.o);
		observe_refresh(r.o);
		narrow += !r.o->touched.all;
		steps += compare_looks(r.o);
		rig_settle(&r);
		after = fake_text();
		assert_same_kernel(before, after);
		free(after);
	}
	print_message("%zu steps; %zu of 150 times not all was looked at\n", steps, narrow);
	assert_true(narrow == 150 && steps > 450);
	free(before);
	free(text);
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_kept_by_block),
		cmocka_unit_test(too_many_become_a_block_and_then_all),
		cmocka_unit_test(random_breakages_are_found_where_they_are),
	};

	return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}
