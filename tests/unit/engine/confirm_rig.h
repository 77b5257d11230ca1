/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of generations on trial share: an engine with FILE_ONE in force. */
#ifndef SWD_TESTS_UNIT_ENGINE_CONFIRM_RIG_H
#define SWD_TESTS_UNIT_ENGINE_CONFIRM_RIG_H

#include <errno.h>
#include <stdio.h>

#include "files.h"
#include "rig.h"

#define SOON 250      /* ms: a deadline that is waited for */
#define LATER 3600000 /* one that is not */

/* Says nothing of lan1 and lan2 but that their rules are there. */
#define FILE_THREE "version: 1\nports: { cpu0: { up: true } }\n" BLOCK RULES

static struct rig r;
static char *before; /* what the kernel held under the first file */

static _unused_ int setup(void **state)
{
	rig_begin(&r, BYPASS_ABILITY_READBACK);
	rig_write(&r, FILE_ONE);
	rig_start(&r);
	fake_add_filter(10, 40000, "203.0.113.0/24", TCA_CLS_FLAGS_SKIP_SW);
	rig_settle(&r);
	before = fake_text();
	return 0;
}

static _unused_ int teardown(void **state)
{
	free(before);
	rig_end(&r);
	return 0;
}

/* Prefs may differ on the way back; all else is as it was. */
static _unused_ void assert_back(void)
{
	char *was = without(strdup(before), "\"pref\""), *now = without(fake_text(), "\"pref\"");

	assert_same_kernel(was, now);
	free(was);
	free(now);
	assert_int_equal(r.newest->generation, 1);
	assert_int_equal(r.newest->armed.generation, 0);
	assert_true(r.newest->settled);
}

static _unused_ void arm(const char *yaml, uint32_t ms, uint64_t generation)
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
static _unused_ void hurry(void)
{
	assert_true(r.o->deadline.generation);
	r.o->deadline.at.boot_ns = clock_boot_ns() + 100000000;
}

/* Ticks until what is armed is no more, as the engine does. */
static _unused_ void wait_armed_no_more(void)
{
	for (int i = 0; r.newest->armed.generation; i++) {
		uint64_t due = owner_due(r.o), now = now_monotonic_ns();

		assert_true(i < 1000);
		if (due > now)
			usleep((useconds_t)((due - now) / 1000 + 1));
		owner_tick(r.o);
	}
}

static _unused_ void wait_back(void)
{
	wait_armed_no_more();
	rig_settle(&r);
}

static _unused_ struct generation shown(uint64_t id)
{
	struct job *job = rig_job(&r, JOB_GENERATION, id);
	struct generation g;

	assert_int_equal(job->result, 0);
	g = job->list[0];
	g.text = g.diff = NULL;
	job_free(job);
	return g;
}

static _unused_ int confirm(void)
{
	struct job *job = rig_job(&r, JOB_CONFIRM, 0);
	int result = job->result;

	assert_int_equal(fake.requests, 0);
	job_free(job);
	return result;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
