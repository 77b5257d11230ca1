// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Repair: see repair.h. The same diff and the same apply as a reload, with a back-off between them.
 */
#include "daemon/engine/repair.h"

#include <errno.h>
#include <stdio.h>

#include "config/base/log.h"
#include "daemon/engine/apply.h"
#include "daemon/engine/heal.h"
#include "daemon/engine/measure.h"
#include "daemon/engine/observe.h"
#include "daemon/engine/publish.h"
#include "daemon/engine/wanted.h"

/* Nobody fights for what was quiet as long as swd may have waited, and a while more. */
#define DRIFT_OVER_NS ((BACKOFF_MOST_MS + BACKOFF_WINDOW_MS) * 1000000ULL)
#define TELL_FIRST 256	      /* steps: some 20 ms of the kernel's */
#define TELL_MOST 16	      /* events of one repair; more are counted */
#define AGAIN_NS 200000000ULL /* after a failure */

static void about_object(const struct object *o, char to[64])
{
	char label[OBJECT_LABEL];

	object_label(o, label);
	snprintf(to, 64, "%.63s", label);
}

void repair_tell(struct engine_owner *o, const struct plan *plan)
{
	char about[64];

	alerts_begin(&o->alerts, "port-waiting");
	for (size_t i = 0; i < plan->waiting_count; i++) {
		snprintf(about, sizeof(about), "port %s", plan->waiting[i].port);
		alert_set(&o->alerts, "port-waiting", about,
			  "%s is not there; what the file says of it waits", plan->waiting[i].port);
	}
	alerts_finish(&o->alerts, "port-waiting");
	o->waiting = plan->waiting_count;

	alerts_begin(&o->alerts, "conflict");
	for (size_t i = 0; i < plan->conflict_count; i++) {
		about_object(plan->conflicts[i].object, about);
		alert_set(&o->alerts, "conflict", about, "%s", plan->conflicts[i].text);
	}
	alerts_finish(&o->alerts, "conflict");
}

/* What was refused and needs nothing more was put right by others. */
static void end_refusals(struct engine_owner *o, const struct plan *all)
{
	char about[64];

	alerts_begin(&o->alerts, "refused");
	for (size_t i = 0; i < all->count; i++) {
		about_object(step_object(&all->steps[i]), about);
		alert_keep(&o->alerts, "refused", about);
	}
	alerts_finish(&o->alerts, "refused");
}

static void end_drift(struct engine_owner *o)
{
	uint64_t now = now_monotonic_ns();

	if (now > DRIFT_OVER_NS)
		alerts_expire(&o->alerts, "drift", now - DRIFT_OVER_NS);
}

/* A member goes that may have kept a block's filters out: see diff_qdiscs.c. */
static void pardon_filters(struct engine_owner *o, const struct plan *all)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct qdisc *gone = (const struct qdisc *)all->steps[i].found;

		if (all->steps[i].op != KERNEL_REMOVE || gone->obj.kind != KIND_QDISC)
			continue;
		for (size_t k = 0; k < all->count; k++) {
			const struct filter *f = (const struct filter *)all->steps[k].wanted;

			if (f && f->obj.kind == KIND_FILTER && qdisc_binds(gone, f->block))
				backoff_pardon(&o->backoff, &f->obj);
		}
	}
}

/* The steps that may be tried now. */
static int filter_plan(struct engine_owner *o, const struct plan *all, struct plan *ret)
{
	uint64_t now = now_monotonic_ns();

	for (size_t i = 0; i < all->count; i++) {
		const struct step *s = &all->steps[i];
		uint64_t until = backoff_until(&o->backoff, step_object(s), now);
		int r;

		if (until) {
			owner_sooner(&o->repair_due, until);
			continue;
		}
		r = plan_add(ret, s->op, s->reason, s->wanted, s->found);
		if (r < 0)
			return r;
	}
	return 0;
}

static void note_done(struct engine_owner *o, const struct step *s, size_t *told)
{
	char text[STEP_TEXT], about[64];
	uint32_t times;
	uint64_t until = backoff_repaired(&o->backoff, step_object(s), now_monotonic_ns(), &times);

	o->repairs++;
	about_object(step_object(s), about);
	alert_end(&o->alerts, "refused", about);
	step_print(s, text, sizeof(text));
	if (until)
		alert_set(&o->alerts, "drift", about,
			  "someone keeps changing it, put right %u times; swd waits longer each "
			  "time: %s",
			  times, text);
	if ((*told)++ < TELL_MOST) {
		owner_event(o, ENGINE_EVENT_REPAIRED, about, "%s", text);
		log_notice("repair: %s", text);
	}
}

