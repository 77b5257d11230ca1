// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Generations: see commit.h. How the first one comes to be after a start is in start.c.
 */
#include "daemon/engine/commit.h"

#include <errno.h>
#include <stdio.h>

#include "config/base/log.h"
#include "config/yaml/load.h"
#include "daemon/engine/apply.h"
#include "daemon/engine/observe.h"
#include "daemon/engine/repair.h"
#include "daemon/engine/trial.h"
#include "daemon/engine/wanted.h"
#include "daemon/kernel/cookie.h"

#define LOG_DIAGS 100

static struct origin nowhere;

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
	int r;

	job->diags = diags_new(name);
	if (!job->diags)
		return -ENOMEM;
	t->diags = job->diags;
	if (job->text) {
		t->text = job->text;
		t->size = job->text_size;
		return 0;
	}
	pulse_wait(o->pulse);
	r = config_read_file(o->config_path, &t->read, &t->size);
	pulse_go(o->pulse);
	if (r < 0)
		diags_add(job->diags, DIAG_ERROR, nowhere, NULL, "%s can't be read: %s",
			  o->config_path, strerror(-r));
	t->text = t->read;
	return r;
}

void trial_clear(struct trial *t)
{
	free(t->read);
	candidate_clear(&t->candidate);
	plan_clear(&t->plan);
	*t = (struct trial){ 0 };
}

/* ---- the trial ---- */

static void add_conflicts(struct trial *t)
{
	for (size_t i = 0; i < t->plan.conflict_count; i++) {
		const struct conflict *c = &t->plan.conflicts[i];
		char label[OBJECT_LABEL];

		object_label(c->object, label);
		t->blocked |= c->blocking;
		diags_add(t->diags, c->blocking && !t->lenient ? DIAG_ERROR : DIAG_WARNING,
			  c->object->origin, label, "%s", c->text);
	}
}

int trial_prepare(struct engine_owner *o, struct trial *t)
{
	int r = candidate_make(o, t->text, t->size, t->diags, &t->candidate);

	if (r == 0) {
		observe_events(o);
		r = observe_refresh(o);
	}
	if (r == 0)
		r = wanted_plan(o, t->candidate.config, t->candidate.filters, false, &t->plan);
	if (r == 0)
		add_conflicts(t);
	else if (diags_errors(t->diags) == 0)
		diags_add(t->diags, DIAG_ERROR, nowhere, NULL, "%s", strerror(-r));
	return r;
}

/* The answers to what was sent are in found: is there anything left to do? */
static bool is_settled(const struct engine_owner *o)
{
	_cleanup_(plan_clear) struct plan plan = { 0 };

	return wanted_plan(o, o->config, o->filters, false, &plan) == 0 && plan.count == 0;
}

/* The candidate is what is wanted from now on. */
void trial_adopt(struct engine_owner *o, struct trial *t, uint64_t generation)
{
	config_unref(o->config);
	state_free(o->filters);
	o->config = take(t->candidate.config);
	o->filters = take(t->candidate.filters);
	o->generation = generation;
	o->text_hash = trial_hash(t->text, t->size);
	log_set_level(o->config->daemon.log_level);
	backoff_forget(&o->backoff);
	o->audit_due = now_monotonic_ns() + o->config->daemon.audit_ms * 1000000ULL;
	alert_end(&o->alerts, "config", "file");
	/* What was refused or fought for is tried again from the start. */
	alerts_begin(&o->alerts, "refused");
	alerts_finish(&o->alerts, "refused");
	alerts_begin(&o->alerts, "drift");
	alerts_finish(&o->alerts, "drift");
	repair_tell(o, &t->plan);
	o->settled = t->plan.count == 0 || is_settled(o);
	owner_changed(o);
}

uint64_t trial_hash(const char *text, size_t size)
{
	return hash_bytes(HASH_START, text, size) ^ size;
}

static void first_error(const struct diags *d, char *to, size_t size)
{
	to[0] = '\0';
	for (size_t i = 0; d && i < diags_count(d); i++) {
		if (diags_at(d, i)->level != DIAG_ERROR)
			continue;
		_cleanup_free_ char *line = diag_line(d, diags_at(d, i));

		snprintf(to, size, "%s", line ? line : diags_at(d, i)->text);
		return;
	}
}

int trial_end(struct engine_owner *o, struct trial *t, enum apply_outcome outcome, int result)
{
	t->outcome = outcome;
	o->last_outcome = outcome;
	o->last_apply_ns = now_realtime_ns();
	if (outcome == APPLY_DONE)
		o->last_error[0] = '\0';
	else
		first_error(t->diags, o->last_error, sizeof(o->last_error));
	o->judge = true;
	owner_news(o);
	return result;
}

static int store_trying(struct engine_owner *o, struct trial *t, uint64_t *ret_id)
{
	int r;

	pulse_wait(o->pulse);
	r = o->store ? store_try(o->store, t->text, t->size, t->who, t->uid, ret_id) : -ENODEV;
	pulse_go(o->pulse);
	owner_store_result(o, "an apply can't be recorded, so it is refused", r);
	if (r < 0)
		diags_add(t->diags, DIAG_ERROR, nowhere, NULL,
			  "the store in %s can't be written, so nothing was changed: %s",
			  o->state_dir, r == -ENODEV ? "it is not open" : strerror(-r));
	return r;
}

