// SPDX-License-Identifier: GPL-2.0-or-later
/* The bypass of a block: marks that stay are healed without a gap, and a shortcut hides nobody's
 * filter. */
#include "../check.h"

#include <stdio.h>

#include "files.h"
#include "rig.h"

/* clang-format off */
#define SOFT_RULE \
	"      - name: soft\n" \
	"        match: { dst: 192.0.2.0/24 }\n" \
	"        action: drop\n" \
	"        offload: preferred\n"
/* clang-format on */

static void start_with(struct rig *r, enum bypass_ability ability, const char *yaml)
{
	rig_begin(r, ability);
	rig_write(r, yaml);
	rig_start(r);
	rig_settle(r);
	assert_int_equal(r->newest->last_outcome, APPLY_DONE);
	fake_reset_counts();
}

static enum bypass_state state_of(const struct rig *r)
{
	const struct bypass_report *report = snapshot_bypass(r->newest, 10);

	assert_non_null(report);
	return report->state;
}

/* Someone puts a filter that needs software into the pref of the first of ours, under another
 * handle. */
static void mark_first(uint16_t pref)
{
	struct action drop_it = { .kind = ACTION_DROP };
	struct match m = { 0 };
	struct filter *f;

	assert_int_equal(field_parse("dst", "203.0.113.99", &m, NULL), 0);
	f = filter_new(match_view(&m), &drop_it, 1);
	f->block = 10;
	f->pref = pref;
	f->protocol = 0x0800;
	f->handle = 77;
	f->type = FILTER_FLOWER;
	fake_add_object(f);
}

static void marked_pref_is_rebuilt_before_it_goes(void **state)
{
	struct rig r;
	uint16_t pref;
	char gone[64], *before, *after;
	size_t n, added, removed;

	start_with(&r, BYPASS_ABILITY_MARKS, HEAD BLOCK RULES);
	assert_int_equal(state_of(&r), BYPASS_ON);
	n = fake_filters(10);
	pref = fake_filter(10, 0)->pref;
	mark_first(pref);
	rig_settle(&r);
	assert_int_equal(state_of(&r), BYPASS_OFF);
	assert_non_null(rig_alert(&r, "bypass-off"));
	assert_int_equal(fake.requests, 0); /* it is reported, and stays */
	fake_del_handle(10, pref, 77);
	rig_settle(&r);
	assert_int_equal(state_of(&r), BYPASS_ON);
	assert_null(rig_alert(&r, "bypass-off"));
	assert_int_equal(fake_filters(10), n);
	assert_int_equal(fake.requests, 2);
	snprintf(gone, sizeof(gone), "pref %u ", pref);
	added = fake_log_find("+ ", 0);
	removed = fake_log_find("- ", 0);
	assert_true(added < removed && removed != SIZE_MAX);
	assert_true(fake_logged(removed, gone));
	assert_false(fake_logged(added, gone));
	/* The new place is what is wanted from here on, over a reload and a start. */
	assert_int_equal(rig_reload_ok(&r), 0);
	before = fake_text();
	rig_stop(&r);
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(fake.requests, 0);
	after = fake_text();
	assert_same_kernel(before, after);
	/* What was not seen is not claimed. */
	assert_int_equal(state_of(&r), BYPASS_UNKNOWN);
	free(before);
	free(after);
	rig_end(&r);
}

static void count_line(enum log_level level, const char *line, void *data)
{
	++*(size_t *)data;
}

/* The journal is told a little of it, and clients the truth each time. */
static void flapping_filter_fills_no_journal(void **state)
{
	struct rig r;
	size_t lines = 0;

	start_with(&r, BYPASS_ABILITY_MARKS, HEAD BLOCK RULES);
	r.o->flaps.say = count_line;
	r.o->flaps.data = &lines;
	r.o->flaps.count = 0; /* the start was told */
	for (int i = 0; i < 50; i++) {
		mark_first(60000);
		rig_settle(&r);
		assert_int_equal(state_of(&r), BYPASS_OFF);
		assert_non_null(rig_alert(&r, "bypass-off"));
		fake_del_handle(10, 60000, 77);
		rig_settle(&r);
		assert_int_equal(state_of(&r), BYPASS_ON);
		assert_null(rig_alert(&r, "bypass-off"));
	}
	/* Two things flapped: the alert and the state. */
	assert_int_equal(lines, 2 * (FLAPS_FREE + 1));
	assert_true(owner_due(r.o) <= now_monotonic_ns() + FLAPS_FIRST_S * 1000000000ULL);
	/* Its last word comes when its time has come. */
	flaps_tick(&r.o->flaps, now_monotonic_ns() + FLAPS_FIRST_S * 1000000000ULL);
	assert_int_equal(lines, 2 * (FLAPS_FREE + 2));
	rig_end(&r);
}

