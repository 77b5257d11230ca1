// SPDX-License-Identifier: GPL-2.0-or-later
/* Which of the jobs that wait is next, which it takes along, and who gets whose outcome. */
#include "../check.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/engine/jobs.h"

static struct job *put(struct jobs *q, enum job_type type, const char *who, const char *text)
{
	struct job *job = job_new(type);

	snprintf(job->who, sizeof(job->who), "%s", who);
	job->text = text ? strdup(text) : NULL;
	job->text_size = text ? strlen(text) : 0;
	jobs_put(q, job);
	return job;
}

/* "a b c": who they are of; frees them. */
static void assert_list(struct job *list, const char *want)
{
	char got[256] = "";

	while (list) {
		struct job *job = list;

		list = job->next;
		strcat(got, got[0] ? " " : "");
		strcat(got, job->who);
		job_free(job);
	}
	assert_string_equal(got, want);
}

static void jobs_come_in_order(void **state)
{
	struct jobs q;

	jobs_init(&q);
	assert_null(jobs_take(&q));
	put(&q, JOB_PLAN, "a", "x");
	put(&q, JOB_APPLY, "b", "x");
	put(&q, JOB_CONFIRM, "c", NULL);
	assert_int_equal(q.applies, 1);
	assert_list(jobs_take(&q), "a");
	assert_list(jobs_take(&q), "b");
	assert_int_equal(q.applies, 0);
	assert_list(jobs_take(&q), "c");
	assert_null(jobs_take(&q));
	put(&q, JOB_PLAN, "d", NULL);
	assert_list(jobs_take(&q), "d");
}

/* Each takes seconds, and a client may ask for a hundred at once. */
static void measurements_come_last(void **state)
{
	struct jobs q;

	jobs_init(&q);
	put(&q, JOB_MEASURE, "m1", NULL);
	put(&q, JOB_MEASURE, "m2", NULL);
	put(&q, JOB_PLAN, "look", "1");
	put(&q, JOB_MEASURE, "m3", NULL);
	put(&q, JOB_APPLY, "a", "1");
	put(&q, JOB_MEASURE, "m4", NULL);
	put(&q, JOB_APPLY, "b", "2");
	put(&q, JOB_CONFIRM, "c", NULL);
	assert_list(jobs_take(&q), "look");
	assert_list(jobs_take(&q), "a b");
	assert_list(jobs_take(&q), "c");
	assert_list(jobs_take(&q), "m1");
	put(&q, JOB_HISTORY, "list", NULL);
	assert_list(jobs_take(&q), "list");
	assert_list(jobs_take(&q), "m2");
	assert_list(jobs_take(&q), "m3");
	assert_list(jobs_take(&q), "m4");
	assert_null(jobs_take(&q));
	put(&q, JOB_PLAN, "d", NULL);
	assert_list(jobs_take(&q), "d");
}

static void an_end_and_a_confirmation_press(void **state)
{
	static const struct {
		enum job_type type;
		enum jobs_waiting want;
	} cases[] = {
		{ JOB_STOP, JOBS_PRESS },      { JOB_CONFIRM, JOBS_PRESS },
		{ JOB_APPLY, JOBS_APPLY },     { JOB_REVERT, JOBS_APPLY },
		{ JOB_PLAN, JOBS_OTHERS },     { JOB_MEASURE, JOBS_OTHERS },
		{ JOB_TEARDOWN, JOBS_OTHERS },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct jobs q;

		jobs_init(&q);
		assert_int_equal(jobs_waiting(&q), JOBS_OTHERS);
		put(&q, JOB_MEASURE, "m", NULL);
		put(&q, cases[i].type, "x", NULL);
		assert_int_equal(jobs_waiting(&q), cases[i].want);
		job_free(jobs_take(&q));
		job_free(jobs_take(&q));
	}
}

/* What only reads is overtaken; a trial, a revert, a confirmation, an end are not. */
static void applies_are_taken_together(void **state)
{
	static const enum job_type walls[] = { JOB_CONFIRM, JOB_REVERT, JOB_TEARDOWN, JOB_STOP,
					       JOB_APPLY };

	for (size_t i = 0; i < ARRAY_SIZE(walls); i++) {
		struct jobs q;
		struct job *wall;

		jobs_init(&q);
		put(&q, JOB_APPLY, "a", "1");
		put(&q, JOB_PLAN, "look", "1");
		put(&q, JOB_APPLY, "b", NULL);
		put(&q, JOB_HISTORY, "list", NULL);
		put(&q, JOB_COUNTERS, "count", NULL);
		put(&q, JOB_GENERATION, "show", NULL);
		put(&q, JOB_APPLY, "c", "3");
		wall = put(&q, walls[i], "wall", "w");
		wall->confirm_ms = walls[i] == JOB_APPLY ? 60000 : 0;
		put(&q, JOB_APPLY, "d", "4");
		assert_list(jobs_take(&q), "a b c");
		assert_list(jobs_take(&q), "look");
		assert_list(jobs_take(&q), "list");
		assert_list(jobs_take(&q), "count");
		assert_list(jobs_take(&q), "show");
		assert_list(jobs_take(&q), "wall");
		assert_list(jobs_take(&q), "d");
		assert_null(jobs_take(&q));
		assert_int_equal(q.applies, 0);
	}
}

