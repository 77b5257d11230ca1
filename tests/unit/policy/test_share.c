// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Filters that share a pref: which may, how many, what a new one costs, and that through random
 * edits nothing lands where it can't stand and nothing that could overlap changes its order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>
#include <errno.h>

#include "daemon/policy/same.h"
#include "daemon/policy/share.h"
#include "tests/unit/policy/dice.h"
#include "tests/unit/policy/make.h"

/* Two of one pref: the kernel tries their masks in no order, and takes no key twice. */
static void assert_may_share(const struct filter *a, const struct filter *b)
{
	assert_int_equal(a->protocol, b->protocol);
	assert_true(match_same_mask(filter_match(a), filter_match(b)));
	assert_int_not_equal(match_compare(filter_match(a), filter_match(b)), 0);
	assert_int_equal(a->flags, b->flags);
}

/* Only what cannot both match may stand in another order than its rules. */
static void assert_order(const struct state *s)
{
	size_t n = state_count(s, KIND_FILTER);

	for (size_t i = 0; i < n; i++) {
		const struct filter *a = state_at(s, KIND_FILTER, i);

		for (size_t k = i + 1; k < n; k++) {
			const struct filter *b = state_at(s, KIND_FILTER, k);

			if (a->pref == b->pref)
				assert_may_share(a, b);
			else if (a->rule->position > b->rule->position)
				assert_true(a->protocol != b->protocol ||
					    !match_overlap(filter_match(a), filter_match(b)));
		}
	}
}

/* "64:3 128:1": prefs and how many filters each has; handles from 1 up. */
static void assert_prefs(const struct state *s, const char *text)
{
	char got[512] = "";
	size_t used = 0, n = state_count(s, KIND_FILTER);

	for (size_t i = 0, end; i < n; i = end) {
		const struct filter *f = state_at(s, KIND_FILTER, i), *other;

		for (end = i + 1; end < n; end++) {
			other = state_at(s, KIND_FILTER, end);
			if (other->pref != f->pref)
				break;
			assert_true(
				other->handle >
				((const struct filter *)state_at(s, KIND_FILTER, end - 1))->handle);
		}
		used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%u:%zu", i ? " " : "",
					 f->pref, end - i);
	}
	assert_string_equal(got, text);
}

#define LIKES 1500

static struct config *likes(char (*texts)[32], size_t n, size_t first, size_t odd_at)
{
	struct make_rule *rules = calloc(n + 1, sizeof(*rules));
	size_t used = 0;
	struct config *c;

	assert_non_null(rules);
	for (size_t i = 0; i < n; i++) {
		if (i == odd_at)
			rules[used++] =
				(struct make_rule){ .name = "odd", .match = "src=10.9.0.1" };
		snprintf(texts[i], sizeof(texts[i]), "dst=10.0.%zu.%zu", (first + i) / 256,
			 (first + i) % 256);
		rules[used++] = (struct make_rule){ .name = texts[i], .match = texts[i] };
	}
	c = make_config(&make_block, rules, used);
	free(rules);
	return c;
}

static size_t count_moved(const struct state *old, const struct state *new)
{
	size_t moved = 0;

	for (size_t i = 0; i < state_count(new, KIND_FILTER); i++) {
		const struct filter *f = state_at(new, KIND_FILTER, i), *o = state_find(old, f);

		moved += !o || memcmp(o->cookie, f->cookie, sizeof(o->cookie)) != 0;
	}
	return moved;
}

static void test_likes_share(void **state)
{
	static char texts[2][LIKES + 1][32];
	_cleanup_(config_unrefp) struct config *c = likes(texts[0], LIKES, 0, SIZE_MAX),
					       *more = likes(texts[1], LIKES + 1, 0, SIZE_MAX),
					       *split = likes(texts[0], LIKES, 0, 500);
	_cleanup_(state_freep) struct state *old = make_filters(c, NULL),
					    *new = make_filters(more, old),
					    *apart = make_filters(split, old),
					    *found = make_found(old, OWNER_OURS),
					    *adopted = make_filters(c, found);

	assert_prefs(old, "64:512 128:512 192:476");
	assert_prefs(adopted, "64:512 128:512 192:476");
	assert_int_equal(count_moved(old, adopted), 0);
	/* One more beside its like: one message. */
	assert_prefs(new, "64:512 128:512 192:477");
	assert_int_equal(count_moved(old, new), 1);
	/* One in the middle of a pref: the smaller part moves behind it. */
	assert_prefs(apart, "64:500 96:1 128:524 192:476");
	assert_int_equal(count_moved(old, apart), 13);
	assert_order(apart);
}

