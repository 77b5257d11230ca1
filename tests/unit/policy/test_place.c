// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What stays where from one compile to the next, and after a restart; where nothing may be put; the
 * shortcut's place; and what is said when prefs run out or the file's own can't be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>
#include <errno.h>

#include "daemon/policy/same.h"
#include "tests/unit/policy/dice.h"
#include "tests/unit/policy/make.h"

/* "a/ip@64 a/ipv6@128 b/ip@192": rule, protocol, pref; the shortcut is "-". */
static void layout(const struct state *s, char *to, size_t size)
{
	char protocol[16];
	size_t n = 0;

	to[0] = '\0';
	for (size_t i = 0; i < state_count(s, KIND_FILTER); i++) {
		const struct filter *f = state_at(s, KIND_FILTER, i);

		ethertype_print(f->protocol, protocol);
		n += (size_t)snprintf(to + n, size - n, "%s%s/%s@%u", n ? " " : "",
				      f->rule ? f->rule->name : "-", protocol, f->pref);
	}
}

static void assert_layout(const struct state *s, const char *text)
{
	char got[2048];

	layout(s, got, sizeof(got));
	assert_string_equal(got, text);
}

static const struct make_rule abc[] = {
	{ .name = "a", .match = "dst=10.0.0.1" },
	{ .name = "b", .match = "src=10.0.0.2" },
	{ .name = "c", .match = "proto=tcp dport=179" },
};

static const char abc_layout[] = "a/ip@64 b/ip@128 c/ip@192 c/ipv6@256";

/* Compiles rules after others were there, and compares. */
static void expect_after(const struct make_rule *then, size_t n_then, const struct make_rule *now,
			 size_t n_now, const char *text, bool restart)
{
	_cleanup_(config_unrefp) struct config *before = make_config(&make_block, then, n_then);
	_cleanup_(config_unrefp) struct config *after = make_config(&make_block, now, n_now);
	_cleanup_(state_freep) struct state *old = make_filters(before, NULL);
	_cleanup_(state_freep) struct state *found = make_found(old, OWNER_OURS);
	_cleanup_(state_freep) struct state *new = make_filters(after, restart ? found : old);

	assert_layout(new, text);
}

static void test_nothing_changed(void **state)
{
	expect_after(abc, 3, abc, 3, abc_layout, false);
	expect_after(abc, 3, abc, 3, abc_layout, true);
}

static void test_one_more_in_the_middle(void **state)
{
	const struct make_rule now[] = {
		abc[0], { .name = "x", .match = "dst=10.0.0.8/31" }, abc[1], abc[2]
	};

	expect_after(abc, 3, now, 4, "a/ip@64 x/ip@96 b/ip@128 c/ip@192 c/ipv6@256", false);
	expect_after(abc, 3, now, 4, "a/ip@64 x/ip@96 b/ip@128 c/ip@192 c/ipv6@256", true);
}

static void test_one_less(void **state)
{
	const struct make_rule now[] = { abc[0], abc[2] };

	expect_after(abc, 3, now, 2, "a/ip@64 c/ip@192 c/ipv6@256", true);
}

/* Names that come from places: the content counts. */
static void test_renamed(void **state)
{
	struct make_rule now[] = {
		{ .name = "x", .match = "dst=10.0.0.8/31" }, abc[0], abc[1], abc[2]
	};

	now[1].name = "b";
	now[2].name = "c";
	now[3].name = "d";
	expect_after(abc, 3, now, 4, "x/ip@32 b/ip@64 c/ip@128 d/ip@192 d/ipv6@256", false);
}

static void test_moved_rule(void **state)
{
	const struct make_rule now[] = { abc[2], abc[0], abc[1] };

	/* c goes in front; neither of its filters may land where an old one stands. */
	expect_after(abc, 3, now, 3, "c/ip@22 c/ipv6@43 a/ip@64 b/ip@128", false);
}

