// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is wanted first: see commit.h. A generation that waits for its confirmation comes before all
 * else. Then a box that boots takes the file; a broken file, or one that was taken back, must not
 * leave it without the rules it had, so then the last committed generation is taken from the store.
 */
#include "daemon/engine/commit.h"

#include <errno.h>
#include <stdio.h>

#include "config/base/log.h"
#include "daemon/engine/before.h"
#include "daemon/engine/confirm.h"
#include "daemon/engine/reopen.h"
#include "daemon/engine/repair.h"
#include "daemon/engine/trial.h"

static const char *file_name(const struct engine_owner *o)
{
	const char *slash = strrchr(o->config_path, '/');

	return slash ? slash + 1 : o->config_path;
}

static int committed(struct engine_owner *o, struct generation *ret)
{
	int r;

	pulse_wait(o->pulse);
	r = o->store ? store_committed(o->store, 0, ret) : -ENODEV;
	pulse_go(o->pulse);
	if (r != -ENOENT)
		owner_store_result(o, "generations can't be read", r);
	return r;
}

/* What one on trial changes now that it did not have to change before swd ended: after a reboot. */
static void note_before(struct engine_owner *o, const struct trial *t, uint64_t generation)
{
	_cleanup_(state_freep) struct state *more = NULL;
	int r = before_collect(o, &t->plan, &more);

	if (r == 0)
		r = before_keep(o, more);
	pulse_wait(o->pulse);
	if (r == 0)
		r = store_note_before(o->store, generation, more);
	pulse_go(o->pulse);
	owner_store_result(o, "what a trial changes can't be recorded", r);
}

/*
 * The generation that was in force: what it says is wanted, and brought about step by step; a step
 * that is refused now stops no other, since half of a box's rules are better than none.
 */
static int restore(struct engine_owner *o, const struct generation *g, bool on_trial)
{
	_cleanup_(diags_freep) struct diags *d =
		diags_new(g->name[0] ? g->name : "last generation");
	_cleanup_(trial_clear) struct trial t = {
		.text = g->text,
		.size = g->size,
		.diags = d,
		.lenient = true,
		.allow_gap = true,
	};
	int r = d ? trial_prepare(o, &t) : -ENOMEM;

	if (r < 0) {
		trial_log(d);
		return r;
	}
	if (on_trial)
		note_before(o, &t, g->id);
	trial_adopt(o, &t, g->id);
	repair_run(o);
	return 0;
}

/* What was taken back is not brought in again because the file still has it. */
static int check_shunned(struct engine_owner *o, const struct trial *t)
{
	struct origin nowhere = { 0 };
	struct generation g;
	int r;

	pulse_wait(o->pulse);
	r = o->store ? store_shuns(o->store, t->text, t->size, &g) : -ENOENT;
	pulse_go(o->pulse);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		diags_add(t->diags, DIAG_ERROR, nowhere, NULL, "the store can't be read: %s",
			  strerror(-r));
	else
		diags_add(
			t->diags, DIAG_ERROR, nowhere, NULL,
			"it is generation %llu, which was %s; 'sw-cli apply' takes it all the same",
			(unsigned long long)g.id, confirm_word(&g));
	return r < 0 ? r : -ESTALE;
}

static bool is_text_of(const struct trial *t, const struct generation *g)
{
	return g->id && g->size == t->size && memcmp(g->text, t->text, t->size) == 0;
}

/*
 * The file is what was committed: adopt what is there, mend what is not. So it is without a store,
 * which nothing can be committed to: a box whose disk fails still comes up as its file says.
 */
