// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order of the whole, and the steps for ports, VLANs, addresses and qdiscs: see diff.h.
 */
#include "daemon/engine/diff.h"

#include <errno.h>

#include "daemon/engine/owned.h"

static size_t count(const struct state *s, enum kind kind)
{
	return s ? state_count(s, kind) : 0;
}

static int name_add(char (**list)[IFNAMSIZ], size_t *n, size_t *space, const char *name)
{
	int r = grow(list, space, *n, IFNAMSIZ);

	if (r < 0)
		return r;
	copy_name((*list)[(*n)++], IFNAMSIZ, name);
	return 0;
}

static bool name_in(char (*list)[IFNAMSIZ], size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (streq(list[i], name))
			return true;
	return false;
}

static bool is_fresh(const struct diff_walk *w, const char *dev)
{
	return name_in(w->fresh, w->fresh_count, dev);
}

static bool is_gone(const struct diff_walk *w, const char *dev)
{
	return name_in(w->gone, w->gone_count, dev);
}

static bool found_dev(const struct state *found, const char *dev)
{
	return state_port(found, dev) || state_vlan(found, dev);
}

bool diff_dev_there(const struct diff_walk *w, const char *dev)
{
	return is_fresh(w, dev) || found_dev(w->in->found, dev);
}

/* ---- ports ---- */

/* True if another device rests on it: then it goes first (a DSA conduit must be up first). */
static bool carries_others(const struct state *found, const char *name)
{
	for (size_t i = 0; i < state_count(found, KIND_PORT); i++) {
		const struct port *p = state_at(found, KIND_PORT, i);

		if (streq(p->facts.lower, name))
			return true;
	}
	return false;
}

/* A VLAN device that the file lists as a port: seen as one. */
static struct port *port_of_vlan(const struct vlan *v)
{
	struct port *p = object_new(KIND_PORT, sizeof(*p));

	if (!p)
		return NULL;
	memcpy(p->name, v->name, sizeof(p->name));
	p->has = v->has;
	p->mtu = v->mtu;
	p->up = v->up;
	p->facts = v->facts;
	return p;
}

int diff_found_port(const struct state *found, const char *name, struct port **ret)
{
	const struct port *p = state_port(found, name);
	const struct vlan *v = state_vlan(found, name);

	*ret = p ? object_ref(p) : v ? port_of_vlan(v) : NULL;
	return *ret || (!p && !v) ? 0 : -ENOMEM;
}

static int diff_port(struct diff_walk *w, const struct port *wanted)
{
	_cleanup_object_ struct port *found = NULL;
	int r = diff_found_port(w->in->found, wanted->name, &found);

	if (r < 0)
		return r;
	if (!found)
		return plan_wait(w->plan, wanted->name, &wanted->obj);
	if (kind_ops(KIND_PORT)->satisfied(&wanted->obj, &found->obj))
		return 0;
	return plan_add(w->plan, KERNEL_CHANGE, STEP_DIFFERENT, &wanted->obj, &found->obj);
}