#define TIED(name, pref, dst) \
	"      - { name: " name ", pref: " pref ", match: { dst: " dst " }, action: drop }\n"

/* A rule that says its pref goes to a free one beside it, and comes back: at no time is it away. */
static void tied_pref_takes_a_detour(void **state)
{
	struct rig r;
	char *before, *after;

	start_with(&r, BYPASS_ABILITY_MARKS,
		   HEAD BLOCK "    rules:\n" TIED("low", "10", "198.51.100.0/24")
			   TIED("high", "11", "203.0.113.7"));
	assert_int_equal(state_of(&r), BYPASS_ON);
	before = fake_text();
	mark_first(10);
	rig_settle(&r);
	assert_int_equal(state_of(&r), BYPASS_OFF);
	fake_del_handle(10, 10, 77);
	rig_settle(&r);
	assert_int_equal(state_of(&r), BYPASS_ON);
	assert_int_equal(fake.requests, 4);
	assert_true(fake_logged(fake_log_find("+ ", 0), "pref 9 "));
	assert_int_equal(fake_log_find("pref 9 ", 0), fake.log_count - 4);
	assert_int_equal(fake_log_find("pref 10 ", fake.log_count - 4), fake.log_count - 3);
	assert_true(fake_logged(fake.log_count - 3, "- "));
	assert_true(fake_logged(fake.log_count - 2, "pref 10 "));
	assert_true(fake_logged(fake.log_count - 1, "pref 9 "));
	after = fake_text();
	assert_same_kernel(before, after);
	assert_true(r.newest->settled);
	free(after);

	/* What is refused on the way leaves all as it was. */
	for (size_t at = 1; at <= 4; at++) {
		mark_first(10);
		rig_settle(&r);
		fake_reset_counts();
		fake.fail_at = at;
		r.o->heal_due = 0;
		fake_del_handle(10, 10, 77);
		rig_settle(&r);
		fake.fail_at = 0;
		after = fake_text();
		assert_same_kernel(before, after);
		free(after);
		assert_non_null(rig_alert(&r, "heal"));
	}
	free(before);
	rig_end(&r);
}

static void tied_pref_without_room_is_told(void **state)
{
	struct rig r;

	start_with(&r, BYPASS_ABILITY_MARKS,
		   HEAD BLOCK "    rules:\n" TIED("low", "10", "198.51.100.0/24")
			   TIED("mid", "11", "203.0.113.7") TIED("high", "12", "203.0.113.8"));
	mark_first(11);
	rig_settle(&r);
	fake_del_handle(10, 11, 77);
	rig_settle(&r);
	assert_int_equal(state_of(&r), BYPASS_OFF);
	assert_int_equal(fake.requests, 0);
	assert_non_null(rig_alert(&r, "heal"));
	assert_non_null(strstr(rig_alert(&r, "heal")->text, "none beside it is free"));
	assert_non_null(strstr(snapshot_bypass(r.newest, 10)->culprits[0].mend,
			       "a free pref beside that of rule mid"));
	rig_end(&r);
}

static void evicted_filter_leaves_no_mark(void **state)
{
	struct rig r;
	uint16_t pref;

	start_with(&r, BYPASS_ABILITY_MARKS, HEAD BLOCK "    foreign: evict\n" RULES);
	pref = fake_filter(10, 0)->pref;
	mark_first(pref);
	rig_settle(&r);
	assert_int_equal(state_of(&r), BYPASS_ON);
	assert_int_equal(r.newest->found ? fake_filters(10) : 0,
			 state_count(r.newest->filters, KIND_FILTER));
	rig_end(&r);
}

static void a_heal_that_fails_leaves_all_as_it_was(void **state)
{
	struct rig r;
	uint16_t pref;
	char *before, *after;

	start_with(&r, BYPASS_ABILITY_MARKS, HEAD BLOCK RULES);
	before = fake_text();
	pref = fake_filter(10, 0)->pref;
	mark_first(pref);
	rig_settle(&r);
	fake_reset_counts();
	fake.fail_at = 1;
	fake_del_handle(10, pref, 77);
	rig_settle(&r);
	after = fake_text();
	assert_same_kernel(before, after);
	assert_int_equal(state_of(&r), BYPASS_OFF);
	assert_non_null(rig_alert(&r, "heal"));
	free(before);
	free(after);
	rig_end(&r);
}