static void store_ended(struct engine_owner *o, uint64_t id, enum apply_outcome outcome,
			const char *error)
{
	int r;

	pulse_wait(o->pulse);
	r = store_end(o->store, id, outcome, error, owner_settings(o)->history);
	pulse_go(o->pulse);
	owner_store_result(o, "how an apply ended can't be recorded", r);
}

/*
 * What the steps took along without a step of its own (a VLAN above one that was made anew) comes
 * back by a look at what was wanted before.
 */
static int mend(struct engine_owner *o, struct diags *d)
{
	_cleanup_(plan_clear) struct plan plan = { 0 };
	_cleanup_(apply_clear) struct apply apply = { 0 };
	int r = 0;

	if (!o->config)
		return 0;
	observe_events(o);
	r = observe_refresh(o);
	if (r == 0)
		r = wanted_plan(o, o->config, o->filters, false, &plan);
	return r < 0 ? r : apply_run(o, &plan, APPLY_EACH, d, &apply);
}

/* Tries the plan; back to what was if the kernel refuses a step. */
static enum apply_outcome change_kernel(struct engine_owner *o, struct trial *t, int *ret_result)
{
	_cleanup_(apply_clear) struct apply apply = { 0 };
	int r = apply_run(o, &t->plan, APPLY_ALL, t->diags, &apply);

	*ret_result = r;
	t->changes = apply.done;
	if (r == 0)
		return APPLY_DONE;
	if (r != -EIO && diags_errors(t->diags) == 0)
		diags_add(t->diags, DIAG_ERROR, nowhere, NULL, "nothing was changed: %s",
			  strerror(-r));
	if (apply.sent == 0)
		return APPLY_REFUSED;
	r = apply_undo(o, &apply, t->diags);
	return mend(o, t->diags) < 0 || r < 0 ? APPLY_FAILED : APPLY_REVERTED;
}

int trial_run(struct engine_owner *o, struct trial *t)
{
	bool same = o->generation && trial_hash(t->text, t->size) == o->text_hash;
	enum apply_outcome outcome;
	uint64_t id = o->generation;
	char error[512];
	int r;

	if (t->blocked && !t->lenient)
		return trial_end(o, t, APPLY_REFUSED, -EEXIST);
	/* The text that is committed already needs no new number, whatever has to be mended. */
	if (!same) {
		r = store_trying(o, t, &id);
		if (r < 0)
			return trial_end(o, t, APPLY_REFUSED, r);
	}
	outcome = change_kernel(o, t, &r);
	first_error(t->diags, error, sizeof(error));
	if (!same)
		store_ended(o, id, outcome, error[0] ? error : NULL);
	if (outcome == APPLY_DONE)
		trial_adopt(o, t, id);
	else
		owner_changed(o);
	return trial_end(o, t, outcome, r);
}

/* ---- jobs ---- */

void trial_log(const struct diags *d)
{
	size_t n = d ? diags_count(d) : 0;

	for (size_t i = 0; i < MIN(n, (size_t)LOG_DIAGS); i++) {
		const struct diag *diag = diags_at(d, i);
		_cleanup_free_ char *line = diag_line(d, diag);

		if (line && diag->level == DIAG_ERROR)
			log_error("%s", line);
		else if (line)
			log_warning("%s", line);
	}
	if (n > LOG_DIAGS)
		log_error("and %zu more: 'sw-cli check' tells them all", n - LOG_DIAGS);
}

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

void commit_apply(struct engine_owner *o, struct job *job)
{
	_cleanup_(trial_clear) struct trial t = { .who = job->who, .uid = job->uid };
	int r = job_text(o, job, &t);

	if (r == 0)
		r = trial_prepare(o, &t);
	if (r < 0)
		r = trial_end(o, &t, APPLY_REFUSED, r);
	else
		job->steps = t.plan.count;
	if (r == 0) {
		plan_json_text(&t.plan, &job->plan_json);
		r = trial_run(o, &t);
	}
	job->result = r;
	job->outcome = t.outcome;
	job->generation = o->generation;
	if (job->diags)
		diags_sort(job->diags);
	log_result(job);
	if (r < 0 && !job->text)
		alert_set(&o->alerts, "config", "file",
			  "%s is not in force; generation %llu is: %s", o->config_path,
			  (unsigned long long)o->generation, o->last_error);
	if (r == 0)
		owner_event(o, ENGINE_EVENT_APPLIED, job->who, "generation %llu, %zu changes",
			    (unsigned long long)o->generation, t.changes);
	else
		owner_event(o, ENGINE_EVENT_APPLIED, job->who, "%s: %s",
			    apply_outcome_name(t.outcome), o->last_error);
}

void commit_plan(struct engine_owner *o, struct job *job)
{
	_cleanup_(trial_clear) struct trial t = { .who = job->who, .uid = job->uid };
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
		r = wanted_plan(o, NULL, NULL, false, &t.plan);
	if (r == 0) {
		add_conflicts(&t);
		job->steps = t.plan.count;
		/* Nothing is wanted from here on, or repair would bring it all back. */
		config_unref(take(o->config));
		state_free(take(o->filters));
		plan_json_text(&t.plan, &job->plan_json);
		r = apply_run(o, &t.plan, APPLY_EACH, t.diags, &apply);
	}
	job->result = r;
	job->outcome = r == 0 ? APPLY_DONE : APPLY_FAILED;
	o->judge = true;
	owner_news(o);
	log_notice("teardown by %s: %zu of %zu removed", job->who, apply.done, t.plan.count);
}