/* Same mask: its pref stays. Another mask, other flags, a matchall: beside the old one. */
static void test_changed_rules(void **state)
{
	struct make_rule now[] = { abc[0], abc[1], abc[2] };
	const struct make_rule all[] = { { .name = "a", .ethertype = "all" } };
	const struct make_rule all_pass[] = {
		{ .name = "a", .ethertype = "all", .actions = "pass" }
	};

	now[1].match = "src=10.0.0.77";
	expect_after(abc, 3, now, 3, abc_layout, false);
	now[1].match = "src=10.0.0.2";
	now[1].actions = "trap";
	expect_after(abc, 3, now, 3, abc_layout, false);
	now[1].match = "src=10.0.0.0/24";
	expect_after(abc, 3, now, 3, "a/ip@64 b/ip@127 c/ip@192 c/ipv6@256", false);
	now[1] = abc[1];
	now[1].offload = OFFLOAD_OFF;
	expect_after(abc, 3, now, 3, "a/ip@64 b/ip@127 c/ip@192 c/ipv6@256", false);
	expect_after(all, 1, all_pass, 1, "a/all@65", false);
}

/* Other actions under a handle; but what is to match other frames stands beside the old one. */
static void test_changed_match_has_its_own_handle(void **state)
{
	struct make_rule rules[] = { abc[0], abc[1], abc[2] };
	_cleanup_(config_unrefp) struct config *was = make_config(&make_block, rules, 3),
					       *acts = NULL, *match = NULL;
	_cleanup_(state_freep) struct state *before = make_filters(was, NULL), *other = NULL,
					    *moved = NULL;

	rules[1].actions = "trap";
	acts = make_config(&make_block, rules, 3);
	other = make_filters(acts, before);
	assert_int_equal(((const struct filter *)state_at(other, KIND_FILTER, 1))->handle, 1);
	rules[1].match = "src=10.0.0.77";
	match = make_config(&make_block, rules, 3);
	moved = make_filters(match, other);
	assert_int_equal(((const struct filter *)state_at(moved, KIND_FILTER, 1))->pref,
			 ((const struct filter *)state_at(before, KIND_FILTER, 1))->pref);
	assert_int_equal(((const struct filter *)state_at(moved, KIND_FILTER, 1))->handle, 2);
}

static void test_avoid(void **state)
{
	_cleanup_(config_unrefp) struct config *c = make_config(&make_block, abc, 3);
	_cleanup_(state_freep) struct state *old = make_filters(c, NULL), *foreign = NULL,
					    *new = NULL;
	_cleanup_(state_freep) struct state *healed = NULL;
	_cleanup_(diags_freep) struct diags *d = diags_new("swd.yaml");
	_cleanup_free_ struct pref_avoid *list = NULL;
	const struct pref_avoid heal[] = { { 10, 0, 128 }, { 10, 5, 64 }, { 11, 0, 64 } };
	struct compile_input in = { .config = c, .profile = PROFILE_WIDE };
	char text[256];

	/* Foreign filters on just the prefs we would take: none of them is touched. */
	foreign = make_found(old, OWNER_FOREIGN);
	assert_int_equal(compile_avoid_foreign(foreign, &list, &in.avoid_count), 0);
	assert_int_equal(in.avoid_count, 4);
	in.avoid = list;
	new = state_new();
	assert_int_equal(compile(&in, d, new), 0);
	layout(new, text, sizeof(text));
	assert_string_equal(text, "a/ip@65 b/ip@130 c/ip@195 c/ipv6@260");

	/* To heal pref 128: what is in it moves, and nothing else. */
	in.before = old;
	in.avoid = heal;
	in.avoid_count = 3;
	healed = state_new();
	assert_int_equal(compile(&in, d, healed), 0);
	assert_layout(healed, "a/ip@64 b/ip@127 c/ip@192 c/ipv6@256");
}

