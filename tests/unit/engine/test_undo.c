// SPDX-License-Identifier: GPL-2.0-or-later
/* All or nothing: whichever request of a mixed apply fails, the kernel holds what it held before.
 */
#include "../check.h"

#include <errno.h>
#include <stdio.h>

#include "files.h"
#include "rig.h"

static void start_with(struct rig *r, const char *yaml)
{
	rig_begin(r, BYPASS_ABILITY_READBACK);
	rig_write(r, yaml);
	rig_start(r);
	/* Things of others that must come through all of it. */
	fake_add_address("eth0", "198.51.100.200/24");
	fake_add_filter(10, 40000, "203.0.113.0/24", TCA_CLS_FLAGS_SKIP_SW);
	rig_settle(r);
}

/* How many requests the change from one file to the other takes. */
static size_t requests_of(const char *from, const char *to)
{
	struct rig r;
	size_t n;

	start_with(&r, from);
	rig_write(&r, to);
	n = rig_reload_ok(&r);
	rig_end(&r);
	return n;
}

enum how {
	REFUSED,
	UNKNOWN_DONE,
	UNKNOWN_NOT_DONE
};

static bool fail_one(const char *from, const char *to, size_t k, enum how how)
{
	struct rig r;
	struct job *job;
	char *before, *after;
	bool gone_anyway;

	start_with(&r, from);
	before = fake_text();
	rig_write(&r, to);
	if (how == REFUSED)
		fake.fail_at = k;
	else if (how == UNKNOWN_DONE)
		fake.unknown_at = k;
	else
		fake.unknown_not_at = k;
	job = rig_reload(&r);
	fake.fail_at = fake.unknown_at = fake.unknown_not_at = 0;
	/* The change did reach the kernel, and the k-th request of it. */
	assert_true(fake.requests >= k);
	/* A removal of what had gone with something else is done, whatever was answered. */
	gone_anyway = how == UNKNOWN_NOT_DONE && job->result == 0;
	if (how == UNKNOWN_DONE || gone_anyway) {
		/* The answer was lost and the change made: reading back says so. */
		assert_int_equal(job->result, 0);
		assert_int_equal(job->outcome, APPLY_DONE);
		assert_int_equal(rig_reload_ok(&r), 0);
	} else {
		assert_int_equal(job->result, -EIO);
		assert_int_equal(job->outcome, APPLY_REVERTED);
		assert_true(diags_errors(job->diags) >= 1);
		after = fake_text();
		assert_same_kernel(before, after);
		free(after);
		assert_int_equal(r.newest->generation, 1);
		assert_int_equal(r.newest->last_outcome, APPLY_REVERTED);
		/* And what is left to do is nothing. */
		rig_settle(&r);
		after = fake_text();
		assert_same_kernel(before, after);
		free(after);
		assert_true(r.newest->settled);
	}
	job_free(job);
	free(before);
	rig_end(&r);
	return gone_anyway;
}

static void fail_each(const char *from, const char *to, enum how how)
{
	size_t n = requests_of(from, to), gone = 0;

	assert_true(n > 10);
	for (size_t k = 1; k <= n; k++)
		gone += fail_one(from, to, k, how);
	assert_true(gone <= 1); /* a.7, with the VLAN it rests on */
}

static void each_refusal_forth(void **state)
{
	fail_each(FILE_ONE, FILE_TWO, REFUSED);
}

static void each_refusal_back(void **state)
{
	fail_each(FILE_TWO, FILE_ONE, REFUSED);
}

/* Two ports that share a block go to another: the filters of the old one go once, and come back. */
static void each_refusal_of_a_move(void **state)
{
	static const char from[] = HEAD BLOCK RULES;
	static const char to[] = HEAD "blocks:\n"
				      "  edge:\n"
				      "    id: 20\n"
				      "    bind: [lan1, lan2]\n"
				      "    tagging: none\n" RULES;
	size_t n = SIZE_MAX;
	struct rig r;

	for (size_t k = 0; k <= n; k++) {
		rig_begin(&r, BYPASS_ABILITY_READBACK);
		rig_write(&r, from);
		rig_start(&r);
		rig_write(&r, to);
		if (k == 0) {
			n = rig_reload_ok(&r);
			rig_end(&r);
			continue;
		}
		rig_reload_reverts(&r, k);
		rig_end(&r);
	}
}

