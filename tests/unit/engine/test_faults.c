// SPDX-License-Identifier: GPL-2.0-or-later
/* Whichever write to the store, or allocation, of an apply or a start fails: the kernel holds the
 * old generation or the new one, whole, swd says what happened, and goes on. With -Dfaults=true. */
#include "../check.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>

#include "config/base/fault.h"
#include "files.h"
#include "rig.h"

static const int disk_errors[] = { ENOSPC, EIO, EBUSY, EROFS };
static char *one, *two; /* what the kernel holds under each file */

static uint32_t disarm(enum fault_point point)
{
	fault->armed = 0;
	return fault->counts[point];
}

/* Things of others stand beside ours. */
static void begin(struct rig *r)
{
	rig_begin(r, BYPASS_ABILITY_READBACK);
	rig_write(r, FILE_ONE);
	rig_start(r);
	fake_add_address("eth0", "198.51.100.200/24");
	fake_add_filter(10, 40000, "203.0.113.0/24", TCA_CLS_FLAGS_SKIP_SW);
	rig_settle(r);
}

static struct job *apply_two(struct rig *r, uint32_t confirm_ms)
{
	struct job *job = job_new(JOB_APPLY);

	assert_non_null(job);
	rig_write(r, FILE_TWO);
	strcpy(job->who, "test");
	job->confirm_ms = confirm_ms;
	fake_reset_counts();
	return job;
}

static void assert_holds(const char *text)
{
	char *now = fake_text();

	assert_same_kernel(text, now);
	free(now);
}

static bool holds(const char *text)
{
	char *now = fake_text();
	bool same = streq(now, text);

	free(now);
	return same;
}

static size_t count_of_one;

/* Of all kinds: prefs may be others on the way back, and what a file does not say stays. */
static size_t objects(void)
{
	size_t n = 0;

	for (int k = 0; k < KIND_COUNT_; k++)
		n += state_count(fake.world, (enum kind)k);
	return n;
}

/* The first file again, with prefs as they come. */
static void assert_back(void)
{
	char *was = without(strdup(one), "\"pref\""), *now = without(fake_text(), "\"pref\"");

	assert_same_kernel(was, now);
	assert_int_equal(objects(), count_of_one);
	free(was);
	free(now);
}

static int setup(void **state)
{
	struct rig r;

	begin(&r);
	one = fake_text();
	count_of_one = objects();
	rig_write(&r, FILE_TWO);
	rig_reload_ok(&r);
	rig_settle(&r);
	two = fake_text();
	rig_end(&r);
	assert_string_not_equal(one, two);
	return 0;
}

static int teardown(void **state)
{
	free(one);
	free(two);
	return 0;
}

/*
 * An apply with the failures that the caller armed in `armed` (its point: what to count). Returns
 * how many it had of that point.
 */
static uint32_t try_apply(const struct fault *armed, uint32_t confirm_ms, bool disk)
{
	struct rig r;
	struct job *job;
	uint32_t count;

	begin(&r);
	job = apply_two(&r, confirm_ms);
	*fault = *armed;
	owner_job(r.o, job);
	count = disarm((enum fault_point)armed->point);

	if (job->result == 0) {
		assert_int_equal(job->outcome, APPLY_DONE);
		assert_holds(two);
		if (disk && armed->last == UINT32_MAX && armed->first <= count)
			assert_non_null(rig_alert(&r, "store"));
	} else {
		/* A store that fails does so before the first change, or stops nothing. */
		if (disk)
			assert_int_equal(fake.requests, 0);
		if (disk || (job->diags && job->outcome != APPLY_FAILED))
			assert_true(job->diags && diags_errors(job->diags) > 0);
		assert_int_equal(r.o->deadline.generation, 0);
		if (job->outcome != APPLY_FAILED)
			assert_holds(one);
		rig_settle(&r);
		/* All that swd answers for; what a port was before it can't know after a failed
		 * undo. */
		if (job->outcome == APPLY_REVERTED || job->outcome == APPLY_REFUSED)
			assert_holds(one);
	}
	job_free(job);

	/* It goes on as if nothing had been, and so does one that is started anew. */
	rig_settle(&r);
	if (confirm_ms == 0) {
		rig_reload_ok(&r);
		rig_settle(&r);
		assert_holds(two);
		rig_stop(&r);
		rig_start(&r);
		rig_settle(&r);
		assert_int_equal(fake.requests, 0);
		assert_null(rig_alert(&r, "store"));
		assert_true(r.newest->settled);
		/* And it still knows what is its own. */
		rig_write(&r, FILE_ONE);
		rig_reload_ok(&r);
		rig_settle(&r);
		assert_int_equal(objects(), count_of_one);
	} else {
		rig_stop(&r);
		rig_start(&r);
		rig_settle(&r);
		if (!holds(two))
			assert_back();
	}
	rig_end(&r);
	return count;
}