static void note_refused(struct engine_owner *o, const struct step *s, const char *words)
{
	uint64_t until = backoff_refused(&o->backoff, step_object(s), now_monotonic_ns());
	char about[64];

	if (until)
		owner_sooner(&o->repair_due, until);
	about_object(step_object(s), about);
	alert_set(&o->alerts, "refused", about, "the kernel refuses it; tried again: %s", words);
}

static void note_outcomes(struct engine_owner *o, const struct apply *a, const struct diags *d)
{
	size_t told = 0;

	for (size_t i = 0; i < a->plan->count; i++) {
		if (a->outcomes[i] == KERNEL_DONE)
			note_done(o, &a->plan->steps[i], &told);
		else
			note_refused(o, &a->plan->steps[i],
				     a->said[i] ? diags_at(d, a->said[i] - 1)->text
						: strerror(-a->errors[i]));
	}
	if (told > TELL_MOST)
		log_notice("repair: and %zu more", told - TELL_MOST);
	for (size_t i = 0; i < MIN(diags_count(d), (size_t)TELL_MOST); i++) {
		_cleanup_free_ char *line = diag_line(d, diags_at(d, i));

		if (line)
			log_warning("repair: %s", line);
	}
}

static void touch(struct engine_owner *o, const struct object *object)
{
	if (object->kind == KIND_FILTER)
		places_add(&o->touched, (const struct filter *)object);
}

/* Looks where something was touched; what has to be done, waits, or is in the way is looked at
 * again. */
static int find_work(struct engine_owner *o, struct plan *ret)
{
	int r = wanted_work(o, ret);

	if (r < 0)
		return r;
	places_clear(&o->touched);
	for (size_t i = 0; i < ret->count; i++)
		touch(o, step_object(&ret->steps[i]));
	for (size_t i = 0; i < ret->waiting_count; i++)
		touch(o, ret->waiting[i].for_what);
	for (size_t i = 0; i < ret->conflict_count; i++)
		touch(o, ret->conflicts[i].object);
	return 0;
}

static int repair_once(struct engine_owner *o, bool *ret_changed)
{
	_cleanup_(plan_clear) struct plan all = { 0 };
	_cleanup_(plan_clear) struct plan now = { 0 };
	_cleanup_(apply_clear) struct apply apply = { 0 };
	_cleanup_(diags_freep) struct diags *d = diags_new(o->config->file);
	int r = d ? find_work(o, &all) : -ENOMEM;

	*ret_changed = false;
	if (r < 0)
		return r;
	repair_tell(o, &all);
	end_refusals(o, &all);
	end_drift(o);
	pardon_filters(o, &all);
	r = filter_plan(o, &all, &now);
	if (r < 0)
		return r;
	o->settled = all.count == 0;
	if (now.count == 0)
		return 0;
	/* Clients are not to believe for seconds that all is well. */
	if (now.count > TELL_FIRST)
		publish(o);
	r = apply_run(o, &now, APPLY_EACH, d, &apply);
	if (apply.outcomes)
		note_outcomes(o, &apply, d);
	/* What hardware can't replace in place goes first the next time: nobody misses it. */
	if (apply.refused > 0) {
		ways_learn(&o->ways, &apply, d, o->found, false);
		ways_settle(&o->ways, true);
	}
	*ret_changed = apply.done > 0;
	return r == -EIO ? 0 : r;
}

void repair_run(struct engine_owner *o)
{
	uint64_t settle = owner_settings(o)->settle_ms * 1000000ULL;
	bool changed = false;
	int r;

	o->repair_due = OWNER_NEVER;
	r = observe_devices(o);
	/* What was read is looked at now. */
	if (r == 0)
		o->repair_due = OWNER_NEVER;
	if (r == 0)
		r = measure_refresh(o);
	if (r == 0 && o->config)
		r = repair_once(o, &changed);
	else if (r == 0)
		o->settled = true; /* nothing is wanted */
	if (r == 0 && heal_run(o))
		changed = true;
	o->repaired_ns = now_monotonic_ns();
	/* Look again: until a round finds nothing to do. The back-off keeps this from spinning. */
	if (changed)
		owner_sooner(&o->repair_due, o->repaired_ns + settle);
	if (r < 0)
		owner_sooner(&o->repair_due, o->repaired_ns + AGAIN_NS);
	/* Changes come in bursts, our own come back as events, and what waits is in no hurry. */
	o->repair_due = MAX(o->repair_due, o->repaired_ns + settle);
	o->judge = true;
	owner_news(o);
}

void repair_audit(struct engine_owner *o)
{
	observe_events(o);
	observe_audit(o);
	repair_run(o);
}
