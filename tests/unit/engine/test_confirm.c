// SPDX-License-Identifier: GPL-2.0-or-later
/* A generation on trial: it stays when it is confirmed in time, and goes when it is not, whatever
 * happens to swd and to the machine meanwhile. */
#include "../check.h"

#include "confirm_rig.h"

static void confirmed_in_time_stays(void **state)
{
	arm(FILE_TWO, LATER, 2);
	assert_true(rig_has_event(&r, "armed test: generation 2"));
	assert_string_equal(shown(2).outcome, "armed");
	assert_int_equal(confirm(), 0);
	assert_true(rig_has_event(&r, "confirmed test: generation 2"));
	assert_int_equal(r.newest->armed.generation, 0);
	rig_settle(&r);
	assert_int_equal(r.newest->generation, 2);
	assert_true(owner_due(r.o) > now_monotonic_ns() + 2000000000); /* nobody waits */
	assert_int_equal(state_count(r.newest->config->wanted, KIND_BLOCK), 2);
	assert_string_equal(shown(2).outcome, "done");
	assert_false(rig_has_event(&r, "reverted"));
	/* Once is enough, and twice is an error. */
	assert_int_equal(confirm(), -ENOENT);
}

static void not_confirmed_goes_back(void **state)
{
	arm(FILE_TWO, SOON, 2);
	assert_true(fake.requests > 10);
	wait_back();
	/* Also what only the second file says of a port. */
	assert_back();
	assert_string_equal(r.newest->config->file, "swd.yaml");
	assert_true(rig_has_event(&r, "reverted generation 2: not confirmed within 250ms; "
				      "generation 1 is in force"));
	assert_non_null(rig_alert(&r, "unconfirmed"));
	assert_int_equal(r.newest->last_outcome, APPLY_REVERTED);
	assert_string_equal(shown(2).outcome, "unconfirmed");
	assert_string_equal(shown(2).error, "not confirmed within 250ms");
	assert_string_equal(shown(1).outcome, "done");
	assert_int_equal(confirm(), -ENOENT);
	/* An apply ends the alert, and is as free as ever. */
	job_free(rig_apply(&r, FILE_TWO, 0));
	assert_int_equal(r.newest->generation, 3);
	assert_null(rig_alert(&r, "unconfirmed"));
}

/* The first file never spoke of lan1's MTU or state; the trial that took both is undone whole. */
static void what_only_the_trial_said_is_put_back(void **state)
{
	rig_write(&r, FILE_THREE);
	job_free(rig_reload(&r));
	rig_settle(&r);
	free(before);
	before = fake_text();
	assert_non_null(strstr(before, "port lan2 up 1"));
	job_free(rig_apply(&r,
			   "version: 1\nports: { lan1: { mtu: 1300 }, lan2: { up: false } }\n" BLOCK
				   RULES,
			   LATER));
	rig_settle(&r);
	/* A second trial over the first, and a restart: the oldest values are those to come back.
	 */
	job_free(rig_apply(&r,
			   "version: 1\nports: { lan1: { mtu: 1200, up: false } }\n" BLOCK RULES,
			   LATER));
	rig_stop(&r);
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(r.newest->generation, 4);
	job_free(rig_job(&r, JOB_REVERT, 0));
	rig_settle(&r);
	assert_int_equal(r.newest->generation, 2);
	{
		char *now = fake_text();

		assert_same_kernel(before, now);
		free(now);
	}
	/* And nothing of it is left for the next one. */
	fake_set_up("lan2", false);
	rig_stop(&r);
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(state_port(fake.world, "lan2")->up, 0);
}

static void killed_while_armed_waits_on(void **state)
{
	arm(FILE_TWO, LATER, 2);
	rig_settle(&r);
	rig_stop(&r);
	rig_start(&r); /* over the first file */
	rig_settle(&r);
	assert_int_equal(fake.requests, 0);
	assert_int_equal(r.newest->generation, 2);
	assert_int_equal(r.newest->armed.generation, 2);
	assert_int_equal(r.newest->armed.back_to, 1);
	assert_true(r.newest->armed.until_ns <= clock_boot_ns() + LATER * 1000000ULL);
	hurry();
	wait_back();
	assert_back();
}

static void killed_and_confirmed_after(void **state)
{
	arm(FILE_TWO, LATER, 2);
	rig_stop(&r);
	rig_start(&r);
	assert_int_equal(confirm(), 0);
	rig_stop(&r);
	rig_write(&r, FILE_TWO);
	rig_start(&r);
	assert_int_equal(r.newest->generation, 2);
	assert_null(rig_alert(&r, "config"));
}

