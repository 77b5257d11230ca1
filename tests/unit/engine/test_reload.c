// SPDX-License-Identifier: GPL-2.0-or-later
/* What a start and a reload send to the kernel, in which order, and what they leave alone. */
#include "../check.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "daemon/engine/publish.h"
#include "files.h"
#include "daemon/engine/publish.h"
#include "rig.h"

static void start_with(struct rig *r, const char *yaml)
{
	rig_begin(r, BYPASS_ABILITY_READBACK);
	rig_write(r, yaml);
	rig_start(r);
	rig_settle(r);
}

static void start_brings_all_about(void **state)
{
	struct rig r;
	const struct port *cpu0;

	start_with(&r, FILE_ONE);
	assert_int_equal(r.newest->last_outcome, APPLY_DONE);
	assert_int_equal(r.newest->generation, 1);
	assert_true(r.newest->settled);
	assert_true(r.ready);
	assert_true(fake_filters(10) >= 3);
	assert_int_equal(fake.refused, 0);
	cpu0 = state_port(fake.world, "cpu0");
	assert_true(cpu0->up);
	/* The conduit is up before its user ports. */
	assert_true(fake_log_find("port cpu0", 0) < fake_log_find("port lan1", 0));
	/* A VLAN in a VLAN comes behind it, though its name sorts in front. */
	assert_true(fake_log_find("core.100", 0) < fake_log_find("a.7", 0));
	assert_true(fake_log_find("clsact", 0) < fake_log_find("flower", 0));
	rig_end(&r);
}

/* A machine where dumps are interrupted again and again is not left without its rules. */
static void start_looks_until_it_sees(void **state)
{
	char *whole, *now;
	struct rig r;

	start_with(&r, FILE_ONE);
	whole = fake_text();
	rig_end(&r);
	for (size_t n = 1; n <= 6; n++) {
		rig_begin(&r, BYPASS_ABILITY_READBACK);
		rig_write(&r, FILE_ONE);
		fake.dumps_fail = n;
		rig_start(&r);
		assert_int_equal(fake.requests, 0);
		assert_false(r.ready);
		assert_non_null(rig_alert(&r, "dump"));
		rig_settle(&r);
		now = fake_text();
		assert_same_kernel(whole, now);
		free(now);
		assert_true(r.ready && r.newest->settled);
		assert_null(rig_alert(&r, "dump"));
		assert_int_equal(r.newest->generation, 1);
		rig_end(&r);
	}
	free(whole);
}

/* Beside the old one the new one would be its secondary, and go with it. */
static void an_address_goes_before_its_successor(void **state)
{
	struct rig r;
	size_t gone;

	start_with(&r, "version: 1\nports: { lan1: { addresses: [192.0.2.1/24] } }\n");
	rig_write(&r, "version: 1\nports: { lan1: { addresses: [192.0.2.9/24] } }\n");
	assert_int_equal(rig_reload_ok(&r), 2);
	gone = fake_log_find("- address 192.0.2.1/24", 0);
	assert_true(gone < fake_log_find("+ address 192.0.2.9/24", 0));
	rig_end(&r);
}

/* What an apply did comes back as events, and its links' as nobody's: that is no news. */
static void own_events_leave_it_settled(void **state)
{
	struct rig r;

	rig_begin(&r, BYPASS_ABILITY_READBACK);
	rig_write(&r, FILE_ONE);
	rig_start(&r);
	assert_true(r.ready && r.newest->settled);
	for (int i = 0; i < 2; i++) {
		uint64_t before = r.newest->number;

		/* A link tells of itself once more, when its carrier comes. */
		fake_set_up("cpu0", true);
		usleep(PUBLISH_GAP_NS / 1000);
		owner_readable(r.o);
		assert_true(r.newest->number > before && r.newest->settled);
		rig_settle(&r);
		assert_true(r.newest->settled);
		rig_write(&r, i ? FILE_ONE : FILE_TWO);
		assert_true(rig_reload_ok(&r) > 0);
		assert_true(r.newest->settled);
	}
	rig_settle(&r);
	usleep(PUBLISH_GAP_NS / 1000);
	/* What others undo is known before it is mended. */
	fake_del_filter(10, 0);
	owner_readable(r.o);
	assert_false(r.newest->settled);
	rig_settle(&r);
	assert_true(r.newest->settled);
	usleep(PUBLISH_GAP_NS / 1000);
	fake_set_up("lan1", false);
	owner_readable(r.o);
	assert_false(r.newest->settled);
	rig_settle(&r);
	assert_true(r.newest->settled);
	rig_end(&r);
}

