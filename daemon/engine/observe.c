// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading what the kernel holds: dumps, questions, and the outcome of our own requests. See
 * observe.h.
 */
#include "daemon/engine/observe.h"

#include <errno.h>

#include "daemon/engine/renames.h"

#define FULL_DUMP_GAP_NS 200000000ULL

static int dump(struct engine_owner *o, enum kind kind, uint32_t block, struct state *into)
{
	int r;

	pulse_wait(o->pulse);
	r = kernel_dump(o->kernel, kind, block, into);
	pulse_go(o->pulse);
	return r;
}

bool observe_is_stale(const struct engine_owner *o)
{
	return o->stale.links || o->stale.addresses || o->stale.qdiscs || o->stale.tx ||
	       o->stale.all_blocks || o->stale.count || observe_walk_doubts(o);
}

void observe_stale_all(struct engine_owner *o)
{
	o->stale.links = o->stale.addresses = o->stale.qdiscs = o->stale.tx = true;
	o->stale.all_blocks = true;
	o->walk.due = 0;
}

void observe_audit(struct engine_owner *o)
{
	o->stale.links = o->stale.addresses = o->stale.qdiscs = o->stale.tx = true;
	observe_walk_all(o);
}

void observe_stale_block(struct engine_owner *o, uint32_t block)
{
	struct stale *s = &o->stale;

	o->walk.due = 0;
	observe_walk_void(o, block);
	if (!block || s->all_blocks)
		return;
	for (size_t i = 0; i < s->count; i++)
		if (s->blocks[i] == block)
			return;
	if (s->count >= 256 || grow(&s->blocks, &s->space, s->count, sizeof(*s->blocks)) < 0)
		s->all_blocks = true;
	else
		s->blocks[s->count++] = block;
}

/* ---- whole kinds ---- */

/* What is in found and not in the dump goes, with all that rests on it; what is in the dump is put.
 */
static int refresh_links(struct engine_owner *o)
{
	static const enum kind kinds[] = { KIND_PORT, KIND_VLAN };
	_cleanup_(state_freep) struct state *now = state_new();
	int r;

	if (!now)
		return -ENOMEM;
	r = dump(o, KIND_PORT, 0, now);
	if (r < 0)
		return r;
	renames_dumped(o, now);
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		for (size_t i = state_count(o->found, kinds[k]); i-- > 0;) {
			const struct object *dev;

			if (i >= state_count(o->found, kinds[k]))
				continue;
			dev = state_at(o->found, kinds[k], i);
			if (!state_find(now, dev))
				observe_dev_gone(o, observe_dev_name(dev));
		}
	}
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (size_t i = 0; i < state_count(now, kinds[k]); i++)
			observe_dev_new(o, state_at(now, kinds[k], i));
	return 0;
}

static int refresh_addresses(struct engine_owner *o)
{
	_cleanup_(state_freep) struct state *now = state_new();
	int r;

	if (!now)
		return -ENOMEM;
	r = dump(o, KIND_ADDRESS, 0, now);
	if (r < 0)
		return r;
	for (size_t i = state_count(o->found, KIND_ADDRESS); i-- > 0;) {
		_cleanup_object_ struct object *a = object_ref(state_at(o->found, KIND_ADDRESS, i));

		if (!state_find(now, a))
			observe_drop(o, a);
	}
	for (size_t i = 0; i < state_count(now, KIND_ADDRESS); i++)
		observe_put(o, state_at(now, KIND_ADDRESS, i));
	return 0;
}

static int refresh_qdiscs(struct engine_owner *o)
{
	_cleanup_(state_freep) struct state *now = state_new();
	int r;

	if (!now)
		return -ENOMEM;
	r = dump(o, KIND_QDISC, 0, now);
	if (r < 0)
		return r;
	for (size_t i = state_count(o->found, KIND_QDISC); i-- > 0;) {
		const struct qdisc *q = state_at(o->found, KIND_QDISC, i);
		const struct qdisc *same = state_find(now, q);

		if (!same || same->ingress_block != q->ingress_block ||
		    same->egress_block != q->egress_block)
			observe_qdisc_gone(o, q, false);
	}
	for (size_t i = 0; i < state_count(now, KIND_QDISC); i++)
		observe_qdisc_new(o, state_at(now, KIND_QDISC, i), false);
	o->qdiscs_read = true;
	return 0;
}