/* The file is the one that was on trial: neither this start nor a later one brings it in. */
static void passed_while_away_goes_back_first(void **state)
{
	rig_write(&r, FILE_TWO);
	arm(NULL, SOON, 2);
	rig_stop(&r);
	usleep(SOON * 1200);
	rig_start(&r);
	rig_settle(&r);
	assert_back();
	assert_true(rig_has_event(&r, "reverted generation 2: not confirmed while swd was away"));
	assert_int_equal(r.newest->last_outcome, APPLY_REVERTED);
	assert_non_null(strstr(rig_alert(&r, "config")->text, "a start does not take it"));
	for (int i = 0; i < 2; i++) {
		rig_stop(&r);
		rig_start(&r);
		rig_settle(&r);
		assert_int_equal(fake.requests, 0);
		assert_back();
		assert_non_null(strstr(rig_alert(&r, "config")->text,
				       "it is generation 2, which was not confirmed"));
	}
	/* Said by a person it is taken, and then by a start as well. */
	assert_true(rig_reload_ok(&r) > 10);
	assert_int_equal(r.newest->generation, 3);
	rig_stop(&r);
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(r.newest->generation, 3);
	assert_null(rig_alert(&r, "config"));
}

static void over_a_reboot_the_wall_clock_decides(void **state)
{
	char sql[200];

	arm(FILE_TWO, 60000, 2);
	rig_stop(&r);
	snprintf(sql, sizeof(sql), "UPDATE deadline SET boot = 'another', wall_ns = %lld",
		 (long long)now_realtime_ns() + 30000000000LL);
	rig_sql(&r, sql);
	rig_start(&r);
	assert_int_equal(r.newest->armed.generation, 2);
	assert_true(r.newest->armed.until_ns > clock_boot_ns() + 20000000000ULL);
	assert_true(r.newest->armed.until_ns < clock_boot_ns() + 31000000000ULL);
	/* From here on it counts by this boot's clock. */
	rig_stop(&r);
	rig_sql(&r, "UPDATE deadline SET wall_ns = 5");
	rig_start(&r);
	assert_int_equal(r.newest->armed.generation, 2);
	rig_stop(&r);
	rig_sql(&r, "UPDATE deadline SET boot = 'another', wall_ns = 5");
	rig_start(&r);
	rig_settle(&r);
	assert_back();
}

/* swd ended in the middle of an apply that was to be confirmed: nobody has seen it whole. */
static void interrupted_is_not_taken(void **state)
{
	rig_write(&r, FILE_TWO);
	arm(NULL, LATER, 2);
	rig_stop(&r);
	rig_sql(&r, "UPDATE generation SET outcome = 'trying' WHERE id = 2; DELETE FROM deadline");
	rig_start(&r);
	rig_settle(&r);
	assert_back();
	assert_string_equal(shown(2).outcome, "interrupted");
	assert_non_null(strstr(rig_alert(&r, "config")->text, "interrupted"));
}

static void armed_refuses_what_has_no_time(void **state)
{
	struct job *job;

	arm(FILE_TWO, LATER, 2);
	for (int i = 0; i < 3; i++) {
		/* Another text, the file, and the very text that waits. */
		job = i < 2 ? rig_apply(&r, i ? NULL : FILE_THREE, 0) : rig_apply(&r, FILE_TWO, 0);
		assert_int_equal(job->result, -EBUSY);
		assert_int_equal(job->refusal, JOB_ARMED);
		assert_non_null(strstr(job->words, "generation 2 waits for its confirmation, for"));
		assert_int_equal(fake.requests, 0);
		job_free(job);
	}
	job = rig_job(&r, JOB_REVERT, 1);
	assert_int_equal(job->refusal, JOB_ARMED);
	job_free(job);
	assert_int_equal(r.newest->armed.generation, 2);
	assert_null(rig_alert(&r, "config"));
}

/* With a time of its own another takes its place; the way back is the committed one's still. */
static void another_trial_takes_its_place(void **state)
{
	arm(FILE_TWO, LATER, 2);
	arm(FILE_THREE, SOON, 3);
	assert_string_equal(shown(2).outcome, "unconfirmed");
	assert_string_equal(shown(2).error, "generation 3 came before it was confirmed");
	wait_back();
	assert_back();
	/* The same text once more only moves the deadline. */
	arm(FILE_TWO, LATER, 4);
	arm(FILE_TWO, SOON, 4);
	rig_stop(&r);
	rig_start(&r);
	wait_back();
	assert_back();
}

