// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The steps for VLANs: see diff.h. Linux has one VLAN device for a link, a protocol and an id, so
 * what holds the place of a wanted one under another name goes before that comes. With a device go
 * those that rest on it, its addresses and its qdisc.
 */
#include "daemon/engine/diff.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>

#include "daemon/engine/owned.h"

#define VLANS_STACKED 8 /* as many as Linux stacks devices (MAX_NEST_DEV) */

bool diff_dev_went(const struct diff_walk *w, const char *dev)
{
	const struct vlan *v = state_vlan(w->in->found, dev);

	return v && (diff_name_in(&w->fresh, dev) || diff_name_in(&w->early, dev) ||
		     diff_dev_went(w, v->link));
}

/* ---- what others have on a VLAN ---- */

/* Neither made by swd, nor such as it would put back. */
static bool is_foreign(const struct diff_walk *w, const struct object *o)
{
	const struct object *wanted = w->in->wanted ? state_find(w->in->wanted, o) : NULL;

	return !owned_has(w->in->owned, o) && !(wanted && owned_is(wanted, o));
}

static const struct object *foreign_address(const struct diff_walk *w, const char *dev)
{
	for (size_t i = 0; i < state_count(w->in->found, KIND_ADDRESS); i++) {
		const struct address *a = state_at(w->in->found, KIND_ADDRESS, i);

		/* Those of the link's own come and go with it; who made one for a time renews it.
		 */
		if (streq(a->dev, dev) && a->scope != RT_SCOPE_LINK && !a->passing &&
		    is_foreign(w, &a->obj))
			return &a->obj;
	}
	return NULL;
}

/*
 * The first of what others have on the VLAN, or on one above it, and would go with it; or NULL.
 * early: see diff_foreign_on().
 */
static const struct object *foreign_on(const struct diff_walk *w, const struct vlan *v, bool early,
				       int depth)
{
	const struct object *foreign = diff_foreign_on(w, v->name, early);

	for (size_t i = 0; i < state_count(w->in->found, KIND_VLAN) && depth && !foreign; i++) {
		const struct vlan *upper = state_at(w->in->found, KIND_VLAN, i);

		if (!streq(upper->link, v->name) || diff_dev_went(w, upper->name))
			continue;
		foreign = is_foreign(w, &upper->obj) ? &upper->obj
						     : foreign_on(w, upper, early, depth - 1);
	}
	for (size_t i = 0; i < state_count(w->in->found, KIND_PORT) && !foreign; i++) {
		const struct port *upper = state_at(w->in->found, KIND_PORT, i);

		if (streq(upper->facts.lower, v->name))
			foreign = &upper->obj;
	}
	return foreign ? foreign : foreign_address(w, v->name);
}

static int conflict_held(struct diff_walk *w, const struct object *object, bool blocking,
			 const char *who, const struct object *foreign)
{
	bool device = foreign->kind == KIND_PORT || foreign->kind == KIND_VLAN;
	char label[OBJECT_LABEL];

	object_label(foreign, label);
	return plan_conflict(w->plan, object, blocking, "%s holds a foreign %s: %s", who,
			     device ? "device" : kind_ops((enum kind)foreign->kind)->name, label);
}

/* What must go before the wanted one comes, and can't. */
static int conflict_first(struct diff_walk *w, const struct vlan *wanted, const struct vlan *v,
			  const struct object *foreign)
{
	char who[IFNAMSIZ + 32];

	snprintf(who, sizeof(who), "%s would have to go first, and", v->name);
	return conflict_held(w, &wanted->obj, true, who, foreign);
}

/* ---- steps ---- */

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

static int vlan_make(struct diff_walk *w, const struct vlan *wanted, enum step_reason reason,
		     const struct vlan *old)
{
	const struct vlan *other = in_the_way(w, wanted);
	const struct object *foreign = old ? foreign_on(w, old, true, VLANS_STACKED) : NULL;
	int r = 0;

	if (other && !owned_has(w->in->owned, &other->obj))
		return plan_conflict(w->plan, &wanted->obj, true,
				     "VLAN %u of %s is there as %s and not swd's", wanted->id,
				     wanted->link, other->name);
	if (foreign)
		return conflict_first(w, wanted, old, foreign);
	if (other)
		foreign = foreign_on(w, other, true, VLANS_STACKED);
	if (foreign)
		return conflict_first(w, wanted, other, foreign);
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
	const struct object *foreign;
	int r = 0;

	if (found && owned_has(w->in->owned, &found->obj) && !diff_dev_went(w, found->name)) {
		foreign = foreign_on(w, found, true, VLANS_STACKED);
		r = foreign ? conflict_first(w, wanted, found, foreign)
			    : take_vlan(w, found, STEP_DIFFERENT);
	}
	return r == 0 ? plan_wait(w->plan, wanted->link, &wanted->obj) : r;
}

/* True if the link is another wanted VLAN that has not had its turn. */
static bool link_pending(const struct diff_walk *w, const struct vlan *v, const bool *done)
{
	const struct vlan *link = state_vlan(w->in->wanted, v->link);

	return link && link != v && !done[state_lower(w->in->wanted, link)];
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

/* early: those that may go before anything comes; else the rest, or it is told why they stay. */
static int mark_leftover_vlans(struct diff_walk *w, bool early)
{
	for (size_t i = 0; i < state_count(w->in->found, KIND_VLAN); i++) {
		const struct vlan *v = state_at(w->in->found, KIND_VLAN, i);
		const struct object *foreign;
		int r = 0;

		if (!diff_is_leftover(w, &v->obj) || diff_name_in(&w->gone, v->name))
			continue;
		foreign = foreign_on(w, v, early, VLANS_STACKED);
		if (!foreign)
			r = diff_name_add(&w->gone, v->name);
		else if (!early)
			r = conflict_held(w, &v->obj, false, "stays, since it", foreign);
		if (r < 0)
			return r;
	}
	return 0;
}

int diff_vlans_wanted(struct diff_walk *w)
{
	int r = mark_leftover_vlans(w, true);

	if (r == 0)
		r = make_vlans(w);
	return r == 0 ? mark_leftover_vlans(w, false) : r;
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
