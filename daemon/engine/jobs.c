// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/engine/jobs.h"

#include <stdio.h>

void jobs_init(struct jobs *q)
{
	*q = (struct jobs){ .end = &q->first };
}

static bool is_apply(const struct job *job)
{
	return job->type == JOB_APPLY || job->type == JOB_REVERT;
}

void jobs_put(struct jobs *q, struct job *job)
{
	job->next = NULL;
	*q->end = job;
	q->end = &job->next;
	q->applies += is_apply(job);
}

void jobs_put_back(struct jobs *q, struct job *list)
{
	struct job **at = &q->first;

	if (*at && (*at)->type == JOB_STOP)
		at = &(*at)->next;
	while (list) {
		struct job *job = list;

		list = job->next;
		job->next = *at;
		*at = job;
		if (!job->next)
			q->end = &job->next;
		at = &job->next;
		q->applies += is_apply(job);
	}
}

/* The job that *at leads to leaves the queue. */
static struct job *unlink_job(struct jobs *q, struct job **at)
{
	struct job *job = *at;

	*at = job->next;
	if (!*at)
		q->end = at;
	job->next = NULL;
	q->applies -= is_apply(job);
	return job;
}

enum jobs_waiting jobs_waiting(const struct jobs *q)
{
	for (const struct job *job = q->first; job; job = job->next)
		if (job->type == JOB_STOP || job->type == JOB_CONFIRM)
			return JOBS_PRESS;
	return q->applies ? JOBS_APPLY : JOBS_OTHERS;
}

static bool is_for_good(const struct job *job)
{
	return job->type == JOB_APPLY && !job->confirm_ms;
}

static bool may_be_overtaken(const struct job *job)
{
	switch (job->type) {
	case JOB_PLAN:
	case JOB_COUNTERS:
	case JOB_HISTORY:
	case JOB_GENERATION:
	case JOB_MEASURE:
		return true;
	case JOB_APPLY:
	case JOB_STOP:
	case JOB_TEARDOWN:
	case JOB_CONFIRM:
	case JOB_REVERT:
		return false;
	}
	return false;
}

/* Where the next one hangs; the queue is not empty. */
static struct job **next_of(struct jobs *q)
{
	struct job **at = &q->first;

	while (*at && (*at)->type == JOB_MEASURE)
		at = &(*at)->next;
	return *at ? at : &q->first;
}

struct job *jobs_take(struct jobs *q)
{
	struct job *list, **end, **at = &q->first;

	if (!q->first)
		return NULL;
	list = unlink_job(q, next_of(q));
	end = &list->next;
	if (!is_for_good(list))
		return list;
	while (*at) {
		if (is_for_good(*at)) {
			*end = unlink_job(q, at);
			end = &(*end)->next;
		} else if (may_be_overtaken(*at)) {
			at = &(*at)->next;
		} else {
			break;
		}
	}
	return list;
}

struct job *jobs_last(struct job *list)
{
	while (list->next)
		list = list->next;
	return list;
}

/* Both mean the daemon's file, or say the same. */
static bool same_text(const struct job *a, const struct job *b)
{
	if (!a->text || !b->text)
		return a->text == b->text;
	return a->text_size == b->text_size && memcmp(a->text, b->text, a->text_size) == 0;
}

static bool same_leave(const struct job *a, const struct job *b)
{
	return a->allow_gap == b->allow_gap;
}

static void share(struct job *job, const struct job *last)
{
	job->result = last->result;
	job->outcome = last->outcome;
	job->generation = last->generation;
	job->armed = last->armed;
	job->refusal = last->refusal;
	job->steps = last->steps;
	job->plan_json = last->plan_json ? strdup(last->plan_json) : NULL;
	diags_free(job->diags);
	job->diags = diags_ref(last->diags);
	COPY_NAME(job->words, last->words);
	snprintf(job->covered_by, sizeof(job->covered_by), "%s",
		 last->covered_by[0] ? last->covered_by : last->who);
}

/* The first of the list that means the same text. */
static const struct job *first_like(const struct job *list, const struct job *job)
{
	while (!same_text(list, job))
		list = list->next;
	return list;
}

/* Another text was carried out: that means nothing for one that is no good. */
static void cover_other(struct job *job, const struct job *list, const struct job *last,
			jobs_check_fn check, void *data)
{
	const struct job *like = first_like(list, job);

	if (like == job && check(job, data) < 0)
		return;
	share(job, like->result < 0 ? like : last);
	if (job->result < 0)
		job->covered_by[0] = '\0'; /* neither was carried out */
}

struct job *jobs_cover(struct job **list, jobs_check_fn check, void *data)
{
	struct job *last = jobs_last(*list), *left = NULL, **left_end = &left, **at = list;

	while (*at != last) {
		struct job *job = *at;

		if (same_text(job, last) && (last->result == 0 || same_leave(job, last))) {
			share(job, last);
			at = &job->next;
		} else if (last->result == 0) {
			cover_other(job, *list, last, check, data);
			at = &job->next;
		} else {
			*at = job->next;
			job->next = NULL;
			*left_end = job;
			left_end = &job->next;
		}
	}
	return left;
}