/* "[" is no good. */
static int check_text(struct job *job, void *data)
{
	size_t *checked = data;

	++*checked;
	if (!job->text || job->text[0] != '[')
		return 0;
	job->result = -EINVAL;
	job->outcome = APPLY_REFUSED;
	job->diags = diags_new(job->who);
	return -EINVAL;
}

static void the_last_covers_all_if_it_is_done(void **state)
{
	struct jobs q;
	struct job *list, *last;
	size_t checked = 0;

	jobs_init(&q);
	put(&q, JOB_APPLY, "a", "1");
	put(&q, JOB_APPLY, "b", NULL);
	put(&q, JOB_APPLY, "c", "3");
	list = jobs_take(&q);
	last = jobs_last(list);
	assert_string_equal(last->who, "c");
	last->outcome = APPLY_DONE;
	last->generation = 8;
	last->steps = 2;
	last->plan_json = strdup("{}");
	last->diags = diags_new("three");
	diags_add(last->diags, DIAG_WARNING, (struct origin){ 1, 1 }, NULL, "careful");
	assert_null(jobs_cover(&list, check_text, &checked));
	assert_int_equal(checked, 2);
	for (struct job *job = list; job; job = job->next) {
		assert_int_equal(job->result, 0);
		assert_int_equal(job->outcome, APPLY_DONE);
		assert_int_equal(job->generation, 8);
		assert_int_equal(job->steps, 2);
		assert_string_equal(job->plan_json, "{}");
		assert_int_equal(diags_count(job->diags), 1);
		assert_string_equal(job->covered_by, job == last ? "" : "c");
	}
	assert_list(list, "a b c");
}

/* Each text is read once, and a broken one is refused with its own words. */
static void none_covers_a_text_that_is_no_good(void **state)
{
	struct jobs q;
	struct job *list;
	size_t checked = 0;

	jobs_init(&q);
	put(&q, JOB_APPLY, "same", "{}");
	put(&q, JOB_APPLY, "broken", "[");
	put(&q, JOB_APPLY, "file", NULL);
	put(&q, JOB_APPLY, "other", "{ }");
	put(&q, JOB_APPLY, "again", "[");
	put(&q, JOB_APPLY, "file too", NULL);
	put(&q, JOB_APPLY, "last", "{}");
	list = jobs_take(&q);
	jobs_last(list)->outcome = APPLY_DONE;
	jobs_last(list)->diags = diags_new("last");
	assert_null(jobs_cover(&list, check_text, &checked));
	assert_int_equal(checked, 3);
	for (struct job *job = list; job; job = job->next) {
		bool broken = job->text && job->text[0] == '[';

		assert_int_equal(job->result, broken ? -EINVAL : 0);
		assert_int_equal(job->outcome, broken ? APPLY_REFUSED : APPLY_DONE);
		assert_string_equal(diags_file(job->diags), broken ? "broken" : "last");
		assert_string_equal(job->covered_by, broken || !job->next ? "" : "last");
	}
	assert_list(list, "same broken file other again file too last");
}

/* A broken file that comes last does not cost the good one its turn; but its own like is answered.
 */
static void a_refused_one_covers_its_like_alone(void **state)
{
	struct jobs q;
	struct job *list, *left;

	jobs_init(&q);
	put(&q, JOB_APPLY, "broken", "[");
	put(&q, JOB_APPLY, "bolder", "[")->allow_gap = true;
	put(&q, JOB_APPLY, "good", "{}");
	put(&q, JOB_APPLY, "file", NULL);
	put(&q, JOB_PLAN, "look", NULL);
	put(&q, JOB_APPLY, "again", "[");
	list = jobs_take(&q);
	jobs_last(list)->result = -EINVAL;
	jobs_last(list)->outcome = APPLY_REFUSED;
	left = jobs_cover(&list, check_text, NULL);
	assert_int_equal(list->result, -EINVAL);
	assert_string_equal(list->covered_by, "again");
	assert_list(list, "broken again");
	jobs_put_back(&q, left);
	assert_int_equal(q.applies, 3);
	put(&q, JOB_APPLY, "late", "{}");
	assert_list(jobs_take(&q), "bolder good file late");
	assert_list(jobs_take(&q), "look");
	assert_null(jobs_take(&q));
}

static void the_end_stays_in_front(void **state)
{
	struct jobs q;
	struct job *list, *left, *stop = job_new(JOB_STOP);

	jobs_init(&q);
	put(&q, JOB_APPLY, "a", "1");
	put(&q, JOB_APPLY, "b", "2");
	list = jobs_take(&q);
	strcpy(stop->who, "stop");
	jobs_put_back(&q, stop);
	jobs_last(list)->result = -EIO;
	left = jobs_cover(&list, check_text, NULL);
	jobs_put_back(&q, left);
	assert_list(list, "b");
	assert_list(jobs_take(&q), "stop");
	put(&q, JOB_PLAN, "c", NULL);
	assert_list(jobs_take(&q), "a");
	assert_list(jobs_take(&q), "c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_come_in_order),
		cmocka_unit_test(measurements_come_last),
		cmocka_unit_test(an_end_and_a_confirmation_press),
		cmocka_unit_test(applies_are_taken_together),
		cmocka_unit_test(the_last_covers_all_if_it_is_done),
		cmocka_unit_test(none_covers_a_text_that_is_no_good),
		cmocka_unit_test(a_refused_one_covers_its_like_alone),
		cmocka_unit_test(the_end_stays_in_front),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
