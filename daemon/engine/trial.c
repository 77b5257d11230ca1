// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A text on its way to be wanted: see trial.h.
 */
#include "daemon/engine/trial.h"

#include <errno.h>
#include <stdio.h>

#include "config/base/log.h"
#include "config/yaml/load.h"
#include "daemon/engine/apply.h"
#include "daemon/engine/before.h"
#include "daemon/engine/confirm.h"
#include "daemon/engine/measure.h"
#include "daemon/engine/observe.h"
#include "daemon/engine/reopen.h"
#include "daemon/engine/repair.h"
#include "daemon/kernel/cookie.h"

#define LOG_DIAGS 100
#define TELL_STEPS 1000
#define DIFF_BYTES 16384 /* of a diff in the store: more steps than anybody reads */
/* A refusal tells of a batch. Behind so many, what they told of rules is believed of their blocks.
 */
#define TRIES_SINGLE 3
#define TRIES_MOST 6

static struct origin nowhere;

void trial_clear(struct trial *t)
{
	free(t->read);
	candidate_clear(&t->candidate);
	plan_clear(&t->plan);
	*t = (struct trial){ 0 };
}

int trial_read_file(struct engine_owner *o, struct trial *t)
{
	int r;

	pulse_wait(o->pulse);
	r = config_read_file(o->config_path, &t->read, &t->size);
	pulse_go(o->pulse);
	t->text = t->read;
	if (r < 0)
		diags_add(t->diags, DIAG_ERROR, nowhere, NULL, "%s can't be read: %s",
			  o->config_path, strerror(-r));
	return r;
}

static void tell_gap(struct trial *t, const struct gap *g)
{
	const struct rule *rule = ((const struct filter *)g->object)->rule;
	char path[RULE_NAME_MAX + 8];
	struct diag *diag;

	snprintf(path, sizeof(path), "rule %s", rule ? rule->name : "?");
	diag = diags_add(
		t->diags, t->allow_gap ? DIAG_WARNING : DIAG_ERROR, g->object->origin, path,
		"a gap can't be avoided: for a moment no rule decides its frames: %s", g->text);
	if (!t->allow_gap && diag)
		diag_hint(diag, "apply --allow-gap allows it");
	t->gapped |= !t->allow_gap;
}

void trial_conflicts(struct trial *t)
{
	for (size_t i = 0; i < t->plan.gap_count; i++)
		tell_gap(t, &t->plan.gaps[i]);
	for (size_t i = 0; i < t->plan.conflict_count; i++) {
		const struct conflict *c = &t->plan.conflicts[i];
		char label[OBJECT_LABEL];

		object_label(c->object, label);
		t->blocked |= c->blocking;
		diags_add(t->diags, c->blocking && !t->lenient ? DIAG_ERROR : DIAG_WARNING,
			  c->object->origin, label, "%s", c->text);
	}
}

/* True if the text is the one in force, and nothing was said of it: it needs no second reading. */
static bool is_in_force(const struct engine_owner *o, const struct trial *t)
{
	return o->config && o->filters && o->text_quiet && t->hash == o->text_hash &&
	       streq(o->config->file, diags_file(t->diags));
}

static int make_candidate(struct engine_owner *o, struct trial *t)
{
	t->hash = trial_hash(t->text, t->size);
	if (!is_in_force(o, t))
		return candidate_make(o, t->text, t->size, t->diags, &t->candidate);
	t->candidate.filters = state_copy(o->filters);
	t->candidate.config = config_ref(o->config);
	return t->candidate.filters ? 0 : -ENOMEM;
}

int trial_prepare(struct engine_owner *o, struct trial *t)
{
	int r;

	pulse_begin(o->pulse, PULSE_LOOK, 0);
	r = make_candidate(o, t);
	if (r == 0) {
		observe_events(o);
		observe_now(o);
		r = observe_refresh(o);
		if (r == 0)
			r = observe_tx_of(o, t->candidate.config->wanted);
		if (r < 0)
			diags_add(t->diags, DIAG_ERROR, nowhere, NULL,
				  "the kernel can't be read, so nothing was changed: %s",
				  observe_words(r));
	}
	if (r == 0)
		r = wanted_plan(o, t->candidate.config, t->candidate.filters, PLAN_TRIAL, &t->plan);
	if (r == 0)
		trial_conflicts(t);
	else if (diags_errors(t->diags) == 0)
		diags_add(t->diags, DIAG_ERROR, nowhere, NULL, "%s", strerror(-r));
	return r;
}

