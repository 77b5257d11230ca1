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

/* ---- devices with other names ---- */

static const char *new_name(const struct owned_rename *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (streq(list[i].old_name, name))
			return list[i].name;
	return NULL;
}

/* A record of the same under its new names, or NULL if they are the old ones. */
static int renamed(const struct object *record, const struct owned_rename *list, size_t n,
		   struct object **ret)
{
	char name[IFNAMSIZ], detail[OWNED_DETAIL];
	const char *now, *link = NULL;
	int r;

	if (record->kind == KIND_VLAN)
		link = new_name(list, n, ((const struct vlan *)record)->link);
	owned_print(record, name, detail);
	now = new_name(list, n, name);
	*ret = NULL;
	if (!now && !link)
		return 0;
	r = owned_parse((enum kind)record->kind, now ? now : name, detail, ret);
	if (r == 0 && link)
		COPY_NAME(((struct vlan *)*ret)->link, link);
	return r;
}

static int put_record(struct state *to, struct object *record)
{
	int r = state_put(to, record);

	if (r < 0)
		object_unref(record);
	return r;
}

int owned_renamed(const struct state *owned, const struct owned_rename *list, size_t n,
		  struct state **ret)
{
	static const enum kind kinds[] = { KIND_VLAN, KIND_ADDRESS, KIND_QDISC };
	_cleanup_(state_freep) struct state *to = state_new();
	bool any = false;
	int r = to ? 0 : -ENOMEM;

	/* First what stays, then what moves in its place. */
	for (int moving = 0; moving <= 1; moving++) {
		for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
			for (size_t i = 0; i < state_count(owned, kinds[k]) && r == 0; i++) {
				const struct object *record = state_at(owned, kinds[k], i);
				struct object *now;

				r = renamed(record, list, n, &now);
				if (r == 0 && now && moving)
					r = put_record(to, now);
				else if (r == 0 && !now && !moving)
					r = put_record(to, object_ref(record));
				else
					object_unref(now);
				any |= now != NULL;
			}
		}
	}
	*ret = r == 0 && any ? take(to) : NULL;
	return r;
}