static void test_shortcut(void **state)
{
	struct block block = make_block;
	_cleanup_(config_unrefp) struct config *c = make_config(&block, abc, 3), *off = NULL;
	_cleanup_(diags_freep) struct diags *d = diags_new("swd.yaml");
	_cleanup_(state_freep) struct state *s = state_new(), *without = state_new();
	struct compile_input in = { .config = c, .shortcut = true, .profile = PROFILE_WIDE };
	struct make_rule mixed[] = { abc[0], abc[1] };
	_cleanup_(config_unrefp) struct config *both = NULL;
	_cleanup_(state_freep) struct state *none = state_new();
	const struct filter *f;

	in.profile.pref_max = 6;
	assert_int_equal(compile(&in, d, s), 0);
	assert_layout(s, "-/all@1 a/ip@2 b/ip@3 c/ip@4 c/ipv6@5");
	f = state_at(s, KIND_FILTER, 0);
	assert_int_equal(f->type, FILTER_MATCHALL);
	assert_int_equal(f->role, FILTER_ROLE_SHORTCUT);
	assert_int_equal(f->flags, TCA_CLS_FLAGS_SKIP_HW);
	assert_int_equal(filter_actions(f)[0].kind, ACTION_PASS);
	assert_true(f->has_cookie);

	block.bypass = BYPASS_WANT_OFF;
	off = make_config(&block, abc, 3);
	in.config = off;
	assert_int_equal(compile(&in, d, without), 0);
	assert_int_equal(state_count(without, KIND_FILTER), 4);

	/* One filter that needs software: it would never be asked behind a shortcut. */
	mixed[1].offload = OFFLOAD_PREFERRED;
	both = make_config(&make_block, mixed, 2);
	in.config = both;
	assert_int_equal(compile(&in, d, none), 0);
	assert_int_equal(state_count(none, KIND_FILTER), 2);
}

static void test_said_prefs(void **state)
{
	struct make_rule now[] = { abc[0], abc[1], abc[2] };
	_cleanup_(config_unrefp) struct config *c = NULL, *wrong = NULL;
	_cleanup_(state_freep) struct state *s = NULL;
	_cleanup_free_ char *text = NULL;

	now[2].pref = 500;
	c = make_config(&make_block, now, 3);
	s = make_filters(c, NULL);
	assert_layout(s, "a/ip@372 b/ip@436 c/ip@500 c/ipv6@501");
	now[0].pref = 7;
	now[2].pref = 8;
	wrong = make_config(&make_block, now, 3);
	text = make_diags(wrong);
	assert_string_equal(text,
			    "swd.yaml:22:9: error: blocks.edge.rules[2].pref: rule c says pref 8, "
			    "but rule a (line 20) before it already uses 7, and 1 filters must go "
			    "between them\n");
}

static void expect_error(struct compile_input *in, const char *text)
{
	_cleanup_(diags_freep) struct diags *d = diags_new("swd.yaml");
	_cleanup_(state_freep) struct state *s = state_new();
	_cleanup_free_ char *line = NULL;

	assert_int_equal(compile(in, d, s), -EINVAL);
	assert_int_equal(diags_count(d), 1);
	line = diag_line(d, diags_at(d, 0));
	assert_string_equal(line, text);
}

static void test_prefs_run_out(void **state)
{
	_cleanup_(config_unrefp) struct config *c = make_config(&make_block, abc, 3), *said = NULL;
	struct compile_input in = { .config = c, .profile = { .pref_min = 1, .pref_max = 3 } };
	struct make_rule now[] = { abc[0] };

	expect_error(&in,
		     "swd.yaml:12:3: error: block edge needs 4 prefs in chain 0, and there are 3");
	now[0].pref = 9;
	said = make_config(&make_block, now, 1);
	in.config = said;
	expect_error(&in,
		     "swd.yaml:20:9: error: blocks.edge.rules[0].pref: rule a needs pref 9, and "
		     "only 1 to 3 can be used here");
}

/* A full table still compiles: then what moves may land where something stood. */
static void test_full_table(void **state)
{
	const struct make_rule now[] = { abc[2], abc[0], abc[1] };
	_cleanup_(config_unrefp) struct config *c = make_config(&make_block, abc, 3);
	_cleanup_(config_unrefp) struct config *after = make_config(&make_block, now, 3);
	_cleanup_(diags_freep) struct diags *d = diags_new("swd.yaml");
	_cleanup_(state_freep) struct state *old = state_new(), *new = state_new();
	struct compile_input in = { .config = c, .profile = { .pref_min = 1, .pref_max = 4 } };

	assert_int_equal(compile(&in, d, old), 0);
	assert_layout(old, "a/ip@1 b/ip@2 c/ip@3 c/ipv6@4");
	in.config = after;
	in.before = old;
	assert_int_equal(compile(&in, d, new), 0);
	assert_layout(new, "c/ip@1 c/ipv6@2 a/ip@3 b/ip@4");
}

