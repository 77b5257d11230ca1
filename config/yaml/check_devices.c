// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check_devices: what ports, VLANs and their addresses must not say against each other. A link or a
 * bound device need not be in the file: what is there without swd may be named without being
 * managed.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "config/base/netaddr.h"
#include "config/yaml/check.h"

/* What is said of a device, be it a port or a VLAN. */
struct device {
	const char *name;
	const struct draft_vlan *vlan; /* NULL: a port */
	const struct draft *draft;
	const struct items *addresses;
	const uint32_t *mtu; /* NULL: not said */
};

struct devices {
	struct device *list; /* by name */
	size_t count;
};

static int by_name(const void *a, const void *b)
{
	const struct device *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : CMP(!y->vlan, !x->vlan) /* the port first */;
}

static const struct device *find(const struct devices *d, const char *name)
{
	size_t low = 0, high = d->count;

	while (low < high) {
		size_t mid = (low + high) / 2;
		int c = strcmp(d->list[mid].name, name);

		if (c == 0)
			return &d->list[mid];
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static int collect(const struct checker *c, struct devices *ret)
{
	const struct draft_port *port;
	const struct draft_vlan *vlan;

	ret->count = 0;
	ret->list = arena_alloc(c->arena, (c->root->ports.count + c->root->vlans.count + 1) *
						  sizeof(*ret->list));
	if (!ret->list)
		return -ENOMEM;
	FOR_EACH_ITEM(port, c->root->ports)
		ret->list[ret->count++] = (struct device){
			.name = port->draft.name,
			.draft = &port->draft,
			.addresses = &port->addresses,
			.mtu = HAS(port, PORT_MTU) ? &port->mtu : NULL,
		};
	FOR_EACH_ITEM(vlan, c->root->vlans)
		ret->list[ret->count++] = (struct device){
			.name = vlan->draft.name,
			.vlan = vlan,
			.draft = &vlan->draft,
			.addresses = &vlan->addresses,
			.mtu = HAS(vlan, VLAN_MTU) ? &vlan->mtu : NULL,
		};
	qsort(ret->list, ret->count, sizeof(*ret->list), by_name);
	return 0;
}

/* Adds an error at a key of a device: "vlans.core.100.mtu". */
_printf_(4, 5) static void complain(const struct checker *c, const struct device *d,
				    const char *key, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	char path[128], word[SHOW_TEXT];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	snprintf(path, sizeof(path), "%s.%s%s%s", d->vlan ? "vlans" : "ports", show(d->name, word),
		 key ? "." : "", key ? key : "");
	diags_add(c->diags, DIAG_ERROR, key ? draft_at(d->draft, key) : draft_name_at(d->draft),
		  path, "%s", len < 0 ? "out of memory" : text);
}

/* A VLAN that has a port's name. Two of one section are duplicate keys, found when they are read.
 */
static void check_device_names(const struct checker *c, const struct devices *d)
{
	for (size_t i = 1; i < d->count; i++) {
		const struct device *port = &d->list[i - 1], *vlan = &d->list[i];

		if (!port->vlan && vlan->vlan && streq(port->name, vlan->name))
			complain(c, vlan, NULL,
				 "a port has this name (line %u), expected a name of its own for "
				 "the VLAN",
				 draft_name_at(port->draft).line);
	}
}

static int by_tag(const void *a, const void *b)
{
	const struct draft_vlan *x = *(const struct draft_vlan *const *)a;
	const struct draft_vlan *y = *(const struct draft_vlan *const *)b;
	int r = strcmp(x->link, y->link);

	if (r)
		return r;
	if (x->id != y->id)
		return CMP(x->id, y->id);
	if (x->protocol != y->protocol)
		return CMP(x->protocol, y->protocol);
	return CMP(x->draft.node->line, y->draft.node->line);
}

/* Linux has one VLAN device for a link, a protocol and an id. */
static int check_vlan_ids(const struct checker *c)
{
	_cleanup_free_ const struct draft_vlan **list = NULL;
	const struct draft_vlan *v;
	size_t n = 0;

	list = calloc(c->root->vlans.count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	FOR_EACH_ITEM(v, c->root->vlans)
		if (HAS(v, VLAN_LINK) && HAS(v, VLAN_ID))
			list[n++] = v;
	qsort(list, n, sizeof(*list), by_tag);
	for (size_t i = 1; i < n; i++) {
		const struct draft_vlan *a = list[i - 1], *b = list[i];
		char word[SHOW_TEXT];

		if (streq(a->link, b->link) && a->id == b->id && a->protocol == b->protocol)
			complain(c,
				 &(struct device){
					 .name = b->draft.name, .vlan = b, .draft = &b->draft },
				 "id",
				 "VLAN %u on '%s' is '%s' already (line %u), expected another id "
				 "or link",
				 b->id, b->link, show(a->draft.name, word),
				 draft_name_at(&a->draft).line);
	}
	return 0;
}

/* The kernel stacks at most eight devices (MAX_NEST_DEV in linux/netdevice.h). */
#define NEST_MAX 8

static void check_vlan_links(const struct checker *c, const struct devices *d)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct device *start = &d->list[i], *at = start;
		unsigned int depth = 0;
		char word[SHOW_TEXT];

		while (at && at->vlan && HAS(at->vlan, VLAN_LINK) && depth <= NEST_MAX) {
			at = find(d, at->vlan->link);
			depth++;
			if (at == start)
				break;
		}
		if (at == start && depth > 0)
			complain(c, start, "link",
				 depth == 1
					 ? "a VLAN cannot be its own link '%s', expected the "
					   "device below it"
					 : "the links lead from '%s' back to it, expected a port "
					   "at their end",
				 show(start->name, word));
		else if (depth > NEST_MAX)
			complain(c, start, "link",
				 "stacked on more than %d devices, expected a port below",
				 NEST_MAX);
	}
}

static void check_vlan_mtu(const struct checker *c, const struct devices *d)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct device *v = &d->list[i], *link;
		char word[SHOW_TEXT];

		if (!v->vlan || !v->mtu || !HAS(v->vlan, VLAN_LINK))
			continue;
		link = find(d, v->vlan->link);
		if (link && link->mtu && *v->mtu > *link->mtu)
			complain(c, v, "mtu",
				 "%u is more than the %u of its link '%s' (line %u), expected at "
				 "most that",
				 *v->mtu, *link->mtu, show(link->name, word),
				 draft_at(link->draft, "mtu").line);
	}
}

