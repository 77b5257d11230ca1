// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What happens in the kernel, taken into found: see observe.h. Our own changes come this way too;
 * found has them already from their answers, but the bypass room hears of them here, so that it
 * hears of all filters in the kernel's order.
 */
#include "daemon/engine/observe.h"

#include <errno.h>
#include <stdio.h>

#include "config/base/log.h"
#include "daemon/engine/renames.h"

#define ASK_MOST 64	 /* questions of one drain; then the block is dumped instead */
#define READ_AT_ONCE 512 /* messages */
#define LOOK_MS 20	 /* before the first look for what was not there; doubles */
#define LOOKS_MOST 8	 /* 5 s; then it is not there */
#define READ_ROUNDS 64

const char *observe_dev_name(const struct object *dev)
{
	return dev->kind == KIND_PORT ? ((const struct port *)dev)->name
				      : ((const struct vlan *)dev)->name;
}

const struct link_facts *observe_facts(const struct object *dev)
{
	return dev->kind == KIND_PORT ? &((const struct port *)dev)->facts
				      : &((const struct vlan *)dev)->facts;
}

static const struct object *found_dev(const struct engine_owner *o, const char *name)
{
	const struct port *p = state_port(o->found, name);
	const struct vlan *v = p ? NULL : state_vlan(o->found, name);

	return p ? &p->obj : v ? &v->obj : NULL;
}

/* ---- qdiscs and the blocks they bind ---- */

static bool binds(const struct qdisc *q, uint32_t block)
{
	return q->ingress_block == block || q->egress_block == block;
}

