// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order of the whole, and the steps for ports and addresses: see diff.h.
 */
#include "daemon/engine/diff.h"

#include <errno.h>

#include "daemon/engine/owned.h"

size_t diff_wanted_count(const struct diff_walk *w, enum kind kind)
{
	return w->in->wanted ? state_count(w->in->wanted, kind) : 0;
}

int diff_name_add(struct diff_names *n, const char *name)
{
	int r = grow(&n->list, &n->space, n->count, IFNAMSIZ);

	if (r < 0)
		return r;
	copy_name(n->list[n->count++], IFNAMSIZ, name);
	return 0;
}

bool diff_name_in(const struct diff_names *n, const char *name)
{
	for (size_t i = 0; i < n->count; i++)
		if (streq(n->list[i], name))
			return true;
	return false;
}

static bool is_fresh(const struct diff_walk *w, const char *dev)
{
	return diff_name_in(&w->fresh, dev);
}

static bool is_gone(const struct diff_walk *w, const char *dev)
{
	return diff_name_in(&w->gone, dev);
}

static bool found_dev(const struct state *found, const char *dev)
{
	return state_port(found, dev) || state_vlan(found, dev);
}

bool diff_dev_there(const struct diff_walk *w, const char *dev)
{
	return is_fresh(w, dev) ||
	       (found_dev(w->in->found, dev) && !is_gone(w, dev) && !diff_dev_went(w, dev));
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
		for (size_t i = 0; i < diff_wanted_count(w, KIND_PORT); i++) {
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

bool diff_is_leftover(const struct diff_walk *w, const struct object *found)
{
	return owned_has(w->in->owned, found) &&
	       !(w->in->wanted && state_find(w->in->wanted, found));
}

/* ---- addresses ---- */

static int diff_addresses(struct diff_walk *w)
{
	for (size_t i = 0; i < diff_wanted_count(w, KIND_ADDRESS); i++) {
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
		if (diff_is_leftover(w, &a->obj) && !is_gone(w, a->dev) && !is_fresh(w, a->dev))
			r = plan_add(w->plan, KERNEL_REMOVE, STEP_LEFTOVER, NULL, &a->obj);
		if (r < 0)
			return r;
	}
	return 0;
}

int diff(const struct diff_input *in, struct plan *ret)
{
	static int (*const walks[])(struct diff_walk *) = {
		diff_ports,
		diff_tx,
		diff_vlans_wanted,
		/* First what goes: Linux makes a second address of a prefix a secondary of the
		 * first, and takes it along with that. */
		remove_leftover_addresses,
		diff_addresses,
		diff_qdiscs_early,
		diff_filters_wanted,
		diff_qdiscs_late,
		diff_filters_leftover,
		diff_qdiscs_leftover,
		diff_vlans_leftover,
	};
	struct diff_walk w = { .in = in, .plan = ret };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(walks) && r == 0; i++)
		r = walks[i](&w);
	free(w.fresh.list);
	free(w.early.list);
	free(w.gone.list);
	free(w.rebound.list);
	return r;
}
