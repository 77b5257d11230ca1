// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ports: every device the file names, found or not, and beside them every device that is a switch's
 * port, carries a tc block, or is a port's conduit.
 */
#include "config/base/netaddr.h"
#include "config/model/tx.h"
#include "daemon/service/serving.h"
#include "daemon/service/verbs.h"
#include "daemon/service/write.h"

/* What is known of one device from both sides; any pointer may be NULL. */
struct device {
	const char *name;
	const struct port *wanted_port, *port;
	const struct vlan *wanted_vlan, *vlan;
	const struct qdisc *wanted_qdisc, *qdisc;
	bool tx_differs; /* how it sends */
};

static const struct qdisc *qdisc_of(const struct state *s, const char *name)
{
	struct qdisc key = { .obj.kind = KIND_QDISC };

	return s && COPY_NAME(key.dev, name) ? state_find(s, &key) : NULL;
}

static bool tx_differs(const struct state *wanted, const struct state *found, const char *name)
{
	for (unsigned int part = 0; part < TX_PART_COUNT_; part++) {
		const struct tx *w = tx_find(wanted, name, (enum tx_part)part);
		const struct tx *f = w ? tx_find(found, name, (enum tx_part)part) : NULL;

		if (w && !(f && kind_ops(KIND_TX)->satisfied(&w->obj, &f->obj)))
			return true;
	}
	return false;
}

static struct device device_named(const struct snapshot *s, const char *name)
{
	const struct state *wanted = s->config ? s->config->wanted : NULL;

	return (struct device){
		.name = name,
		.wanted_port = wanted ? state_port(wanted, name) : NULL,
		.wanted_vlan = wanted ? state_vlan(wanted, name) : NULL,
		.wanted_qdisc = qdisc_of(wanted, name),
		.port = s->found ? state_port(s->found, name) : NULL,
		.vlan = s->found ? state_vlan(s->found, name) : NULL,
		.qdisc = qdisc_of(s->found, name),
		.tx_differs = tx_differs(wanted, s->found, name),
	};
}

static bool differs(uint32_t has, uint32_t up, uint32_t mtu, uint32_t found_up, uint32_t found_mtu)
{
	return ((has & PORT_HAS_UP) && up != found_up) ||
	       ((has & PORT_HAS_MTU) && mtu != found_mtu);
}

/* "as wanted", "differs", "waiting" (wanted and not there), "found" (nobody asked for it) */
static const char *state_of(const struct device *d)
{
	const struct qdisc *q = d->wanted_qdisc;

	if (!d->port && !d->vlan)
		return "waiting";
	if (!d->wanted_port && !d->wanted_vlan && !q)
		return "found";
	if (d->tx_differs)
		return "differs";
	if (q && (!d->qdisc || !kind_ops(KIND_QDISC)->satisfied(&q->obj, &d->qdisc->obj)))
		return "differs";
	if (d->wanted_vlan)
		return d->vlan && kind_ops(KIND_VLAN)->satisfied(&d->wanted_vlan->obj,
								 &d->vlan->obj)
			       ? "as wanted"
			       : "differs";
	if (!d->wanted_port)
		return "as wanted";
	if (d->port)
		return kind_ops(KIND_PORT)->satisfied(&d->wanted_port->obj, &d->port->obj)
			       ? "as wanted"
			       : "differs";
	/* `ports:` may name a VLAN device that someone else made. */
	return differs(d->wanted_port->has, d->wanted_port->up, d->wanted_port->mtu, d->vlan->up,
		       d->vlan->mtu)
		       ? "differs"
		       : "as wanted";
}

static void number_or_null(struct jsonw *w, const char *key, bool there, int64_t v)
{
	if (there)
		jsonw_key_i64(w, key, v);
	else
		write_null(w, key);
}

static void bool_or_null(struct jsonw *w, const char *key, bool there, bool v)
{
	if (there)
		jsonw_key_bool(w, key, v);
	else
		write_null(w, key);
}

static void write_facts(struct jsonw *w, const struct device *d)
{
	static const struct link_facts nothing = {
		.switch_index = -1,
		.port_number = -1,
		.offload = -1,
	};
	bool there = d->port || d->vlan;
	const struct link_facts *f = d->port   ? &d->port->facts
				     : d->vlan ? &d->vlan->facts
					       : &nothing;
	char mac[MAC_TEXT];

	mac_print(f->mac, mac);
	bool_or_null(w, "up", there, d->port ? d->port->up : d->vlan && d->vlan->up);
	bool_or_null(w, "carrier", there, f->carrier);
	number_or_null(w, "mtu", there, d->port ? d->port->mtu : d->vlan ? d->vlan->mtu : 0);
	jsonw_key_string(w, "mac", there ? mac : NULL);
	write_text(w, "type", f->type);
	write_text(w, "driver", f->driver);
	write_text(w, "switch", f->switch_id);
	number_or_null(w, "switch_index", f->switch_index >= 0, f->switch_index);
	number_or_null(w, "port_number", f->port_number >= 0, f->port_number);
	write_text(w, "port_name", f->port_name);
	write_text(w, "conduit", streq(f->type, "dsa") ? f->lower : NULL);
	write_text(w, "tagger", f->tagger);
	bool_or_null(w, "tc_offload", f->offload >= 0, f->offload == 1);
}

