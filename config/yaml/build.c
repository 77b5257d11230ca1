// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * build: a draft without errors becomes objects in a state. What the file gives by default is set
 * here as if it had been said; what it leaves open (a port's mtu) stays open.
 */
#include "config/yaml/build.h"

#include <errno.h>

#include "config/model/tx.h"

/* Puts an object into the state, or drops it. */
static int add(struct config *c, void *object)
{
	int r;

	if (!object)
		return -ENOMEM;
	r = state_add(c->wanted, object, NULL);
	if (r < 0)
		object_unref(object);
	return r;
}

static void build_daemon(const struct draft_root *root, struct config *c)
{
	const struct draft_daemon *d = &root->daemon;
	const struct draft_name *writer;

	if (!HAS(root, ROOT_DAEMON))
		return; /* config_new() has the defaults */
	c->daemon.settle_ms = d->settle;
	c->daemon.audit_ms = d->audit;
	c->daemon.port_wait_ms = d->port_wait;
	c->daemon.history = d->history;
	c->daemon.log_level = (uint8_t)d->log_level;
	FOR_EACH_ITEM(writer, d->writers)
		COPY_NAME(c->daemon.writers[c->daemon.writer_count++], writer->name);
}

static int build_addresses(struct config *c, const struct items *items, const char *dev)
{
	const struct draft_address *a;

	FOR_EACH_ITEM(a, *items) {
		struct address *o = object_new(KIND_ADDRESS, sizeof(*o));
		int r;

		if (!o)
			return -ENOMEM;
		o->obj.origin = node_origin(a->node);
		COPY_NAME(o->dev, dev);
		o->family = a->family;
		o->prefix_len = a->prefix_len;
		memcpy(o->addr, a->addr, sizeof(o->addr));
		r = add(c, o);
		if (r < 0)
			return r;
	}
	return 0;
}

static int build_tx_part(struct config *c, const struct draft_port *p, enum tx_part part,
			 uint32_t has, const uint32_t values[TX_VALUES])
{
	bool automatic = part == TX_FLUSH && values[0] == FLUSH_AUTO;
	struct tx *o;

	if (!(p->tx.draft.has & 1u << part) || !has)
		return 0;
	o = tx_new(p->draft.name, part, 0);
	if (!o)
		return -ENOMEM;
	o->obj.origin = draft_at(&p->tx.draft, tx_part_name(part));
	o->automatic = automatic;
	o->has = automatic ? 0 : (uint8_t)has;
	memcpy(o->value, values, sizeof(o->value));
	return add(c, o);
}

static int build_tx(struct config *c, const struct draft_port *p)
{
	const struct draft_tx *tx = &p->tx;
	const struct {
		uint32_t has, values[TX_VALUES];
	} parts[TX_PART_COUNT_] = {
		[TX_FLUSH] = { 1, { tx->flush } },
		[TX_RING] = { 1, { tx->ring } },
		[TX_COALESCE] = { tx->coalesce.draft.has,
				  { tx->coalesce.usecs, tx->coalesce.frames,
				    tx->coalesce.adaptive } },
		[TX_BQL] = { tx->bql.draft.has, { tx->bql.min, tx->bql.max } },
	};
	int r = 0;

	for (unsigned int i = 0; i < TX_PART_COUNT_ && r == 0; i++)
		r = build_tx_part(c, p, (enum tx_part)i, parts[i].has, parts[i].values);
	return r;
}

static int build_port(struct config *c, const struct draft_port *p)
{
	struct port *o = object_new(KIND_PORT, sizeof(*o));
	int r;

	if (!o)
		return -ENOMEM;
	o->obj.origin = draft_name_at(&p->draft);
	COPY_NAME(o->name, p->draft.name);
	o->has = (HAS(p, PORT_UP) ? PORT_HAS_UP : 0) | (HAS(p, PORT_MTU) ? PORT_HAS_MTU : 0) |
		 (HAS(p, PORT_TC_OFFLOAD) ? PORT_HAS_TC_OFFLOAD : 0);
	o->up = p->up;
	o->mtu = p->mtu;
	o->tc_offload = p->tc_offload;
	r = add(c, o);
	if (r == 0)
		r = build_tx(c, p);
	return r < 0 ? r : build_addresses(c, &p->addresses, p->draft.name);
}

static int build_vlan(struct config *c, const struct draft_vlan *v)
{
	struct vlan *o = object_new(KIND_VLAN, sizeof(*o));
	int r;

	if (!o)
		return -ENOMEM;
	o->obj.origin = draft_name_at(&v->draft);
	COPY_NAME(o->name, v->draft.name);
	COPY_NAME(o->link, v->link);
	o->id = (uint16_t)v->id;
	o->protocol = (uint16_t)v->protocol;
	o->has = PORT_HAS_UP | (HAS(v, VLAN_MTU) ? PORT_HAS_MTU : 0);
	o->up = v->up;
	o->mtu = v->mtu;
	r = add(c, o);
	return r < 0 ? r : build_addresses(c, &v->addresses, v->draft.name);
}

static int build_rule(struct config *c, const struct draft_block *b, const struct draft_rule *r,
		      uint32_t position)
{
	struct rule *o = rule_new(draft_match_view(&r->match), r->actions.list, r->actions.count);
	enum tagging tagging = draft_tagging(b, r);

	if (!o)
		return -ENOMEM;
	o->obj.origin = node_origin(r->draft.node);
	o->block = b->id;
	o->chain = r->chain;
	o->position = position;
	o->pref = (uint16_t)r->pref;
	o->ethertype = r->match.ethertype;
	o->offload = (uint8_t)r->offload;
	o->tagging = tagging == TAGGING_VLAN ? TAGGING_VLAN : r->match.tagging;
	COPY_NAME(o->name, r->name);
	return add(c, o);
}

static int build_rules(struct config *c, const struct draft_block *b)
{
	const struct draft_rule *rule;
	uint32_t position = 0;
	int r = 0;

	FOR_EACH_ITEM(rule, b->rules) {
		r = build_rule(c, b, rule, position++);
		if (r < 0)
			break;
	}
	return r;
}

static int build_block(struct config *c, const struct draft_block *b)
{
	struct block *o = object_new(KIND_BLOCK, sizeof(*o));
	int r;

	if (!o)
		return -ENOMEM;
	o->obj.origin = draft_name_at(&b->draft);
	o->id = b->id;
	COPY_NAME(o->name, b->draft.name);
	o->offload = (uint8_t)b->offload;
	o->foreign = (uint8_t)b->foreign;
	o->tagging = (uint8_t)b->tagging;
	o->bypass = (uint8_t)b->bypass;
	o->replace = (uint8_t)b->replace;
	r = add(c, o);
	return r < 0 ? r : build_rules(c, b);
}

/* One qdisc a device, whichever blocks bind it: so an object may be met again, and is made anew. */
static int build_qdisc(struct config *c, const struct draft_block *b, const struct draft_name *dev,
		       bool egress)
{
	struct qdisc *o = object_new(KIND_QDISC, sizeof(*o));
	const struct qdisc *other;
	int r;

	if (!o)
		return -ENOMEM;
	o->obj.origin = node_origin(dev->node);
	COPY_NAME(o->dev, dev->name);
	COPY_NAME(o->type, "clsact");
	o->takeover = b->takeover;
	other = state_find(c->wanted, o);
	if (other) {
		o->obj.origin = other->obj.origin;
		o->ingress_block = other->ingress_block;
		o->egress_block = other->egress_block;
		o->takeover |= other->takeover;
	}
	if (egress)
		o->egress_block = b->id;
	else
		o->ingress_block = b->id;
	r = state_put(c->wanted, o);
	if (r < 0)
		object_unref(o);
	return r;
}

static int build_qdiscs(struct config *c, const struct draft_block *b)
{
	const struct draft_name *dev;
	int r;

	FOR_EACH_ITEM(dev, b->bind) {
		r = build_qdisc(c, b, dev, false);
		if (r < 0)
			return r;
	}
	FOR_EACH_ITEM(dev, b->bind_egress) {
		r = build_qdisc(c, b, dev, true);
		if (r < 0)
			return r;
	}
	return 0;
}

int config_from_draft(const struct draft_root *root, const char *file, struct config **ret)
{
	_cleanup_(config_unrefp) struct config *c = config_new(file);
	const struct draft_port *port;
	const struct draft_vlan *vlan;
	const struct draft_block *block;
	int r;

	if (!c)
		return -ENOMEM;
	build_daemon(root, c);
	FOR_EACH_ITEM(port, root->ports) {
		r = build_port(c, port);
		if (r < 0)
			return r;
	}
	FOR_EACH_ITEM(vlan, root->vlans) {
		r = build_vlan(c, vlan);
		if (r < 0)
			return r;
	}
	FOR_EACH_ITEM(block, root->blocks) {
		r = build_block(c, block);
		if (r < 0)
			return r;
		r = build_qdiscs(c, block);
		if (r < 0)
			return r;
	}
	*ret = take(c);
	return 0;
}