/* The answers to what was sent are in found: is there anything left to do? */
static bool is_settled(const struct engine_owner *o)
{
	_cleanup_(plan_clear) struct plan plan = { 0 };

	return wanted_plan(o, o->config, o->filters, PLAN_MEND, &plan) == 0 && plan.count == 0;
}

/* Each step was compared with what the kernel took; and a filter takes nothing else along. */
static bool took_filters(const struct trial *t)
{
	for (size_t i = 0; i < t->plan.count; i++)
		if (step_object(&t->plan.steps[i])->kind != KIND_FILTER)
			return false;
	return t->changes == t->plan.count;
}

/* The candidate is what is wanted from now on. */
void trial_adopt(struct engine_owner *o, struct trial *t, uint64_t generation)
{
	config_unref(o->config);
	state_free(o->filters);
	o->config = take(t->candidate.config);
	o->filters = take(t->candidate.filters);
	users_forget(&o->users);
	o->touched.all = true;
	o->generation = generation;
	o->text_hash = t->hash;
	o->text_quiet = diags_count(t->diags) == 0;
	log_set_level(o->config->daemon.log_level);
	backoff_forget(&o->backoff);
	o->audit_due = now_monotonic_ns() + o->config->daemon.audit_ms * 1000000ULL;
	alert_end(&o->alerts, "config", "file");
	/* What was refused or fought for is tried again from the start. */
	alerts_begin(&o->alerts, "refused");
	alerts_finish(&o->alerts, "refused");
	alerts_begin(&o->alerts, "drift");
	alerts_finish(&o->alerts, "drift");
	alerts_begin(&o->alerts, "unconfirmed");
	alerts_finish(&o->alerts, "unconfirmed");
	measure_adopted(o);
	repair_tell(o, &t->plan);
	o->settled = t->plan.count == 0 || took_filters(t) || is_settled(o);
	owner_changed(o);
}

void trial_tell_plan(const struct trial *t, char **ret)
{
	if (t->plan.count <= TELL_STEPS)
		plan_json_text(&t->plan, ret);
}

uint64_t trial_hash(const char *text, size_t size)
{
	return hash_text(text, size);
}

void trial_first_error(const struct diags *d, char *to, size_t size)
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
		trial_first_error(t->diags, o->last_error, sizeof(o->last_error));
	o->judge = true;
	owner_news(o);
	return result;
}

static int store_trying(struct engine_owner *o, struct trial *t, const struct state *before,
			uint64_t *ret_id)
{
	struct generation g = {
		.uid = t->uid,
		.reverts = t->reverts,
		.confirm_ms = t->confirm_ms,
		.text = (char *)t->text,
		.size = t->size,
	};
	int r;

	COPY_NAME(g.name, diags_file(t->diags));
	snprintf(g.who, sizeof(g.who), "%s", t->who);
	snprintf(g.why, sizeof(g.why), "%s", t->why ? t->why : "");
	r = reopen_store(o);
	if (r == 0) {
		pulse_wait(o->pulse);
		r = store_try(o->store, &g, before, ret_id);
		pulse_go(o->pulse);
		owner_store_result(o, "an apply can't be recorded, so it is refused", r);
	}
	if (r < 0)
		diags_add(t->diags, DIAG_ERROR, nowhere, NULL,
			  "the store in %s can't be written, so nothing was changed: %s",
			  o->state_dir, r == -ENODEV ? "it is not open" : strerror(-r));
	return r;
}

/* The deadline of one that was committed before is moved, where there is one; else it is new. */
static void store_ended(struct engine_owner *o, struct trial *t, uint64_t id,
			enum apply_outcome outcome, const struct deadline *deadline)
{
	_cleanup_free_ char *diff = NULL;
	char error[512];
	struct store_ending e = {
		.outcome = outcome,
		.deadline = deadline,
		.error = error,
		.changes = t->plan.count,
		.keep = owner_settings(o)->history,
	};
	int r;

	trial_first_error(t->diags, error, sizeof(error));
	plan_text(&t->plan, DIFF_BYTES, &diff);
	e.diff = diff;
	pulse_wait(o->pulse);
	r = id != o->generation ? store_end(o->store, id, &e)
	    : deadline		? store_rearm(o->store, deadline)
				: 0;
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
	_cleanup_(apply_clear) struct apply apply = { .undo = true };
	int r = 0;

	if (!o->config)
		return 0;
	observe_events(o);
	r = observe_refresh(o);
	if (r == 0)
		r = wanted_plan(o, o->config, o->filters, PLAN_MEND, &plan);
	return r < 0 ? r : apply_run(o, &plan, APPLY_EACH, d, &apply);
}