size_t observe_members(const struct engine_owner *o, uint32_t block, const struct qdisc *but)
{
	size_t n = 0;

	for (size_t i = 0; i < state_count(o->found, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(o->found, KIND_QDISC, i);

		n += binds(q, block) && !(but && streq(q->dev, but->dev));
	}
	return n;
}

/* The last unbind empties a block, and the kernel says nothing of its filters. */
static void block_gone(struct engine_owner *o, uint32_t block)
{
	size_t i, end;

	bypass_block_gone(o->bypass, block);
	state_block_filters(o->found, block, &i, &end);
	while (end-- > i) {
		_cleanup_object_ struct object *f =
			object_ref(state_at(o->found, KIND_FILTER, end));

		observe_drop(o, f);
	}
}

static void qdisc_bound(struct engine_owner *o, const struct qdisc *q, uint32_t block, bool own)
{
	if (!block)
		return;
	if (observe_members(o, block, q) == 0) {
		/* Nobody held it before: it begins here, empty. */
		if (bypass_block_born(o->bypass, block) < 0)
			observe_stale_all(o);
		if (own)
			return;
	}
	/* Binding changes in_hw of filters without an event. */
	observe_stale_block(o, block);
}

void observe_qdisc_new(struct engine_owner *o, const struct qdisc *q, bool own)
{
	const struct qdisc *before = state_find(o->found, q);
	bool same = before && before->ingress_block == q->ingress_block &&
		    before->egress_block == q->egress_block && streq(before->type, q->type);

	if (before && !same)
		observe_qdisc_gone(o, before, own);
	if (!same) {
		qdisc_bound(o, q, q->ingress_block, own);
		qdisc_bound(o, q, q->egress_block, own);
	}
	observe_put(o, &q->obj);
}

static void qdisc_unbound(struct engine_owner *o, uint32_t block)
{
	if (!block)
		return;
	if (observe_members(o, block, NULL) == 0)
		block_gone(o, block);
	else
		observe_stale_block(o, block);
}

void observe_qdisc_gone(struct engine_owner *o, const struct qdisc *key, bool own)
{
	_cleanup_object_ struct qdisc *q = object_ref(state_find(o->found, key));

	if (!q)
		return;
	observe_drop(o, &q->obj);
	qdisc_unbound(o, q->ingress_block);
	qdisc_unbound(o, q->egress_block);
	if (!own)
		o->stale.qdiscs = true;
}

/* ---- devices ---- */

/* Filters that send frames to the device now say something else. */
static void stale_users(struct engine_owner *o, const char *name)
{
	size_t first, end;

	if (users_of(&o->users, o->filters, name, &first, &end) < 0)
		observe_stale_all(o);
	for (; first < end; first++)
		observe_stale_block(o, o->users.list[first].block);
}

static void drop_addresses(struct engine_owner *o, const char *name)
{
	for (size_t i = state_count(o->found, KIND_ADDRESS); i-- > 0;) {
		_cleanup_object_ struct address *a =
			object_ref(state_at(o->found, KIND_ADDRESS, i));

		if (!streq(a->dev, name))
			continue;
		observe_drop(o, &a->obj);
		/* That it goes may have been told as well. */
		state_remove(o->ask, a);
	}
}

void observe_dev_gone(struct engine_owner *o, const char *name)
{
	_cleanup_object_ struct object *dev = object_ref(found_dev(o, name));
	struct qdisc key = { .obj.kind = KIND_QDISC };

	if (!dev)
		return;
	COPY_NAME(key.dev, observe_dev_name(dev));
	observe_drop(o, dev);
	drop_addresses(o, key.dev);
	observe_tx_gone(o, key.dev);
	observe_qdisc_gone(o, &key, true);
	stale_users(o, key.dev);
	owner_event(o, ENGINE_EVENT_PORT, key.dev, "gone");
}

/*
 * Linux tells of the ports of a DSA tree before sysfs has their conduit's tagger (6.1,
 * dsa_tree_setup()), and tells nothing when it has.
 */
void observe_complete(struct engine_owner *o, const struct object *dev, bool fresh)
{
	const struct link_facts *f = observe_facts(dev);

	if (!streq(f->type, "dsa") || f->tagger[0])
		return;
	if (fresh)
		o->looks = 0;
	if (o->looks < LOOKS_MOST)
		owner_sooner(&o->look_due,
			     now_monotonic_ns() + ((uint64_t)LOOK_MS * 1000000 << o->looks));
}

void observe_dev_new(struct engine_owner *o, const struct object *dev)
{
	const char *name = observe_dev_name(dev);
	_cleanup_object_ struct object *before = object_ref(found_dev(o, name));

	if (before && observe_facts(before)->ifindex != observe_facts(dev)->ifindex) {
		/* Another device under the name: nothing on the old one is on it. */
		observe_dev_gone(o, name);
		object_unref(take(before));
	}
	/* One name, one device: it may have been a port and be a VLAN now. */
	if (before && before->kind != dev->kind)
		observe_drop(o, before);
	observe_put(o, dev);
	observe_complete(o, dev, !before);
	if (before)
		observe_tx_link(o, before, dev);
	if (!before) {
		o->stale.qdiscs = o->stale.addresses = true;
		observe_tx_new(o, name);
		owner_event(o, ENGINE_EVENT_PORT, name, "there, ifindex %u",
			    observe_facts(dev)->ifindex);
	}
}

static void qdisc_renamed(struct engine_owner *o, const char *old_name, const char *name)
{
	struct qdisc key = { .obj.kind = KIND_QDISC };
	_cleanup_object_ struct qdisc *copy = NULL;
	const struct qdisc *q;

	COPY_NAME(key.dev, old_name);
	q = state_find(o->found, &key);
	if (!q)
		return;
	copy = object_new(KIND_QDISC, sizeof(*copy));
	if (!copy) {
		observe_stale_all(o);
		return;
	}
	memcpy(copy->type, q->type, sizeof(copy->type));
	COPY_NAME(copy->dev, name);
	copy->ingress_block = q->ingress_block;
	copy->egress_block = q->egress_block;
	copy->packets = q->packets;
	/* Put first: its blocks never lose their last member. */
	observe_put(o, &copy->obj);
	observe_drop(o, &q->obj);
}

static void dev_renamed(struct engine_owner *o, const struct object *dev, const char *old_name)
{
	const struct object *old = found_dev(o, old_name);
	const char *name = observe_dev_name(dev);

	if (old) {
		_cleanup_object_ struct object *held = object_ref(old);

		observe_drop(o, held);
	}
	renames_heard(o, old_name, name);
	qdisc_renamed(o, old_name, name);
	drop_addresses(o, old_name);
	observe_tx_gone(o, old_name);
	observe_tx_new(o, name);
	stale_users(o, old_name);
	stale_users(o, name);
	observe_put(o, dev);
	/* VLANs name their link. */
	o->stale.links = o->stale.addresses = o->stale.qdiscs = true;
	owner_event(o, ENGINE_EVENT_PORT, name, "renamed from %s", old_name);
}

/* ---- events ---- */

static void ask_later(struct engine_owner *o, const struct object *key)
{
	struct object *ref;

	if (key->kind == KIND_FILTER && state_count(o->ask, KIND_FILTER) >= ASK_MOST) {
		observe_stale_block(o, ((const struct filter *)key)->block);
		return;
	}
	ref = object_ref(key);
	if (state_put(o->ask, ref) < 0) {
		object_unref(ref);
		observe_stale_all(o);
	}
}

static void ask_now(struct engine_owner *o)
{
	static const enum kind kinds[] = { KIND_PORT, KIND_TX, KIND_VLAN, KIND_ADDRESS,
					   KIND_FILTER };

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		for (size_t i = 0; i < state_count(o->ask, kinds[k]); i++) {
			int r = observe_ask(o, state_at(o->ask, kinds[k], i));

			if (r < 0 && r != -ENOENT)
				observe_stale_all(o);
		}
		state_clear_kind(o->ask, kinds[k]);
	}
}

