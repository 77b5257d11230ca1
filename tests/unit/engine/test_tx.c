// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How ports send: what the file says is so, stays so, and goes back as it was; what the device
 * can't do is told where the file says it.
 */
#include "../check.h"

#include <errno.h>
#include <stdio.h>

#include "rig.h"

#define HEAD "version: 1\ndaemon: { audit: 1s }\nports:\n  lan2: {}\n"
#define NOTHING HEAD "  eth0: {}\n"
#define ALL                                                                          \
	HEAD "  eth0:\n"                                                             \
	     "    tx:\n"                                                             \
	     "      flush: 8\n"                                                      \
	     "      ring: 512\n"                                                     \
	     "      coalesce: { tx-usecs: 50, tx-frames: 16, adaptive-tx: false }\n" \
	     "      bql: { limit-min: 1500, limit-max: 64k }\n"

/* eth0 has all of it, with other values; a limit of its second queue is its own. */
static void start_with(struct rig *r, const char *yaml)
{
	rig_begin(r, BYPASS_ABILITY_READBACK);
	fake_add_tx("eth0", TX_FLUSH, 0, 1, 1, 0);
	fake_add_tx("eth0", TX_RING, 0, 1, 256, 1024);
	fake_add_tx("eth0", TX_COALESCE, 0, 7, 1, 0);
	fake_add_tx("eth0", TX_BQL, 2, 3, 0, 0);
	((struct tx *)(uintptr_t)tx_find(fake.world, "eth0", TX_BQL))->queue[1][1] = 9000;
	for (unsigned int part = 0; part < TX_PART_COUNT_; part++) {
		fake_add_tx("lan1", (enum tx_part)part, 0, 0, 0, 0);
		fake_add_tx("lan2", (enum tx_part)part, 0, 0, 0, 0);
	}
	rig_write(r, yaml);
	rig_start(r);
	rig_settle(r);
}

static uint32_t is(enum tx_part part, unsigned int i, uint32_t queue)
{
	return tx_value(tx_find(fake.world, "eth0", part), i, queue);
}

static void assert_all(void)
{
	assert_int_equal(is(TX_FLUSH, 0, 0), 8);
	assert_int_equal(is(TX_RING, 0, 0), 512);
	assert_int_equal(is(TX_COALESCE, 0, 0), 50);
	assert_int_equal(is(TX_COALESCE, 1, 0), 16);
	assert_int_equal(is(TX_COALESCE, 2, 0), 0);
	for (uint32_t q = 0; q < 2; q++) {
		assert_int_equal(is(TX_BQL, 0, q), 1500);
		assert_int_equal(is(TX_BQL, 1, q), 65536);
	}
}

static void all_is_set_at_a_start(void **state)
{
	struct rig r;

	start_with(&r, ALL);
	assert_all();
	assert_int_equal(fake.refused, 0);
	assert_true(r.newest->settled);
	/* And again: there is nothing to do, by this swd or the next. */
	assert_int_equal(rig_reload_ok(&r), 0);
	rig_stop(&r);
	fake_reset_counts();
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(fake.requests, 0);
	assert_true(r.newest->settled);
	rig_end(&r);
}

/* A part is one request, and none is sent for what is so already. */
static void only_what_is_other_is_set(void **state)
{
	struct rig r;

	start_with(&r, HEAD "  eth0: { tx: { ring: 256, coalesce: { tx-frames: 1 } } }\n");
	assert_int_equal(fake.requests, 0);
	rig_write(&r, HEAD "  eth0: { tx: { ring: 300, coalesce: { tx-frames: 2 } } }\n");
	assert_int_equal(rig_reload_ok(&r), 2);
	assert_int_equal(is(TX_RING, 0, 0), 300);
	assert_int_equal(is(TX_COALESCE, 0, 0), 1);
	assert_int_equal(is(TX_COALESCE, 1, 0), 2);
	/* What is not said any more stays as it is. */
	rig_write(&r, NOTHING);
	assert_int_equal(rig_reload_ok(&r), 0);
	assert_int_equal(is(TX_RING, 0, 0), 300);
	rig_end(&r);
}

