// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The steps for VLANs: see diff.h. Linux has one VLAN device for a link, a protocol and an id, so
 * what holds the place of a wanted one under another name goes before that comes. With a device go
 * those that rest on it, its addresses and its qdisc.
 */
#include "daemon/engine/diff.h"

#include <errno.h>

#include "daemon/engine/owned.h"

#define VLANS_STACKED 8 /* as many as Linux stacks devices (MAX_NEST_DEV) */

bool diff_dev_went(const struct diff_walk *w, const char *dev)
{
	const struct vlan *v = state_vlan(w->in->found, dev);

	return v && (diff_name_in(&w->fresh, dev) || diff_name_in(&w->early, dev) ||
		     diff_dev_went(w, v->link));
}

/* Takes a device away, and before it what rests on it, each by a step that can be undone. */
static int take_vlan(struct diff_walk *w, const struct vlan *v, enum step_reason reason)
{
	int r = 0;

	for (size_t i = 0; i < state_count(w->in->found, KIND_VLAN) && r == 0; i++) {
		const struct vlan *upper = state_at(w->in->found, KIND_VLAN, i);

		if (streq(upper->link, v->name) && owned_has(w->in->owned, &upper->obj) &&
		    !diff_dev_went(w, upper->name))
			r = take_vlan(w, upper,
				      diff_is_leftover(w, &upper->obj) ? STEP_LEFTOVER
								       : STEP_DIFFERENT);
	}
	if (r == 0)
		r = diff_qdisc_with(w, v->name);
	if (r == 0)
		r = plan_add(w->plan, KERNEL_REMOVE, reason, NULL, &v->obj);
	return r == 0 ? diff_name_add(&w->early, v->name) : r;
}

/* Another device that is what the wanted one shall be. */
static const struct vlan *in_the_way(const struct diff_walk *w, const struct vlan *wanted)
{
	for (size_t i = 0; i < state_count(w->in->found, KIND_VLAN); i++) {
		const struct vlan *v = state_at(w->in->found, KIND_VLAN, i);

		if (streq(v->link, wanted->link) && v->id == wanted->id &&
		    v->protocol == wanted->protocol && !streq(v->name, wanted->name) &&
		    !diff_dev_went(w, v->name))
			return v;
	}
	return NULL;
}

/* The VLAN, or one above it, if nobody wants it but it stays; or NULL. */
static const struct vlan *kept_on(const struct diff_walk *w, const struct vlan *v)
{
	const struct vlan *kept = NULL;

	if (diff_is_leftover(w, &v->obj) && !diff_name_in(&w->gone, v->name))
		return v;
	for (size_t i = 0; i < state_count(w->in->found, KIND_VLAN) && !kept; i++) {
		const struct vlan *upper = state_at(w->in->found, KIND_VLAN, i);

		if (streq(upper->link, v->name))
			kept = kept_on(w, upper);
	}
	return kept;
}

static int vlan_make(struct diff_walk *w, const struct vlan *wanted, enum step_reason reason,
		     const struct vlan *old)
{
	const struct vlan *other = in_the_way(w, wanted);
	const struct vlan *kept = old ? kept_on(w, old) : NULL;
	int r = 0;

	if (other && !owned_has(w->in->owned, &other->obj))
		return plan_conflict(w->plan, &wanted->obj, true,
				     "VLAN %u of %s is there as %s and not swd's", wanted->id,
				     wanted->link, other->name);
	if (!kept && other)
		kept = kept_on(w, other);
	if (kept)
		return plan_conflict(w->plan, &wanted->obj, true,
				     "%s would have to go first, and stays", kept->name);
	if (old)
		r = take_vlan(w, old, reason);
	if (r == 0 && other && !diff_dev_went(w, other->name))
		r = take_vlan(w, other,
			      diff_is_leftover(w, &other->obj) ? STEP_LEFTOVER : STEP_DIFFERENT);
	if (r == 0)
		r = plan_add(w->plan, KERNEL_ADD, reason, &wanted->obj, NULL);
	if (r == 0)
		r = diff_name_add(&w->fresh, wanted->name);
	return r;
}

static int diff_vlan(struct diff_walk *w, const struct vlan *wanted)
{
	const struct vlan *found = state_vlan(w->in->found, wanted->name);

	if (!found && state_port(w->in->found, wanted->name))
		return plan_conflict(w->plan, &wanted->obj, true,
				     "a device %s is there and is no VLAN", wanted->name);
	if (!found || diff_dev_went(w, found->name))
		return vlan_make(w, wanted, STEP_MISSING, NULL);
	if (!streq(found->link, wanted->link) || found->id != wanted->id ||
	    found->protocol != wanted->protocol) {
		if (!owned_has(w->in->owned, &found->obj))
			return plan_conflict(w->plan, &wanted->obj, true,
					     "%s is there as VLAN %u of %s and not swd's",
					     wanted->name, found->id, found->link);
		return vlan_make(w, wanted, STEP_DIFFERENT, found);
	}
	if (kind_ops(KIND_VLAN)->satisfied(&wanted->obj, &found->obj))
		return 0;
	return plan_add(w->plan, KERNEL_CHANGE, STEP_DIFFERENT, &wanted->obj, &found->obj);
}

