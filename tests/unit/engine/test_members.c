// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Members of a block that can't offload: Linux takes no skip_sw filter while one is bound, and
 * binds none behind such filters. So they come last, or go again, and the others have their rules.
 */
#include "../check.h"

#include "files.h"
#include "rig.h"

#define IDLE                                                                       \
	HEAD "blocks:\n  edge: { id: 10, bind: [eth7, lan1, lan2], tagging: none," \
	     " rules: [ { name: one, match: { dst: 192.0.2.0/24 }, action: drop } ] }\n"

#define TWO                                                                         \
	HEAD "blocks:\n  edge: { id: 10, bind: [eth7, lan1, lan2], tagging: none,"  \
	     " rules: [ { name: one, match: { dst: 192.0.2.0/24 }, action: drop }," \
	     " { name: two, match: { dst: 198.51.100.0/24 }, action: drop } ] }\n"

#define BOTH                                                                        \
	HEAD "blocks:\n  edge: { id: 10, bind: [eth7, lan1, lan2], tagging: none,"  \
	     " rules: [ { name: one, match: { dst: 192.0.2.0/24 }, action: drop }," \
	     " { name: two, match: { dst: 198.51.100.0/24 }, action: drop,"         \
	     " offload: preferred } ] }\n"

/* It comes behind the filters, where the kernel can refuse it alone. */
static void who_cannot_offload_is_left_out(void **state)
{
	struct rig r;

	rig_begin(&r, BYPASS_ABILITY_READBACK);
	fake_add_port("eth7", NULL, -1);
	fake.idle_port = "eth7";
	rig_write(&r, IDLE);
	rig_start(&r);
	assert_int_equal(r.newest->last_outcome, APPLY_DONE);
	assert_true(fake_log_find("+ clsact on eth7", 0) > fake_log_find("+ block 10", 0));
	assert_int_equal(fake_filters(10), 1);
	rig_settle(&r);
	assert_non_null(rig_alert(&r, "refused"));
	assert_string_equal(rig_alert(&r, "refused")->about, "clsact on eth7 (ingress block 10)");
	rig_end(&r);
}

/* It was of use for the rules of software, until one comes that can do more. */
static void who_cannot_offload_makes_room(void **state)
{
	struct rig r;

	rig_begin(&r, BYPASS_ABILITY_READBACK);
	fake_add_port("eth7", NULL, -1);
	fake.idle_port = "eth7";
	rig_write(&r, BOTH);
	rig_start(&r);
	rig_stop(&r);
	fake_del_port("lan1");
	fake_del_port("lan2");
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(fake_filters(10), 1);
	assert_int_equal(state_count(fake.world, KIND_QDISC), 1);
	/* By now the other has been refused so often that it would wait for longer than this. */
	fake_add_port("lan1", "cpu0", 1);
	rig_settle(&r);
	assert_int_equal(fake_filters(10), 2);
	assert_int_equal(fake_filter(10, 0)->flags & TCA_CLS_FLAGS_IN_HW, TCA_CLS_FLAGS_IN_HW);
	assert_int_equal(state_count(fake.world, KIND_QDISC), 1);
	assert_string_equal(rig_alert(&r, "refused")->about, "clsact on eth7 (ingress block 10)");
	assert_null(rig_alert(&r, "drift"));
	rig_end(&r);
}

/* Its block had nothing for hardware when it came. */
static void who_cannot_offload_makes_room_for_a_new_rule(void **state)
{
	static const char before[] = HEAD "blocks:\n  edge: { id: 10, bind: [eth7, lan1, lan2],"
					  " tagging: none, rules: [] }\n";
	struct job *job;
	struct rig r;

	rig_begin(&r, BYPASS_ABILITY_READBACK);
	fake_add_port("eth7", NULL, -1);
	fake.idle_port = "eth7";
	rig_write(&r, before);
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(state_count(fake.world, KIND_QDISC), 3);
	rig_write(&r, IDLE);
	job = rig_reload(&r);
	assert_int_equal(job->result, 0);
	assert_int_equal(diags_count(job->diags), 1);
	assert_non_null(strstr(diags_at(job->diags, 0)->text, "left out"));
	job_free(job);
	assert_int_equal(fake_filters(10), 1);
	assert_int_equal(state_count(fake.world, KIND_QDISC), 2);
	rig_write(&r, before);
	job = rig_reload(&r);
	assert_int_equal(job->result, 0);
	job_free(job);
	rig_settle(&r);
	assert_int_equal(state_count(fake.world, KIND_QDISC), 3);
	/* It is back on the way back, too. */
	rig_write(&r, IDLE);
	rig_reload_reverts(&r, 2);
	assert_int_equal(state_count(fake.world, KIND_QDISC), 3);
	rig_end(&r);
}

/* It had a block of software's before. */
static void who_cannot_offload_is_left_out_of_its_new_block(void **state)
{
	struct job *job;
	struct rig r;

	rig_begin(&r, BYPASS_ABILITY_READBACK);
	fake_add_port("eth7", NULL, -1);
	fake.idle_port = "eth7";
	rig_write(&r, HEAD "blocks:\n  soft: { id: 11, bind: [eth7], offload: off,"
			   " tagging: none, rules: [] }\n");
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(state_count(fake.world, KIND_QDISC), 1);
	rig_write(&r, IDLE);
	job = rig_reload(&r);
	assert_int_equal(job->result, 0);
	assert_int_equal(diags_count(job->diags), 1);
	assert_non_null(strstr(diags_at(job->diags, 0)->text, "left out"));
	job_free(job);
	assert_int_equal(fake_filters(10), 1);
	assert_int_equal(state_count(fake.world, KIND_QDISC), 2);
	rig_end(&r);
}

/* One that says nothing of offload, and can. */
static void who_can_offload_stays_where_it_is(void **state)
{
	_cleanup_free_ char *before = NULL, *after = NULL;
	struct rig r;

	rig_begin(&r, BYPASS_ABILITY_READBACK);
	fake_add_port("eth7", NULL, -1);
	rig_write(&r, TWO);
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(state_count(fake.world, KIND_QDISC), 3);
	before = fake_text();
	fake_del_filter(10, 0);
	fake_reset_counts();
	rig_settle(&r);
	after = fake_text();
	assert_same_kernel(before, after);
	assert_int_equal(fake.requests, 1);
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_cannot_offload_is_left_out),
		cmocka_unit_test(who_cannot_offload_makes_room),
		cmocka_unit_test(who_cannot_offload_makes_room_for_a_new_rule),
		cmocka_unit_test(who_cannot_offload_is_left_out_of_its_new_block),
		cmocka_unit_test(who_can_offload_stays_where_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
