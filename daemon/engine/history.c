// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Jobs about generations that were: see history.h.
 */
#include "daemon/engine/history.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/engine/commit.h"
#include "daemon/engine/confirm.h"

#define ID(n) ((unsigned long long)(n))

/* What the store said, to the one who asked. */
static void store_failed(struct job *job, int r)
{
	job->result = r;
	snprintf(job->words, sizeof(job->words), "the store can't be read: %s",
		 r == -ENODEV ? "it is not open" : strerror(-r));
}

void history_list(struct engine_owner *o, struct job *job)
{
	int r;

	pulse_wait(o->pulse);
	r = o->store ? store_history(o->store, &job->list, &job->list_count) : -ENODEV;
	pulse_go(o->pulse);
	job->generation = o->generation;
	job->armed = confirm_armed(o);
	if (r < 0)
		store_failed(job, r);
}

static int read_one(struct engine_owner *o, uint64_t id, struct generation *ret)
{
	int r;

	pulse_wait(o->pulse);
	r = o->store ? store_generation(o->store, id, ret) : -ENODEV;
	pulse_go(o->pulse);
	return r;
}

static void no_generation(struct job *job, const char *what, uint64_t id)
{
	job->refusal = JOB_NO_GENERATION;
	job->result = -ENOENT;
	snprintf(job->words, sizeof(job->words), what, ID(id));
}

void history_show(struct engine_owner *o, struct job *job)
{
	uint64_t id = job->target ? job->target : o->generation;
	int r;

	job->generation = o->generation;
	job->armed = confirm_armed(o);
	if (!id) {
		no_generation(job, "nothing is in force", 0);
		return;
	}
	job->list = calloc(1, sizeof(*job->list));
	r = job->list ? read_one(o, id, job->list) : -ENOMEM;
	job->list_count = r == 0;
	if (r == -ENOENT)
		no_generation(job, "there is no generation %llu", id);
	else if (r < 0)
		store_failed(job, r);
}

/* The generation whose text is asked for; false: the job has its answer. */
static bool find(struct engine_owner *o, struct job *job, struct generation *ret)
{
	uint64_t now = confirm_committed(o);
	int r;

	if (job->target) {
		r = read_one(o, job->target, ret);
	} else {
		pulse_wait(o->pulse);
		r = !o->store ? -ENODEV : now ? store_committed(o->store, now, ret) : -ENOENT;
		pulse_go(o->pulse);
	}
	if (r == -ENOENT && job->target)
		no_generation(job, "there is no generation %llu", job->target);
	else if (r == -ENOENT)
		no_generation(job, "none was committed before generation %llu", now);
	else if (r < 0)
		store_failed(job, r);
	else if (!streq(ret->outcome, "done") && ret->id != now)
		no_generation(job,
			      "generation %llu was never committed; 'sw-cli export' has its text",
			      ret->id);
	return job->result == 0;
}

void history_revert(struct engine_owner *o, struct job *job)
{
	_cleanup_(generation_clear) struct generation g = { 0 };
	char why[GENERATION_WHY + 1];

	if (confirm_is_armed(o) && !job->confirm_ms) {
		if (job->target)
			confirm_refuse(o, job);
		else
			confirm_back(o, job);
		return;
	}
	if (!find(o, job, &g))
		return;
	snprintf(why, sizeof(why), "%.200s", job->why);
	snprintf(job->why, sizeof(job->why), "revert to %llu%s%s", ID(g.id), why[0] ? ": " : "",
		 why);
	snprintf(job->name, sizeof(job->name), "generation %llu", ID(g.id));
	job->target = g.id;
	job->text_size = g.size;
	job->text = take(g.text);
	commit_apply(o, job);
	if (job->result == 0 && !confirm_is_armed(o))
		confirm_check_file(o);
}