static void unchanged_reload_sends_nothing(void **state)
{
	const struct config *before;
	struct rig r;

	start_with(&r, FILE_ONE);
	assert_int_equal(rig_reload_ok(&r), 0);
	assert_int_equal(r.newest->generation, 1);
	/* The text in force is not even read again. */
	before = r.o->config;
	assert_int_equal(rig_reload_ok(&r), 0);
	assert_ptr_equal(r.o->config, before);
	/* Another text of the same meaning: a generation, and still no request. */
	rig_write(&r, "# words\n" FILE_ONE);
	assert_int_equal(rig_reload_ok(&r), 0);
	assert_ptr_not_equal(r.o->config, before);
	assert_int_equal(r.newest->generation, 2);
	/* What there is to say of it is said each time. */
	rig_write(&r, FILE_ONE "  idle: { id: 77, bind: [], rules: ["
			       "{ name: a, match: { src: 10.1.2.3 }, action: drop }] }\n");
	for (int i = 0; i < 2; i++) {
		struct job *job = rig_reload(&r);

		assert_int_equal(job->result, 0);
		assert_true(diags_count(job->diags) > 0);
		job_free(job);
	}
	rig_end(&r);
}

static void restart_adopts(void **state)
{
	struct rig r;
	char *before, *after;

	start_with(&r, FILE_ONE);
	before = fake_text();
	rig_stop(&r);
	rig_start(&r);
	rig_settle(&r);
	after = fake_text();
	assert_int_equal(fake.requests, 0);
	assert_same_kernel(before, after);
	assert_int_equal(r.newest->generation, 1);
	free(before);
	free(after);
	rig_end(&r);
}

/* The state folder tells one swd from another, by whatever way its path is written. */
/* What is in force, and what a reload would take, may be two things; who asks is told. */
static void another_file_than_our_own_is_told(void **state)
{
	struct job *job;
	struct rig r;

	start_with(&r, FILE_ONE);
	assert_int_equal(r.newest->own_file, OWN_FILE_SAME);
	assert_string_equal(r.newest->own_path, r.config);
	job = rig_apply(&r, FILE_TWO, 0);
	assert_int_equal(job->result, 0);
	job_free(job);
	assert_int_equal(r.newest->own_file, OWN_FILE_OTHER);
	/* Of the same size, and within the same second. */
	rig_write(&r, FILE_TWO);
	publish(r.o);
	assert_int_equal(r.newest->own_file, OWN_FILE_SAME);
	rig_write(&r, NULL);
	publish(r.o);
	assert_int_equal(r.newest->own_file, OWN_FILE_GONE);
	/* Nobody has to ask for it: the audit looks. */
	rig_write(&r, FILE_ONE);
	r.o->audit_due = 0;
	rig_settle(&r);
	assert_int_equal(r.newest->own_file, OWN_FILE_OTHER);
	assert_true(rig_reload_ok(&r) > 0);
	assert_int_equal(r.newest->own_file, OWN_FILE_SAME);
	rig_end(&r);
}

static void another_swd_s_filters_are_foreign(void **state)
{
	struct rig r;
	char mine[sizeof(r.state)];
	size_t ours, all;

	start_with(&r, FILE_ONE);
	ours = fake_filters(10);
	rig_stop(&r);
	strcpy(mine, r.state);
	snprintf(r.state, sizeof(r.state), "%s/other", r.dir);
	assert_int_equal(mkdir(r.state, 0700), 0);
	rig_write(&r, HEAD BLOCK "    rules:\n"
				 "      - { name: r, match: { dst: 10.0.0.1 }, action: drop }\n");
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(r.newest->last_outcome, APPLY_DONE);
	all = fake_filters(10);
	assert_int_equal(all, ours + 1);
	assert_non_null(rig_alert(&r, "foreign"));
	rig_stop(&r);
	snprintf(r.state, sizeof(r.state), "%s/link", r.dir);
	assert_int_equal(symlink(mine, r.state), 0);
	rig_write(&r, FILE_ONE);
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(fake.requests, 0);
	assert_int_equal(fake_filters(10), all);
	assert_non_null(strstr(rig_alert(&r, "foreign")->text, "1 foreign filter,"));
	rig_end(&r);
}

