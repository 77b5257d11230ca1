// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Taking everything back: see teardown.h. The work is JOB_TEARDOWN's; here it gets an owner without
 * a thread, and behind it the kernel is read again: what is said to be left was seen.
 */
#include "daemon/engine/teardown.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "config/yaml/load.h"
#include "daemon/engine/observe.h"
#include "daemon/engine/owned.h"
#include "daemon/kernel/cookie.h"

struct work {
	struct engine_owner *o;
	const struct job *job;
	struct state *blocks; /* of KIND_BLOCK: those that something of ours was in */
	struct config *last;  /* of the last committed generation, or NULL */
	teardown_fn line;
	void *data;
	struct teardown *ret;
};

static void on_snapshot(struct snapshot *s, void *data)
{
	snapshot_unref(s);
}

static void on_event(const struct engine_event *e, void *data)
{
}

static void on_ready(void *data)
{
}

static void _printf_(2, 3) say(const struct work *w, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	w->line(text, w->data);
}

/* ---- before ---- */

static int note_block(struct work *w, uint32_t id)
{
	struct block *b;
	int r;

	if (!id || state_block(w->blocks, id))
		return 0;
	b = object_new(KIND_BLOCK, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->id = id;
	r = state_put(w->blocks, b);
	if (r < 0)
		object_unref(b);
	return r;
}

static int note_blocks(struct work *w)
{
	const struct state *found = w->o->found;
	int r = 0;

	for (size_t i = 0; r == 0 && i < state_count(found, KIND_FILTER); i++) {
		const struct filter *f = state_at(found, KIND_FILTER, i);

		if (f->owner == OWNER_OURS)
			r = note_block(w, f->block);
	}
	for (size_t i = 0; r == 0 && i < state_count(found, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(found, KIND_QDISC, i);

		if (!owned_has(w->o->owned, &q->obj))
			continue;
		r = note_block(w, q->ingress_block);
		if (r == 0)
			r = note_block(w, q->egress_block);
	}
	return r;
}

/* What was wanted last, to tell what stays although the file names it. None is no error. */
static void read_last(struct work *w)
{
	_cleanup_(diags_freep) struct diags *d = diags_new("last generation");
	struct generation g = { 0 };

	if (d && w->o->store && store_committed(w->o->store, 0, &g) == 0)
		config_load(g.text, g.size, d, &w->last);
	generation_clear(&g);
}

/* What is on trial ends with all else, or the next start would go on with it. */
static void read_deadline(struct work *w)
{
	if (w->o->store && store_deadline(w->o->store, &w->o->deadline) < 0)
		w->o->deadline = (struct deadline){ 0 };
}

/* ---- after ---- */

/* Why something of ours is still there: what the plan or the kernel said of it. */
static void say_ours(struct work *w, const struct object *o)
{
	const struct diags *d = w->job->diags;
	const char *why = NULL;
	char label[OBJECT_LABEL];

	object_label(o, label);
	for (size_t i = 0; d && !why && i < diags_count(d); i++) {
		const struct diag *m = diags_at(d, i);

		if ((m->path && streq(m->path, label)) || strstr(m->text, label))
			why = m->text;
	}
	w->ret->ours++;
	say(w, "%s: %s", label, why ? why : "the kernel still has it");
}

static void say_foreign(struct work *w, const struct object *o, const char *why)
{
	char label[OBJECT_LABEL];

	object_label(o, label);
	w->ret->foreign++;
	say(w, "%s: %s", label, why);
}

static void tell_filter(struct work *w, const struct filter *f)
{
	uint32_t instance;
	char why[80];

	if (f->owner == OWNER_OURS) {
		say_ours(w, &f->obj);
	} else if (f->has_cookie && cookie_instance(f->cookie, &instance)) {
		snprintf(why, sizeof(why), "of a swd with another state folder (mark 0x%08x)",
			 instance);
		say_foreign(w, &f->obj, why);
	} else if (state_block(w->blocks, f->block)) {
		say_foreign(w, &f->obj, "not swd's");
	}
}

static void tell_other(struct work *w, const struct object *o)
{
	const struct qdisc *q = (const struct qdisc *)o;

	if (owned_has(w->o->owned, o))
		say_ours(w, o);
	else if ((w->last && state_find(w->last->wanted, o)) ||
		 (o->kind == KIND_QDISC && (state_block(w->blocks, q->ingress_block) ||
					    state_block(w->blocks, q->egress_block))))
		say_foreign(w, o, "not made by swd");
}

static void tell_left(struct work *w)
{
	static const enum kind kinds[] = { KIND_FILTER, KIND_QDISC, KIND_ADDRESS, KIND_VLAN };

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		for (size_t i = 0; i < state_count(w->o->found, kinds[k]); i++) {
			const struct object *o = state_at(w->o->found, kinds[k], i);

			if (kinds[k] == KIND_FILTER)
				tell_filter(w, (const struct filter *)o);
			else
				tell_other(w, o);
		}
	}
}

/* ---- the door ---- */

static int look_again(struct engine_owner *o)
{
	observe_now(o);
	observe_stale_all(o);
	return observe_refresh(o);
}

static int run(struct work *w, struct job *job)
{
	int r = owner_look(w->o);
	bool sure;

	if (r < 0) {
		say(w, "the kernel can't be read: %s", strerror(-r));
		return r;
	}
	/* Filters carry a mark; all else is known from the store alone. */
	sure = w->o->store && !store_rebuilt(w->o->store);
	if (!sure)
		say(w,
		    "qdiscs, addresses and VLANs: the store %s, and it alone knew which are swd's",
		    w->o->store ? "was lost" : "can't be read");
	read_last(w);
	read_deadline(w);
	r = note_blocks(w);
	if (r < 0)
		return r;
	owner_job(w->o, job);
	w->ret->removed = job->removed;
	r = look_again(w->o);
	if (r < 0) {
		say(w, "the kernel can't be read again: %s", strerror(-r));
		return r;
	}
	tell_left(w);
	return w->ret->ours ? -EBUSY : sure ? 0 : -ENODEV;
}

int teardown_run(const struct engine_options *options, teardown_fn line, void *data,
		 struct teardown *ret)
{
	struct owner_listener deaf = { on_snapshot, on_event, on_ready, NULL };
	struct pulse pulse = { 0 };
	struct job *job = job_new(JOB_TEARDOWN);
	struct work w = {
		.job = job, .blocks = state_new(), .line = line, .data = data, .ret = ret
	};
	int r = job && w.blocks ? owner_new(options, &deaf, &pulse, &w.o) : -ENOMEM;

	*ret = (struct teardown){ 0 };
	if (r < 0) {
		say(&w, "%s", strerror(-r));
	} else {
		snprintf(job->who, sizeof(job->who), "teardown");
		r = run(&w, job);
	}
	config_unref(w.last);
	owner_free(w.o);
	state_free(w.blocks);
	job_free(job);
	return r;
}
