// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * unbuild: the other direction of build.c: a config becomes drafts again, for dumping. Texts are
 * not copied; the drafts live no longer than the config.
 */
#include <errno.h>

#include "config/model/tx.h"
#include "config/yaml/build.h"

static int add_addresses(const struct config *c, struct arena *a, const char *dev,
			 struct items *ret)
{
	struct address key = { .obj.kind = KIND_ADDRESS };
	size_t first, n = 0, end = state_count(c->wanted, KIND_ADDRESS);

	COPY_NAME(key.dev, dev);
	for (first = state_lower(c->wanted, &key); first + n < end; n++)
		if (!streq(((const struct address *)state_at(c->wanted, KIND_ADDRESS, first + n))
				   ->dev,
			   dev))
			break;
	if (n == 0)
		return 0;
	if (items_new(a, n, sizeof(struct draft_address), ret) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct address *o = state_at(c->wanted, KIND_ADDRESS, first + i);
		struct draft_address *d = (struct draft_address *)ret->at + ret->count++;

		d->family = o->family;
		d->prefix_len = o->prefix_len;
		memcpy(d->addr, o->addr, sizeof(d->addr));
	}
	return 0;
}

static void set_tx(const struct config *c, const char *dev, struct draft_tx *d)
{
	const struct tx *flush = tx_find(c->wanted, dev, TX_FLUSH);
	const struct tx *ring = tx_find(c->wanted, dev, TX_RING);
	const struct tx *coalesce = tx_find(c->wanted, dev, TX_COALESCE);
	const struct tx *bql = tx_find(c->wanted, dev, TX_BQL);

	d->draft.has = (flush ? 1u << TX_FLUSH : 0) | (ring ? 1u << TX_RING : 0) |
		       (coalesce ? 1u << TX_COALESCE : 0) | (bql ? 1u << TX_BQL : 0);
	d->flush = !flush || flush->automatic ? FLUSH_AUTO : flush->value[0];
	d->ring = ring ? ring->value[0] : 0;
	if (coalesce) {
		d->coalesce.draft.has = coalesce->has;
		d->coalesce.usecs = coalesce->value[0];
		d->coalesce.frames = coalesce->value[1];
		d->coalesce.adaptive = coalesce->value[2];
	}
	if (bql) {
		d->bql.draft.has = bql->has;
		d->bql.min = bql->value[0];
		d->bql.max = bql->value[1];
	}
}

static int add_ports(const struct config *c, struct arena *a, struct draft_root *root)
{
	size_t n = state_count(c->wanted, KIND_PORT);

	if (items_new(a, n, sizeof(struct draft_port), &root->ports) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct port *o = state_at(c->wanted, KIND_PORT, i);
		struct draft_port *d = (struct draft_port *)root->ports.at + root->ports.count++;

		d->draft.name = o->name;
		d->draft.has = (o->has & PORT_HAS_UP ? 1u << PORT_UP : 0) |
			       (o->has & PORT_HAS_MTU ? 1u << PORT_MTU : 0) |
			       (o->has & PORT_HAS_TC_OFFLOAD ? 1u << PORT_TC_OFFLOAD : 0);
		d->up = o->up;
		d->mtu = o->mtu;
		d->tc_offload = o->tc_offload;
		set_tx(c, o->name, &d->tx);
		d->draft.has |= d->tx.draft.has ? 1u << PORT_TX : 0;
		if (add_addresses(c, a, o->name, &d->addresses) < 0)
			return -ENOMEM;
		d->draft.has |= d->addresses.count ? 1u << PORT_ADDRESSES : 0;
	}
	root->draft.has |= n ? 1u << ROOT_PORTS : 0;
	return 0;
}

static int add_vlans(const struct config *c, struct arena *a, struct draft_root *root)
{
	size_t n = state_count(c->wanted, KIND_VLAN);

	if (items_new(a, n, sizeof(struct draft_vlan), &root->vlans) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct vlan *o = state_at(c->wanted, KIND_VLAN, i);
		struct draft_vlan *d = (struct draft_vlan *)root->vlans.at + root->vlans.count++;

		d->draft.name = o->name;
		d->draft.has = 1u << VLAN_LINK | 1u << VLAN_ID | 1u << VLAN_PROTOCOL |
			       (o->has & PORT_HAS_UP ? 1u << VLAN_UP : 0) |
			       (o->has & PORT_HAS_MTU ? 1u << VLAN_MTU : 0);
		d->link = o->link;
		d->id = o->id;
		d->protocol = o->protocol;
		d->up = o->up;
		d->mtu = o->mtu;
		if (add_addresses(c, a, o->name, &d->addresses) < 0)
			return -ENOMEM;
		d->draft.has |= d->addresses.count ? 1u << VLAN_ADDRESSES : 0;
	}
	root->draft.has |= n ? 1u << ROOT_VLANS : 0;
	return 0;
}

