// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is wanted first: see commit.h. A box that boots takes the file; a broken file must not leave
 * it without the rules it had, so then the last committed generation is taken from the store.
 */
#include "daemon/engine/commit.h"

#include <errno.h>
#include <stdio.h>

#include "config/base/log.h"
#include "config/yaml/load.h"
#include "daemon/engine/repair.h"
#include "daemon/engine/trial.h"

static const char *file_name(const struct engine_owner *o)
{
	const char *slash = strrchr(o->config_path, '/');

	return slash ? slash + 1 : o->config_path;
}

static int read_file(struct engine_owner *o, struct trial *t)
{
	struct origin nowhere = { 0 };
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

static int committed(struct engine_owner *o, struct generation *ret)
{
	int r;

	pulse_wait(o->pulse);
	r = o->store ? store_committed(o->store, ret) : -ENODEV;
	pulse_go(o->pulse);
	if (r != -ENOENT)
		owner_store_result(o, "generations can't be read", r);
	return r;
}

/*
 * The generation that was in force: what it says is wanted, and brought about step by step; a step
 * that is refused now stops no other, since half of a box's rules are better than none.
 */
static int restore(struct engine_owner *o, const struct generation *g)
{
	_cleanup_(diags_freep) struct diags *d = diags_new("last generation");
	_cleanup_(trial_clear) struct trial t = {
		.text = g->text,
		.size = g->size,
		.diags = d,
		.lenient = true,
	};
	int r = d ? trial_prepare(o, &t) : -ENOMEM;

	if (r < 0) {
		trial_log(d);
		return r;
	}
	trial_adopt(o, &t, g->id);
	repair_run(o);
	return 0;
}

/* The file is what was committed: adopt what is there, mend what is not. */
static int try_file(struct engine_owner *o, const struct generation *g, struct diags *d)
{
	_cleanup_(trial_clear) struct trial t = { .who = "start", .diags = d, .lenient = true };
	int r = read_file(o, &t);

	if (r == 0)
		r = trial_prepare(o, &t);
	if (r < 0)
		return trial_end(o, &t, APPLY_REFUSED, r);
	if (g->id && g->size == t.size && memcmp(g->text, t.text, t.size) == 0) {
		trial_adopt(o, &t, g->id);
		repair_run(o);
		return trial_end(o, &t, APPLY_DONE, 0);
	}
	return trial_run(o, &t);
}

void commit_start(struct engine_owner *o)
{
	_cleanup_(diags_freep) struct diags *d = diags_new(file_name(o));
	_cleanup_(generation_clear) struct generation g = { 0 };
	bool have = committed(o, &g) == 0;
	int r = d ? try_file(o, &g, d) : -ENOMEM;

	if (d)
		diags_sort(d);
	trial_log(d);
	if (r == 0) {
		owner_event(o, ENGINE_EVENT_APPLIED, "start", "generation %llu",
			    (unsigned long long)o->generation);
		log_notice("start: generation %llu is in force", (unsigned long long)o->generation);
		return;
	}
	if (have && restore(o, &g) == 0) {
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
