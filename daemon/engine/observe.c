// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading what the kernel holds: dumps, questions, and the outcome of our own requests. See
 * observe.h.
 */
#include "daemon/engine/observe.h"

#include <errno.h>

#include "daemon/engine/renames.h"

#define ASK_MOST 64 /* questions instead of a second dump */
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
	return o->stale.links || o->stale.addresses || o->stale.qdiscs || o->stale.all_blocks ||
	       o->stale.count;
}

void observe_stale_all(struct engine_owner *o)
{
	o->stale.links = o->stale.addresses = o->stale.qdiscs = o->stale.all_blocks = true;
}

void observe_stale_block(struct engine_owner *o, uint32_t block)
{
	struct stale *s = &o->stale;

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

/* ---- one block's filters ---- */

static int put_filters(struct engine_owner *o, const struct state *now, bool first)
{
	for (size_t i = 0; i < state_count(now, KIND_FILTER); i++) {
		const struct filter *f = state_at(now, KIND_FILTER, i);
		int r = 0;

		/* What no event told us of: its history begins with what we see. */
		if (!first && !state_find(o->found, f))
			r = bypass_filter_new(o->bypass, f);
		if (r < 0)
			return r;
		observe_put(o, &f->obj);
	}
	return 0;
}

/* Filters of the block that are in found and not in `now`: references, in a state of their own. */
static int collect_missing(struct engine_owner *o, uint32_t block, const struct state *now,
			   struct state *ret)
{
	size_t i, end;

	state_block_filters(o->found, block, &i, &end);
	for (; i < end; i++) {
		void *f = object_ref(state_at(o->found, KIND_FILTER, i));
		int r = state_find(now, f) ? 1 : state_add(ret, f, NULL);

		if (r != 0)
			object_unref(f);
		if (r < 0)
			return r;
	}
	return 0;
}

static void filter_lost(struct engine_owner *o, const struct filter *f)
{
	_cleanup_object_ struct filter *ref = object_ref(f);

	observe_drop(o, &ref->obj);
	bypass_filter_gone(o->bypass, ref);
}

/*
 * A dump of filters can miss one that is there (it resumes by index). So a few that are missing are
 * asked for by name; when many are, what a second dump misses too is gone.
 */
static int settle_missing(struct engine_owner *o, uint32_t block, const struct state *missing)
{
	size_t n = state_count(missing, KIND_FILTER);
	_cleanup_(state_freep) struct state *again = NULL;
	int r;

	if (n > ASK_MOST) {
		again = state_new();
		r = again ? dump(o, KIND_FILTER, block, again) : -ENOMEM;
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < n; i++) {
		const struct filter *f = state_at(missing, KIND_FILTER, i);

		if (again) {
			if (!state_find(again, f))
				filter_lost(o, f);
			continue;
		}
		r = observe_ask(o, &f->obj);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return 0;
}

static int refresh_block(struct engine_owner *o, uint32_t block, bool first)
{
	_cleanup_(state_freep) struct state *now = state_new();
	_cleanup_(state_freep) struct state *missing = state_new();
	int r;

	if (!now || !missing)
		return -ENOMEM;
	r = dump(o, KIND_FILTER, block, now);
	if (r == 0)
		r = collect_missing(o, block, now, missing);
	if (r == 0)
		r = put_filters(o, now, first);
	if (r == 0)
		r = settle_missing(o, block, missing);
	return r;
}

/* The blocks that found qdiscs bind, rising, each once. Others do not exist in the kernel. */
static int bound_blocks(const struct engine_owner *o, uint32_t **ret, size_t *ret_n)
{
	size_t n = state_count(o->found, KIND_QDISC), used = 0, space = 0;
	_cleanup_free_ uint32_t *list = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct qdisc *q = state_at(o->found, KIND_QDISC, i);
		uint32_t ids[2] = { q->ingress_block, q->egress_block };

		for (size_t j = 0; j < 2; j++) {
			size_t at = 0;
			int r;

			while (at < used && list[at] < ids[j])
				at++;
			if (!ids[j] || (at < used && list[at] == ids[j]))
				continue;
			r = grow(&list, &space, used, sizeof(*list));
			if (r < 0)
				return r;
			memmove(&list[at + 1], &list[at], (used - at) * sizeof(*list));
			list[at] = ids[j];
			used++;
		}
	}
	*ret = take(list);
	*ret_n = used;
	return 0;
}

/* The same for one pref: the kernel tells of its end in one word. */
static int refresh_pref(struct engine_owner *o, const struct filter *key)
{
	_cleanup_(state_freep) struct state *now = state_new();
	size_t i;
	int r;

	if (!now)
		return -ENOMEM;
	pulse_wait(o->pulse);
	r = kernel_dump_pref(o->kernel, key, now);
	pulse_go(o->pulse);
	if (r < 0)
		return r;
	i = state_lower(o->found, key);
	while (i < state_count(o->found, KIND_FILTER)) {
		_cleanup_object_ struct filter *f = object_ref(state_at(o->found, KIND_FILTER, i));

		if (f->block != key->block || f->chain != key->chain || f->pref != key->pref ||
		    (key->protocol && f->protocol != key->protocol))
			break;
		if (state_find(now, f))
			i++;
		else
			observe_drop(o, &f->obj);
	}
	return put_filters(o, now, false);
}

static int refresh_all_blocks(struct engine_owner *o, bool unknown)
{
	_cleanup_free_ uint32_t *blocks = NULL;
	size_t n;
	int r = bound_blocks(o, &blocks, &n);

	for (size_t i = 0; i < n && r == 0; i++) {
		r = refresh_block(o, blocks[i], unknown);
		/* Marks may be there that no dump shows. */
		if (r == 0 && unknown)
			r = bypass_block_found(o->bypass, blocks[i], o->found);
	}
	return r;
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
	if (r == 0)
		r = refresh_all_blocks(o, true);
	return r;
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
static int refresh_parts(struct engine_owner *o)
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
	if (r == 0 && s->all_blocks) {
		s->all_blocks = false;
		s->count = 0;
		r = refresh_all_blocks(o, s->unknown);
		s->all_blocks |= r < 0;
		s->unknown &= r < 0;
	}
	while (r == 0 && s->count) {
		uint32_t block = s->blocks[--s->count];

		r = refresh_block(o, block, false);
		if (r < 0)
			observe_stale_block(o, block);
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

int observe_refresh(struct engine_owner *o)
{
	bool everything = o->stale.links && o->stale.qdiscs && o->stale.all_blocks;
	uint64_t now = now_monotonic_ns();
	int r;

	if (!observe_is_stale(o))
		return 0;
	/* A storm of lost events becomes one dump of everything now and then. */
	if (everything && o->full_dump_ns && now - o->full_dump_ns < FULL_DUMP_GAP_NS &&
	    now > o->full_dump_ns) {
		owner_sooner(&o->repair_due, o->full_dump_ns + FULL_DUMP_GAP_NS);
		return -EBUSY;
	}
	if (everything)
		o->full_dump_ns = now;
	r = refresh_parts(o);
	observe_tell(o, r);
	owner_changed(o);
	return r;
}

int observe_counters(struct engine_owner *o, uint32_t block)
{
	int r = refresh_qdiscs(o);

	if (r == 0)
		r = block ? refresh_block(o, block, false) : refresh_all_blocks(o, false);
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
	if (key->kind == KIND_FILTER) {
		took_filter(o, req);
	} else if (key->kind == KIND_QDISC && req->op == KERNEL_REMOVE) {
		observe_qdisc_gone(o, (const struct qdisc *)key, true);
	} else if (key->kind == KIND_QDISC) {
		/* Linux takes a second clsact with blocks and binds nothing: read it back. */
		_cleanup_object_ struct object *now = NULL;

		pulse_wait(o->pulse);
		if (kernel_get(o->kernel, key, &now) == 0)
			observe_qdisc_new(o, (const struct qdisc *)now, true);
		else
			o->stale.qdiscs = true;
		pulse_go(o->pulse);
	} else {
		ask_or_doubt(o, key);
	}
}