static int diff_ports(struct diff_walk *w)
{
	for (int lower = 1; lower >= 0; lower--) {
		for (size_t i = 0; i < count(w->in->wanted, KIND_PORT); i++) {
			const struct port *p = state_at(w->in->wanted, KIND_PORT, i);
			int r;

			if (carries_others(w->in->found, p->name) != lower)
				continue;
			r = diff_port(w, p);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* ---- VLANs ---- */

static int vlan_make(struct diff_walk *w, const struct vlan *wanted, enum step_reason reason,
		     const struct vlan *old)
{
	int r = 0;

	if (old)
		r = plan_add(w->plan, KERNEL_REMOVE, reason, NULL, &old->obj);
	if (r == 0)
		r = plan_add(w->plan, KERNEL_ADD, reason, &wanted->obj, NULL);
	if (r == 0)
		r = name_add(&w->fresh, &w->fresh_count, &w->fresh_space, wanted->name);
	return r;
}

static int diff_vlan(struct diff_walk *w, const struct vlan *wanted)
{
	const struct vlan *found = state_vlan(w->in->found, wanted->name);

	if (!found && state_port(w->in->found, wanted->name))
		return plan_conflict(w->plan, &wanted->obj, true,
				     "a device %s is there and is no VLAN", wanted->name);
	/* A device that rests on a fresh one went with the old one. */
	if (!found || is_fresh(w, wanted->link))
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

/* True if the link is another wanted VLAN that has not had its turn. */
static bool link_pending(const struct diff_walk *w, const struct vlan *v, const bool *done)
{
	for (size_t i = 0; i < count(w->in->wanted, KIND_VLAN); i++) {
		const struct vlan *other = state_at(w->in->wanted, KIND_VLAN, i);

		if (!done[i] && other != v && streq(other->name, v->link))
			return true;
	}
	return false;
}

static int diff_vlans(struct diff_walk *w)
{
	size_t n = count(w->in->wanted, KIND_VLAN);
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
			r = diff_dev_there(w, v->link) ? diff_vlan(w, v)
						       : plan_wait(w->plan, v->link, &v->obj);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static bool is_leftover(const struct diff_walk *w, const struct object *found)
{
	return owned_has(w->in->owned, found) &&
	       !(w->in->wanted && state_find(w->in->wanted, found));
}

static int mark_leftover_vlans(struct diff_walk *w)
{
	for (size_t i = 0; i < state_count(w->in->found, KIND_VLAN); i++) {
		const struct vlan *v = state_at(w->in->found, KIND_VLAN, i);
		int r = is_leftover(w, &v->obj)
				? name_add(&w->gone, &w->gone_count, &w->gone_space, v->name)
				: 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* Uppers before what they rest on: in each pass those that carry nothing that is still to go. */
static int remove_leftover_vlans(struct diff_walk *w)
{
	size_t left = w->gone_count;
	_cleanup_free_ bool *done = calloc(left + 1, sizeof(*done));

	if (!done)
		return -ENOMEM;
	for (size_t pass = 0; pass <= w->gone_count && left > 0; pass++) {
		for (size_t i = 0; i < w->gone_count; i++) {
			const struct vlan *v = state_vlan(w->in->found, w->gone[i]);
			bool carries = false;
			int r;

			for (size_t j = 0; j < w->gone_count && !carries; j++)
				carries =
					!done[j] && j != i &&
					streq(state_vlan(w->in->found, w->gone[j])->link, v->name);
			if (done[i] || carries)
				continue;
			r = plan_add(w->plan, KERNEL_REMOVE, STEP_LEFTOVER, NULL, &v->obj);
			if (r < 0)
				return r;
			done[i] = true;
			left--;
		}
	}
	return 0;
}

/* ---- addresses ---- */

static int diff_addresses(struct diff_walk *w)
{
	for (size_t i = 0; i < count(w->in->wanted, KIND_ADDRESS); i++) {
		const struct address *a = state_at(w->in->wanted, KIND_ADDRESS, i);
		int r = 0;

		if (!diff_dev_there(w, a->dev))
			r = plan_wait(w->plan, a->dev, &a->obj);
		else if (is_fresh(w, a->dev) || !state_find(w->in->found, a))
			r = plan_add(w->plan, KERNEL_ADD, STEP_MISSING, &a->obj, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

static int remove_leftover_addresses(struct diff_walk *w)
{
	for (size_t i = state_count(w->in->found, KIND_ADDRESS); i-- > 0;) {
		const struct address *a = state_at(w->in->found, KIND_ADDRESS, i);
		int r = 0;

		/* With a device that goes or is made anew, its addresses go by themselves. */
		if (is_leftover(w, &a->obj) && !is_gone(w, a->dev) && !is_fresh(w, a->dev))
			r = plan_add(w->plan, KERNEL_REMOVE, STEP_LEFTOVER, NULL, &a->obj);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- qdiscs ---- */

static bool binds(const struct qdisc *q, uint32_t block)
{
	return block && (q->ingress_block == block || q->egress_block == block);
}

bool diff_block_bound(const struct diff_walk *w, uint32_t block)
{
	for (size_t i = 0; i < count(w->in->wanted, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(w->in->wanted, KIND_QDISC, i);

		if (binds(q, block) && diff_dev_there(w, q->dev)) {
			const struct qdisc *found = state_find(w->in->found, q);

			/* A foreign one that stays in its place binds nothing of ours. */
			if (!found || is_fresh(w, q->dev) || binds(found, block) || q->takeover ||
			    owned_has(w->in->owned, &found->obj))
				return true;
		}
	}
	return false;
}

bool diff_block_survives(const struct diff_walk *w, uint32_t block)
{
	for (size_t i = 0; i < state_count(w->in->found, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(w->in->found, KIND_QDISC, i);

		if (binds(q, block) && !is_fresh(w, q->dev) &&
		    !name_in(w->rebound, w->rebound_count, q->dev))
			return true;
	}
	return false;
}

/* True if the file has a place for the block: its filters are judged there. */
static bool block_wanted(const struct diff_walk *w, uint32_t block)
{
	return w->in->wanted && state_block(w->in->wanted, block);
}

/* True if another binding of the block was replaced before. */
static bool is_drained(const struct diff_walk *w, uint32_t block)
{
	for (size_t i = 0; i < count(w->in->found, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(w->in->found, KIND_QDISC, i);

		if (binds(q, block) && name_in(w->rebound, w->rebound_count, q->dev))
			return true;
	}
	return false;
}

/* The filters of a block whose last binding is replaced must go in time, so that they can be put
 * back: with the first of its bindings, and once, or the undo would put them back twice. */
static int drain_block(struct diff_walk *w, uint32_t block)
{
	if (!block || block_wanted(w, block) || is_drained(w, block))
		return 0;
	return diff_filters_remove(w, block);
}

static int replace_qdisc(struct diff_walk *w, const struct qdisc *wanted, const struct qdisc *found,
			 enum step_reason reason)
{
	int r = drain_block(w, found->ingress_block);

	if (r == 0 && found->egress_block != found->ingress_block)
		r = drain_block(w, found->egress_block);
	if (r == 0)
		r = plan_add(w->plan, KERNEL_REMOVE, reason, NULL, &found->obj);
	if (r == 0)
		r = plan_add(w->plan, KERNEL_ADD, reason, &wanted->obj, NULL);
	if (r == 0)
		r = name_add(&w->rebound, &w->rebound_count, &w->rebound_space, wanted->dev);
	return r;
}

static int diff_qdisc(struct diff_walk *w, const struct qdisc *wanted)
{
	const struct qdisc *found = state_find(w->in->found, wanted);

	if (!diff_dev_there(w, wanted->dev))
		return plan_wait(w->plan, wanted->dev, &wanted->obj);
	if (!found || is_fresh(w, wanted->dev))
		return plan_add(w->plan, KERNEL_ADD, STEP_MISSING, &wanted->obj, NULL);
	if (kind_ops(KIND_QDISC)->satisfied(&wanted->obj, &found->obj))
		return 0;
	if (owned_has(w->in->owned, &found->obj))
		return replace_qdisc(w, wanted, found, STEP_DIFFERENT);
	if (wanted->takeover)
		return replace_qdisc(w, wanted, found, STEP_TAKEOVER);
	return plan_conflict(w->plan, &wanted->obj, true,
			     "%s has a %s qdisc that is not swd's; takeover: true would replace it",
			     wanted->dev, found->type);
}

static int diff_qdiscs(struct diff_walk *w)
{
	for (size_t i = 0; i < count(w->in->wanted, KIND_QDISC); i++) {
		int r = diff_qdisc(w, state_at(w->in->wanted, KIND_QDISC, i));

		if (r < 0)
			return r;
	}
	return 0;
}

/* The first foreign filter of a block that would go with its last binding, or NULL. */
static const struct filter *foreign_kept_by(const struct diff_walk *w, const struct qdisc *q,
					    uint32_t block)
{
	size_t i, end;

	if (!block)
		return NULL;
	for (i = 0; i < state_count(w->in->found, KIND_QDISC); i++) {
		const struct qdisc *other = state_at(w->in->found, KIND_QDISC, i);

		if (other != q && binds(other, block) && !is_leftover(w, &other->obj))
			return NULL;
	}
	state_block_filters(w->in->found, block, &i, &end);
	for (; i < end; i++) {
		const struct filter *f = state_at(w->in->found, KIND_FILTER, i);

		if (f->owner == OWNER_FOREIGN)
			return f;
	}
	return NULL;
}

static int remove_leftover_qdiscs(struct diff_walk *w)
{
	for (size_t i = state_count(w->in->found, KIND_QDISC); i-- > 0;) {
		const struct qdisc *q = state_at(w->in->found, KIND_QDISC, i);
		const struct filter *foreign;
		char label[OBJECT_LABEL];
		int r;

		if (!is_leftover(w, &q->obj) || is_gone(w, q->dev) || is_fresh(w, q->dev))
			continue;
		foreign = foreign_kept_by(w, q, q->ingress_block);
		if (!foreign)
			foreign = foreign_kept_by(w, q, q->egress_block);
		if (foreign) {
			object_label(&foreign->obj, label);
			r = plan_conflict(w->plan, &q->obj, false,
					  "stays, since it holds a foreign filter: %s", label);
		} else {
			r = plan_add(w->plan, KERNEL_REMOVE, STEP_LEFTOVER, NULL, &q->obj);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

int diff(const struct diff_input *in, struct plan *ret)
{
	static int (*const walks[])(struct diff_walk *) = {
		diff_ports,
		diff_vlans,
		mark_leftover_vlans,
		/* First what goes: Linux makes a second address of a prefix a secondary of the
		 * first, and takes it along with that. */
		remove_leftover_addresses,
		diff_addresses,
		diff_qdiscs,
		diff_filters_wanted,
		diff_filters_leftover,
		remove_leftover_qdiscs,
		remove_leftover_vlans,
	};
	struct diff_walk w = { .in = in, .plan = ret };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(walks) && r == 0; i++)
		r = walks[i](&w);
	free(w.fresh);
	free(w.gone);
	free(w.rebound);
	return r;
}