static void a_failed_apply_arms_nothing(void **state)
{
	struct job *job = rig_apply(&r, "version: 1\nnonsense: 1\n", SOON);

	assert_int_equal(job->result, -EINVAL);
	job_free(job);
	fake.refuse_rule = "zero";
	job = rig_apply(&r, FILE_TWO, SOON);
	assert_int_equal(job->outcome, APPLY_REVERTED);
	assert_int_equal(job->armed.generation, 0);
	job_free(job);
	rig_settle(&r);
	assert_back();
	/* One that is armed already keeps its deadline, and its way back. */
	arm(FILE_THREE, LATER, 3);
	job = rig_apply(&r, FILE_TWO, SOON);
	assert_int_equal(job->outcome, APPLY_REVERTED);
	assert_int_equal(job->armed.generation, 3);
	job_free(job);
	assert_int_equal(r.newest->armed.confirm_ms, LATER);
	fake.refuse_rule = NULL;
	rig_stop(&r);
	rig_start(&r);
	assert_int_equal(r.newest->armed.generation, 3);
	job_free(rig_job(&r, JOB_REVERT, 0));
	rig_settle(&r);
	assert_back();
}

/* What is committed needs no confirmation, and where nothing is in force nothing could come back.
 */
static void nothing_to_confirm(void **state)
{
	struct job *job = rig_apply(&r, FILE_ONE, SOON);

	assert_int_equal(job->result, 0);
	assert_int_equal(job->armed.generation, 0);
	assert_int_equal(job->generation, 1);
	job_free(job);
	rig_stop(&r);
	rig_sql(&r, "DELETE FROM generation");
	rig_write(&r, NULL);
	rig_start(&r);
	job = rig_apply(&r, FILE_TWO, SOON);
	assert_int_equal(job->result, -ENOENT);
	assert_int_equal(job->outcome, APPLY_REFUSED);
	assert_int_equal(fake.requests, 0);
	assert_non_null(strstr(diags_at(job->diags, 0)->text, "nothing is in force"));
	job_free(job);
	/* Without a time it is taken. */
	assert_int_equal(r.newest->armed.generation, 0);
	job_free(rig_apply(&r, FILE_TWO, 0));
	assert_int_equal(r.newest->last_outcome, APPLY_DONE);
}

static void taken_back_at_once(void **state)
{
	struct job *job;

	arm(FILE_TWO, LATER, 2);
	job = rig_job(&r, JOB_REVERT, 0);
	assert_int_equal(job->result, 0);
	assert_int_equal(job->generation, 1);
	assert_true(job->steps > 10);
	assert_non_null(strstr(job->plan_json, "\"op\":\"remove\""));
	job_free(job);
	rig_settle(&r);
	assert_back();
	assert_string_equal(shown(2).error, "taken back by test");
	rig_stop(&r);
	rig_start(&r);
	rig_settle(&r);
	assert_back();
}

/* A step that the kernel refuses on the way back stops no other, and repair goes on with it. */
static void the_way_back_is_not_all_or_nothing(void **state)
{
	arm(FILE_TWO, SOON, 2);
	fake.refuse_rule = "two"; /* which only the first file has */
	wait_back();
	assert_int_equal(r.newest->generation, 1);
	assert_int_equal(r.newest->armed.generation, 0);
	assert_int_equal(state_port(fake.world, "lan1")->mtu, 1500);
	assert_non_null(rig_alert(&r, "refused"));
	fake.refuse_rule = NULL;
	for (int i = 0; i < 40 && !r.newest->settled; i++) {
		usleep(50000);
		rig_settle(&r);
	}
	assert_back();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(confirmed_in_time_stays),
		TEST(not_confirmed_goes_back),
		TEST(what_only_the_trial_said_is_put_back),
		TEST(killed_while_armed_waits_on),
		TEST(killed_and_confirmed_after),
		TEST(passed_while_away_goes_back_first),
		TEST(over_a_reboot_the_wall_clock_decides),
		TEST(interrupted_is_not_taken),
		TEST(armed_refuses_what_has_no_time),
		TEST(another_trial_takes_its_place),
		TEST(a_failed_apply_arms_nothing),
		TEST(nothing_to_confirm),
		TEST(taken_back_at_once),
		TEST(the_way_back_is_not_all_or_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
