// SPDX-License-Identifier: GPL-2.0-or-later
/* The small rooms that need no kernel: chains, back-off, alerts, records, and a plan's two faces.
 */
#include "../check.h"

#include <stdio.h>

#include "daemon/engine/alerts.h"
#include "daemon/engine/backoff.h"
#include "daemon/engine/chains.h"
#include "daemon/engine/flaps.h"
#include "daemon/engine/owned.h"
#include "daemon/engine/plan.h"

#define MS 1000000ULL

static struct filter *jump(uint32_t from, uint32_t to)
{
	struct action a = { .kind = ACTION_GOTO, .chain = to };
	struct match none = { 0 };
	struct filter *f = filter_new(match_view(&none), &a, 1);

	f->chain = from;
	f->pref = (uint16_t)(to + 1);
	f->protocol = 0x0800;
	return f;
}

static void add_jump(struct chains *c, uint32_t from, uint32_t to)
{
	struct filter *f = jump(from, to);

	assert_int_equal(chains_add(c, f), 0);
	object_unref(f);
}

static void targets_rank_before_jumps(void **state)
{
	struct chains c = { 0 };

	add_jump(&c, 0, 7);
	add_jump(&c, 0, 3);
	add_jump(&c, 3, 9);
	add_jump(&c, 9, 7);
	add_jump(&c, 7, 100); /* to nowhere */
	assert_int_equal(chains_rank(&c), 0);
	assert_true(chains_rank_of(&c, 7) < chains_rank_of(&c, 9));
	assert_true(chains_rank_of(&c, 9) < chains_rank_of(&c, 3));
	assert_true(chains_rank_of(&c, 3) < chains_rank_of(&c, 0));
	chains_clear(&c);
}

static void circles_and_long_ways_end(void **state)
{
	struct chains c = { 0 };

	add_jump(&c, 1, 2);
	add_jump(&c, 2, 1);
	assert_int_equal(chains_rank(&c), 0);
	assert_int_not_equal(chains_rank_of(&c, 1), chains_rank_of(&c, 2));
	chains_clear(&c);
	/* A row of 100,000 chains: no recursion that could end the stack. */
	for (uint32_t i = 0; i < 100000; i++)
		add_jump(&c, i, i + 1);
	assert_int_equal(chains_rank(&c), 0);
	assert_int_equal(chains_rank_of(&c, 0), 99999);
	chains_clear(&c);
}

static void refusals_double_and_end_at_a_minute(void **state)
{
	struct backoff b;
	struct filter *f = jump(0, 1);
	uint64_t now = 1000 * MS, last = 0;

	assert_int_equal(backoff_init(&b), 0);
	assert_int_equal(backoff_until(&b, &f->obj, now), 0);
	for (int i = 0; i < 20; i++) {
		uint64_t until = backoff_refused(&b, &f->obj, now);

		assert_true(until - now >= last);
		assert_int_equal(backoff_until(&b, &f->obj, now), until);
		assert_int_equal(backoff_until(&b, &f->obj, until), 0);
		if (i < 9)
			assert_int_equal(until - now, (100 * MS) << i);
		last = until - now;
		now = until;
	}
	assert_int_equal(last, 60000 * MS);
	backoff_forget(&b);
	assert_int_equal(backoff_until(&b, &f->obj, now), 0);
	object_unref(f);
	backoff_clear(&b);
}

static void only_what_flaps_waits(void **state)
{
	struct backoff b;
	struct filter *f = jump(0, 1);
	uint64_t now = 1000 * MS;
	uint32_t times;

	assert_int_equal(backoff_init(&b), 0);
	for (int i = 0; i < BACKOFF_FREE; i++)
		assert_int_equal(backoff_repaired(&b, &f->obj, now, &times), 0);
	assert_int_equal(backoff_repaired(&b, &f->obj, now, &times), now + 100 * MS);
	assert_int_equal(backoff_repaired(&b, &f->obj, now, &times), now + 200 * MS);
	assert_int_equal(times, BACKOFF_FREE + 2);
	/* After a quiet time it is free again. */
	now += 60000 * MS;
	assert_int_equal(backoff_repaired(&b, &f->obj, now, &times), 0);
	object_unref(f);
	backoff_clear(&b);
}

static void a_full_table_forgets_the_quiet(void **state)
{
	struct backoff b;
	uint64_t now = 1000 * MS;

	assert_int_equal(backoff_init(&b), 0);
	for (uint32_t i = 0; i < 10 * BACKOFF_SLOTS; i++) {
		struct filter *f = jump(i, 1);

		backoff_refused(&b, &f->obj, now);
		object_unref(f);
		assert_true(b.used < BACKOFF_SLOTS);
		if (i == BACKOFF_SLOTS)
			now += 60000 * MS;
	}
	backoff_clear(&b);
}

static size_t raised, ended;

static void on_alert(const struct alert *a, bool up, void *data)
{
	if (up)
		raised++;
	else
		ended++;
}

