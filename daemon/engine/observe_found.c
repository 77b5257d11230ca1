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
	/* Whether a new filter may stay is not for us to say. */
	return now->kind != KIND_FILTER ||
	       (before && kind_ops(KIND_FILTER)->satisfied(before, now));
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

/* Where filters may be other than wanted, since this came or went. */
static void touch(struct engine_owner *o, const struct object *object)
{
	const struct filter *f = (const struct filter *)object;
	const struct qdisc *q = (const struct qdisc *)object;

	switch ((enum kind)object->kind) {
	case KIND_FILTER:
		if (f->owner == OWNER_OURS)
			places_add(&o->touched, f);
		else
			touch_foreign(o, f);
		return;
	case KIND_QDISC:
		places_add_block(&o->touched, q->ingress_block);
		places_add_block(&o->touched, q->egress_block);
		return;
	case KIND_PORT:
	case KIND_VLAN:
		o->touched.all = true; /* filters name devices */
		return;
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
	if (!before)
		return;
	touch(o, before);
	if (state_remove(o->found, key) < 0)
		observe_stale_all(o);
	else
		count(o, before, -1);
}

void observe_put(struct engine_owner *o, const struct object *object)
{
	_cleanup_object_ struct object *before = object_ref(state_find(o->found, object));
	struct object *ref = object_ref(object);

	if (!is_as_wanted(o, before, object))
		unsettled(o);
	if (!before || !kind_ops(object->kind)->satisfied(before, object)) {
		if (before)
			touch(o, before);
		touch(o, object);
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
