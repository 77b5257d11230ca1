// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writing into found: see observe.h. Here it is noticed whether what came or went leaves something
 * to do, and where a repair has to look.
 */
#include "daemon/engine/observe.h"

static const struct object *wanted_of(const struct engine_owner *o, const struct object *key)
{
	const struct state *in = key->kind == KIND_FILTER ? o->filters
				 : o->config		  ? o->config->wanted
							  : NULL;

	return in ? state_find(in, key) : NULL;
}

/* Repair will look; but that there is something to do is known from here on. */
static void unsettled(struct engine_owner *o)
{
	if (!o->settled)
		return;
	o->settled = false;
	owner_changed(o);
}

/* Does it leave something to do? Our own changes come back as events, and leave nothing. */
static bool is_as_wanted(const struct engine_owner *o, const struct object *before,
			 const struct object *now)
{
	const struct object *wanted = wanted_of(o, now);

	if (now->kind == KIND_PORT || now->kind == KIND_VLAN)
		return before && (!wanted || kind_ops(now->kind)->satisfied(wanted, now));
	if (wanted)
		return kind_ops(now->kind)->satisfied(wanted, now);
	/* Whether a new filter may stay is not for us to say; and ours may not. */
	return now->kind != KIND_FILTER ||
	       (before && kind_ops(KIND_FILTER)->satisfied(before, now) &&
		((const struct filter *)now)->owner != OWNER_OURS);
}

/* What is not ours may be in the way of those in its pref, and keep the shortcut away. */
static void touch_foreign(struct engine_owner *o, const struct filter *f)
{
	const struct filter *front;
	size_t first, end;

	places_add(&o->touched, f);
	if (!o->filters)
		return;
	state_block_filters(o->filters, f->block, &first, &end);
	front = first < end ? state_at(o->filters, KIND_FILTER, first) : NULL;
	if (front && front->role == FILTER_ROLE_SHORTCUT)
		places_add(&o->touched, front);
}

void observe_touch(struct engine_owner *o, const struct filter *f)
{
	if (f->owner == OWNER_OURS)
		places_add(&o->touched, f);
	else
		touch_foreign(o, f);
}

static bool binds(const struct qdisc *q, uint32_t block)
{
	return q->ingress_block == block || q->egress_block == block;
}

/* True if another wanted clsact binds the block: then the kernel holds its filters all the time. */
static bool is_held(const struct engine_owner *o, const struct qdisc *but, uint32_t block)
{
	const struct state *wanted = o->config ? o->config->wanted : NULL;

	for (size_t i = 0; wanted && i < state_count(wanted, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(wanted, KIND_QDISC, i);
		const struct qdisc *found = binds(q, block) && !streq(q->dev, but->dev)
						    ? state_find(o->found, q)
						    : NULL;

		if (found && binds(found, block))
			return true;
	}
	return false;
}

static void touch_block(struct engine_owner *o, const struct qdisc *q, uint32_t block)
{
	if (block && !is_held(o, q, block))
		places_add_block(&o->touched, block);
}

/* A device came or went: filters name devices. */
static void touch_users(struct engine_owner *o, const char *name)
{
	size_t first, end;

	if (users_of(&o->users, o->filters, name, &first, &end) < 0)
		o->touched.all = true;
	for (; first < end; first++)
		places_add_block(&o->touched, o->users.list[first].block);
}

/* Where filters may be other than wanted, since this came, went, or became other than before. */
static void touch(struct engine_owner *o, const struct object *object, bool other)
{
	const struct qdisc *q = (const struct qdisc *)object;

	switch ((enum kind)object->kind) {
	case KIND_FILTER:
		observe_touch(o, (const struct filter *)object);
		return;
	case KIND_QDISC:
		touch_block(o, q, q->ingress_block);
		touch_block(o, q, q->egress_block);
		return;
	case KIND_PORT:
	case KIND_VLAN:
		if (!other)
			touch_users(o, observe_dev_name(object));
		return;
	case KIND_TX:
	case KIND_ADDRESS:
	case KIND_BLOCK:
	case KIND_RULE:
	case KIND_COUNT_:
		return;
	}
}

static void count(struct engine_owner *o, const struct object *object, int by)
{
	if (object->kind == KIND_FILTER)
		bypass_count(o->bypass, (const struct filter *)object, by);
}

void observe_drop(struct engine_owner *o, const struct object *key)
{
	_cleanup_object_ struct object *before = object_ref(state_find(o->found, key));

	if (wanted_of(o, key))
		unsettled(o);
	observe_walk_heard(o, key);
	if (!before)
		return;
	touch(o, before, false);
	if (state_remove(o->found, key) < 0)
		observe_stale_all(o);
	else
		count(o, before, -1);
}

static void put(struct engine_owner *o, const struct object *object)
{
	_cleanup_object_ struct object *before = object_ref(state_find(o->found, object));
	struct object *ref = object_ref(object);
	bool as_wanted = is_as_wanted(o, before, object);

	if (!as_wanted)
		unsettled(o);
	if (!before || !kind_ops(object->kind)->satisfied(before, object)) {
		if (before)
			touch(o, before, true);
		touch(o, object, before);
	} else if (!as_wanted && object->kind == KIND_FILTER) {
		observe_touch(o, (const struct filter *)object);
	}
	if (state_put(o->found, ref) < 0) {
		object_unref(ref);
		observe_stale_all(o);
		return;
	}
	if (before)
		count(o, before, -1);
	count(o, object, 1);
}

void observe_put(struct engine_owner *o, const struct object *object)
{
	observe_walk_heard(o, object);
	put(o, object);
}

int observe_read(struct engine_owner *o, const struct filter *f)
{
	int r = state_find(o->found, f) ? 0 : bypass_filter_new(o->bypass, f);

	if (r == 0)
		put(o, &f->obj);
	return r;
}
