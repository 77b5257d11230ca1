/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A network device that is there without us: a NIC port, a DSA user port or conduit. */
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/base/netaddr.h"
#include "config/model/kinds.h"

static int port_compare(const struct object *a, const struct object *b)
{
	return strcmp(((const struct port *)a)->name, ((const struct port *)b)->name);
}

static bool port_satisfied(const struct object *wanted, const struct object *found)
{
	const struct port *w = (const struct port *)wanted, *f = (const struct port *)found;

	if (w->has & PORT_HAS_UP && w->up != f->up)
		return false;
	if (w->has & PORT_HAS_MTU && w->mtu != f->mtu)
		return false;
	if (w->has & PORT_HAS_TC_OFFLOAD && w->tc_offload != f->tc_offload)
		return false;
	return true;
}

static void port_label(const struct object *o, char *to, size_t size)
{
	snprintf(to, size, "port %s", ((const struct port *)o)->name);
}

void origin_json(const struct origin *at, struct jsonw *w)
{
	if (!at->line)
		return;
	jsonw_key_u64(w, "line", at->line);
	jsonw_key_u64(w, "column", at->column);
}

static void key_text(struct jsonw *w, const char *key, const char *text)
{
	jsonw_key_string(w, key, text[0] ? text : NULL);
}

void link_facts_json(const struct link_facts *facts, struct jsonw *w)
{
	char mac[MAC_TEXT];

	mac_print(facts->mac, mac);
	jsonw_key_u64(w, "ifindex", facts->ifindex);
	jsonw_key_bool(w, "carrier", facts->carrier);
	jsonw_key_string(w, "mac", mac);
	key_text(w, "type", facts->type);
	key_text(w, "driver", facts->driver);
	key_text(w, "lower", facts->lower);
	key_text(w, "switch_id", facts->switch_id);
	key_text(w, "port_name", facts->port_name);
	jsonw_key(w, "switch");
	if (facts->switch_index >= 0)
		jsonw_i64(w, facts->switch_index);
	else
		jsonw_null(w);
	jsonw_key(w, "port_number");
	if (facts->port_number >= 0)
		jsonw_i64(w, facts->port_number);
	else
		jsonw_null(w);
	key_text(w, "tagger", facts->tagger);
	jsonw_key(w, "offload");
	if (facts->offload >= 0)
		jsonw_bool(w, facts->offload);
	else
		jsonw_null(w);
}

static void port_json(const struct object *o, struct jsonw *w)
{
	const struct port *p = (const struct port *)o;

	jsonw_object(w);
	jsonw_key_string(w, "name", p->name);
	if (p->has & PORT_HAS_UP)
		jsonw_key_bool(w, "up", p->up);
	if (p->has & PORT_HAS_MTU)
		jsonw_key_u64(w, "mtu", p->mtu);
	if (p->has & PORT_HAS_TC_OFFLOAD)
		jsonw_key_bool(w, "tc_offload", p->tc_offload);
	if (p->facts.ifindex)
		link_facts_json(&p->facts, w);
	origin_json(&o->origin, w);
	jsonw_object_end(w);
}

const struct kind_ops kind_port = {
	.name = "port",
	.compare = port_compare,
	.satisfied = port_satisfied,
	.label = port_label,
	.json = port_json,
};