/* ---- filters ---- */

static bool is_of(const struct filter *f, const struct filter *key)
{
	return f->block == key->block && f->chain == key->chain &&
	       (!key->pref ||
		(f->pref == key->pref && (!key->protocol || f->protocol == key->protocol)));
}

/* The kernel tells of the end of a pref or a chain in one word. */
static int refresh_pref(struct engine_owner *o, const struct filter *key)
{
	size_t i = state_lower(o->found, key);
	_cleanup_(state_freep) struct state *now = NULL;
	int r;

	if (i == state_count(o->found, KIND_FILTER) ||
	    !is_of(state_at(o->found, KIND_FILTER, i), key))
		return 0;
	now = state_new();
	if (!now)
		return -ENOMEM;
	pulse_wait(o->pulse);
	r = kernel_dump_pref(o->kernel, key, now);
	pulse_go(o->pulse);
	if (r < 0)
		return r;
	while (i < state_count(o->found, KIND_FILTER)) {
		_cleanup_object_ struct filter *f = object_ref(state_at(o->found, KIND_FILTER, i));

		if (!is_of(f, key))
			break;
		if (state_find(now, f))
			i++;
		else
			observe_drop(o, &f->obj);
	}
	for (i = 0; i < state_count(now, KIND_FILTER); i++) {
		const struct filter *f = state_at(now, KIND_FILTER, i);

		observe_walk_heard(o, &f->obj);
		r = observe_read(o, f);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the doors ---- */

static int first_dump(struct engine_owner *o)
{
	int r = dump(o, KIND_PORT, 0, o->found);

	for (size_t i = 0; i < state_count(o->found, KIND_PORT); i++)
		observe_complete(o, state_at(o->found, KIND_PORT, i), true);
	if (r == 0)
		r = dump(o, KIND_ADDRESS, 0, o->found);
	if (r == 0)
		r = dump(o, KIND_QDISC, 0, o->found);
	o->stale.all_blocks = o->stale.unknown = true;
	return r < 0 ? r : observe_walk_through(o, NULL);
}

int observe_all(struct engine_owner *o, bool first)
{
	int r;

	o->full_dump_ns = now_monotonic_ns();
	if (first) {
		r = first_dump(o);
		if (r < 0) {
			observe_stale_all(o);
			o->stale.unknown = true;
		}
		return r;
	}
	observe_stale_all(o);
	return observe_refresh(o);
}

/* Each part stays stale until its dump has worked. */
static int refresh_devices(struct engine_owner *o)
{
	struct stale *s = &o->stale;
	int r = 0;

	if (s->links) {
		s->links = false;
		r = refresh_links(o);
		s->links |= r < 0;
	}
	if (r == 0 && s->addresses) {
		s->addresses = false;
		r = refresh_addresses(o);
		s->addresses |= r < 0;
	}
	if (r == 0 && s->qdiscs) {
		s->qdiscs = false;
		r = refresh_qdiscs(o);
		s->qdiscs |= r < 0;
	}
	if (r == 0 && s->tx) {
		s->tx = false;
		r = observe_tx(o);
		s->tx |= r < 0;
	}
	return r;
}

void observe_now(struct engine_owner *o)
{
	o->full_dump_ns = 0;
}

const char *observe_words(int r)
{
	return r == -EAGAIN ? "it changes faster than it can be read" : strerror(-r);
}

void observe_tell(struct engine_owner *o, int r)
{
	if (r < 0)
		alert_set(&o->alerts, "dump", "kernel", "the kernel can't be read, tried again: %s",
			  observe_words(r));
	else
		alert_end(&o->alerts, "dump", "kernel");
}

int observe_devices(struct engine_owner *o)
{
	bool everything = o->stale.links && o->stale.qdiscs && o->stale.all_blocks;
	uint64_t now = now_monotonic_ns();
	int r;

	if (!o->stale.links && !o->stale.addresses && !o->stale.qdiscs && !o->stale.tx)
		return 0;
	/* A storm of lost events becomes one dump of everything now and then. */
	if (everything && o->full_dump_ns && now - o->full_dump_ns < FULL_DUMP_GAP_NS &&
	    now > o->full_dump_ns) {
		owner_sooner(&o->repair_due, o->full_dump_ns + FULL_DUMP_GAP_NS);
		return -EBUSY;
	}
	if (everything)
		o->full_dump_ns = now;
	r = refresh_devices(o);
	if (r < 0)
		observe_tell(o, r);
	o->walk.due = 0;
	owner_changed(o);
	return r;
}

int observe_refresh(struct engine_owner *o)
{
	int r;

	if (!observe_is_stale(o))
		return 0;
	r = observe_devices(o);
	if (r == -EBUSY)
		return r;
	if (r == 0)
		r = observe_walk_through(o, NULL);
	observe_tell(o, r);
	return r;
}

int observe_counters(struct engine_owner *o, uint32_t block,
		     void (*between)(struct engine_owner *o))
{
	int r = refresh_qdiscs(o);

	if (block)
		observe_stale_block(o, block);
	else
		o->stale.all_blocks = true;
	if (r == 0)
		r = observe_walk_through(o, between);
	if (r == 0)
		o->counters_ns = now_realtime_ns();
	return r;
}

int observe_ask(struct engine_owner *o, const struct object *key)
{
	_cleanup_object_ struct object *now = NULL;
	/* The key may be the found object itself, which must not go while we use it. */
	_cleanup_object_ struct object *held = object_ref(key);
	int r;

	if (key->kind == KIND_FILTER && ((const struct filter *)key)->handle == 0)
		return refresh_pref(o, (const struct filter *)key);
	pulse_wait(o->pulse);
	r = kernel_get(o->kernel, key, &now);
	pulse_go(o->pulse);
	if (r < 0 && r != -ENOENT)
		return r;
	if (key->kind == KIND_PORT || key->kind == KIND_VLAN) {
		if (r == 0)
			observe_dev_new(o, now);
		else
			observe_dev_gone(o, observe_dev_name(key));
	} else if (key->kind == KIND_QDISC) {
		if (r == 0)
			observe_qdisc_new(o, (const struct qdisc *)now, false);
		else
			observe_qdisc_gone(o, (const struct qdisc *)key, false);
	} else if (r == 0) {
		observe_put(o, now);
	} else {
		observe_drop(o, key);
	}
	return r;
}

/* After an answer: what can't be asked for is not known. */
static void ask_or_doubt(struct engine_owner *o, const struct object *key)
{
	int r = observe_ask(o, key);

	if (r < 0 && r != -ENOENT)
		observe_stale_all(o);
}

static void took_filter(struct engine_owner *o, const struct kernel_request *req)
{
	if (req->op == KERNEL_REMOVE && !req->echo) {
		observe_drop(o, req->found);
		return;
	}
	if (req->echo)
		observe_put(o, req->echo);
	else
		ask_or_doubt(o, req->wanted);
}

/* What it binds is the kernel's word: Linux takes a second clsact with blocks and binds nothing. */
static void took_qdisc(struct engine_owner *o, const struct kernel_request *req)
{
	if (req->op == KERNEL_REMOVE)
		observe_qdisc_gone(o, (const struct qdisc *)req->found, true);
	else if (req->echo)
		observe_qdisc_new(o, (const struct qdisc *)req->echo, true);
	else
		o->stale.qdiscs = true;
}

void observe_took(struct engine_owner *o, const struct kernel_request *req)
{
	const struct object *key = req->wanted ? req->wanted : req->found;

	if (req->outcome == KERNEL_NOT_SENT)
		return;
	/* Refused: only what disagrees with what we thought is worth a question. */
	if (req->outcome == KERNEL_REFUSED) {
		if (req->error == -EEXIST || req->error == -ENOENT || req->error == -ENODEV)
			ask_or_doubt(o, key);
		return;
	}
	if (req->outcome == KERNEL_UNKNOWN) {
		ask_or_doubt(o, key);
		return;
	}
	if (key->kind == KIND_FILTER)
		took_filter(o, req);
	else if (key->kind == KIND_QDISC)
		took_qdisc(o, req);
	else
		ask_or_doubt(o, key);
}
