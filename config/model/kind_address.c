/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An address of a port or a VLAN upper. All of it is the key: there is nothing else to say of one.
 */
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/base/netaddr.h"
#include "config/model/kinds.h"

static int address_compare(const struct object *a, const struct object *b)
{
	const struct address *x = (const struct address *)a, *y = (const struct address *)b;
	int order = strcmp(x->dev, y->dev);

	if (order)
		return order;
	if (x->family != y->family)
		return CMP(x->family, y->family);
	order = memcmp(x->addr, y->addr, sizeof(x->addr));
	return order ? order : CMP(x->prefix_len, y->prefix_len);
}

static bool address_satisfied(const struct object *wanted, const struct object *found)
{
	return true;
}

static void address_text(const struct address *a, char *to, size_t size)
{
	char text[NETADDR_TEXT];

	ip_print(a->family, a->addr, text);
	snprintf(to, size, "%s/%u", text, a->prefix_len);
}

static void address_label(const struct object *o, char *to, size_t size)
{
	const struct address *a = (const struct address *)o;
	char text[NETADDR_TEXT + 4];

	address_text(a, text, sizeof(text));
	snprintf(to, size, "address %s on %s", text, a->dev);
}

static void address_json(const struct object *o, struct jsonw *w)
{
	const struct address *a = (const struct address *)o;
	char text[NETADDR_TEXT + 4];

	address_text(a, text, sizeof(text));
	jsonw_object(w);
	jsonw_key_string(w, "dev", a->dev);
	jsonw_key_string(w, "address", text);
	origin_json(&o->origin, w);
	jsonw_object_end(w);
}

const struct kind_ops kind_address = {
	.name = "address",
	.compare = address_compare,
	.satisfied = address_satisfied,
	.label = address_label,
	.json = address_json,
};
