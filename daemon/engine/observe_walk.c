// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading blocks, a part at a time: see observe.h. The kernel takes a second to tell 100,000
 * filters, and what breaks meanwhile is to be back in some milliseconds; so between two parts
 * events are read and repairs are made.
 *
 * What a part says may be older than what was heard in between. So that is noted, and holds against
 * what is read. And a dump can miss a filter that is there (it resumes by index): a few that were
 * missed are asked for by name; when many were, what a second reading misses too is gone.
 */
#include <errno.h>

#include "daemon/engine/observe.h"

#define STEPS_AT_ONCE 6 /* or a part of some 100 filters, if that is not the last */
#define ASK_AT_ONCE 2
#define ASK_MOST 64 /* questions instead of a second reading */
#define SIFT_AT_ONCE 2048
#define COMPARE_AT_ONCE 1024
#define AGAIN_NS 200000000ULL /* after a failure */

/* ---- which block ---- */

static void enter(struct walk *w, int phase)
{
	w->phase = phase;
	w->at = 0;
}

static void void_block(struct walk *w)
{
	seen_clear(&w->seen);
	state_free(take(w->heard));
	state_free(take(w->missing));
	w->again = false;
	enter(w, WALK_NONE);
}

void observe_walk_clear(struct engine_owner *o)
{
	void_block(&o->walk);
}

bool observe_walk_doubts(const struct engine_owner *o)
{
	const struct walk *w = &o->walk;

	return (w->all && w->all_stale) || (w->phase && w->stale);
}

void observe_walk_all(struct engine_owner *o)
{
	struct walk *w = &o->walk;

	w->due = 0;
	if (w->all)
		return;
	w->all = true;
	w->next = 1;
	w->all_stale = w->all_unknown = false;
}

/* It is to be read again. */
static void give_up(struct engine_owner *o)
{
	struct walk *w = &o->walk;

	void_block(w);
	if (w->stale)
		observe_stale_block(o, w->block);
}

void observe_walk_void(struct engine_owner *o, uint32_t block)
{
	if (o->walk.phase && o->walk.block == block)
		give_up(o);
}

/* Everything is stale: what was read until now is worth nothing. */
static void begin_all(struct engine_owner *o)
{
	struct walk *w = &o->walk;

	void_block(w);
	w->all_unknown = o->stale.unknown || (w->all && w->all_unknown);
	w->all = w->all_stale = true;
	w->next = 1;
	o->stale.all_blocks = o->stale.unknown = false;
	o->stale.count = 0;
}