static void each_lost_answer(void **state)
{
	fail_each(FILE_ONE, FILE_TWO, UNKNOWN_NOT_DONE);
	fail_each(FILE_ONE, FILE_TWO, UNKNOWN_DONE);
}

/* The records of what was never made do not hide what is ours from the next start. */
static void start_after_each_refusal(void **state)
{
	size_t n = requests_of(FILE_ONE, FILE_TWO);

	for (size_t k = 1; k <= n; k++) {
		struct rig r;

		start_with(&r, FILE_ONE);
		rig_write(&r, FILE_TWO);
		fake.fail_at = k;
		job_free(rig_reload(&r));
		fake.fail_at = 0;
		rig_stop(&r);
		rig_start(&r);
		assert_int_equal(state_vlan(fake.world, "core.100")->id, 101);
		assert_null(rig_alert(&r, "conflict"));
		assert_true(r.newest->settled);
		rig_end(&r);
	}
}

static void message_names_line_rule_and_words(void **state)
{
	struct rig r;
	struct job *job;
	char *line;

	start_with(&r, HEAD BLOCK
		   "    rules:\n      - { name: a, match: { dst: 192.0.2.1 }, action: drop }\n");
	rig_write(&r, FILE_ONE);
	fake.refuse_rule = "two";
	job = rig_reload(&r);
	assert_int_equal(job->outcome, APPLY_REVERTED);
	line = diag_line(job->diags, diags_at(job->diags, 0));
	assert_non_null(strstr(line, "swd.yaml:16:"));
	assert_non_null(strstr(line, "rule two: kernel: the paper hardware can't"));
	assert_non_null(strstr(line, "block 10"));
	assert_non_null(strstr(r.newest->last_error, "rule two"));
	free(line);
	job_free(job);
	/* The rules that came before it in the batch are gone again; the file is not tried by
	 * itself. */
	fake_reset_counts();
	rig_settle(&r);
	assert_int_equal(fake.requests, 0);
	rig_end(&r);
}

static void failed_undo_is_told_and_mended(void **state)
{
	struct rig r;
	struct job *job;
	char *before, *after;
	size_t undone = 0;

	start_with(&r, FILE_ONE);
	before = fake_text();
	rig_write(&r, FILE_TWO);
	fake.fail_all_from = 8;
	job = rig_reload(&r);
	assert_int_equal(job->outcome, APPLY_FAILED);
	assert_true(diags_errors(job->diags) >= 2);
	/* What stays is named, in front of what it is about: the first error is still the first. */
	for (size_t i = 0; i < diags_count(job->diags); i++)
		undone +=
			strstr(diags_at(job->diags, i)->text, "can't be undone: kernel: ") != NULL;
	assert_true(undone > 0 && undone < diags_count(job->diags));
	assert_null(strstr(r.newest->last_error, "undone"));
	assert_null(strstr(diags_at(job->diags, 0)->text, "undone"));
	after = fake_text();
	assert_string_not_equal(before, after);
	free(after);
	job_free(job);
	/* The kernel can again: repair brings what swd answers for; a port's old MTU it does not
	 * know. */
	fake.fail_all_from = 0;
	rig_settle(&r);
	before = without(before, "port lan1");
	after = without(fake_text(), "port lan1");
	assert_same_kernel(before, after);
	free(before);
	free(after);
	rig_end(&r);
}

/* However often someone tries, what is left is mended at once: it is no drift. */
static void failed_undo_is_no_drift(void **state)
{
	struct rig r;

	start_with(&r, FILE_ONE);
	rig_write(&r, FILE_TWO);
	for (int i = 0; i < 8; i++) {
		struct job *job;

		fake.fail_all_from = 8;
		job = rig_reload(&r);
		fake.fail_all_from = 0;
		assert_int_equal(job->outcome, APPLY_FAILED);
		job_free(job);
		rig_settle(&r);
		assert_true(r.newest->settled);
		assert_null(rig_alert(&r, "drift"));
	}
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_refusal_forth),
		cmocka_unit_test(each_refusal_back),
		cmocka_unit_test(each_refusal_of_a_move),
		cmocka_unit_test(each_lost_answer),
		cmocka_unit_test(start_after_each_refusal),
		cmocka_unit_test(message_names_line_rule_and_words),
		cmocka_unit_test(failed_undo_is_told_and_mended),
		cmocka_unit_test(failed_undo_is_no_drift),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