/* Tries the plan; back to what was if the kernel refuses a step. */
static enum apply_outcome try_plan(struct engine_owner *o, struct trial *t, struct diags *d,
				   struct apply *apply, int *ret_result)
{
	int r = apply_run(o, &t->plan, APPLY_ALL, d, apply);

	*ret_result = r;
	t->changes = apply->done;
	if (r == 0)
		return APPLY_DONE;
	if (diags_errors(d) == 0)
		diags_add(d, DIAG_ERROR, nowhere, NULL, "nothing was changed: %s", strerror(-r));
	if (apply->sent == 0)
		return APPLY_REFUSED;
	r = apply_undo(o, apply, d);
	return mend(o, d) < 0 || r < 0 ? APPLY_FAILED : APPLY_REVERTED;
}

/*
 * What was refused may be taken another way: beside the old one, or, if that is allowed, behind it.
 * True if there is a plan to try.
 */
static bool find_way(struct engine_owner *o, struct trial *t, const struct apply *apply,
		     const struct diags *d, unsigned int tries)
{
	_cleanup_(plan_clear) struct plan plan = { 0 };

	if (tries == TRIES_MOST || !ways_learn(&o->ways, apply, d, o->found, tries >= TRIES_SINGLE))
		return false;
	if (wanted_plan(o, t->candidate.config, t->candidate.filters, PLAN_TRIAL, &plan) < 0)
		return false;
	plan_clear(&t->plan);
	t->plan = plan;
	plan = (struct plan){ 0 };
	for (size_t i = 0; i < t->plan.gap_count; i++)
		tell_gap(t, &t->plan.gaps[i]);
	return !t->gapped;
}

static enum apply_outcome change_kernel(struct engine_owner *o, struct trial *t, int *ret_result)
{
	enum apply_outcome outcome;

	for (unsigned int tries = 1;; tries++) {
		_cleanup_(apply_clear) struct apply apply = { 0 };
		_cleanup_(diags_freep) struct diags *d = diags_new(diags_file(t->diags));

		*ret_result = -ENOMEM;
		if (!d) {
			diags_add(t->diags, DIAG_ERROR, nowhere, NULL, "nothing was changed: %s",
				  strerror(ENOMEM));
			return tries == 1 ? APPLY_REFUSED : APPLY_REVERTED;
		}
		outcome = try_plan(o, t, d, &apply, ret_result);
		if (outcome == APPLY_REVERTED && find_way(o, t, &apply, d, tries))
			continue;
		diags_move(t->diags, d);
		ways_settle(&o->ways, outcome == APPLY_DONE);
		return outcome;
	}
}

/* The kernel holds it, or what it held: the store and everyone who asks learn of it. */
static void conclude(struct engine_owner *o, struct trial *t, uint64_t id,
		     enum apply_outcome outcome, const struct state *before)
{
	struct deadline deadline = { 0 };
	struct moment now;

	if (outcome == APPLY_DONE && t->confirm_ms) {
		clock_now(&now);
		deadline_begin(&deadline, id, t->confirm_ms, &now);
	}
	store_ended(o, t, id, outcome, deadline.generation ? &deadline : NULL);
	if (outcome != APPLY_DONE) {
		/* What it left is mended at once: nobody else keeps changing it. */
		if (outcome == APPLY_FAILED)
			backoff_forget(&o->backoff);
		owner_changed(o);
		return;
	}
	trial_adopt(o, t, id);
	if (deadline.generation) {
		if (before)
			before_keep(o, before);
		confirm_arm(o, &deadline, t->who);
	}
}

int trial_run(struct engine_owner *o, struct trial *t)
{
	bool same = o->generation && t->hash == o->text_hash;
	_cleanup_(state_freep) struct state *before = NULL;
	enum apply_outcome outcome = APPLY_REFUSED;
	uint64_t id = o->generation;
	int r;

	if ((t->blocked && !t->lenient) || t->gapped)
		return trial_end(o, t, APPLY_REFUSED, -EEXIST);
	/* What is committed already needs no new number, whatever has to be mended, and no
	 * confirmation. */
	if (same && !confirm_is_armed(o))
		t->confirm_ms = 0;
	r = t->confirm_ms ? confirm_prepare(o, t->diags) : 0;
	if (r == 0 && t->confirm_ms && !same)
		r = before_collect(o, &t->plan, &before);
	if (r == 0 && !same)
		r = store_trying(o, t, before, &id);
	if (r == 0) {
		outcome = change_kernel(o, t, &r);
		conclude(o, t, id, outcome, before);
	}
	confirm_settle(o);
	return trial_end(o, t, outcome, r);
}

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