static bool stays(const struct state *old, const struct filter *f)
{
	const struct filter *was = state_find(old, f);

	return was && memcmp(was->cookie, f->cookie, sizeof(f->cookie)) == 0;
}

#define INSERTS 600

/* Rules that come at one place, one after the other, and none shares its neighbour's pref. */
static void inserts(size_t step, size_t most_at_once, size_t most)
{
	static struct make_rule rules[40 + INSERTS];
	static char names[40 + INSERTS][8], matches[40 + INSERTS][32];
	_cleanup_(state_freep) struct state *old = NULL;
	size_t n, worst = 0, all = 0;

	for (n = 0; n <= INSERTS; n++) {
		size_t at = n ? 20 + step * (n - 1) : 0, added = 0;
		size_t first = n ? 39 + n : 0, end = 40 + n;
		_cleanup_(config_unrefp) struct config *c = NULL;
		struct state *new;

		for (size_t i = first; i < end; i++) {
			snprintf(names[i], sizeof(names[i]), "r%zu", i);
			snprintf(matches[i], sizeof(matches[i]), "%s=10.%zu.%zu.0/24",
				 i % 2 ? "src" : "dst", i / 200, i % 200);
			memmove(&rules[at + 1], &rules[at], (i - at) * sizeof(rules[0]));
			rules[at] = (struct make_rule){ .name = names[i], .match = matches[i] };
			at += !n;
		}
		c = make_config(&make_block, rules, end);
		new = make_filters(c, old);
		for (size_t i = 0; old && i < end; i++)
			added += !stays(old, state_at(new, KIND_FILTER, i));
		worst = MAX(worst, added);
		all += added;
		state_free(old);
		old = new;
	}
	print_message("%u rules at one place: %zu filters put, at most %zu at once\n", INSERTS, all,
		      worst);
	assert_true(worst <= most_at_once && all <= most);
}

static void test_many_at_one_place(void **state)
{
	/* In front of the ones before: the gap there is halved each time, and fills up. */
	inserts(0, INSERTS, 8 * INSERTS);
	/* Behind them. */
	inserts(1, 40, 4 * INSERTS);
}

/* What was apart can be together: a list that fits from scratch fits behind any other. */
static void test_what_stood_there_takes_no_room(void **state)
{
	const struct make_rule then[] = { abc[0],
					  abc[1],
					  { .name = "d", .match = "dst=10.0.0.4" } };
	const struct make_rule now[] = { abc[0],
					 then[2],
					 { .name = "e", .match = "src=10.0.0.0/24" },
					 { .name = "f", .match = "ttl=1 src=10.0.0.1" } };
	_cleanup_(config_unrefp) struct config *c = make_config(&make_block, then, 3);
	_cleanup_(config_unrefp) struct config *after = make_config(&make_block, now, 4);
	_cleanup_(diags_freep) struct diags *d = diags_new("swd.yaml");
	_cleanup_(state_freep) struct state *old = state_new(), *new = state_new();
	struct compile_input in = { .config = c, .profile = { .pref_min = 1, .pref_max = 3 } };

	assert_int_equal(compile(&in, d, old), 0);
	assert_layout(old, "a/ip@1 b/ip@2 d/ip@3");
	in.config = after;
	in.before = old;
	assert_int_equal(compile(&in, d, new), 0);
	assert_layout(new, "a/ip@1 d/ip@1 e/ip@2 f/ip@3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_changed),
		cmocka_unit_test(test_one_more_in_the_middle),
		cmocka_unit_test(test_one_less),
		cmocka_unit_test(test_renamed),
		cmocka_unit_test(test_moved_rule),
		cmocka_unit_test(test_changed_rules),
		cmocka_unit_test(test_changed_match_has_its_own_handle),
		cmocka_unit_test(test_avoid),
		cmocka_unit_test(test_shortcut),
		cmocka_unit_test(test_said_prefs),
		cmocka_unit_test(test_prefs_run_out),
		cmocka_unit_test(test_full_table),
		cmocka_unit_test(test_what_stood_there_takes_no_room),
		cmocka_unit_test(test_many_at_one_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
