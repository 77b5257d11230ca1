// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What waits for its confirmation, and the way back: see confirm.h.
 */
#include "daemon/engine/confirm.h"

#include <errno.h>
#include <stdio.h>

#include "config/base/log.h"
#include "config/base/units.h"
#include "daemon/engine/apply.h"
#include "daemon/engine/before.h"
#include "daemon/engine/trial.h"

/* A sleeping machine, and a wall clock that is set, wake nobody: so we look. */
#define LOOK_NS 1000000000ULL
/* What could not be written down is tried again so often. */
#define RECORD_NS 10000000000ULL

#define ID(n) ((unsigned long long)(n))

bool confirm_is_armed(const struct engine_owner *o)
{
	return o->deadline.generation != 0;
}

struct armed confirm_armed(const struct engine_owner *o)
{
	if (!confirm_is_armed(o))
		return (struct armed){ 0 };
	return (struct armed){
		.generation = o->deadline.generation,
		.back_to = o->back.id,
		.confirm_ms = o->deadline.confirm_ms,
		.until_ns = o->deadline.at.boot_ns,
	};
}

uint64_t confirm_committed(const struct engine_owner *o)
{
	return confirm_is_armed(o) ? o->back.id : o->generation;
}

/* The deadline in memory is always of this boot. */
static uint64_t left(const struct engine_owner *o)
{
	uint64_t now = clock_boot_ns();

	return o->deadline.at.boot_ns > now ? o->deadline.at.boot_ns - now : 0;
}

static void refuse(struct job *job, enum job_refusal why, int result)
{
	job->refusal = why;
	job->result = result;
	log_warning("refused to %s: %s", job->who, job->words);
}

void confirm_refuse(const struct engine_owner *o, struct job *job)
{
	snprintf(job->words, sizeof(job->words),
		 "generation %llu waits for its confirmation, for %llu s more: 'sw-cli confirm' "
		 "keeps it, 'sw-cli revert' takes it back",
		 ID(o->deadline.generation), ID((left(o) + 999999999) / 1000000000));
	job->armed = confirm_armed(o);
	job->generation = o->generation;
	refuse(job, JOB_ARMED, -EBUSY);
}

/* ---- arming ---- */

int confirm_prepare(struct engine_owner *o, struct diags *d)
{
	struct origin nowhere = { 0 };
	int r;

	if (confirm_is_armed(o))
		return 0;
	if (!o->generation) {
		diags_add(d, DIAG_ERROR, nowhere, NULL,
			  "nothing is in force to which it could go back: apply it for good");
		return -ENOENT;
	}
	pulse_wait(o->pulse);
	r = o->store ? store_generation(o->store, o->generation, &o->back) : -ENODEV;
	pulse_go(o->pulse);
	if (r < 0)
		diags_add(d, DIAG_ERROR, nowhere, NULL,
			  "generation %llu can't be read from the store, so nothing could go back "
			  "to it, and nothing was changed: %s",
			  ID(o->generation), r == -ENODEV ? "it is not open" : strerror(-r));
	return r;
}

void confirm_settle(struct engine_owner *o)
{
	if (!confirm_is_armed(o))
		generation_clear(&o->back);
}

void confirm_arm(struct engine_owner *o, const struct deadline *d, const char *who)
{
	char within[UNITS_TEXT];

	o->deadline = *d;
	print_duration_ms(d->confirm_ms, within);
	owner_event(o, ENGINE_EVENT_ARMED, who,
		    "generation %llu; without a confirmation within %s generation %llu comes back",
		    ID(d->generation), within, ID(o->back.id));
	log_notice("generation %llu is to be confirmed within %s, or generation %llu comes back",
		   ID(d->generation), within, ID(o->back.id));
	owner_news(o);
}

/* The deadline moved by the clocks, and is the same to everyone else. */
static void rebase(struct engine_owner *o)
{
	struct moment now;
	int r;

	clock_now(&now);
	if (!deadline_rebase(&o->deadline, &now))
		return;
	pulse_wait(o->pulse);
	r = o->store ? store_rearm(o->store, &o->deadline) : -ENODEV;
	pulse_go(o->pulse);
	owner_store_result(o, "the deadline of a confirmation can't be recorded", r);
}

