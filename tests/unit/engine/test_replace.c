// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A changed rule takes the old one's place: in place, beside it, or behind a gap that was allowed.
 * The paper hardware refuses what it can't hold, and at each moment holds an old rule or a new one.
 */
#include "../check.h"

#include <stdio.h>

#include "fake_world.h"
#include "rig.h"

/* clang-format off */
#define RULES(replace, action, more) \
	"version: 1\n" \
	"ports: { lan1: { up: true } }\n" \
	"blocks:\n" \
	"  edge:\n" \
	"    id: 10\n" \
	"    bind: [lan1]\n" \
	"    tagging: none\n" \
	"    replace: " replace "\n" \
	"    rules:\n" \
	"      - { name: one, match: { dst: 198.51.100.0/24 }, action: " action " }\n" \
	"      - { name: two, match: { src: 203.0.113.0/24 }, action: drop }\n" more
/* clang-format on */

static void start_with(struct rig *r, const char *yaml)
{
	rig_begin(r, BYPASS_ABILITY_READBACK);
	rig_write(r, yaml);
	rig_start(r);
	rig_settle(r);
	assert_true(r->newest->settled);
}

static struct job *apply(struct rig *r, const char *yaml, bool allow_gap)
{
	struct job *job = job_new(JOB_APPLY);

	assert_non_null(job);
	job->text = strdup(yaml);
	job->text_size = strlen(yaml);
	job->allow_gap = allow_gap;
	fake_reset_counts();
	owner_job(r->o, job);
	rig_settle(r);
	return job;
}

/* How many requests it took; each line of the log that is to be there, in this order, and no more.
 */
static size_t apply_ok(struct rig *r, const char *yaml, bool allow_gap)
{
	struct job *job = apply(r, yaml, allow_gap);

	if (job->result != 0) {
		diags_print(job->diags, stderr);
		fail_msg("refused: %d", job->result);
	}
	assert_true(r->newest->settled);
	job_free(job);
	return fake.requests;
}