static void there_and_back_is_as_before(void **state)
{
	struct rig r;
	char *before, *after;

	start_with(&r, FILE_ONE);
	before = fake_text();
	rig_write(&r, FILE_TWO);
	assert_true(rig_reload_ok(&r) > 10);
	rig_settle(&r);
	rig_write(&r, FILE_ONE);
	rig_reload_ok(&r);
	rig_settle(&r);
	after = fake_text();
	/* Prefs may differ, the rest not: compare what is not a filter. */
	before = without(before, "\"pref\"");
	after = without(after, "\"pref\"");
	/* What the second file said of a port and the first does not, stays. */
	assert_non_null(strstr(after, "port lan1 up 1 mtu 1400"));
	before = without(before, "port ");
	after = without(after, "port ");
	assert_same_kernel(before, after);
	assert_int_equal(rig_reload_ok(&r), 0);
	free(before);
	free(after);
	rig_end(&r);
}

static void jump_comes_last_and_goes_first(void **state)
{
	struct rig r;
	size_t far, jump;

	start_with(&r, FILE_TWO);
	far = fake_log_find("chain 5", 0);
	jump = fake_log_find("+ block 11 chain 0", 0);
	assert_true(far < jump && jump != SIZE_MAX);
	rig_write(&r, FILE_ONE);
	rig_reload_ok(&r);
	far = fake_log_find("- block 11 chain 5", 0);
	jump = fake_log_find("- block 11 chain 0", 0);
	assert_true(jump < far && far != SIZE_MAX);
	/* And the qdisc behind its filters. */
	assert_true(fake_log_find("- clsact on eth0", 0) > far);
	rig_end(&r);
}

static void new_filters_come_before_old_ones_go(void **state)
{
	struct rig r;

	start_with(&r, FILE_ONE);
	rig_write(&r, FILE_TWO);
	rig_reload_ok(&r);
	/* Rule three has other fields: beside the old one, which then goes. */
	for (size_t i = 0; i < fake.log_count; i++)
		if (fake_logged(i, "- block 10"))
			assert_int_equal(fake_log_find("+ block 10", i), SIZE_MAX);
	/* Rule one has another action: in place. */
	assert_true(fake_log_find("~ block 10", 0) != SIZE_MAX);
	rig_end(&r);
}

static void broken_file_changes_nothing(void **state)
{
	struct rig r;
	struct job *job;

	start_with(&r, FILE_ONE);
	rig_write(&r, "version: 1\nports:\n  lan1: { upp: true }\n  lan2: 7\n");
	job = rig_reload(&r);
	assert_int_equal(job->result, -22);
	assert_int_equal(job->outcome, APPLY_REFUSED);
	assert_int_equal(diags_errors(job->diags), 2);
	assert_int_equal(fake.requests, 0);
	assert_int_equal(r.newest->last_outcome, APPLY_REFUSED);
	assert_non_null(strstr(r.newest->last_error, "swd.yaml:3:"));
	assert_int_equal(r.newest->generation, 1);
	assert_non_null(rig_alert(&r, "config"));
	job_free(job);
	/* A good one ends the alert. */
	rig_write(&r, FILE_ONE);
	rig_reload_ok(&r);
	assert_null(rig_alert(&r, "config"));
	rig_end(&r);
}

static void start_with_broken_file_takes_last_generation(void **state)
{
	struct rig r;
	char *before, *after;

	start_with(&r, FILE_ONE);
	before = fake_text();
	rig_stop(&r);
	rig_write(&r, "version: one\n");
	rig_start(&r);
	rig_settle(&r);
	after = fake_text();
	assert_same_kernel(before, after);
	assert_int_equal(r.newest->generation, 1);
	assert_non_null(r.newest->config);
	assert_non_null(rig_alert(&r, "config"));
	/* And it is kept as any other: */
	fake_del_filter(10, 0);
	rig_settle(&r);
	free(after);
	after = fake_text();
	assert_same_kernel(before, after);
	free(before);
	free(after);
	rig_end(&r);
}

static void start_with_nothing_runs_on(void **state)
{
	struct rig r;

	start_with(&r, NULL);
	assert_int_equal(fake.requests, 0);
	assert_null(r.newest->config);
	assert_non_null(rig_alert(&r, "config"));
	assert_true(r.ready);
	rig_write(&r, FILE_ONE);
	rig_reload_ok(&r);
	assert_int_equal(r.newest->generation, 1);
	rig_end(&r);
}