/* ethtool tells; sysfs does not, and the audit finds it. */
static void drift_is_mended(void **state)
{
	struct rig r;

	start_with(&r, ALL);
	fake_set_tx("eth0", TX_RING, 0, 64);
	fake_set_tx("eth0", TX_COALESCE, 2, 1);
	rig_settle(&r);
	assert_all();
	assert_true(rig_has_event(&r, "repaired port eth0 tx ring: ~ port eth0 tx ring: "
				      "different: 64 instead of 512"));
	assert_true(rig_has_event(&r, "different: adaptive-tx on instead of off"));
	fake_set_tx("eth0", TX_FLUSH, 0, 1);
	fake_set_tx("eth0", TX_BQL, 1, 3000);
	r.o->audit_due = 0;
	rig_settle(&r);
	assert_all();
	assert_true(rig_has_event(&r, "different: limit-max 3000 instead of 65536"));
	rig_end(&r);
}

/* A device made anew has its driver's values. */
static void a_new_device_is_set_again(void **state)
{
	struct rig r;

	start_with(&r, ALL);
	fake_del_port("eth0");
	rig_settle(&r);
	assert_null(tx_find(r.o->found, "eth0", TX_RING));
	fake_add_port("eth0", NULL, -1);
	fake_add_tx("eth0", TX_FLUSH, 0, 1, 1, 0);
	fake_add_tx("eth0", TX_RING, 0, 1, 256, 1024);
	fake_add_tx("eth0", TX_COALESCE, 0, 7, 1, 0);
	fake_add_tx("eth0", TX_BQL, 2, 3, 0, 0);
	rig_settle(&r);
	assert_all();
	assert_true(r.newest->settled);
	rig_end(&r);
}

/* Whichever request fails, each value of each queue is what it was. */
static void each_refusal_goes_back(void **state)
{
	for (size_t k = 1; k <= 4; k++) {
		struct rig r;

		start_with(&r, NOTHING);
		rig_write(&r, ALL);
		rig_reload_reverts(&r, k);
		assert_int_equal(is(TX_BQL, 1, 0), 0);
		assert_int_equal(is(TX_BQL, 1, 1), 9000);
		rig_end(&r);
	}
}

static void a_trial_goes_back(void **state)
{
	for (int restart = 0; restart < 2; restart++) {
		struct rig r;
		struct job *job;

		start_with(&r, NOTHING);
		job = rig_apply(&r, ALL, 60000);
		assert_int_equal(job->result, 0);
		job_free(job);
		assert_all();
		if (restart) {
			rig_stop(&r);
			rig_start(&r);
			rig_settle(&r);
			assert_all();
		}
		job = rig_job(&r, JOB_REVERT, 0);
		assert_int_equal(job->result, 0);
		job_free(job);
		rig_settle(&r);
		assert_int_equal(is(TX_FLUSH, 0, 0), 1);
		assert_int_equal(is(TX_RING, 0, 0), 256);
		assert_int_equal(is(TX_COALESCE, 0, 0), 1);
		assert_int_equal(is(TX_COALESCE, 2, 0), 1);
		assert_int_equal(is(TX_BQL, 0, 0), 0);
		assert_int_equal(is(TX_BQL, 1, 0), 0);
		assert_int_equal(is(TX_BQL, 1, 1), 9000);
		rig_end(&r);
	}
}