static void tell_foreign(struct engine_owner *o, const struct filter *f)
{
	const struct block *block = o->config ? state_block(o->config->wanted, f->block) : NULL;
	char about[64], label[OBJECT_LABEL];

	if (!block || f->owner != OWNER_FOREIGN || state_find(o->found, f))
		return;
	snprintf(about, sizeof(about), "block %s", block->name);
	object_label(&f->obj, label);
	owner_event(o, ENGINE_EVENT_FOREIGN, about, "%s", label);
}

static void filter_event(struct engine_owner *o, const struct kernel_event *e)
{
	const struct filter *f = (const struct filter *)e->object;

	if (e->type == KERNEL_EVENT_NEW) {
		if (bypass_filter_new(o->bypass, f) < 0)
			observe_stale_all(o);
		tell_foreign(o, f);
		/* Our own is in found from its answer, or because it was asked for. */
		if (!e->own)
			observe_put(o, &f->obj);
		return;
	}
	bypass_filter_gone(o->bypass, f);
	if (f->pref == 0)
		observe_walk_void(o, f->block);
	else
		observe_walk_heard(o, &f->obj);
	if (f->handle == 0 || state_find(o->found, f))
		ask_later(o, &f->obj);
}

static void bypass_event(struct engine_owner *o, const struct kernel_event *e)
{
	if (e->reading && bypass_read(o->bypass, e->reading) < 0)
		observe_stale_all(o);
}

static void object_event(struct engine_owner *o, const struct kernel_event *e)
{
	const struct object *obj = e->object;

	switch ((enum kind)obj->kind) {
	case KIND_PORT:
	case KIND_VLAN:
		/* The message lacks what only sysfs and ethtool know. */
		if (e->type == KERNEL_EVENT_NEW) {
			ask_later(o, obj);
		} else {
			state_remove(o->ask, obj);
			observe_dev_gone(o, observe_dev_name(obj));
		}
		break;
	case KIND_TX:
		/* It may be older than what our own request was answered. */
		if (state_find(o->found, obj))
			ask_later(o, obj);
		break;
	case KIND_ADDRESS:
		if (e->type == KERNEL_EVENT_NEW)
			observe_put(o, obj);
		else
			ask_later(o, obj);
		break;
	case KIND_QDISC:
		if (e->own)
			break;
		if (e->type == KERNEL_EVENT_NEW)
			observe_qdisc_new(o, (const struct qdisc *)obj, false);
		else
			observe_qdisc_gone(o, (const struct qdisc *)obj, false);
		break;
	case KIND_FILTER:
		filter_event(o, e);
		break;
	case KIND_BLOCK:
	case KIND_RULE:
	case KIND_COUNT_:
		break;
	}
}

struct listening {
	struct engine_owner *o;
	bool heard;
};

static void on_event(const struct kernel_event *e, void *data)
{
	static struct log_limit limit;
	struct listening *l = data;
	struct engine_owner *o = l->o;
	unsigned int missed;

	l->heard = true;
	switch (e->type) {
	case KERNEL_EVENT_NEW:
	case KERNEL_EVENT_GONE:
		object_event(o, e);
		break;
	case KERNEL_EVENT_RENAMED:
		dev_renamed(o, e->object, e->old_name);
		break;
	case KERNEL_EVENT_LOST:
		bypass_all_stale(o->bypass);
		observe_stale_all(o);
		o->stale.unknown = true;
		if (log_allowed(&limit, 3, 60, &missed))
			log_warning("events were lost; reading everything again");
		owner_event(o, ENGINE_EVENT_LOST, "kernel", "events were lost");
		break;
	case KERNEL_EVENT_BYPASS:
		bypass_event(o, e);
		break;
	}
}

bool observe_events(struct engine_owner *o)
{
	bool more = true;

	for (int i = 0; i < READ_ROUNDS && more; i++) {
		struct listening l = { .o = o };
		int r;

		more = false;
		r = kernel_read_events(o->kernel, READ_AT_ONCE, on_event, &l, &more);
		if (l.heard)
			owner_changed(o);
		if (r < 0) {
			observe_stale_all(o);
			break;
		}
		ask_now(o);
		pulse_go(o->pulse);
	}
	return more;
}