/* The kernel takes IPv6 off a device below this (IPV6_MIN_MTU, RFC 8200). */
#define IPV6_MTU_MIN 1280

static void check_address_mtu(const struct checker *c, const struct devices *d)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct draft_address *a;
		bool v6 = false;

		FOR_EACH_ITEM(a, *d->list[i].addresses)
			v6 |= a->family == 6;
		if (v6 && d->list[i].mtu && *d->list[i].mtu < IPV6_MTU_MIN)
			complain(c, &d->list[i], "mtu",
				 "%u is too small for the IPv6 address of the device, expected at "
				 "least %d",
				 *d->list[i].mtu, IPV6_MTU_MIN);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct draft_address *x = *(const struct draft_address *const *)a;
	const struct draft_address *y = *(const struct draft_address *const *)b;
	int r = memcmp(x->addr, y->addr, sizeof(x->addr));

	if (x->family != y->family)
		return CMP(x->family, y->family);
	if (r)
		return r;
	return x->node->line != y->node->line ? CMP(x->node->line, y->node->line)
					      : CMP(x->node->column, y->node->column);
}

static int check_address_twice(const struct checker *c, const struct device *d)
{
	_cleanup_free_ const struct draft_address **list = NULL;
	const struct draft_address *a;
	size_t n = 0;

	list = calloc(d->addresses->count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	FOR_EACH_ITEM(a, *d->addresses)
		list[n++] = a;
	qsort(list, n, sizeof(*list), by_address);
	for (size_t i = 1; i < n; i++) {
		char text[NETADDR_TEXT], path[128], word[SHOW_TEXT];

		if (list[i]->family != list[i - 1]->family ||
		    memcmp(list[i]->addr, list[i - 1]->addr, sizeof(list[i]->addr)) != 0)
			continue;
		ip_print(list[i]->family, list[i]->addr, text);
		snprintf(path, sizeof(path), "%s.%s.addresses", d->vlan ? "vlans" : "ports",
			 show(d->name, word));
		diags_add(c->diags, DIAG_ERROR, node_origin(list[i]->node), path,
			  "address %s is given twice (line %u before), expected it once", text,
			  list[i - 1]->node->line);
	}
	return 0;
}

static void check_tx(const struct checker *c)
{
	const struct draft_port *p;

	FOR_EACH_ITEM(p, c->root->ports) {
		const struct draft_bql *bql = &p->tx.bql;
		char path[128], word[SHOW_TEXT];

		if (!HAS(bql, BQL_MIN) || !HAS(bql, BQL_MAX) || bql->min <= bql->max)
			continue;
		snprintf(path, sizeof(path), "ports.%s.tx.bql.limit-min",
			 show(p->draft.name, word));
		diags_add(c->diags, DIAG_ERROR, draft_at(&bql->draft, "limit-min"), path,
			  "%u is more than limit-max, %u (line %u), expected at most that",
			  bql->min, bql->max, draft_at(&bql->draft, "limit-max").line);
	}
}

int check_devices(const struct checker *c)
{
	struct devices d;
	int r;

	r = collect(c, &d);
	if (r < 0)
		return r;
	check_device_names(c, &d);
	r = check_vlan_ids(c);
	if (r < 0)
		return r;
	check_vlan_links(c, &d);
	check_vlan_mtu(c, &d);
	check_address_mtu(c, &d);
	check_tx(c);
	for (size_t i = 0; i < d.count; i++) {
		r = check_address_twice(c, &d.list[i]);
		if (r < 0)
			return r;
	}
	return 0;
}