/* Its link is not there; what is there under its name, on another one, is not what is wanted. */
static int vlan_waits(struct diff_walk *w, const struct vlan *wanted)
{
	const struct vlan *found = state_vlan(w->in->found, wanted->name);
	int r = 0;

	if (found && owned_has(w->in->owned, &found->obj) && !diff_dev_went(w, found->name) &&
	    !kept_on(w, found))
		r = take_vlan(w, found, STEP_DIFFERENT);
	return r == 0 ? plan_wait(w->plan, wanted->link, &wanted->obj) : r;
}

/* True if the link is another wanted VLAN that has not had its turn. */
static bool link_pending(const struct diff_walk *w, const struct vlan *v, const bool *done)
{
	for (size_t i = 0; i < diff_wanted_count(w, KIND_VLAN); i++) {
		const struct vlan *other = state_at(w->in->wanted, KIND_VLAN, i);

		if (!done[i] && other != v && streq(other->name, v->link))
			return true;
	}
	return false;
}

static int make_vlans(struct diff_walk *w)
{
	size_t n = diff_wanted_count(w, KIND_VLAN);
	_cleanup_free_ bool *done = calloc(n + 1, sizeof(*done));
	bool moved = true;

	if (!done)
		return -ENOMEM;
	/* VLANs in VLANs: each pass takes those whose link is settled. */
	while (moved) {
		moved = false;
		for (size_t i = 0; i < n; i++) {
			const struct vlan *v = state_at(w->in->wanted, KIND_VLAN, i);
			int r;

			if (done[i] || link_pending(w, v, done))
				continue;
			done[i] = true;
			moved = true;
			r = diff_dev_there(w, v->link) ? diff_vlan(w, v) : vlan_waits(w, v);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* A foreign filter that would go with the VLAN or with one above it, or NULL. */
static const struct filter *foreign_on(const struct diff_walk *w, const struct vlan *v, int depth)
{
	const struct filter *foreign = NULL;
	struct qdisc key = { .obj.kind = KIND_QDISC };
	const struct qdisc *q;

	COPY_NAME(key.dev, v->name);
	q = state_find(w->in->found, &key);
	if (q)
		foreign = diff_foreign_of(w, q, true);
	for (size_t i = 0; i < state_count(w->in->found, KIND_VLAN) && depth && !foreign; i++) {
		const struct vlan *upper = state_at(w->in->found, KIND_VLAN, i);

		if (streq(upper->link, v->name))
			foreign = foreign_on(w, upper, depth - 1);
	}
	return foreign;
}

static int mark_leftover_vlans(struct diff_walk *w)
{
	for (size_t i = 0; i < state_count(w->in->found, KIND_VLAN); i++) {
		const struct vlan *v = state_at(w->in->found, KIND_VLAN, i);
		const struct filter *foreign;
		char label[OBJECT_LABEL];
		int r;

		if (!diff_is_leftover(w, &v->obj))
			continue;
		foreign = foreign_on(w, v, VLANS_STACKED);
		if (foreign) {
			object_label(&foreign->obj, label);
			r = plan_conflict(w->plan, &v->obj, false,
					  "stays, since it holds a foreign filter: %s", label);
		} else {
			r = diff_name_add(&w->gone, v->name);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int diff_vlans_wanted(struct diff_walk *w)
{
	int r = mark_leftover_vlans(w);

	return r == 0 ? make_vlans(w) : r;
}

/* Uppers before what they rest on: in each pass those that carry nothing that is still to go. */
int diff_vlans_leftover(struct diff_walk *w)
{
	size_t left = w->gone.count;
	_cleanup_free_ bool *done = calloc(left + 1, sizeof(*done));

	if (!done)
		return -ENOMEM;
	for (size_t pass = 0; pass <= w->gone.count && left > 0; pass++) {
		for (size_t i = 0; i < w->gone.count; i++) {
			const struct vlan *v = state_vlan(w->in->found, w->gone.list[i]);
			bool carries = false;
			int r;

			for (size_t j = 0; j < w->gone.count && !carries; j++)
				carries = !done[j] && j != i &&
					  streq(state_vlan(w->in->found, w->gone.list[j])->link,
						v->name);
			if (done[i] || carries)
				continue;
			r = diff_dev_went(w, v->name) ? 0
						      : plan_add(w->plan, KERNEL_REMOVE,
								 STEP_LEFTOVER, NULL, &v->obj);
			if (r < 0)
				return r;
			done[i] = true;
			left--;
		}
	}
	return 0;
}
