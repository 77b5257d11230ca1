// SPDX-License-Identifier: GPL-2.0-or-later
/* A generation on trial: it stays when it is confirmed in time, and goes when it is not, whatever
 * happens to swd, to the machine and to the disk meanwhile. */
#include "../check.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "files.h"
#include "rig.h"

#define SOON 250      /* ms: a deadline that is waited for */
#define LATER 3600000 /* one that is not */

/* Says nothing of lan1 and lan2 but that their rules are there. */
#define FILE_THREE "version: 1\nports: { cpu0: { up: true } }\n" BLOCK RULES

static struct rig r;
static char *before; /* what the kernel held under the first file */

static int setup(void **state)
{
	rig_begin(&r, BYPASS_ABILITY_READBACK);
	rig_write(&r, FILE_ONE);
	rig_start(&r);
	fake_add_filter(10, 40000, "203.0.113.0/24", TCA_CLS_FLAGS_SKIP_SW);
	rig_settle(&r);
	before = fake_text();
	return 0;
}

static int teardown(void **state)
{
	free(before);
	rig_end(&r);
	return 0;
}

/* Prefs may differ on the way back; all else is as it was. */
static void assert_back(void)
{
	char *was = without(strdup(before), "\"pref\""), *now = without(fake_text(), "\"pref\"");

	assert_same_kernel(was, now);
	free(was);
	free(now);
	assert_int_equal(r.newest->generation, 1);
	assert_int_equal(r.newest->armed.generation, 0);
	assert_true(r.newest->settled);
}

static void arm(const char *yaml, uint32_t ms, uint64_t generation)
{
	struct job *job = rig_apply(&r, yaml, ms);

	assert_int_equal(job->result, 0);
	assert_int_equal(job->outcome, APPLY_DONE);
	assert_int_equal(job->generation, generation);
	assert_int_equal(job->armed.generation, generation);
	job_free(job);
	assert_int_equal(r.newest->generation, generation);
	assert_int_equal(r.newest->armed.generation, generation);
	assert_int_equal(r.newest->armed.back_to, 1);
	assert_int_equal(r.newest->armed.confirm_ms, ms);
}

/* What has much time left has little now: a busy machine may take long for what stands before. */
static void hurry(void)
{
	assert_true(r.o->deadline.generation);
	r.o->deadline.at.boot_ns = clock_boot_ns() + 100000000;
}

/* Ticks until what is armed is no more, as the engine does. */
static void wait_armed_no_more(void)
{
	for (int i = 0; r.newest->armed.generation; i++) {
		uint64_t due = owner_due(r.o), now = now_monotonic_ns();

		assert_true(i < 1000);
		if (due > now)
			usleep((useconds_t)((due - now) / 1000 + 1));
		owner_tick(r.o);
	}
}

static void wait_back(void)
{
	wait_armed_no_more();
	rig_settle(&r);
}

static struct generation shown(uint64_t id)
{
	struct job *job = rig_job(&r, JOB_GENERATION, id);
	struct generation g;

	assert_int_equal(job->result, 0);
	g = job->list[0];
	g.text = g.diff = NULL;
	job_free(job);
	return g;
}

static int confirm(void)
{
	struct job *job = rig_job(&r, JOB_CONFIRM, 0);
	int result = job->result;

	assert_int_equal(fake.requests, 0);
	job_free(job);
	return result;
}

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

/* The kernel can't be read when the time is over: repair waits for it, and nobody stays for it.
 */
static void the_way_back_needs_no_look(void **state)
{
	arm(FILE_TWO, SOON, 2);
	fake.lose_events = true;
	fake_set_up("lan1", false);
	fake.dump_error = -EINTR;
	wait_armed_no_more();
	assert_int_equal(r.newest->generation, 1);
	assert_int_equal(r.newest->last_outcome, APPLY_REVERTED);
	fake.dump_error = 0;
	for (int i = 0; i < 40 && !r.newest->settled; i++) {
		usleep(50000);
		rig_settle(&r);
	}
	assert_back();
}

static struct rlimit was;

static void fill_disk(void)
{
	struct rlimit none;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	none = was;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_FSIZE, &none);
}

static void empty_disk(void)
{
	setrlimit(RLIMIT_FSIZE, &was);
}

/* Without room on the disk there is no trial, a confirmation is refused, and the way back is free.
 */