/* Each k fails once, and from each k on nothing can be written, with the errors in turn. */
static uint32_t each_write(uint32_t (*try)(const struct fault *f, bool how), bool how)
{
	struct fault f = { .armed = 1, .point = FAULT_STORE };
	uint32_t n = try(&f, how);

	f.how = FAULT_FAIL;
	for (uint32_t k = 1; k <= n; k++) {
		f.first = f.last = k;
		f.error = (uint32_t)disk_errors[k % 4];
		try(&f, how);
		f.last = UINT32_MAX;
		f.error = (uint32_t)disk_errors[(k + 1) % 4];
		try(&f, how);
	}
	return n;
}

static uint32_t apply_with_disk(const struct fault *f, bool on_trial)
{
	return try_apply(f, on_trial ? 3600000 : 0, true);
}

static void each_store_write_of_an_apply(void **state)
{
	uint32_t n = each_write(apply_with_disk, false),
		 on_trial = each_write(apply_with_disk, true);

	assert_true(n > 8 && on_trial > 8);
	print_message("%u writes, and %u on trial\n", n, on_trial);
}

static void each_allocation_of_an_apply(void **state)
{
	struct fault f = { .armed = 1, .point = FAULT_MEMORY, .error = ENOMEM };
	uint32_t n = try_apply(&f, 0, false);

	assert_true(n > 100);
	f.how = FAULT_FAIL;
	for (uint32_t k = 1; k <= n; k++) {
		f.first = f.last = k;
		try_apply(&f, 0, false);
	}
	print_message("%u allocations\n", n);
}

static void assert_file_kept(const struct rig *r)
{
	char pattern[128];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/swd.db.corrupt*", r->state);
	assert_int_equal(glob(pattern, 0, NULL, &found), GLOB_NOMATCH);
}

static void forget_store(const struct rig *r)
{
	static const char *const names[] = { "swd.db", "swd.db-wal", "swd.db-shm" };
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", r->state, names[i]);
		unlink(path);
	}
}

/* A start that finds all as the file says; the store is there, or is to be made. */
static uint32_t try_start(const struct fault *armed, bool store_there)
{
	struct rig r;
	uint32_t count;

	begin(&r);
	rig_stop(&r);
	if (!store_there)
		forget_store(&r);
	*fault = *armed;
	rig_start(&r);
	count = disarm((enum fault_point)armed->point);
	assert_holds(one);
	assert_file_kept(&r);
	rig_settle(&r);
	assert_holds(one);
	if (armed->last == UINT32_MAX && armed->first <= count)
		assert_non_null(rig_alert(&r, "store"));
	rig_stop(&r);
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(fake.requests, 0);
	assert_null(rig_alert(&r, "store"));
	assert_int_equal(rig_reload_ok(&r), 0);
	rig_end(&r);
	return count;
}

static void each_store_write_of_a_start(void **state)
{
	uint32_t n = each_write(try_start, false), there = each_write(try_start, true);

	assert_true(n > 4 && there > 1);
	print_message("%u writes where there is no store, %u where there is one\n", n, there);
}

/* A start, and all allocations of it but those of the process's own birth. */
static uint32_t start_short_of_memory(uint32_t k)
{
	struct fault f = {
		.armed = 1,
		.how = k ? FAULT_FAIL : FAULT_NONE,
		.point = FAULT_MEMORY,
		.first = k,
		.last = k,
	};
	struct rig r;
	uint32_t count;

	begin(&r);
	rig_stop(&r);
	rig_write(&r, FILE_TWO);
	rig_make(&r);
	*fault = f;
	owner_start(r.o);
	count = disarm(FAULT_MEMORY);
	assert_file_kept(&r);
	rig_settle(&r);
	if (!holds(two)) {
		/* Then it says so, and what was in force is. */
		assert_non_null(rig_alert(&r, "config"));
		assert_holds(one);
	}
	rig_reload_ok(&r);
	rig_settle(&r);
	assert_holds(two);
	rig_end(&r);
	return count;
}

static void each_allocation_of_a_start(void **state)
{
	uint32_t n = start_short_of_memory(0);

	assert_true(n > 100);
	for (uint32_t k = 1; k <= n; k++)
		start_short_of_memory(k);
	print_message("%u allocations\n", n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_store_write_of_an_apply),
		cmocka_unit_test(each_store_write_of_a_start),
		cmocka_unit_test(each_allocation_of_an_apply),
		cmocka_unit_test(each_allocation_of_a_start),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