static int try_file(struct engine_owner *o, const struct generation *g, struct diags *d)
{
	_cleanup_(trial_clear) struct trial t = { .who = "start", .diags = d, .lenient = true };
	int r = trial_read_file(o, &t);

	/* Where a changed file needs a gap, the generation that is in force has its rules still. */
	t.allow_gap = !g->id || !o->store || (r == 0 && is_text_of(&t, g));
	if (r == 0 && !is_text_of(&t, g))
		r = check_shunned(o, &t);
	if (r == 0)
		r = trial_prepare(o, &t);
	if (r < 0)
		return trial_end(o, &t, APPLY_REFUSED, r);
	if (is_text_of(&t, g) || !o->store) {
		trial_adopt(o, &t, g->id);
		repair_run(o);
		return trial_end(o, &t, APPLY_DONE, 0);
	}
	return trial_run(o, &t);
}

/*
 * What waited for its confirmation when swd ended waits on, in force as it was; or its time has
 * passed, and what was before comes back now. Then the file is left alone: someone was to look at
 * this box, and did not. True if something is in force.
 */
static bool resume(struct engine_owner *o, struct generation *g)
{
	_cleanup_(generation_clear) struct generation armed = { 0 };
	char words[64] = "not confirmed while swd was away";
	struct deadline d;
	struct moment now;
	int r;

	pulse_wait(o->pulse);
	r = o->store ? store_deadline(o->store, &d) : -ENOENT;
	if (r == 0)
		r = store_generation(o->store, d.generation, &armed);
	pulse_go(o->pulse);
	if (r == -ENOENT)
		return false;
	owner_store_result(o, "what waits for its confirmation can't be read", r);
	if (r < 0)
		return false;
	clock_now(&now);
	if (deadline_left(&d, &now) > 0) {
		if (restore(o, &armed, true) == 0) {
			confirm_resume(o, &d, g);
			return true;
		}
		snprintf(words, sizeof(words), "not fit to wait on");
	}
	confirm_record_back(o, d.generation, words);
	if (restore(o, g, false) < 0)
		return false;
	o->last_outcome = APPLY_REVERTED;
	o->last_apply_ns = now.wall_ns;
	confirm_tell_back(o, d.generation, words);
	return true;
}

/* What was being tried when swd ended has an outcome now; and what a trial changed is read. */
static void read_trials(struct engine_owner *o)
{
	int r, before;

	o->before = state_new();
	pulse_wait(o->pulse);
	r = o->store ? store_interrupted(o->store) : 0;
	before = !o->store ? 0 : o->before ? store_before(o->store, o->before) : -ENOMEM;
	pulse_go(o->pulse);
	r = r < 0 ? r : before;
	if (r < 0)
		owner_store_result(o, "what was on trial can't be settled", r);
}

/* The file, or what was committed last, or nothing. */
static void start_untried(struct engine_owner *o, const struct generation *g)
{
	_cleanup_(diags_freep) struct diags *d = diags_new(file_name(o));
	int r = d ? try_file(o, g, d) : -ENOMEM;

	if (d)
		diags_sort(d);
	trial_log(d);
	if (r == 0) {
		owner_event(o, ENGINE_EVENT_APPLIED, "start", "generation %llu",
			    (unsigned long long)o->generation);
		log_notice("start: generation %llu is in force", (unsigned long long)o->generation);
		return;
	}
	if (g->id && restore(o, g, false) == 0) {
		alert_set(&o->alerts, "config", "file",
			  "%s is not in force; generation %llu is: %s", o->config_path,
			  (unsigned long long)o->generation, o->last_error);
		log_warning("start: generation %llu is in force, and not the file",
			    (unsigned long long)o->generation);
		return;
	}
	alert_set(&o->alerts, "config", "file", "%s is not in force, and nothing else is: %s",
		  o->config_path, o->last_error);
	log_error("start: nothing is in force");
}

void commit_start(struct engine_owner *o)
{
	_cleanup_(generation_clear) struct generation g = { 0 };
	bool have = committed(o, &g) == 0;

	read_trials(o);
	if (!have || !resume(o, &g))
		start_untried(o, &g);
	reopen_adopt(o);
	if (!confirm_is_armed(o))
		before_put_back(o);
}