static void a_full_disk_stops_no_way_back(void **state)
{
	struct job *job;

	fill_disk();
	job = rig_apply(&r, FILE_TWO, SOON);
	empty_disk();
	assert_int_equal(job->outcome, APPLY_REFUSED);
	assert_int_equal(fake.requests, 0);
	job_free(job);
	assert_int_equal(r.newest->armed.generation, 0);

	arm(FILE_TWO, LATER, 2);
	fill_disk();
	job = rig_job(&r, JOB_CONFIRM, 0);
	assert_true(job->result < 0);
	assert_non_null(strstr(job->words, "so the deadline stands"));
	job_free(job);
	assert_int_equal(r.newest->armed.generation, 2);
	hurry();
	wait_back();
	empty_disk();
	assert_back();
	assert_non_null(rig_alert(&r, "store"));
	/* The store still has it as armed; a start comes to the same end. */
	rig_stop(&r);
	rig_sql(&r, "UPDATE deadline SET boot_ns = 1");
	rig_start(&r);
	rig_settle(&r);
	assert_back();
	assert_string_equal(shown(2).outcome, "unconfirmed");
}

/* Memory was short on the way back: what a port had before comes back a while later. */
static void what_is_left_over_is_put_back(void **state)
{
	struct port *p = object_new(KIND_PORT, sizeof(*p));

	COPY_NAME(p->name, "lan1");
	p->has = PORT_HAS_MTU | PORT_HAS_UP; /* the file says that it is up */
	p->mtu = 1450;
	state_free(r.o->before);
	r.o->before = state_new();
	assert_int_equal(state_put(r.o->before, p), 0);
	r.o->record_due = now_monotonic_ns() - 1;
	assert_true(owner_due(r.o) <= now_monotonic_ns());
	owner_tick(r.o);
	rig_settle(&r);
	assert_int_equal(state_port(fake.world, "lan1")->mtu, 1450);
	assert_int_equal(state_port(fake.world, "lan1")->up, 1);
	assert_null(r.o->before);
}

/* Its time is over, and the engine was too busy to see it: the word comes too late all the same. */
static void a_late_word_is_none(void **state)
{
	struct job *job;

	arm(FILE_TWO, LATER, 2);
	r.o->deadline.at.boot_ns = 1;
	job = rig_job(&r, JOB_CONFIRM, 0);
	assert_int_equal(job->result, -ENOENT);
	assert_int_equal(job->refusal, JOB_NOT_ARMED);
	job_free(job);
	rig_settle(&r);
	assert_back();
}

/* After a reboot the trial changes what the boot gave, and that is what comes back. */
static void a_reboot_forgets_what_was_before(void **state)
{
	rig_write(&r, FILE_THREE);
	job_free(rig_reload(&r));
	job_free(rig_apply(
		&r,
		"version: 1\nports: { lan1: { up: false }, lan2: { up: false } }\n" BLOCK RULES,
		LATER));
	rig_settle(&r);
	rig_stop(&r);
	rig_sql(&r, "UPDATE meta SET value = 'elsewhere' WHERE key = 'place'");
	fake_set_up("lan1", true); /* and lan2 is down from the start */
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(r.newest->armed.generation, 3);
	assert_int_equal(state_port(fake.world, "lan1")->up, 0);
	job_free(rig_job(&r, JOB_REVERT, 0));
	rig_settle(&r);
	assert_int_equal(state_port(fake.world, "lan1")->up, 1);
	assert_int_equal(state_port(fake.world, "lan2")->up, 0);
}

/* Taken back by a person, long before its time: a start must learn of it. */
static void what_was_not_recorded_is_recorded_later(void **state)
{
	arm(FILE_TWO, LATER, 2);
	fill_disk();
	job_free(rig_job(&r, JOB_REVERT, 0));
	rig_settle(&r);
	assert_back();
	assert_true(owner_due(r.o) < now_monotonic_ns() + 11000000000);
	r.o->record_due = 0;
	owner_tick(r.o);
	assert_non_null(rig_alert(&r, "store"));
	empty_disk();
	r.o->record_due = 0;
	owner_tick(r.o);
	rig_settle(&r);
	assert_null(rig_alert(&r, "store"));
	assert_int_equal(r.o->unrecorded, 0);
	assert_string_equal(shown(2).error, "taken back by test");
	rig_stop(&r);
	rig_start(&r);
	rig_settle(&r);
	assert_back();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

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
		TEST(the_way_back_needs_no_look),
		TEST(a_full_disk_stops_no_way_back),
		TEST(what_was_not_recorded_is_recorded_later),
		TEST(what_is_left_over_is_put_back),
		TEST(a_late_word_is_none),
		TEST(a_reboot_forgets_what_was_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