static void assert_log(const char *const *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!fake_logged(i, parts[i]))
			fail_msg("step %zu is no '%s' but '%s'", i, parts[i], fake.log[i]);
	assert_int_equal(fake.log_count, n);
}
#define ASSERT_LOG(...)                                  \
	assert_log((const char *const[]){ __VA_ARGS__ }, \
		   sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static void in_place_where_hardware_takes_it(void **state)
{
	struct rig r;

	start_with(&r, RULES("auto", "drop", ""));
	assert_int_equal(apply_ok(&r, RULES("auto", "trap", ""), false), 1);
	ASSERT_LOG("~ block 10 chain 0 pref 64 ");
	rig_end(&r);
}

/* Found out once, and from then on known. */
static void beside_where_it_must_be(void **state)
{
	struct rig r;

	start_with(&r, RULES("auto", "drop", ""));
	fake.no_replace = true;
	assert_int_equal(apply_ok(&r, RULES("auto", "trap", ""), false), 5);
	ASSERT_LOG("~ block 10 chain 0 pref 64 ", "+ block 10 chain 0 pref 63 ",
		   "- block 10 chain 0 pref 64 ", "+ block 10 chain 0 pref 64 ",
		   "- block 10 chain 0 pref 63 ");
	assert_int_equal(apply_ok(&r, RULES("auto", "drop", ""), false), 4);
	assert_int_equal(fake.refused, 0);
	/* And back to a file in which the rule matches something else: no two of one match. */
	assert_int_equal(apply_ok(&r,
				  "version: 1\nports: { lan1: { up: true } }\nblocks:\n"
				  "  edge:\n    id: 10\n    bind: [lan1]\n    tagging: none\n"
				  "    rules:\n"
				  "      - { name: one, match: { dst: 198.51.101.0/24 }, action: "
				  "trap }\n"
				  "      - { name: two, match: { src: 203.0.113.0/24 }, action: "
				  "drop }\n",
				  false),
			 2);
	rig_end(&r);
}

static void a_gap_must_be_allowed(void **state)
{
	struct rig r;
	struct job *job;
	char *before, *after;

	start_with(&r, RULES("auto", "drop", ""));
	fake.no_replace = fake.no_equal = true;
	before = fake_text();
	for (int i = 0; i < 2; i++) {
		job = apply(&r, RULES("auto", "trap", ""), false);
		assert_int_equal(job->refusal, JOB_NEEDS_GAP);
		assert_non_null(strstr(job->words, "rule one (line 10) can't be replaced"));
		assert_non_null(strstr(job->words, "--allow-gap"));
		assert_int_equal(job->outcome, i == 0 ? APPLY_REVERTED : APPLY_REFUSED);
		/* The second time it is known, and nothing is tried. */
		if (i == 1)
			assert_int_equal(fake.requests, 0);
		after = fake_text();
		assert_same_kernel(before, after);
		free(after);
		job_free(job);
	}
	job = job_new(JOB_PLAN);
	job->text = strdup(RULES("auto", "trap", ""));
	job->text_size = strlen(job->text);
	owner_job(r.o, job);
	assert_int_equal(job->result, 0);
	assert_non_null(strstr(job->plan_json, "\"gaps\":[{\"object\":\"block 10 chain 0 pref 64"));
	assert_non_null(strstr(job->plan_json, "\"rule\":\"one\",\"line\":10,\"text\""));
	job_free(job);

	assert_int_equal(apply_ok(&r, RULES("auto", "trap", ""), true), 2);
	ASSERT_LOG("- block 10 chain 0 pref 64 ", "+ block 10 chain 0 pref 64 ");
	/* Of other rules nothing was learned. */
	free(before);
	rig_end(&r);
}

#define MOVED(replace, action)                                                        \
	"version: 1\nports: { lan1: { up: true } }\nblocks:\n  edge:\n    id: 10\n"   \
	"    bind: [lan1]\n    tagging: none\n    replace: " replace "\n    rules:\n" \
	"      - { name: two, match: { src: 203.0.113.0/24 }, action: drop }\n"       \
	"      - { name: one, match: { dst: 198.51.100.0/24 }, action: " action " }\n"

/* A rule that only moves stands in both places for a moment, as long as hardware does not mind. */
static void a_rule_that_moves_needs_no_gap(void **state)
{
	struct rig r;
	struct job *job;

	start_with(&r, RULES("gap", "drop", ""));
	fake.no_replace = fake.no_equal = true;
	assert_int_equal(apply_ok(&r, MOVED("gap", "drop"), false), 2);
	assert_int_equal(fake.refused, 0);
	/* Not so if it is changed as well. */
	job = apply(&r, RULES("gap", "trap", ""), false);
	assert_int_equal(job->refusal, JOB_NEEDS_GAP);
	assert_int_equal(fake.requests, 0);
	job_free(job);
	apply_ok(&r, RULES("gap", "trap", ""), true);
	assert_int_equal(fake.refused, 0);
	rig_end(&r);
}

static void all_ways_are_tried_before_a_gap_that_is_allowed(void **state)
{
	struct rig r;

	start_with(&r, RULES("auto", "drop", ""));
	fake.no_replace = fake.no_equal = true;
	apply_ok(&r, RULES("auto", "trap", ""), true);
	assert_int_equal(fake.refused, 2);
	assert_true(fake_logged(fake.log_count - 2, "- block 10 chain 0 pref 64 "));
	assert_true(fake_logged(fake.log_count - 1, "+ block 10 chain 0 pref 64 "));
	rig_end(&r);
}

static void what_the_file_says_is_not_tried(void **state)
{
	struct rig r;
	struct job *job;

	start_with(&r, RULES("gap", "drop", ""));
	job = apply(&r, RULES("gap", "trap", ""), false);
	assert_int_equal(job->refusal, JOB_NEEDS_GAP);
	assert_int_equal(job->outcome, APPLY_REFUSED);
	assert_int_equal(fake.requests, 0);
	job_free(job);
	/* A rule more needs no gap. */
	assert_int_equal(
		apply_ok(&r,
			 RULES("gap", "drop",
			       "      - { name: new, match: { dst: 10.0.0.1 }, action: drop "
			       "}\n"),
			 false),
		1);
	assert_int_equal(apply_ok(&r, RULES("beside", "drop", ""), false), 1);
	assert_int_equal(apply_ok(&r, RULES("beside", "trap", ""), false), 4);
	ASSERT_LOG("+ block 10 chain 0 pref 63 ", "- block 10 chain 0 pref 64 ",
		   "+ block 10 chain 0 pref 64 ", "- block 10 chain 0 pref 63 ");
	rig_end(&r);
}

/* What is refused in the same words beside the old one is refused for itself. */
static void a_rule_that_hardware_does_not_take(void **state)
{
	struct rig r;
	struct job *job;
	char *before, *after;

	start_with(&r, RULES("auto", "drop", ""));
	before = fake_text();
	fake.lacks = ACTION_TRAP;
	job = apply(&r, RULES("auto", "trap", ""), false);
	assert_int_equal(job->refusal, JOB_ALLOWED);
	assert_int_equal(job->outcome, APPLY_REVERTED);
	fake.lacks = ACTION_PASS;
	after = fake_text();
	assert_same_kernel(before, after);
	job_free(job);
	free(before);
	free(after);
	/* Nothing was learned of it. */
	assert_int_equal(apply_ok(&r, RULES("auto", "trap", ""), false), 1);
	rig_end(&r);
}

/* Linux replaces no matchall, and has room for one in a pref: a copy stands beside it meanwhile. */
static void a_pref_that_holds_one_alone(void **state)
{
	struct rig r;
	struct job *job;
	const char *from = RULES("auto", "drop",
				 "      - { name: tied, match: { ethertype: all }, action: drop, "
				 "pref: 200 }\n");
	const char *to = RULES("auto", "drop",
			       "      - { name: tied, match: { ethertype: all }, action: trap, "
			       "pref: 200 }\n");
	const char *narrow_from =
		RULES("auto", "drop",
		      "      - { name: a, match: { dst: 10.0.0.1 }, action: drop, pref: 199 }\n"
		      "      - { name: tied, match: { ethertype: all }, action: trap, pref: 200 }\n"
		      "      - { name: b, match: { dst: 10.0.0.2 }, action: drop, pref: 201 }\n");
	const char *narrow_to =
		RULES("auto", "drop",
		      "      - { name: a, match: { dst: 10.0.0.1 }, action: drop, pref: 199 }\n"
		      "      - { name: tied, match: { ethertype: all }, action: drop, pref: 200 }\n"
		      "      - { name: b, match: { dst: 10.0.0.2 }, action: drop, pref: 201 }\n");

	start_with(&r, from);
	assert_int_equal(apply_ok(&r, to, false), 4);
	ASSERT_LOG("+ block 10 chain 0 pref 199 protocol all matchall",
		   "- block 10 chain 0 pref 200 ", "+ block 10 chain 0 pref 200 ",
		   "- block 10 chain 0 pref 199 ");
	apply_ok(&r, narrow_from, false);
	job = apply(&r, narrow_to, false);
	assert_int_equal(job->refusal, JOB_NEEDS_GAP);
	assert_non_null(strstr(job->words, "rule tied (line 13)"));
	assert_non_null(strstr(diags_at(job->diags, 0)->text, "no pref next to it is free"));
	assert_int_equal(fake.requests, 0);
	job_free(job);
	assert_int_equal(apply_ok(&r, narrow_to, true), 2);
	rig_end(&r);
}

/* A failure behind the copies: all is as it was, and no copy is left. */
static void a_failure_takes_the_copies_back(void **state)
{
	const char *from = RULES("beside", "drop", "");
	const char *to = RULES("beside", "trap",
			       "      - { name: new, match: { dst: 10.0.0.1 }, action: drop }\n");

	for (size_t k = 1; k <= 5; k++) {
		struct rig r;

		start_with(&r, from);
		rig_write(&r, to);
		rig_reload_reverts(&r, k);
		rig_end(&r);
	}
}

/* A start with another file asks as a reload does; what is in force stays, and an alert says so. */
static void a_start_does_not_take_a_gap(void **state)
{
	struct rig r;
	char *before, *after;

	start_with(&r, RULES("auto", "drop", ""));
	fake.no_replace = fake.no_equal = true;
	before = fake_text();
	rig_stop(&r);
	rig_write(&r, RULES("auto", "trap", ""));
	rig_make(&r);
	owner_start(r.o);
	rig_settle(&r);
	after = fake_text();
	assert_same_kernel(before, after);
	assert_int_equal(r.newest->generation, 1);
	assert_non_null(strstr(rig_alert(&r, "config")->text, "a gap can't be avoided"));
	free(before);
	free(after);
	rig_end(&r);
}

/* What is known of a driver is not tried. */
static void a_driver_that_is_known(void **state)
{
	struct rig r;
	struct port *p;

	rig_begin(&r, BYPASS_ABILITY_READBACK);
	p = world_copy_port(state_port(fake.world, "lan1"));
	COPY_NAME(p->facts.driver, "mlx5_core");
	world_put(p);
	rig_write(&r, RULES("auto", "drop", ""));
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(apply_ok(&r, RULES("auto", "trap", ""), false), 4);
	assert_int_equal(apply_ok(&r, RULES("in-place", "drop", ""), false), 1);
	rig_end(&r);
}

/* What somebody broke is no service to keep: it is put right whatever hardware can hold. */
static void repair_does_not_ask(void **state)
{
	struct rig r;
	struct filter *broken;
	char *before, *after;

	start_with(&r, RULES("auto", "drop", ""));
	fake.no_replace = fake.no_equal = true;
	before = fake_text();
	broken = filter_copy(fake_filter(10, 0));
	((struct action *)(void *)broken->tail)->kind = ACTION_TRAP;
	fake_add_object(broken);
	rig_settle(&r);
	after = fake_text();
	assert_same_kernel(before, after);
	assert_true(r.newest->repairs > 0);
	free(before);
	free(after);
	rig_end(&r);
}

#define FULL(rules)                                                                           \
	"version: 1\nports: { lan1: { up: true } }\nblocks:\n  edge: { id: 10, bind: [lan1]," \
	" tagging: none, rules: [\n" rules " ] }\n"
#define DROP(dst) "    { name: \"" dst "\", match: { dst: " dst "/24 }, action: drop },\n"
#define TRAP(dst) "    { name: \"" dst "\", match: { dst: " dst "/24 }, action: trap },\n"
#define REST "    { name: rest, match: { src: 10.0.0.0/8 }, action: drop },\n"

/* Frames of the old ones fall at once to where they shall fall: nobody misses them. */
static void a_full_table_takes_others_behind_those_that_go(void **state)
{
	struct rig r;

	start_with(&r, FULL(DROP("192.0.2.0") DROP("198.51.100.0") REST));
	fake.table = 3;
	apply_ok(&r, FULL(DROP("203.0.113.0") DROP("198.51.100.0") REST), false);
	assert_int_equal(fake_filters(10), 3);
	assert_int_equal(fake.refused, 1);
	/* A table that was full is not so for ever. */
	fake.table = 4;
	assert_int_equal(apply_ok(&r, FULL(DROP("192.0.2.0") DROP("198.51.100.0") REST), false), 2);
	assert_true(fake_logged(0, "+ block 10"));
	assert_true(fake_logged(1, "- block 10"));
	rig_end(&r);
}

/* What comes decides frames that one decides which goes: behind a gap. */
static void a_full_table_may_need_a_gap(void **state)
{
	static const char after[] = FULL(TRAP("192.0.3.0") DROP("198.51.100.0") REST);
	_cleanup_free_ char *before = NULL, *now = NULL;
	struct job *job;
	struct rig r;

	start_with(&r,
		   FULL("    { name: wide, match: { dst: 192.0.2.0/23 }, action: drop },\n" DROP(
			   "198.51.100.0") REST));
	before = fake_text();
	fake.table = 3;
	job = apply(&r, after, false);
	assert_int_equal(job->refusal, JOB_NEEDS_GAP);
	now = fake_text();
	assert_same_kernel(before, now);
	job_free(job);
	apply_ok(&r, after, true);
	assert_int_equal(fake_filters(10), 3);
	rig_end(&r);
}

/* Nothing goes that could make room. */
static void a_full_table_is_full(void **state)
{
	_cleanup_free_ char *before = NULL, *now = NULL;
	struct job *job;
	struct rig r;

	start_with(&r, FULL(DROP("192.0.2.0") DROP("198.51.100.0")));
	before = fake_text();
	fake.table = 2;
	job = apply(&r, FULL(DROP("192.0.2.0") DROP("198.51.100.0") DROP("203.0.113.0")), true);
	assert_int_equal(job->outcome, APPLY_REVERTED);
	assert_int_equal(job->refusal, JOB_ALLOWED);
	assert_int_equal(fake.refused, 1);
	job_free(job);
	job = apply(&r, FULL(DROP("192.0.2.0") DROP("10.0.0.0") DROP("203.0.113.0")), true);
	assert_int_equal(job->outcome, APPLY_REVERTED);
	now = fake_text();
	assert_same_kernel(before, now);
	job_free(job);
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_place_where_hardware_takes_it),
		cmocka_unit_test(beside_where_it_must_be),
		cmocka_unit_test(a_gap_must_be_allowed),
		cmocka_unit_test(a_rule_that_moves_needs_no_gap),
		cmocka_unit_test(all_ways_are_tried_before_a_gap_that_is_allowed),
		cmocka_unit_test(what_the_file_says_is_not_tried),
		cmocka_unit_test(a_rule_that_hardware_does_not_take),
		cmocka_unit_test(a_pref_that_holds_one_alone),
		cmocka_unit_test(a_failure_takes_the_copies_back),
		cmocka_unit_test(a_start_does_not_take_a_gap),
		cmocka_unit_test(a_driver_that_is_known),
		cmocka_unit_test(repair_does_not_ask),
		cmocka_unit_test(a_full_table_takes_others_behind_those_that_go),
		cmocka_unit_test(a_full_table_may_need_a_gap),
		cmocka_unit_test(a_full_table_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