void confirm_resume(struct engine_owner *o, const struct deadline *d, struct generation *back)
{
	o->deadline = *d;
	o->back = *back;
	*back = (struct generation){ 0 };
	rebase(o);
	owner_event(o, ENGINE_EVENT_ARMED, "start", "generation %llu still waits, for %llu s more",
		    ID(d->generation), ID(left(o) / 1000000000));
	log_notice("start: generation %llu waits for its confirmation, for %llu s more",
		   ID(d->generation), ID(left(o) / 1000000000));
}

/* ---- the way back ---- */

void confirm_record_back(struct engine_owner *o, uint64_t generation, const char *words)
{
	int r;

	pulse_wait(o->pulse);
	r = o->store ? store_unconfirmed(o->store, generation, words) : -ENODEV;
	pulse_go(o->pulse);
	owner_store_result(o, "that a generation is taken back can't be recorded", r);
	o->unrecorded = r < 0 ? generation : 0;
	o->record_due = now_monotonic_ns() + RECORD_NS;
	if (o->unrecorded && words != o->unrecorded_words)
		snprintf(o->unrecorded_words, sizeof(o->unrecorded_words), "%s", words);
}

void confirm_tell_back(struct engine_owner *o, uint64_t generation, const char *words)
{
	char about[64];

	snprintf(about, sizeof(about), "generation %llu", ID(generation));
	snprintf(o->last_error, sizeof(o->last_error), "%s was %s; generation %llu is in force",
		 about, words, ID(o->generation));
	alert_set(&o->alerts, "unconfirmed", about, "it was %s; generation %llu is in force", words,
		  ID(o->generation));
	owner_event(o, ENGINE_EVENT_REVERTED, about, "%s; generation %llu is in force", words,
		    ID(o->generation));
	log_warning("%s", o->last_error);
	confirm_check_file(o);
	owner_news(o);
}

/*
 * The road of every apply, but that a step which is refused stops no other, and that a kernel which
 * can't be read now is no reason to stay: what can come back must, and repair goes on with the
 * rest.
 */
static int bring_back(struct engine_owner *o, const struct generation *g, struct trial *t)
{
	_cleanup_(apply_clear) struct apply apply = { 0 };
	int r = trial_prepare(o, t);

	if (!t->candidate.config || !t->candidate.filters)
		return r;
	r = before_plan(o, t->candidate.config, &t->plan);
	if (r == 0)
		r = apply_run(o, &t->plan, APPLY_EACH, t->diags, &apply);
	/* What memory was too short for is put back soon. */
	if (r == 0 || r == -EIO)
		before_forget(o);
	trial_adopt(o, t, g->id);
	return 0;
}

/* Memory was short: it is tried again soon. */
static void take_back_later(struct engine_owner *o, const struct deadline *d,
			    struct generation *back)
{
	o->deadline = *d;
	o->deadline.at.boot_ns = clock_boot_ns() + LOOK_NS;
	o->back = *back;
	*back = (struct generation){ 0 };
	log_error("generation %llu can't come back yet: %s", ID(o->back.id), strerror(ENOMEM));
}

static void take_back(struct engine_owner *o, const char *words, struct job *job)
{
	struct deadline deadline = o->deadline;
	uint64_t generation = deadline.generation;
	_cleanup_(generation_clear) struct generation back = o->back;
	struct diags *d = diags_new(back.name[0] ? back.name : "last generation");
	_cleanup_(trial_clear) struct trial t = {
		.text = back.text,
		.size = back.size,
		.diags = d,
		.lenient = true,
		.allow_gap = true, /* nobody is there to ask */
	};
	int r;

	/* What is wrong with it now will be so again: it is tried once. */
	o->deadline = (struct deadline){ 0 };
	o->back = (struct generation){ 0 };
	confirm_record_back(o, generation, words);
	r = d ? bring_back(o, &back, &t) : -ENOMEM;
	trial_end(o, &t, r < 0 ? APPLY_FAILED : APPLY_REVERTED, r);
	trial_log(d);
	if (r == 0) {
		confirm_tell_back(o, generation, words);
	} else if (r == -ENOMEM) {
		take_back_later(o, &deadline, &back);
	} else {
		alert_set(&o->alerts, "unconfirmed", "confirmation",
			  "generation %llu was %s, and generation %llu can't come back: %s",
			  ID(generation), words, ID(back.id), o->last_error);
	}
	if (job) {
		job->outcome = r < 0 ? APPLY_FAILED : APPLY_DONE;
		job->result = r;
		job->generation = o->generation;
		job->steps = t.plan.count;
		trial_tell_plan(&t, &job->plan_json);
		job->diags = take(d);
	}
	diags_free(d);
}

