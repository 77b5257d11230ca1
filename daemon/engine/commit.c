// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Jobs that make generations: see commit.h. What happens to one text is in trial.c; how the first
 * one comes to be after a start is in start.c.
 */
#include "daemon/engine/commit.h"

#include <errno.h>
#include <stdio.h>

#include "config/base/log.h"
#include "daemon/engine/apply.h"
#include "daemon/engine/confirm.h"
#include "daemon/engine/observe.h"
#include "daemon/engine/trial.h"
#include "daemon/engine/wanted.h"

/* ---- the text ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The job's text, or the file's; messages go to job->diags. */
static int job_text(struct engine_owner *o, struct job *job, struct trial *t)
{
	const char *name = !job->text	  ? base_name(o->config_path)
			   : job->name[0] ? job->name
					  : "given text";

	job->diags = diags_new(name);
	if (!job->diags)
		return -ENOMEM;
	t->diags = job->diags;
	if (job->text) {
		t->text = job->text;
		t->size = job->text_size;
		return 0;
	}
	return trial_read_file(o, t);
}

/* ---- jobs ---- */

static void log_result(const struct job *job)
{
	if (job->result == 0) {
		log_notice("apply by %s: generation %llu, %zu changes", job->who,
			   (unsigned long long)job->generation, job->steps);
		return;
	}
	log_error("apply by %s: %s", job->who, apply_outcome_name(job->outcome));
	trial_log(job->diags);
}

static void refuse_gap(const struct trial *t, struct job *job)
{
	const struct filter *f = (const struct filter *)t->plan.gaps[0].object;
	size_t more = t->plan.gap_count - 1;
	char others[32] = "";

	if (more)
		snprintf(others, sizeof(others), " and %zu more", more);
	job->refusal = JOB_NEEDS_GAP;
	snprintf(job->words, sizeof(job->words),
		 "rule %.*s (line %u)%s can't be replaced without a gap; --allow-gap allows it",
		 RULE_NAME_MAX, f->rule ? f->rule->name : "?", f->obj.origin.line, others);
}

static void alert_file(struct engine_owner *o, const char *error)
{
	alert_set(&o->alerts, "config", "file", "%s is not in force; generation %llu is: %s",
		  o->config_path, (unsigned long long)o->generation, error);
}

void commit_apply(struct engine_owner *o, struct job *job)
{
	_cleanup_(trial_clear) struct trial t = {
		.who = job->who,
		.why = job->why,
		.uid = job->uid,
		.reverts = job->target,
		.confirm_ms = job->confirm_ms,
		.allow_gap = job->allow_gap,
	};
	int r;

	if (confirm_is_armed(o) && !job->confirm_ms) {
		confirm_refuse(o, job);
		return;
	}
	r = job_text(o, job, &t);
	if (r == 0)
		r = trial_prepare(o, &t);
	if (r < 0)
		r = trial_end(o, &t, APPLY_REFUSED, r);
	else
		r = trial_run(o, &t);
	/* Of several plans the last one: it was carried out, or is what was refused. */
	job->steps = t.plan.count;
	trial_tell_plan(&t, &job->plan_json);
	job->result = r;
	job->outcome = t.outcome;
	job->generation = o->generation;
	job->armed = confirm_armed(o);
	if (r < 0 && t.gapped)
		refuse_gap(&t, job);
	/* What the kernel refused first is why the rest was undone: it stays first. */
	if (job->diags && t.outcome != APPLY_REVERTED && t.outcome != APPLY_FAILED)
		diags_sort(job->diags);
	log_result(job);
	if (r < 0 && !job->text)
		alert_file(o, o->last_error);
	if (r == 0)
		owner_event(o, ENGINE_EVENT_APPLIED, job->who, "generation %llu, %zu changes",
			    (unsigned long long)o->generation, t.changes);
	else
		owner_event(o, ENGINE_EVENT_APPLIED, job->who, "%s: %s",
			    apply_outcome_name(t.outcome), o->last_error);
}

int commit_check(struct engine_owner *o, struct job *job)
{
	_cleanup_(trial_clear) struct trial t = { .who = job->who, .uid = job->uid };
	char error[sizeof(o->last_error)];
	int r;

	pulse_begin(o->pulse, PULSE_LOOK, 0);
	r = job_text(o, job, &t);
	if (r == 0)
		r = candidate_make(o, t.text, t.size, t.diags, &t.candidate);
	if (r == 0)
		return 0;
	job->result = r;
	job->outcome = APPLY_REFUSED;
	job->generation = o->generation;
	job->armed = confirm_armed(o);
	if (job->diags)
		diags_sort(job->diags);
	log_result(job);
	trial_first_error(job->diags, error, sizeof(error));
	if (!job->text)
		alert_file(o, error);
	owner_event(o, ENGINE_EVENT_APPLIED, job->who, "%s: %s", apply_outcome_name(APPLY_REFUSED),
		    error);
	owner_news(o);
	return r;
}

void commit_plan(struct engine_owner *o, struct job *job)
{
	_cleanup_(trial_clear) struct trial t = {
		.who = job->who,
		.uid = job->uid,
		.allow_gap = true, /* it is told, and takes nothing */
	};
	int r = job_text(o, job, &t);

	if (r == 0)
		r = trial_prepare(o, &t);
	if (r == 0)
		r = plan_json_text(&t.plan, &job->plan_json);
	job->steps = t.plan.count;
	job->result = r;
	job->generation = o->generation;
	if (job->diags)
		diags_sort(job->diags);
}

void commit_teardown(struct engine_owner *o, struct job *job)
{
	_cleanup_(trial_clear) struct trial t = { .who = job->who, .uid = job->uid };
	_cleanup_(apply_clear) struct apply apply = { 0 };
	int r;

	job->diags = diags_new(base_name(o->config_path));
	t.diags = job->diags;
	observe_events(o);
	r = job->diags ? observe_refresh(o) : -ENOMEM;
	if (r == 0)
		r = wanted_plan(o, NULL, NULL, PLAN_MEND, &t.plan);
	if (r == 0) {
		trial_conflicts(&t);
		job->steps = t.plan.count;
		/* Nothing is wanted from here on, or repair would bring it all back. */
		confirm_forget(o);
		config_unref(take(o->config));
		state_free(take(o->filters));
		users_forget(&o->users);
		trial_tell_plan(&t, &job->plan_json);
		r = apply_run(o, &t.plan, APPLY_EACH, t.diags, &apply);
	}
	job->result = r;
	job->removed = apply.done;
	job->outcome = r == 0 ? APPLY_DONE : APPLY_FAILED;
	o->judge = true;
	owner_news(o);
	log_notice("teardown by %s: %zu of %zu removed", job->who, apply.done, t.plan.count);
}
