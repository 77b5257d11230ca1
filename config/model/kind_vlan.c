/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A VLAN upper that swd makes: a leg of the stick. */
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/model/kinds.h"

static int vlan_compare(const struct object *a, const struct object *b)
{
	return strcmp(((const struct vlan *)a)->name, ((const struct vlan *)b)->name);
}

static bool vlan_satisfied(const struct object *wanted, const struct object *found)
{
	const struct vlan *w = (const struct vlan *)wanted, *f = (const struct vlan *)found;

	if (!streq(w->link, f->link) || w->id != f->id || w->protocol != f->protocol)
		return false;
	if (w->has & PORT_HAS_UP && w->up != f->up)
		return false;
	if (w->has & PORT_HAS_MTU && w->mtu != f->mtu)
		return false;
	return true;
}

static void vlan_label(const struct object *o, char *to, size_t size)
{
	snprintf(to, size, "vlan %s", ((const struct vlan *)o)->name);
}

static void vlan_json(const struct object *o, struct jsonw *w)
{
	const struct vlan *v = (const struct vlan *)o;
	char protocol[16];

	ethertype_print(v->protocol, protocol);
	jsonw_object(w);
	jsonw_key_string(w, "name", v->name);
	jsonw_key_string(w, "link", v->link);
	jsonw_key_u64(w, "id", v->id);
	jsonw_key_string(w, "protocol", protocol);
	if (v->has & PORT_HAS_UP)
		jsonw_key_bool(w, "up", v->up);
	if (v->has & PORT_HAS_MTU)
		jsonw_key_u64(w, "mtu", v->mtu);
	if (v->facts.ifindex)
		link_facts_json(&v->facts, w);
	origin_json(&o->origin, w);
	jsonw_object_end(w);
}

const struct kind_ops kind_vlan = {
	.name = "vlan",
	.compare = vlan_compare,
	.satisfied = vlan_satisfied,
	.label = vlan_label,
	.json = vlan_json,
};