static void too_late(struct engine_owner *o)
{
	char within[UNITS_TEXT], words[64];

	print_duration_ms(o->deadline.confirm_ms, within);
	snprintf(words, sizeof(words), "not confirmed within %s", within);
	take_back(o, words, NULL);
}

uint64_t confirm_due(const struct engine_owner *o)
{
	bool armed = confirm_is_armed(o), left_over = o->unrecorded || (!armed && before_any(o));
	uint64_t due = left_over ? o->record_due : OWNER_NEVER;

	if (!armed)
		return due;
	return MIN(due, now_monotonic_ns() + MIN(left(o), LOOK_NS));
}

void confirm_tick(struct engine_owner *o)
{
	if (o->record_due <= now_monotonic_ns()) {
		o->record_due = now_monotonic_ns() + RECORD_NS;
		if (o->unrecorded)
			confirm_record_back(o, o->unrecorded, o->unrecorded_words);
		if (!confirm_is_armed(o))
			before_put_back(o);
	}
	if (!confirm_is_armed(o))
		return;
	if (left(o) == 0)
		too_late(o);
	else
		rebase(o);
}

/* ---- jobs ---- */

void confirm_job(struct engine_owner *o, struct job *job)
{
	int r;

	if (confirm_is_armed(o) && left(o) == 0)
		too_late(o);
	job->generation = o->generation;
	if (!confirm_is_armed(o)) {
		snprintf(job->words, sizeof(job->words),
			 "nothing waits for a confirmation; generation %llu is in force",
			 ID(o->generation));
		refuse(job, JOB_NOT_ARMED, -ENOENT);
		return;
	}
	pulse_wait(o->pulse);
	r = o->store ? store_confirm(o->store, o->generation, owner_settings(o)->history) : -ENODEV;
	pulse_go(o->pulse);
	owner_store_result(o, "a confirmation can't be recorded", r);
	job->result = r;
	if (r < 0) {
		snprintf(job->words, sizeof(job->words),
			 "the confirmation can't be recorded, so the deadline stands: %s",
			 r == -ENODEV ? "the store is not open" : strerror(-r));
		log_error("%s", job->words);
		return;
	}
	o->deadline = (struct deadline){ 0 };
	state_free(take(o->before));
	confirm_settle(o);
	owner_event(o, ENGINE_EVENT_CONFIRMED, job->who, "generation %llu", ID(o->generation));
	log_notice("generation %llu is confirmed by %s", ID(o->generation), job->who);
	confirm_check_file(o);
	owner_news(o);
}

void confirm_back(struct engine_owner *o, struct job *job)
{
	char words[96];

	snprintf(words, sizeof(words), "taken back by %s", job->who);
	take_back(o, words, job);
}

void confirm_forget(struct engine_owner *o)
{
	if (!confirm_is_armed(o))
		return;
	confirm_record_back(o, o->deadline.generation, "taken back by a teardown");
	before_forget(o);
	o->deadline = (struct deadline){ 0 };
	confirm_settle(o);
}

void confirm_check_file(struct engine_owner *o)
{
	_cleanup_(diags_freep) struct diags *d = diags_new("file");
	_cleanup_(trial_clear) struct trial t = { .diags = d };
	struct generation g;
	int r = d && o->store ? trial_read_file(o, &t) : -ENODEV;

	pulse_wait(o->pulse);
	if (r == 0)
		r = store_shuns(o->store, t.text, t.size, &g);
	pulse_go(o->pulse);
	if (r == 0 && trial_hash(t.text, t.size) != o->text_hash)
		alert_set(&o->alerts, "config", "file",
			  "%s is generation %llu, which was %s: a start does not take it",
			  o->config_path, ID(g.id), confirm_word(&g));
}

const char *confirm_word(const struct generation *g)
{
	if (streq(g->outcome, "done"))
		return "reverted";
	if (streq(g->outcome, "interrupted"))
		return "interrupted before it could be confirmed";
	return "not confirmed";
}