static void set_rule(const struct rule *o, struct draft_rule *d)
{
	struct match_view match = rule_match(o);

	d->draft.has = 1u << RULE_NAME | 1u << RULE_MATCH | 1u << RULE_ACTION | 1u << RULE_CHAIN |
		       (o->offload ? 1u << RULE_OFFLOAD : 0) | (o->pref ? 1u << RULE_PREF : 0);
	d->name = o->name;
	d->match.bytes = match.bytes;
	d->match.size = match.size;
	d->match.ethertype = o->ethertype;
	/* TAGGING_VLAN follows from the fields. */
	d->match.tagging = o->tagging == TAGGING_VLAN ? TAGGING_UNSET : o->tagging;
	d->actions.list = rule_actions(o);
	d->actions.count = o->action_count;
	d->offload = o->offload;
	d->chain = o->chain;
	d->pref = o->pref;
}

/* A state has a block's rules by name; positions say where each stood. */
static int add_rules(const struct config *c, struct arena *a, uint32_t block, struct items *ret)
{
	size_t first, end;

	state_block_rules(c->wanted, block, &first, &end);
	if (items_new(a, end - first, sizeof(struct draft_rule), ret) < 0)
		return -ENOMEM;
	for (size_t i = first; i < end; i++) {
		const struct rule *o = state_at(c->wanted, KIND_RULE, i);

		if (o->position < end - first)
			set_rule(o, (struct draft_rule *)ret->at + o->position);
	}
	ret->count = (uint32_t)(end - first);
	return 0;
}

static int add_binds(const struct config *c, struct arena *a, struct draft_block *d)
{
	size_t n = state_count(c->wanted, KIND_QDISC);
	bool first = true;

	if (items_new(a, n, sizeof(struct draft_name), &d->bind) < 0 ||
	    items_new(a, n, sizeof(struct draft_name), &d->bind_egress) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct qdisc *q = state_at(c->wanted, KIND_QDISC, i);

		if (q->ingress_block == d->id)
			((struct draft_name *)d->bind.at)[d->bind.count++].name = q->dev;
		if (q->egress_block == d->id)
			((struct draft_name *)d->bind_egress.at)[d->bind_egress.count++].name =
				q->dev;
		if (q->ingress_block != d->id && q->egress_block != d->id)
			continue;
		/* A device may be taken over if one of its blocks says so: then so may all
		 * devices of that block. */
		d->takeover = q->takeover && (first || d->takeover);
		first = false;
	}
	d->draft.has |= (d->bind.count ? 1u << BLOCK_BIND : 0) |
			(d->bind_egress.count ? 1u << BLOCK_BIND_EGRESS : 0);
	return 0;
}

static int by_name(const void *x, const void *y)
{
	return strcmp(((const struct draft *)x)->name, ((const struct draft *)y)->name);
}

static int add_blocks(const struct config *c, struct arena *a, struct draft_root *root)
{
	size_t n = state_count(c->wanted, KIND_BLOCK);

	if (items_new(a, n, sizeof(struct draft_block), &root->blocks) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct block *o = state_at(c->wanted, KIND_BLOCK, i);
		struct draft_block *d =
			(struct draft_block *)root->blocks.at + root->blocks.count++;

		d->draft.name = o->name;
		d->draft.has = 1u << BLOCK_ID | 1u << BLOCK_TAKEOVER | 1u << BLOCK_OFFLOAD |
			       1u << BLOCK_FOREIGN | 1u << BLOCK_TAGGING | 1u << BLOCK_BYPASS |
			       1u << BLOCK_REPLACE | 1u << BLOCK_RULES;
		d->id = o->id;
		d->offload = o->offload;
		d->foreign = o->foreign;
		d->tagging = o->tagging;
		d->bypass = o->bypass;
		d->replace = o->replace;
		if (add_binds(c, a, d) < 0 || add_rules(c, a, o->id, &d->rules) < 0)
			return -ENOMEM;
	}
	qsort(root->blocks.at, n, sizeof(struct draft_block), by_name);
	root->draft.has |= n ? 1u << ROOT_BLOCKS : 0;
	return 0;
}

static int set_daemon(const struct config *c, struct arena *a, struct draft_root *root)
{
	struct draft_daemon *d = &root->daemon;

	d->draft.has = 1u << DAEMON_SETTLE | 1u << DAEMON_AUDIT | 1u << DAEMON_PORT_WAIT |
		       1u << DAEMON_LOG_LEVEL | 1u << DAEMON_HISTORY |
		       (c->daemon.writer_count ? 1u << DAEMON_WRITERS : 0);
	d->settle = c->daemon.settle_ms;
	d->audit = c->daemon.audit_ms;
	d->port_wait = c->daemon.port_wait_ms;
	d->log_level = c->daemon.log_level;
	d->history = c->daemon.history;
	if (items_new(a, c->daemon.writer_count, sizeof(struct draft_name), &d->writers) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < c->daemon.writer_count; i++)
		((struct draft_name *)d->writers.at)[d->writers.count++].name =
			c->daemon.writers[i];
	root->draft.has |= 1u << ROOT_DAEMON;
	return 0;
}

int draft_from_config(const struct config *c, struct arena *a, struct draft_root **ret)
{
	struct draft_root *root = arena_alloc(a, sizeof(*root));

	if (!root)
		return -ENOMEM;
	root->draft.has = 1u << ROOT_VERSION;
	root->version = 1;
	if (set_daemon(c, a, root) < 0 || add_ports(c, a, root) < 0 || add_vlans(c, a, root) < 0 ||
	    add_blocks(c, a, root) < 0)
		return -ENOMEM;
	*ret = root;
	return 0;
}