/* The first block from `from` on that a found qdisc binds; 0: none. Others do not exist. */
static uint32_t next_bound(const struct engine_owner *o, uint32_t from)
{
	uint32_t next = 0;

	for (size_t i = 0; i < state_count(o->found, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(o->found, KIND_QDISC, i);
		uint32_t ids[2] = { q->ingress_block, q->egress_block };

		for (size_t j = 0; j < 2; j++)
			if (ids[j] && ids[j] >= from && (!next || ids[j] < next))
				next = ids[j];
	}
	return next;
}

static void end_all(struct engine_owner *o)
{
	struct walk *w = &o->walk;

	if (w->all)
		owner_changed(o);
	w->all = w->all_stale = w->all_unknown = false;
}

/* False: there is none. */
static bool next_block(struct engine_owner *o)
{
	struct walk *w = &o->walk;

	/* Which blocks there are is not known yet. */
	if (o->stale.qdiscs)
		return false;
	if (o->stale.all_blocks)
		begin_all(o);
	if (o->stale.count) {
		w->block = o->stale.blocks[--o->stale.count];
		w->stale = true;
		w->unknown = false;
		return true;
	}
	w->block = w->all ? next_bound(o, w->next) : 0;
	if (!w->block) {
		end_all(o);
		return false;
	}
	w->next = w->block;
	w->stale = w->all_stale;
	w->unknown = w->all_unknown;
	return true;
}

static int read_from_start(struct engine_owner *o)
{
	int r;

	pulse_wait(o->pulse);
	r = kernel_walk_begin(o->kernel, o->walk.block);
	pulse_go(o->pulse);
	enter(&o->walk, WALK_READ);
	return r;
}

static int begin(struct engine_owner *o)
{
	struct walk *w = &o->walk;
	size_t first, end;

	state_block_filters(o->found, w->block, &first, &end);
	w->heard = state_new();
	w->missing = state_new();
	if (!w->heard || !w->missing || seen_init(&w->seen, end - first) < 0)
		return -ENOMEM;
	return read_from_start(o);
}

/* ---- what is heard ---- */

void observe_walk_heard(struct engine_owner *o, const struct object *key)
{
	struct walk *w = &o->walk;
	struct object *ref;

	if (!w->phase || key->kind != KIND_FILTER ||
	    ((const struct filter *)key)->block != w->block)
		return;
	/* What comes and goes moves what was not sifted yet. */
	if (w->phase == WALK_SIFT)
		w->at = 0;
	ref = object_ref(key);
	if (state_put(w->heard, ref) < 0) {
		object_unref(ref);
		observe_stale_block(o, w->block);
	}
}

static bool was_heard(const struct walk *w, const struct filter *f)
{
	struct filter pref = {
		.obj.kind = KIND_FILTER,
		.block = f->block,
		.chain = f->chain,
		.pref = f->pref,
		.protocol = f->protocol,
	};

	return state_count(w->heard, KIND_FILTER) &&
	       (state_find(w->heard, f) || state_find(w->heard, &pref));
}

/* ---- what is read ---- */

static int take_filter(const struct filter *f, void *data)
{
	struct engine_owner *o = data;
	int r;

	if (was_heard(&o->walk, f))
		return 0;
	r = observe_read(o, f);
	return r < 0 ? r : seen_add(&o->walk.seen, f);
}

static int read_part(struct engine_owner *o)
{
	int r;

	pulse_wait(o->pulse);
	r = kernel_walk_part(o->kernel, take_filter, o);
	pulse_go(o->pulse);
	if (r == 0)
		enter(&o->walk, WALK_SIFT);
	return MIN(r, 0);
}

static void filter_lost(struct engine_owner *o, const struct filter *f)
{
	_cleanup_object_ struct filter *ref = object_ref(f);

	observe_drop(o, &ref->obj);
	bypass_filter_gone(o->bypass, ref);
}

static int note_missing(struct walk *w, const struct filter *f)
{
	void *ref = object_ref(f);
	int r = state_put(w->missing, ref);

	if (r < 0)
		object_unref(ref);
	return r;
}

static int sift(struct engine_owner *o)
{
	struct walk *w = &o->walk;
	size_t first, end, i, looked = 0;
	int r = 0;

	state_block_filters(o->found, w->block, &first, &end);
	for (i = first + w->at; i < end && looked < SIFT_AT_ONCE && r == 0; looked++) {
		const struct filter *f = state_at(o->found, KIND_FILTER, i);

		if (seen_has(&w->seen, f) || was_heard(w, f)) {
			i++;
		} else if (w->again) {
			filter_lost(o, f);
			end--;
		} else {
			r = note_missing(w, f);
			i++;
		}
	}
	w->at = i - first;
	if (r < 0 || i < end)
		return r;
	if (w->again || state_count(w->missing, KIND_FILTER) <= ASK_MOST) {
		enter(w, WALK_ASK);
		return 0;
	}
	state_clear_kind(w->missing, KIND_FILTER);
	w->again = true;
	return read_from_start(o);
}

static int ask_missing(struct engine_owner *o)
{
	struct walk *w = &o->walk;
	size_t n = state_count(w->missing, KIND_FILTER);

	for (size_t end = MIN(n, w->at + ASK_AT_ONCE); w->at < end; w->at++) {
		const struct filter *f = state_at(w->missing, KIND_FILTER, w->at);
		int r = was_heard(w, f) ? 0 : observe_ask(o, &f->obj);

		if (r < 0 && r != -ENOENT)
			return r;
	}
	if (w->at == n)
		enter(w, WALK_COMPARE);
	return 0;
}

/* What is wanted and not there was noted when it went; an audit does not rely on that. */
static bool compare(struct engine_owner *o)
{
	struct walk *w = &o->walk;
	size_t first = 0, end = 0, stop;

	if (o->filters)
		state_block_filters(o->filters, w->block, &first, &end);
	stop = MIN(end, first + w->at + COMPARE_AT_ONCE);
	for (size_t i = first + w->at; i < stop; i++) {
		const struct filter *f = state_at(o->filters, KIND_FILTER, i);

		if (!state_find(o->found, f))
			observe_touch(o, f);
	}
	w->at += COMPARE_AT_ONCE;
	return stop == end;
}

static int end_block(struct engine_owner *o)
{
	struct walk *w = &o->walk;
	/* Marks may be there that no reading shows. */
	int r = w->unknown ? bypass_block_found(o->bypass, w->block, o->found) : 0;

	if (r < 0)
		return r;
	if (w->all && w->next == w->block && w->unknown == w->all_unknown)
		w->next = w->block + 1;
	if (!w->next)
		end_all(o);
	if (w->stale || !o->settled)
		owner_changed(o);
	observe_tell(o, 0);
	void_block(w);
	return 0;
}

static int step(struct engine_owner *o)
{
	switch (o->walk.phase) {
	case WALK_NONE:
		return begin(o);
	case WALK_READ:
		return read_part(o);
	case WALK_SIFT:
		return sift(o);
	case WALK_ASK:
		return ask_missing(o);
	case WALK_COMPARE:
		return compare(o) ? end_block(o) : 0;
	}
	return 0;
}

int observe_walk(struct engine_owner *o)
{
	struct walk *w = &o->walk;
	bool reading = false;
	int r = 0;

	w->due = OWNER_NEVER;
	for (int i = 0; i < STEPS_AT_ONCE && r == 0 && !reading; i++) {
		if ((o->stale.all_blocks || !w->phase) && !next_block(o))
			return 0;
		reading = w->phase == WALK_READ;
		r = step(o);
		reading &= w->phase == WALK_READ;
	}
	w->due = 0;
	if (r < 0) {
		give_up(o);
		observe_tell(o, r);
		w->due = now_monotonic_ns() + AGAIN_NS;
	}
	return r < 0 ? r : 1;
}

static bool is_waited_for(const struct engine_owner *o)
{
	return o->stale.all_blocks || o->stale.count || observe_walk_doubts(o);
}

int observe_walk_through(struct engine_owner *o, void (*between)(struct engine_owner *o))
{
	struct walk *w = &o->walk;
	int r = 1;

	/* An audit has time. */
	if (w->phase && !w->stale && (o->stale.all_blocks || o->stale.count))
		void_block(w);
	while (r > 0 && is_waited_for(o)) {
		r = observe_walk(o);
		if (r > 0 && between)
			between(o);
	}
	return r < 0 ? r : is_waited_for(o) ? -EAGAIN : 0;
}