/* What was on trial is set on a device that has less by then: that is no undo that is refused. */
static void a_device_that_has_less_goes_back_as_far_as_it_can(void **state)
{
	struct rig r;
	struct job *job;

	start_with(&r, NOTHING);
	job_free(rig_apply(&r, ALL, 60000));
	assert_all();
	fake_del_port("eth0");
	rig_settle(&r);
	fake_add_port("eth0", NULL, -1);
	fake_add_tx("eth0", TX_FLUSH, 0, 0, 0, 0);
	fake_add_tx("eth0", TX_RING, 0, 1, 64, 128); /* 256 were there before */
	fake_add_tx("eth0", TX_COALESCE, 0, 3, 9, 0);
	fake_add_tx("eth0", TX_BQL, 0, 0, 0, 0);
	rig_settle(&r);
	fake_reset_counts();
	job = rig_job(&r, JOB_REVERT, 0);
	assert_int_equal(job->result, 0);
	assert_int_equal(diags_count(job->diags), 0);
	job_free(job);
	rig_settle(&r);
	assert_int_equal(fake.refused, 0);
	assert_int_equal(is(TX_RING, 0, 0), 64);
	assert_int_equal(is(TX_COALESCE, 0, 0), 1);
	assert_true(r.newest->settled);
	rig_end(&r);
}

static void refused(struct rig *r, const char *yaml, const char *words)
{
	struct job *job;

	fake_reset_counts();
	rig_write(r, yaml);
	job = rig_reload(r);
	assert_int_equal(job->outcome, APPLY_REFUSED);
	assert_int_equal(diags_errors(job->diags), 1);
	assert_string_equal(diags_at(job->diags, 0)->text, words);
	assert_int_equal(diags_at(job->diags, 0)->at.line, 5);
	assert_int_equal(fake.requests, 0);
	job_free(job);
}

static void what_it_has_not_is_told_with_its_place(void **state)
{
	struct rig r;

	start_with(&r, NOTHING);
	refused(&r, HEAD "  eth0: { tx: { ring: 1025 } }\n",
		"1025 is more than eth0 has, expected at most 1024");
	refused(&r, "version: 1\nports:\n  eth0: {}\n  lan1: {}\n  lan2: { tx: { ring: 5 } }\n",
		"lan2 has no transmit ring whose size can be set (its driver)");
	refused(&r,
		"version: 1\nports:\n  eth0: {}\n  lan2:\n    tx: { coalesce: { tx-frames: 5 } }\n",
		"lan2 has no tx-frames (its driver)");
	refused(&r, "version: 1\nports:\n  eth0: {}\n  lan2:\n    tx: { bql: { limit-max: 5 } }\n",
		"lan2 has no byte queue limits");
	rig_end(&r);
}

/* Some drivers refuse to tell one part, nfp for good and others while they reset: that is no reason
 * to leave all else alone. */
static void a_part_that_is_not_told_holds_up_nothing_else(void **state)
{
	struct rig r;

	start_with(&r, HEAD "  eth0: { tx: { ring: 512 } }\n");
	fake.coalesce_error = -EINVAL;
	fake_set_tx("eth0", TX_RING, 0, 64);
	fake_set_up("lan2", true);
	r.o->audit_due = 0;
	rig_settle(&r);
	assert_int_equal(is(TX_RING, 0, 0), 512);
	assert_null(rig_alert(&r, "dump"));
	/* What was read before counts; then it is known no more. */
	rig_write(&r, HEAD "  eth0: { tx: { ring: 300 } }\n  lan1: { mtu: 1400 }\n");
	assert_int_equal(rig_reload_ok(&r), 2);
	fake_del_port("eth0");
	rig_settle(&r);
	fake_add_port("eth0", NULL, -1);
	fake_add_tx("eth0", TX_RING, 0, 1, 256, 1024);
	fake_add_tx("eth0", TX_COALESCE, 0, 7, 1, 0);
	fake_add_tx("eth0", TX_FLUSH, 0, 1, 1, 0);
	rig_settle(&r);
	assert_int_equal(is(TX_RING, 0, 0), 300);
	refused(&r, HEAD "  eth0: { tx: { coalesce: { tx-frames: 5 } } }\n",
		"eth0 does not tell what it has (its driver)");
	/* A start does the rest of what was in force, and tells; the audit asks again. */
	fake.coalesce_error = 0;
	rig_write(&r, HEAD "  eth0: { tx: { coalesce: { tx-frames: 5 }, ring: 512 } }\n");
	assert_int_equal(rig_reload_ok(&r), 2);
	rig_stop(&r);
	fake.coalesce_error = -EBUSY;
	fake_set_tx("eth0", TX_RING, 0, 64);
	fake_set_tx("eth0", TX_COALESCE, 1, 6);
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(is(TX_RING, 0, 0), 512);
	assert_string_equal(rig_alert(&r, "conflict")->about, "port eth0 tx coalesce");
	fake.coalesce_error = 0;
	r.o->audit_due = 0;
	rig_settle(&r);
	assert_int_equal(is(TX_COALESCE, 1, 0), 5);
	assert_null(rig_alert(&r, "conflict"));
	rig_end(&r);
}

