// SPDX-License-Identifier: GPL-2.0-or-later
/* Generations that were: what is kept of each, and the way back to one. */
#include "../check.h"

#include <errno.h>
#include <stdio.h>

#include "files.h"
#include "rig.h"

static struct rig r;

static int setup(void **state)
{
	rig_begin(&r, BYPASS_ABILITY_READBACK);
	rig_write(&r, FILE_ONE);
	rig_start(&r);
	rig_settle(&r);
	return 0;
}

static int teardown(void **state)
{
	rig_end(&r);
	return 0;
}

static void apply(const char *yaml)
{
	struct job *job = rig_apply(&r, yaml, 0);

	assert_int_equal(job->result, 0);
	job_free(job);
	rig_settle(&r);
}

static struct job *list(void)
{
	struct job *job = rig_job(&r, JOB_HISTORY, 0);

	assert_int_equal(job->result, 0);
	return job;
}

static void is_text(uint64_t id, const char *text)
{
	struct job *job = rig_job(&r, JOB_GENERATION, id);

	assert_int_equal(job->result, 0);
	assert_int_equal(job->list_count, 1);
	assert_int_equal(job->list->size, strlen(text));
	assert_string_equal(job->list->text, text);
	job_free(job);
}

static void who_when_why_what_and_how_it_ended(void **state)
{
	struct job *job = job_new(JOB_APPLY);
	const struct generation *g;

	job->text = strdup(FILE_TWO);
	job->text_size = strlen(FILE_TWO);
	job->uid = 1234;
	strcpy(job->who, "sw-cli pid 77");
	strcpy(job->name, "/etc/swd/new.yaml");
	strcpy(job->why, "ticket 42: \xc3\xa4 \"quoted\" reason");
	owner_job(r.o, job);
	job_free(job);
	fake.refuse_rule = "two";
	job_free(rig_apply(&r, FILE_ONE, 0));
	job_free(rig_apply(&r, "nonsense", 0)); /* never came so far */
	job = list();
	assert_int_equal(job->list_count, 3);
	assert_int_equal(job->generation, 2);
	g = &job->list[0];
	assert_int_equal(g->id, 3);
	assert_string_equal(g->outcome, "reverted");
	assert_non_null(strstr(g->error, "rule two: kernel:"));
	g = &job->list[1];
	assert_int_equal(g->id, 2);
	assert_string_equal(g->who, "sw-cli pid 77");
	assert_int_equal(g->uid, 1234);
	assert_string_equal(g->why, "ticket 42: \xc3\xa4 \"quoted\" reason");
	assert_string_equal(g->name, "/etc/swd/new.yaml");
	assert_string_equal(g->outcome, "done");
	assert_string_equal(g->error, "");
	assert_true(g->changes > 10);
	assert_int_equal(g->size, strlen(FILE_TWO));
	assert_true(now_realtime_ns() - g->at_ns < 60000000000ULL);
	assert_null(g->text);
	g = &job->list[2];
	assert_int_equal(g->id, 1);
	assert_string_equal(g->who, "start");
	assert_string_equal(g->name, "swd.yaml");
	job_free(job);
	job = rig_job(&r, JOB_GENERATION, 2);
	assert_non_null(strstr(job->list->diff, "- vlan a.7: leftover\n"));
	assert_non_null(strstr(job->list->diff, "(rule zero): missing\n"));
	job_free(job);
}

/* Byte for byte, with all that a YAML loader would lose. */
static void a_text_is_kept_as_it_was_given(void **state)
{
	static const char odd[] = "\xef\xbb\xbf# \xe2\x82\xac\r\nversion:   1   # one\r\n\r\n"
				  "ports: {\"lan1\": {'up': true, }}\r\n# end, and no line feed";
	struct job *job;

	apply("version: 1\nports: { lan1: { up: true } } # \t\n\n\n");
	is_text(0, "version: 1\nports: { lan1: { up: true } } # \t\n\n\n");
	job = rig_apply(&r, odd, 0);
	if (job->result == 0)
		is_text(0, odd);
	else
		fail_msg("%s", diags_at(job->diags, 0)->text);
	job_free(job);
	rig_stop(&r);
	rig_start(&r);
	is_text(3, odd);
	is_text(1, FILE_ONE);
	job = rig_job(&r, JOB_GENERATION, 99);
	assert_int_equal(job->refusal, JOB_NO_GENERATION);
	assert_string_equal(job->words, "there is no generation 99");
	job_free(job);
}

static void a_long_diff_is_bounded(void **state)
{
	size_t size = 200000, at;
	char *text = malloc(size);
	struct job *job;
	const char *end;

	at = (size_t)snprintf(text, size, "%s", HEAD BLOCK "    rules:\n");
	for (int i = 0; i < 2000; i++)
		at += (size_t)snprintf(text + at, size - at,
				       "      - { name: rule-%d, match: { dst: 10.%d.%d.0/24 }, "
				       "action: drop }\n",
				       i, i / 250, i % 250);
	apply(text);
	job = rig_job(&r, JOB_GENERATION, 0);
	assert_true(job->list->changes > 2000);
	assert_true(strlen(job->list->diff) < 16384);
	assert_true(strlen(job->list->diff) > 16000);
	end = strstr(job->list->diff, "\nand ");
	assert_non_null(end);
	assert_non_null(strstr(end, " more\n"));
	job_free(job);
	free(text);
}

