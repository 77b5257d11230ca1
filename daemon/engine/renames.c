// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of ownership that follow their devices: see renames.h. */
#include "daemon/engine/renames.h"

#include <errno.h>

#include "daemon/engine/observe.h"
#include "daemon/engine/owned.h"

static const enum kind links[] = { KIND_PORT, KIND_VLAN };

/* The name of the device with that number, or NULL. */
static const char *name_of(const struct state *s, uint32_t ifindex)
{
	for (size_t k = 0; k < ARRAY_SIZE(links); k++) {
		for (size_t i = 0; i < state_count(s, links[k]); i++) {
			const struct object *dev = state_at(s, links[k], i);

			if (observe_facts(dev)->ifindex == ifindex)
				return observe_dev_name(dev);
		}
	}
	return NULL;
}

static uint32_t number_of(const struct state *s, const char *name)
{
	const struct port *p = state_port(s, name);
	const struct vlan *v = state_vlan(s, name);

	return p ? p->facts.ifindex : v ? v->facts.ifindex : 0;
}

static const char *device_of(const struct object *o)
{
	return o->kind == KIND_VLAN	 ? ((const struct vlan *)o)->link
	       : o->kind == KIND_ADDRESS ? ((const struct address *)o)->dev
					 : ((const struct qdisc *)o)->dev;
}

static bool has_device(const struct store_device *devices, size_t n, uint32_t ifindex)
{
	for (size_t i = 0; i < n; i++)
		if (devices[i].ifindex == ifindex)
			return true;
	return false;
}

int renames_devices(const struct engine_owner *o, const struct object *const *list, size_t n,
		    struct store_device **ret, size_t *ret_n)
{
	struct store_device *devices = calloc(n + 1, sizeof(*devices));
	size_t used = 0;

	if (!devices)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *name = device_of(list[i]);
		uint32_t ifindex = number_of(o->found, name);

		if (!ifindex || has_device(devices, used, ifindex))
			continue;
		devices[used].ifindex = ifindex;
		COPY_NAME(devices[used++].name, name);
	}
	*ret = devices;
	*ret_n = used;
	return 0;
}

/* ---- the records ---- */

/* All records, as an array of what `owned` holds. */
static int list_all(const struct state *owned, const struct object ***ret, size_t *ret_n)
{
	size_t n = 0, used = 0;
	const struct object **list;

	for (int k = 0; k < KIND_COUNT_; k++)
		n += state_count(owned, (enum kind)k);
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (int k = 0; k < KIND_COUNT_; k++)
		for (size_t i = 0; i < state_count(owned, (enum kind)k); i++)
			list[used++] = state_at(owned, (enum kind)k, i);
	*ret = list;
	*ret_n = n;
	return 0;
}

int renames_write(struct engine_owner *o)
{
	_cleanup_free_ const struct object **list = NULL;
	_cleanup_free_ struct store_device *devices = NULL;
	size_t n, device_count;
	int r = list_all(o->owned, &list, &n);

	if (r == 0)
		r = renames_devices(o, list, n, &devices, &device_count);
	if (r < 0)
		return r;
	pulse_wait(o->pulse);
	r = o->store ? store_own_only(o->store, list, n, devices, device_count) : 0;
	pulse_go(o->pulse);
	return r;
}

/* 1 if any record has a new name now, 0, or -ENOMEM. */
static int follow(struct engine_owner *o, const struct owned_rename *list, size_t n)
{
	_cleanup_(state_freep) struct state *now = NULL;
	int r = owned_renamed(o->owned, list, n, &now);

	if (r < 0 || !now)
		return r;
	state_free(o->owned);
	o->owned = take(now);
	return 1;
}

static void follow_and_write(struct engine_owner *o, const struct owned_rename *list, size_t n)
{
	int r = follow(o, list, n);

	if (r == 0)
		return;
	if (r == 1)
		r = renames_write(o);
	owner_store_result(o, "new names of devices can't be recorded", r);
}

/* ---- how renames become known ---- */

void renames_heard(struct engine_owner *o, const char *old_name, const char *name)
{
	struct owned_rename one;

	COPY_NAME(one.old_name, old_name);
	COPY_NAME(one.name, name);
	follow_and_write(o, &one, 1);
}

struct collecting {
	struct owned_rename *list;
	size_t n, space;
};

static int collect(struct collecting *c, const char *old_name, const char *name)
{
	int r = grow(&c->list, &c->space, c->n, sizeof(*c->list));

	if (r < 0)
		return r;
	COPY_NAME(c->list[c->n].old_name, old_name);
	COPY_NAME(c->list[c->n++].name, name);
	return 0;
}

static void conclude(struct engine_owner *o, struct collecting *c, int r)
{
	if (r == 0 && c->n > 0)
		follow_and_write(o, c->list, c->n);
	else if (r < 0)
		owner_store_result(o, "new names of devices can't be followed", r);
	free(c->list);
}

void renames_dumped(struct engine_owner *o, const struct state *now)
{
	struct collecting c = { 0 };
	int r = 0;

	for (size_t k = 0; k < ARRAY_SIZE(links); k++) {
		for (size_t i = 0; i < state_count(o->found, links[k]) && r == 0; i++) {
			const struct object *dev = state_at(o->found, links[k], i);
			uint32_t ifindex = observe_facts(dev)->ifindex;
			const char *old_name = observe_dev_name(dev), *name;

			if (number_of(now, old_name) == ifindex)
				continue;
			name = name_of(now, ifindex);
			if (name)
				r = collect(&c, old_name, name);
		}
	}
	conclude(o, &c, r);
}

void renames_since(struct engine_owner *o)
{
	_cleanup_free_ struct store_device *devices = NULL;
	struct collecting c = { 0 };
	size_t n = 0;
	int r;

	pulse_wait(o->pulse);
	r = store_devices(o->store, &devices, &n);
	pulse_go(o->pulse);
	for (size_t i = 0; i < n && r == 0; i++) {
		const char *name = name_of(o->found, devices[i].ifindex);

		if (name && !streq(name, devices[i].name))
			r = collect(&c, devices[i].name, name);
	}
	conclude(o, &c, r);
}