static void write_addresses(struct jsonw *w, const struct snapshot *s, const char *dev)
{
	char text[NETADDR_TEXT];

	jsonw_key(w, "addresses");
	jsonw_array(w);
	for (size_t i = 0; s->found && i < state_count(s->found, KIND_ADDRESS); i++) {
		const struct address *a = state_at(s->found, KIND_ADDRESS, i);

		if (!streq(a->dev, dev))
			continue;
		ip_print(a->family, a->addr, text);
		jsonw_stringf(w, "%s/%u", text, a->prefix_len);
	}
	jsonw_array_end(w);
}

static void write_wanted(struct jsonw *w, const struct device *d)
{
	const struct port *p = d->wanted_port;
	const struct vlan *v = d->wanted_vlan;
	const struct qdisc *q = d->wanted_qdisc;
	uint32_t has = v ? v->has : p ? p->has : 0;

	bool_or_null(w, "wanted_up", has & PORT_HAS_UP, v ? v->up : p && p->up);
	number_or_null(w, "wanted_mtu", has & PORT_HAS_MTU, v ? v->mtu : p ? p->mtu : 0);
	bool_or_null(w, "wanted_tc_offload", p && (p->has & PORT_HAS_TC_OFFLOAD),
		     p && p->tc_offload);
	number_or_null(w, "wanted_ingress_block", q && q->ingress_block, q ? q->ingress_block : 0);
	number_or_null(w, "wanted_egress_block", q && q->egress_block, q ? q->egress_block : 0);
}

static void write_device(struct jsonw *w, const struct snapshot *s, const char *name)
{
	struct device d = device_named(s, name);
	const struct vlan *v = d.vlan ? d.vlan : d.wanted_vlan;

	jsonw_object(w);
	jsonw_key_string(w, "name", name);
	jsonw_key_string(w, "kind", v ? "vlan" : "port");
	jsonw_key_bool(w, "configured", d.wanted_port || d.wanted_vlan || d.wanted_qdisc);
	jsonw_key_string(w, "state", state_of(&d));
	write_facts(w, &d);
	write_text(w, "link", v ? v->link : NULL);
	number_or_null(w, "vlan", v, v ? v->id : 0);
	number_or_null(w, "ingress_block", d.qdisc && d.qdisc->ingress_block,
		       d.qdisc ? d.qdisc->ingress_block : 0);
	number_or_null(w, "egress_block", d.qdisc && d.qdisc->egress_block,
		       d.qdisc ? d.qdisc->egress_block : 0);
	write_addresses(w, s, name);
	write_wanted(w, &d);
	jsonw_object_end(w);
}

static bool is_conduit(const struct snapshot *s, const char *name)
{
	for (size_t i = 0; i < state_count(s->found, KIND_PORT); i++) {
		const struct port *p = state_at(s->found, KIND_PORT, i);

		if (streq(p->facts.type, "dsa") && streq(p->facts.lower, name))
			return true;
	}
	return false;
}

static bool worth_showing(const struct snapshot *s, const struct port *p)
{
	const struct qdisc *q = qdisc_of(s->found, p->name);

	return streq(p->facts.type, "dsa") || p->facts.switch_id[0] || p->facts.port_number >= 0 ||
	       (q && (q->ingress_block || q->egress_block)) || is_conduit(s, p->name);
}

struct names {
	const char **list;
	size_t count, space;
};

static int add_name(struct names *n, const char *name)
{
	if (grow(&n->list, &n->space, n->count, sizeof(*n->list)) < 0)
		return -1;
	n->list[n->count++] = name;
	return 0;
}

/* "lan2" before "lan10": by letters, and where both have digits, by number. */
static int by_name(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

static int collect(const struct snapshot *s, struct names *n)
{
	const struct state *wanted = s->config ? s->config->wanted : NULL;
	int err = 0;

	for (size_t i = 0; wanted && i < state_count(wanted, KIND_PORT); i++)
		err |= add_name(n, ((const struct port *)state_at(wanted, KIND_PORT, i))->name);
	for (size_t i = 0; wanted && i < state_count(wanted, KIND_VLAN); i++)
		err |= add_name(n, ((const struct vlan *)state_at(wanted, KIND_VLAN, i))->name);
	for (size_t i = 0; wanted && i < state_count(wanted, KIND_QDISC); i++)
		err |= add_name(n, ((const struct qdisc *)state_at(wanted, KIND_QDISC, i))->dev);
	for (size_t i = 0; s->found && i < state_count(s->found, KIND_PORT); i++) {
		const struct port *p = state_at(s->found, KIND_PORT, i);

		if (worth_showing(s, p))
			err |= add_name(n, p->name);
	}
	if (n->count)
		qsort(n->list, n->count, sizeof(*n->list), by_name);
	return err;
}

void verb_ports(struct call *c)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	struct names names = { 0 };

	if (!w || collect(c->snapshot, &names) < 0) {
		free(names.list);
		call_lost(c);
		return;
	}
	jsonw_object(w);
	jsonw_key(w, "ports");
	jsonw_array(w);
	for (size_t i = 0; i < names.count; i++) {
		if (i == 0 || !streq(names.list[i], names.list[i - 1]))
			write_device(w, c->snapshot, names.list[i]);
	}
	jsonw_array_end(w);
	jsonw_object_end(w);
	free(names.list);
	call_reply(c, w);
}