static void alerts_are_raised_once(void **state)
{
	struct alerts a;

	raised = ended = 0;
	assert_int_equal(alerts_init(&a, on_alert, NULL), 0);
	alert_set(&a, "x", "one", "text %d", 1);
	alert_set(&a, "x", "one", "text %d", 2);
	alert_set(&a, "x", "two", "text");
	alert_set(&a, "y", "one", "text");
	assert_int_equal(raised, 3);
	assert_string_equal(a.list[0].text, "text 2");
	alerts_begin(&a, "x");
	alert_set(&a, "x", "two", "text");
	alerts_finish(&a, "x");
	assert_int_equal(ended, 1);
	assert_int_equal(a.count, 2);
	alert_end(&a, "y", "one");
	alert_end(&a, "y", "one");
	assert_int_equal(ended, 2);
	for (int i = 0; i < 1000; i++) {
		char about[32];

		snprintf(about, sizeof(about), "n%d", i);
		alert_set(&a, "z", about, "text");
	}
	assert_int_equal(a.count, ALERTS_MAX);
	alerts_clear(&a);
}

static void alerts_that_nobody_sets_expire(void **state)
{
	struct alerts a;
	uint64_t between;

	raised = ended = 0;
	assert_int_equal(alerts_init(&a, on_alert, NULL), 0);
	alert_set(&a, "x", "one", "text");
	alert_set(&a, "x", "two", "text");
	alert_set(&a, "y", "one", "text");
	between = now_monotonic_ns() + 1;
	while (now_monotonic_ns() < between)
		;
	alert_set(&a, "x", "two", "text");
	alerts_expire(&a, "x", between);
	assert_int_equal(ended, 1);
	assert_int_equal(a.count, 2);
	assert_string_equal(a.list[0].about, "two");
	assert_string_equal(a.list[1].id, "y");
	alerts_clear(&a);
}

static size_t lines;
static char last_line[200];

static void on_line(enum log_level level, const char *line, void *data)
{
	lines++;
	snprintf(last_line, sizeof(last_line), "%s", line);
}

static void flap(struct flaps *f, const char *about, uint64_t now, bool up)
{
	flaps_changed(f, "x", about, now, LOG_LEVEL_INFO, "%s: %s", about, up ? "up" : "down");
}

/* Wakes it whenever it wants to be woken, until that time. */
static void wait_until(struct flaps *f, uint64_t until)
{
	for (uint64_t due = flaps_due(f); due <= until; due = flaps_due(f)) {
		flaps_tick(f, due);
		assert_true(flaps_due(f) > due);
	}
}

static void a_thousand_flaps_are_few_lines(void **state)
{
	struct flaps f;
	uint64_t now = 1000 * MS;

	lines = 0;
	assert_int_equal(flaps_init(&f, on_line, NULL), 0);
	for (int i = 0; i < 1000; i++, now += 1000 * MS) {
		wait_until(&f, now);
		flap(&f, "a", now, true);
		flap(&f, "a", now + 500 * MS, false);
		if (i == 3) {
			assert_int_equal(lines, 8);
			assert_string_equal(last_line, "a: down");
		}
		if (i == 4) {
			assert_int_equal(lines, 9);
			assert_string_equal(last_line, "a: up (it flaps: 9 changes so far; "
						       "told again in 10 s)");
		}
	}
	/* At 4, 14, 34, 74, 154, 314, 634 and 954 seconds. */
	assert_int_equal(lines, 8 + 8);
	/* The last state is told once it is quiet, and no more. */
	wait_until(&f, now + FLAPS_QUIET_S * 1000 * MS);
	assert_int_equal(lines, 8 + 8 + 1);
	assert_non_null(strstr(last_line, "a: down (it flaps: 2000 changes"));
	assert_true(flaps_due(&f) == UINT64_MAX);
	/* And then it is as rare as any. */
	now += (FLAPS_QUIET_S + 1) * 1000 * MS;
	flap(&f, "a", now, true);
	assert_string_equal(last_line, "a: up");
	flaps_clear(&f);
}

static void one_that_flaps_silences_no_other(void **state)
{
	struct flaps f;
	uint64_t now = 1000 * MS;

	assert_int_equal(flaps_init(&f, on_line, NULL), 0);
	for (int i = 0; i < 1000; i++)
		flap(&f, "a", now, i % 2 == 0);
	lines = 0;
	flap(&f, "b", now, true);
	flap(&f, "b", now, false);
	assert_int_equal(lines, 2);
	assert_string_equal(last_line, "b: down");
	/* More than there is room for are few lines too, and the last word is told. */
	for (int i = 0; i < 10 * FLAPS_MAX; i++) {
		char about[32];

		snprintf(about, sizeof(about), "n%d", i);
		flap(&f, about, now, true);
	}
	assert_in_range(lines, FLAPS_MAX, FLAPS_MAX + FLAPS_FREE + 1);
	assert_int_equal(f.count, FLAPS_MAX);
	wait_until(&f, now + FLAPS_QUIET_S * 1000 * MS);
	assert_non_null(strstr(last_line, "n5119: up"));
	/* Who is quiet makes room. */
	flap(&f, "c", now + (FLAPS_QUIET_S + 1) * 1000 * MS, true);
	assert_int_equal(f.count, 1);
	flaps_clear(&f);
}