/* A driver that rounds does not do what the file says: it goes back, and the words tell the size.
 */
static void a_ring_that_is_rounded_is_told(void **state)
{
	struct rig r;
	struct job *job;

	start_with(&r, NOTHING);
	fake.ring_step = 128;
	rig_write(&r, HEAD "  eth0: { tx: { ring: 500 } }\n");
	job = rig_reload(&r);
	assert_int_equal(job->outcome, APPLY_REVERTED);
	assert_string_equal(diags_at(job->diags, 0)->text,
			    "kernel: it said yes, and holds something else: 512 instead of 500");
	job_free(job);
	assert_int_equal(is(TX_RING, 0, 0), 256);
	rig_write(&r, HEAD "  eth0: { tx: { ring: 512 } }\n");
	assert_int_equal(rig_reload_ok(&r), 1);
	rig_end(&r);
}

/* All else is done, and an alert stands as long as it is so. */
static void a_kernel_without_the_patch_is_told(void **state)
{
	struct rig r;
	struct job *job;

	start_with(&r, NOTHING);
	rig_write(&r, HEAD "  eth0: { tx: { ring: 512 } }\n  lan1: { tx: { flush: off } }\n");
	assert_int_equal(rig_reload_ok(&r), 1);
	rig_write(&r, "version: 1\nports:\n  eth0: { tx: { ring: 600 } }\n"
		      "  lan2: { tx: { flush: 8 } }\n");
	job = rig_reload(&r);
	assert_int_equal(job->result, 0);
	assert_int_equal(diags_count(job->diags), 1);
	assert_int_equal(diags_at(job->diags, 0)->level, DIAG_WARNING);
	job_free(job);
	rig_settle(&r);
	assert_int_equal(is(TX_RING, 0, 0), 600);
	assert_non_null(rig_alert(&r, "conflict"));
	assert_string_equal(rig_alert(&r, "conflict")->about, "port lan2 tx flush");
	assert_true(r.newest->settled);
	rig_write(&r, NOTHING);
	assert_int_equal(rig_reload_ok(&r), 0);
	rig_settle(&r);
	assert_null(rig_alert(&r, "conflict"));
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_set_at_a_start),
		cmocka_unit_test(only_what_is_other_is_set),
		cmocka_unit_test(drift_is_mended),
		cmocka_unit_test(a_new_device_is_set_again),
		cmocka_unit_test(each_refusal_goes_back),
		cmocka_unit_test(a_trial_goes_back),
		cmocka_unit_test(a_device_that_has_less_goes_back_as_far_as_it_can),
		cmocka_unit_test(what_it_has_not_is_told_with_its_place),
		cmocka_unit_test(a_part_that_is_not_told_holds_up_nothing_else),
		cmocka_unit_test(a_ring_that_is_rounded_is_told),
		cmocka_unit_test(a_kernel_without_the_patch_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