static void a_text_is_called_by_its_name(void **state)
{
	struct rig r;
	const char *names[] = { "/tmp/new.yaml", "" };

	start_with(&r, FILE_ONE);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct job *job = job_new(JOB_APPLY);

		job->text = strdup("version: 1\nnonsense: 1\n");
		job->text_size = strlen(job->text);
		COPY_NAME(job->name, names[i]);
		owner_job(r.o, job);
		assert_int_equal(job->result, -EINVAL);
		assert_string_equal(diags_file(job->diags), i ? "given text" : "/tmp/new.yaml");
		assert_ptr_equal(strstr(r.newest->last_error, diags_file(job->diags)),
				 r.newest->last_error);
		job_free(job);
	}
	rig_end(&r);
}

/* Nothing is carried out; and the daemon's own file being broken is an alert. */
static void a_text_that_is_covered_is_read(void **state)
{
	static const char *const texts[] = { FILE_TWO, "version: 1\nnonsense: 1\n", NULL };
	struct rig r;

	start_with(&r, FILE_ONE);
	rig_write(&r, texts[1]);
	fake_reset_counts();
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct job *job = job_new(JOB_APPLY);

		job->text = texts[i] ? strdup(texts[i]) : NULL;
		job->text_size = texts[i] ? strlen(texts[i]) : 0;
		assert_int_equal(owner_check(r.o, job), i ? -EINVAL : 0);
		assert_int_equal(job->result, i ? -EINVAL : 0);
		assert_true(!i || diags_errors(job->diags) > 0);
		rig_settle(&r);
		assert_true(!rig_alert(&r, "config") == (i < 2));
		job_free(job);
	}
	assert_int_equal(fake.requests, 0);
	assert_int_equal(r.newest->generation, 1);
	rig_end(&r);
}

static void plan_changes_nothing(void **state)
{
	struct rig r;
	struct job *job = job_new(JOB_PLAN);
	char *before, *after;

	start_with(&r, FILE_ONE);
	before = fake_text();
	job->text = strdup(FILE_TWO);
	job->text_size = strlen(FILE_TWO);
	fake_reset_counts();
	owner_job(r.o, job);
	assert_int_equal(job->result, 0);
	assert_true(job->steps > 10);
	assert_non_null(strstr(job->plan_json, "\"op\":"));
	assert_int_equal(fake.requests, 0);
	after = fake_text();
	assert_same_kernel(before, after);
	assert_int_equal(r.newest->generation, 1);
	job_free(job);
	free(before);
	free(after);
	rig_end(&r);
}

static void teardown_leaves_what_is_not_ours(void **state)
{
	struct rig r;
	struct job *job = job_new(JOB_TEARDOWN);

	start_with(&r, FILE_ONE);
	fake_add_address("eth0", "192.0.2.77/24");
	owner_job(r.o, job);
	assert_int_equal(job->result, 0);
	rig_settle(&r);
	assert_int_equal(state_count(fake.world, KIND_FILTER), 0);
	assert_int_equal(state_count(fake.world, KIND_QDISC), 0);
	assert_int_equal(state_count(fake.world, KIND_VLAN), 0);
	assert_int_equal(state_count(fake.world, KIND_ADDRESS), 1);
	assert_int_equal(state_count(fake.world, KIND_PORT), 4);
	job_free(job);
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_brings_all_about),
		cmocka_unit_test(start_looks_until_it_sees),
		cmocka_unit_test(an_address_goes_before_its_successor),
		cmocka_unit_test(own_events_leave_it_settled),
		cmocka_unit_test(unchanged_reload_sends_nothing),
		cmocka_unit_test(restart_adopts),
		cmocka_unit_test(another_file_than_our_own_is_told),
		cmocka_unit_test(another_swd_s_filters_are_foreign),
		cmocka_unit_test(there_and_back_is_as_before),
		cmocka_unit_test(jump_comes_last_and_goes_first),
		cmocka_unit_test(new_filters_come_before_old_ones_go),
		cmocka_unit_test(broken_file_changes_nothing),
		cmocka_unit_test(start_with_broken_file_takes_last_generation),
		cmocka_unit_test(start_with_nothing_runs_on),
		cmocka_unit_test(a_text_is_called_by_its_name),
		cmocka_unit_test(a_text_that_is_covered_is_read),
		cmocka_unit_test(plan_changes_nothing),
		cmocka_unit_test(teardown_leaves_what_is_not_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