static void look_alikes_are_not_ours(void **state)
{
	struct state *owned = state_new();
	struct object *o = NULL;
	struct qdisc *q = object_new(KIND_QDISC, sizeof(*q));

	assert_int_equal(owned_parse(KIND_QDISC, "lan1", "clsact ingress=10 egress=0", &o), 0);
	state_put(owned, o);
	COPY_NAME(q->dev, "lan1");
	COPY_NAME(q->type, "clsact");
	q->ingress_block = 10;
	assert_true(owned_has(owned, &q->obj));
	q->ingress_block = 0;
	assert_false(owned_has(owned, &q->obj));
	assert_int_equal(owned_parse(KIND_VLAN, "a", "link=b id=70000 protocol=0x8100", &o), -22);
	assert_int_equal(owned_parse(KIND_VLAN, "a", "nonsense", &o), -22);
	assert_int_equal(owned_parse(KIND_ADDRESS, "a", "300.0.0.1/8", &o), -22);
	object_unref(q);
	state_free(owned);
}

static struct port *port_with(uint32_t mtu, bool up)
{
	struct port *p = object_new(KIND_PORT, sizeof(*p));

	COPY_NAME(p->name, "lan1");
	p->has = PORT_HAS_MTU | PORT_HAS_UP;
	p->mtu = mtu;
	p->up = up;
	return p;
}

/* A step that changes something says in what it differs, and a filter's by parts. */
static void step_says_the_difference(void **state)
{
	struct plan p = { 0 };
	struct port *wanted = port_with(1500, true), *found = port_with(1400, false);
	struct filter *f = jump(0, 1), *g = jump(0, 2);
	char text[STEP_TEXT];

	g->flags ^= TCA_CLS_FLAGS_SKIP_SW;
	assert_int_equal(plan_add(&p, KERNEL_CHANGE, STEP_DIFFERENT, &wanted->obj, &found->obj), 0);
	assert_int_equal(plan_add(&p, KERNEL_CHANGE, STEP_DIFFERENT, &f->obj, &g->obj), 0);
	step_print(&p.steps[0], text, sizeof(text));
	assert_string_equal(text, "~ port lan1: different: down instead of up,"
				  " mtu 1400 instead of 1500");
	step_print(&p.steps[1], text, sizeof(text));
	assert_non_null(strstr(text, ": different: other actions, another offload"));
	object_unref(wanted);
	object_unref(found);
	object_unref(f);
	object_unref(g);
	plan_clear(&p);
}

static void plans_are_shown(void **state)
{
	struct plan p = { 0 };
	struct rule *rule;
	struct filter *f = jump(0, 1);
	struct match none = { 0 };
	char text[300], *json = NULL;

	rule = rule_new(match_view(&none), NULL, 0);
	COPY_NAME(rule->name, "no-bogons");
	f->block = 10;
	f->handle = 1;
	f->rule = rule;
	f->obj.origin.line = 41;
	assert_int_equal(plan_add(&p, KERNEL_ADD, STEP_MISSING, &f->obj, NULL), 0);
	assert_int_equal(plan_wait(&p, "lan3", &f->obj), 0);
	assert_int_equal(plan_conflict(&p, &f->obj, true, "in the way"), 0);
	step_print(&p.steps[0], text, sizeof(text));
	assert_string_equal(text, "+ block 10 chain 0 pref 2 protocol ip flower handle 0x1"
				  " (rule no-bogons): missing");
	assert_int_equal(plan_json_text(&p, &json), 0);
	assert_non_null(strstr(json, "\"rule\":\"no-bogons\",\"line\":41"));
	assert_non_null(strstr(json, "\"waiting\":[{\"port\":\"lan3\",\"object\":\"block 10 "));
	assert_non_null(strstr(json, "\"block\":10,\"rule\":\"no-bogons\"}],\"conflicts\""));
	free(json);
	object_unref(f);
	plan_clear(&p);
	plan_clear(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(step_says_the_difference),
		cmocka_unit_test(targets_rank_before_jumps),
		cmocka_unit_test(circles_and_long_ways_end),
		cmocka_unit_test(refusals_double_and_end_at_a_minute),
		cmocka_unit_test(only_what_flaps_waits),
		cmocka_unit_test(a_full_table_forgets_the_quiet),
		cmocka_unit_test(alerts_are_raised_once),
		cmocka_unit_test(alerts_that_nobody_sets_expire),
		cmocka_unit_test(a_thousand_flaps_are_few_lines),
		cmocka_unit_test(one_that_flaps_silences_no_other),
		cmocka_unit_test(look_alikes_are_not_ours),
		cmocka_unit_test(plans_are_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
