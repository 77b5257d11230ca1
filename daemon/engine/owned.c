// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of what is ours and can carry no mark: see owned.h. Pure; owner.c keeps the set, store.c
 * writes it.
 */
#include "daemon/engine/owned.h"

#include <errno.h>
#include <stdio.h>

#include "config/base/netaddr.h"

bool owned_kind(enum kind kind)
{
	return kind == KIND_VLAN || kind == KIND_ADDRESS || kind == KIND_QDISC;
}

static bool same_vlan(const struct vlan *a, const struct vlan *b)
{
	return streq(a->link, b->link) && a->id == b->id && a->protocol == b->protocol;
}

static bool same_qdisc(const struct qdisc *a, const struct qdisc *b)
{
	return streq(a->type, b->type) && a->ingress_block == b->ingress_block &&
	       a->egress_block == b->egress_block;
}

bool owned_has(const struct state *owned, const struct object *found)
{
	const struct object *record;

	if (!owned || !owned_kind((enum kind)found->kind))
		return false;
	record = state_find(owned, found);
	return record && owned_is(record, found);
}

bool owned_is(const struct object *record, const struct object *found)
{
	if (found->kind == KIND_VLAN)
		return same_vlan((const struct vlan *)record, (const struct vlan *)found);
	if (found->kind == KIND_QDISC)
		return same_qdisc((const struct qdisc *)record, (const struct qdisc *)found);
	return true;
}

void owned_print(const struct object *o, char name[IFNAMSIZ], char detail[OWNED_DETAIL])
{
	char addr[NETADDR_TEXT];

	if (o->kind == KIND_VLAN) {
		const struct vlan *v = (const struct vlan *)o;

		copy_name(name, IFNAMSIZ, v->name);
		snprintf(detail, OWNED_DETAIL, "link=%s id=%u protocol=0x%04x", v->link, v->id,
			 v->protocol);
	} else if (o->kind == KIND_ADDRESS) {
		const struct address *a = (const struct address *)o;

		copy_name(name, IFNAMSIZ, a->dev);
		ip_print(a->family, a->addr, addr);
		snprintf(detail, OWNED_DETAIL, "%s/%u", addr, a->prefix_len);
	} else {
		const struct qdisc *q = (const struct qdisc *)o;

		copy_name(name, IFNAMSIZ, q->dev);
		snprintf(detail, OWNED_DETAIL, "%s ingress=%u egress=%u", q->type, q->ingress_block,
			 q->egress_block);
	}
}

static int parse_vlan(const char *name, const char *detail, struct object **ret)
{
	_cleanup_object_ struct vlan *v = object_new(KIND_VLAN, sizeof(*v));
	unsigned int id, protocol;
	char link[IFNAMSIZ];

	if (!v)
		return -ENOMEM;
	if (sscanf(detail, "link=%15s id=%u protocol=%x", link, &id, &protocol) != 3 || id > 4094 ||
	    protocol > 0xffff || !COPY_NAME(v->name, name))
		return -EINVAL;
	COPY_NAME(v->link, link);
	v->id = (uint16_t)id;
	v->protocol = (uint16_t)protocol;
	*ret = &take(v)->obj;
	return 0;
}

static int parse_address(const char *name, const char *detail, struct object **ret)
{
	_cleanup_object_ struct address *a = object_new(KIND_ADDRESS, sizeof(*a));
	int family, r;

	if (!a)
		return -ENOMEM;
	r = ip_prefix_parse(detail, &family, a->addr, &a->prefix_len);
	if (r < 0 || !COPY_NAME(a->dev, name))
		return -EINVAL;
	a->family = (uint8_t)family;
	*ret = &take(a)->obj;
	return 0;
}

static int parse_qdisc(const char *name, const char *detail, struct object **ret)
{
	_cleanup_object_ struct qdisc *q = object_new(KIND_QDISC, sizeof(*q));

	if (!q)
		return -ENOMEM;
	if (sscanf(detail, "%15s ingress=%u egress=%u", q->type, &q->ingress_block,
		   &q->egress_block) != 3 ||
	    !COPY_NAME(q->dev, name))
		return -EINVAL;
	*ret = &take(q)->obj;
	return 0;
}

int owned_parse(enum kind kind, const char *name, const char *detail, struct object **ret)
{
	if (kind == KIND_VLAN)
		return parse_vlan(name, detail, ret);
	if (kind == KIND_ADDRESS)
		return parse_address(name, detail, ret);
	if (kind == KIND_QDISC)
		return parse_qdisc(name, detail, ret);
	return -EINVAL;
}