static const struct filter *shortcut(void)
{
	for (size_t i = 0; i < fake_filters(10); i++)
		if (fake_filter(10, i)->flags & TCA_CLS_FLAGS_SKIP_HW)
			return fake_filter(10, i);
	return NULL;
}

static void shortcut_stands_in_front_and_comes_last(void **state)
{
	struct rig r;

	rig_begin(&r, BYPASS_ABILITY_NONE);
	rig_write(&r, HEAD BLOCK RULES);
	rig_start(&r);
	rig_settle(&r);
	assert_ptr_equal(shortcut(), fake_filter(10, 0));
	assert_true(fake_log_find("matchall", 0) == fake.log_count - 1);
	assert_int_equal(state_of(&r), BYPASS_ON);
	assert_int_equal(rig_reload_ok(&r), 0);
	rig_end(&r);
}

static void shortcut_makes_room_for_a_foreign_filter(void **state)
{
	struct rig r;

	start_with(&r, BYPASS_ABILITY_NONE, HEAD BLOCK RULES);
	fake_add_filter(10, 50000, "203.0.113.0/24", 0);
	rig_settle(&r);
	assert_null(shortcut());
	assert_int_equal(state_of(&r), BYPASS_OFF);
	assert_true(r.newest->settled);
	/* It stays away over a start, from the first moment. */
	rig_stop(&r);
	rig_start(&r);
	assert_null(shortcut());
	assert_true(r.newest->settled);
	assert_int_equal(state_of(&r), BYPASS_OFF);
	fake_del_pref(10, 50000);
	rig_settle(&r);
	assert_non_null(shortcut());
	assert_int_equal(state_of(&r), BYPASS_ON);
	/* One that hardware does alone is hidden from nobody. */
	fake_add_filter(10, 50000, "203.0.113.0/24", TCA_CLS_FLAGS_SKIP_SW);
	rig_settle(&r);
	assert_non_null(shortcut());
	rig_end(&r);
}

static void shortcut_is_deleted_and_comes_back(void **state)
{
	struct rig r;

	start_with(&r, BYPASS_ABILITY_NONE, HEAD BLOCK RULES);
	fake_del_filter(10, 0);
	assert_null(shortcut());
	rig_settle(&r);
	assert_non_null(shortcut());
	/* A rule for software ends it: frames pass until that rule is there, as they did. */
	rig_write(&r, HEAD BLOCK RULES SOFT_RULE);
	rig_reload_ok(&r);
	assert_null(shortcut());
	assert_true(fake_log_find("+ ", 0) < fake_log_find("- ", 0));
	rig_end(&r);
}

/* It looks like a shortcut, and its successor comes first all the same. */
static void rule_for_all_in_software_is_no_shortcut(void **state)
{
	static const char *const names[] = { "all", "every" };
	char yaml[512];
	struct rig r;

	rig_begin(&r, BYPASS_ABILITY_READBACK);
	for (size_t i = 0; i < 2; i++) {
		snprintf(yaml, sizeof(yaml),
			 HEAD BLOCK
			 "    rules:\n"
			 "      - { name: %s, offload: off, match: { %s }, action: %s }\n",
			 names[i], i ? "dst: 192.0.2.1, tagging: none" : "ethertype: all",
			 i ? "drop" : "pass");
		rig_write(&r, yaml);
		if (i == 0)
			rig_start(&r);
		else
			rig_reload_ok(&r);
		rig_settle(&r);
	}
	assert_int_equal(fake_filters(10), 1);
	assert_true(fake_log_find("+ ", 0) < fake_log_find("- ", 0));
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marked_pref_is_rebuilt_before_it_goes),
		cmocka_unit_test(flapping_filter_fills_no_journal),
		cmocka_unit_test(tied_pref_takes_a_detour),
		cmocka_unit_test(tied_pref_without_room_is_told),
		cmocka_unit_test(evicted_filter_leaves_no_mark),
		cmocka_unit_test(a_heal_that_fails_leaves_all_as_it_was),
		cmocka_unit_test(shortcut_stands_in_front_and_comes_last),
		cmocka_unit_test(shortcut_makes_room_for_a_foreign_filter),
		cmocka_unit_test(shortcut_is_deleted_and_comes_back),
		cmocka_unit_test(rule_for_all_in_software_is_no_shortcut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