/* What goes leaves its handle free, and not to what comes at the same time. */
static void test_handles_are_used_again(void **state)
{
	static char texts[3][LIKES][32];
	_cleanup_(config_unrefp) struct config *a = likes(texts[0], 100, 0, SIZE_MAX),
					       *b = likes(texts[1], 100, 50, SIZE_MAX),
					       *c = likes(texts[2], 150, 0, SIZE_MAX);
	_cleanup_(state_freep) struct state *first = make_filters(a, NULL),
					    *second = make_filters(b, first),
					    *third = make_filters(c, second);

	assert_prefs(second, "64:100");
	assert_int_equal(count_moved(first, second), 50);
	assert_int_equal(((const struct filter *)state_at(second, KIND_FILTER, 0))->handle, 51);
	assert_prefs(third, "64:150");
	assert_int_equal(((const struct filter *)state_at(third, KIND_FILTER, 0))->handle, 1);
	assert_int_equal(((const struct filter *)state_at(third, KIND_FILTER, 149))->handle, 150);
}

/* Where the hardware has few prefs, they take as many as there are. */
static void test_few_prefs(void **state)
{
	static char texts[LIKES][32];
	_cleanup_(config_unrefp) struct config *c = likes(texts, LIKES, 0, 700);
	_cleanup_(diags_freep) struct diags *d = diags_new("swd.yaml");
	_cleanup_(state_freep) struct state *s = state_new();
	struct compile_input in = { .config = c, .profile = { .pref_min = 1, .pref_max = 3 } };

	assert_int_equal(compile(&in, d, s), 0);
	assert_prefs(s, "1:700 2:1 3:800");
}

/* ---- random edits ---- */

#define EDIT_RULES 24

static void random_rule(struct dice *d, struct make_rule *r, size_t id)
{
	static const char *const matches[] = { "dst=10.0.0.%zu", "src=10.0.%zu.0/24",
					       "proto=tcp dport=%zu", "vlan=%zu" };
	static char names[EDIT_RULES * 4][16], texts[EDIT_RULES * 4][32];
	size_t slot = id % ARRAY_SIZE(names);

	snprintf(names[slot], sizeof(names[slot]), "r%zu", id);
	snprintf(texts[slot], sizeof(texts[slot]), matches[dice_below(d, ARRAY_SIZE(matches))],
		 1 + id % 200);
	*r = (struct make_rule){ .name = names[slot], .match = texts[slot] };
	if (!dice_below(d, 4))
		r->actions = "pass";
	if (!dice_below(d, 6))
		r->offload = OFFLOAD_PREFERRED;
}

/* Where old filters stand, only what the kernel can put beside them or in their place may go. */
static size_t assert_no_collision(const struct state *old, const struct state *new)
{
	size_t kept = 0;

	for (size_t i = 0; i < state_count(new, KIND_FILTER); i++) {
		const struct filter *f = state_at(new, KIND_FILTER, i);

		for (size_t k = 0; k < state_count(old, KIND_FILTER); k++) {
			const struct filter *o = state_at(old, KIND_FILTER, k);

			if (o->pref != f->pref)
				continue;
			if (o->handle != f->handle &&
			    match_compare(filter_match(o), filter_match(f)) == 0) {
				/* Of two alike one went: diff takes it away first. */
				assert_null(state_find(new, o));
				continue;
			}
			if (o->handle != f->handle) {
				assert_may_share(o, f);
				continue;
			}
			assert_int_equal(o->protocol, f->protocol);
			assert_true(memcmp(o->cookie, f->cookie, sizeof(o->cookie)) == 0 ||
				    same_replaceable(o, f));
			kept++;
		}
	}
	return kept;
}

static void test_random_edits(void **state)
{
	struct dice dice = dice_new("edits");
	struct make_rule rules[EDIT_RULES + 1];
	struct state *old = NULL;
	size_t n = 0, id = 0, kept = 0, filters = 0;

	for (size_t round = 0; round < 400; round++) {
		_cleanup_(config_unrefp) struct config *c = NULL;
		struct state *new;
		size_t at = dice_below(&dice, n + 1), what = dice_below(&dice, 4);

		if (n < 8 || (what < 2 && n < EDIT_RULES)) {
			memmove(rules + at + 1, rules + at, (n++ - at) * sizeof(*rules));
			random_rule(&dice, &rules[at], id++);
		} else if (what == 2 && at < n) {
			memmove(rules + at, rules + at + 1, (--n - at) * sizeof(*rules));
		} else if (at < n) { /* one moves */
			struct make_rule moved = rules[at];
			size_t to = dice_below(&dice, n);

			memmove(rules + at, rules + at + 1, (n - at - 1) * sizeof(*rules));
			memmove(rules + to + 1, rules + to, (n - 1 - to) * sizeof(*rules));
			rules[to] = moved;
		}
		c = make_config(&make_block, rules, n);
		new = make_filters(c, old);
		assert_order(new);
		if (old)
			kept += assert_no_collision(old, new);
		filters += state_count(new, KIND_FILTER);
		state_free(old);
		old = new;
	}
	state_free(old);
	print_message("%zu filters in 400 edits, %zu stayed\n", filters, kept);
	assert_true(kept * 100 > filters * 90);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_likes_share),
		cmocka_unit_test(test_handles_are_used_again),
		cmocka_unit_test(test_few_prefs),
		cmocka_unit_test(test_random_edits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