static void so_many_are_kept(void **state)
{
	char text[512];
	struct job *job;

	for (int i = 0; i < 6; i++) {
		snprintf(text, sizeof(text),
			 "version: 1\ndaemon: { history: 3 }\nports: { lan1: { mtu: %d } }\n",
			 1400 + i);
		apply(text);
	}
	job = list();
	assert_int_equal(job->list_count, 3);
	assert_int_equal(job->list[0].id, 7);
	assert_int_equal(job->list[2].id, 5);
	job_free(job);
	/* Any number of failures leaves the one in force and the one before it. */
	fake.fail_all_from = 1;
	for (int i = 0; i < 5; i++)
		job_free(rig_apply(&r, FILE_TWO, 0));
	fake.fail_all_from = 0;
	job = list();
	assert_int_equal(job->list_count, 5);
	assert_int_equal(job->list[3].id, 7);
	assert_int_equal(job->list[4].id, 6);
	job_free(job);
	job = rig_job(&r, JOB_REVERT, 0);
	assert_int_equal(job->result, 0);
	job_free(job);
	assert_int_equal(state_port(fake.world, "lan1")->mtu, 1404);
}

static void revert_is_a_new_generation(void **state)
{
	struct job *job;
	char *before = fake_text(), *after;

	apply(FILE_TWO);
	job = rig_job(&r, JOB_REVERT, 0);
	assert_int_equal(job->result, 0);
	assert_int_equal(job->generation, 3);
	assert_true(job->steps > 10);
	job_free(job);
	rig_settle(&r);
	before = without(without(before, "\"pref\""), "port ");
	after = without(without(fake_text(), "\"pref\""), "port ");
	assert_same_kernel(before, after);
	free(before);
	free(after);
	is_text(3, FILE_ONE);
	job = list();
	assert_string_equal(job->list[0].why, "revert to 1");
	assert_int_equal(job->list[0].reverts, 1);
	job_free(job);
	/* Once more is there again: the committed one before the current one. */
	job_free(rig_job(&r, JOB_REVERT, 0));
	is_text(0, FILE_TWO);
	/* And by number, with a reason. */
	job = job_new(JOB_REVERT);
	job->target = 1;
	strcpy(job->who, "test");
	memset(job->why, 'y', GENERATION_WHY);
	owner_job(r.o, job);
	assert_int_equal(job->result, 0);
	assert_int_equal(job->generation, 5);
	job_free(job);
	job = list();
	assert_int_equal(strlen(job->list[0].why), strlen("revert to 1: ") + GENERATION_WHY);
	job_free(job);
}

static void no_way_back_to_what_was_never_in_force(void **state)
{
	struct job *job = rig_job(&r, JOB_REVERT, 0);

	assert_int_equal(job->refusal, JOB_NO_GENERATION);
	assert_string_equal(job->words, "none was committed before generation 1");
	job_free(job);
	job = rig_job(&r, JOB_REVERT, 17);
	assert_string_equal(job->words, "there is no generation 17");
	job_free(job);
	fake.refuse_rule = "zero";
	job_free(rig_apply(&r, FILE_TWO, 0));
	fake.refuse_rule = NULL;
	job = rig_job(&r, JOB_REVERT, 2);
	assert_int_equal(job->result, -ENOENT);
	assert_non_null(strstr(job->words, "generation 2 was never committed"));
	assert_int_equal(fake.requests, 0);
	job_free(job);
	/* To the one in force: there is nothing to do, and no new number. */
	job = rig_job(&r, JOB_REVERT, 1);
	assert_int_equal(job->result, 0);
	assert_int_equal(job->generation, 1);
	assert_int_equal(fake.requests, 0);
	job_free(job);
}

/* The file still has what was reverted: no start brings it back. */
static void a_start_keeps_to_the_revert(void **state)
{
	rig_write(&r, FILE_TWO);
	assert_true(rig_reload_ok(&r) > 10);
	job_free(rig_job(&r, JOB_REVERT, 0));
	assert_non_null(strstr(rig_alert(&r, "config")->text, "generation 2, which was reverted"));
	rig_settle(&r);
	rig_stop(&r);
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(fake.requests, 0);
	assert_int_equal(r.newest->generation, 3);
	assert_non_null(strstr(rig_alert(&r, "config")->text, "reverted; 'sw-cli apply'"));
	/* A file that is neither is taken as ever. */
	rig_stop(&r);
	rig_write(&r, FILE_TWO "# and a word more\n");
	rig_start(&r);
	assert_int_equal(r.newest->generation, 4);
	assert_null(rig_alert(&r, "config"));
}

static void a_revert_may_be_on_trial(void **state)
{
	struct job *job = job_new(JOB_REVERT);

	apply(FILE_TWO);
	job->confirm_ms = 200;
	strcpy(job->who, "test");
	owner_job(r.o, job);
	assert_int_equal(job->armed.generation, 3);
	assert_int_equal(job->armed.back_to, 2);
	job_free(job);
	is_text(0, FILE_ONE);
	usleep(220000);
	owner_tick(r.o);
	rig_settle(&r);
	assert_int_equal(r.newest->generation, 2);
	is_text(0, FILE_TWO);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_when_why_what_and_how_it_ended),
		TEST(a_text_is_kept_as_it_was_given),
		TEST(a_long_diff_is_bounded),
		TEST(so_many_are_kept),
		TEST(revert_is_a_new_generation),
		TEST(no_way_back_to_what_was_never_in_force),
		TEST(a_start_keeps_to_the_revert),
		TEST(a_revert_may_be_on_trial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
