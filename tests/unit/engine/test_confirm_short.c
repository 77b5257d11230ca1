// SPDX-License-Identifier: GPL-2.0-or-later
/* A generation on trial, while the kernel, the disk, memory or time is short: the way back is free.
 */
#include "../check.h"

#include <signal.h>
#include <sys/resource.h>

#include "confirm_rig.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_way_back_needs_no_look),
		TEST(a_full_disk_stops_no_way_back),
		TEST(what_was_not_recorded_is_recorded_later),
		TEST(what_is_left_over_is_put_back),
		TEST(a_late_word_is_none),
		TEST(a_reboot_forgets_what_was_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
