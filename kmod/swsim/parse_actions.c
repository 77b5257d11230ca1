// SPDX-License-Identifier: GPL-2.0
/*
 * From the kernel's list of actions to ours. The kernel does not tell drivers everything: whether a
 * vlan modify names a priority, and what follows a mirror by its control word ("pipe", "drop"), is
 * not in the list. Where we can see that the result would differ from software, we refuse.
 */
#include <linux/if_arp.h>
#include <uapi/linux/tc_act/tc_csum.h>

#include "swsim.h"

struct swsim_parse {
	struct swsim_rule *rule;
	struct netlink_ext_ack *extack;
	bool ip4_dirty; /* the IPv4 header was changed, its checksum not yet */
	bool done;	/* what follows is not reached */
};

#define CANNOT(what) swsim_refuse(p->extack, -EOPNOTSUPP, "swsim: " what)

static struct swsim_action *swsim_add(struct swsim_parse *p, enum swsim_act_id id)
{
	struct swsim_action *act = &p->rule->actions[p->rule->nactions];

	act->id = id;
	return act;
}

static int swsim_parse_output(struct swsim_parse *p, enum swsim_act_id id, struct net_device *dev)
{
	struct swsim_port *port = dev ? swsim_port_of(dev) : NULL;

	if (!port)
		return CANNOT("redirect and mirror go to ports of swsim only");
	kref_get(&port->ref);
	swsim_add(p, id)->port = port;
	p->rule->nactions++;
	return 0;
}

static int swsim_parse_vlan(struct swsim_parse *p, enum swsim_act_id id,
			    const struct flow_action_entry *entry)
{
	struct swsim_action *act;

	if (!eth_type_vlan(entry->vlan.proto))
		return CANNOT("a VLAN is 802.1Q or 802.1ad");
	act = swsim_add(p, id);
	act->vlan.proto = entry->vlan.proto;
	act->vlan.vid = entry->vlan.vid;
	act->vlan.prio = entry->vlan.prio;
	p->rule->nactions++;
	return 0;
}

/* Does the rule match on nothing but frames of this ethertype, with at most one tag? */
static bool swsim_is_only(const struct swsim_rule *rule, u16 ethertype)
{
	return rule->mask.basic.n_proto == htons(0xffff) &&
	       rule->key.basic.n_proto == htons(ethertype);
}

/*
 * What a pedit may change: MAC addresses, TOS and TTL of IPv4, hop limit of IPv6. @changed are the
 * bits of the word that it touches.
 */
static int swsim_parse_pedit(struct swsim_parse *p, const struct flow_action_entry *entry, bool add)
{
	u32 changed = ntohl((__force __be32)~entry->mangle.mask);
	struct swsim_action *act;
	enum swsim_base base;

	switch (entry->mangle.htype) {
	case FLOW_ACT_MANGLE_HDR_TYPE_ETH:
		if (add)
			return CANNOT("pedit cannot add to a MAC address");
		if (entry->mangle.offset > 8 || entry->mangle.offset % 4)
			return CANNOT("pedit of the Ethernet header is for MAC addresses only");
		base = SWSIM_BASE_ETH;
		break;
	case FLOW_ACT_MANGLE_HDR_TYPE_IP4:
		if (!swsim_is_only(p->rule, ETH_P_IP))
			return CANNOT("pedit of the IPv4 header needs a match on IPv4");
		if (!((entry->mangle.offset == 8 && !(changed & 0x00ffffff)) ||
		      (entry->mangle.offset == 0 && !(changed & 0xff00ffff))))
			return CANNOT("pedit of the IPv4 header is for ttl and tos only");
		base = SWSIM_BASE_IP4;
		p->ip4_dirty = true;
		break;
	case FLOW_ACT_MANGLE_HDR_TYPE_IP6:
		if (!swsim_is_only(p->rule, ETH_P_IPV6))
			return CANNOT("pedit of the IPv6 header needs a match on IPv6");
		if (entry->mangle.offset != 4 || changed & 0xffffff00)
			return CANNOT("pedit of the IPv6 header is for hoplimit only");
		base = SWSIM_BASE_IP6;
		break;
	default:
		return CANNOT("pedit is for the headers eth, ip and ip6 (pedit ex munge)");
	}
	act = swsim_add(p, SWSIM_ACT_PEDIT);
	act->pedit.base = base;
	act->pedit.offset = entry->mangle.offset;
	act->pedit.mask = entry->mangle.mask;
	act->pedit.val = entry->mangle.val;
	act->pedit.add = add;
	p->rule->nactions++;
	return 0;
}

static int swsim_parse_csum(struct swsim_parse *p, const struct flow_action_entry *entry)
{
	if (entry->csum_flags != TCA_CSUM_UPDATE_FLAG_IPV4HDR)
		return CANNOT("csum is for ip4h only, since nothing else changes");
	p->ip4_dirty = false;
	swsim_add(p, SWSIM_ACT_CSUM);
	p->rule->nactions++;
	return 0;
}

static int swsim_parse_police_act(struct swsim_parse *p, const struct flow_action_entry *entry)
{
	struct swsim_policer *policer;

	if (entry->police.exceed.act_id != FLOW_ACTION_DROP)
		return CANNOT("police drops what exceeds, and nothing else");
	if (entry->police.notexceed.act_id != FLOW_ACTION_ACCEPT &&
	    entry->police.notexceed.act_id != FLOW_ACTION_PIPE)
		return CANNOT("police lets pass what conforms (ok or pipe)");
	if (entry->police.peakrate_bytes_ps || entry->police.avrate || entry->police.overhead)
		return CANNOT("police has no peakrate, avrate or overhead");
	if (!entry->police.rate_bytes_ps && !entry->police.rate_pkt_ps)
		return CANNOT("police needs a rate");
	policer = swsim_policer_get(p->rule->inst, entry->hw_index, entry->police.rate_bytes_ps,
				    entry->police.burst, entry->police.rate_pkt_ps,
				    entry->police.burst_pkt,
				    entry->police.mtu ? entry->police.mtu : U32_MAX);
	if (!policer)
		return -ENOMEM;
	swsim_add(p, SWSIM_ACT_POLICE)->policer = policer;
	p->rule->nactions++;
	if (entry->police.notexceed.act_id == FLOW_ACTION_ACCEPT) {
		swsim_add(p, SWSIM_ACT_PASS);
		p->rule->nactions++;
		p->done = true;
	}
	return 0;
}

static int swsim_parse_final(struct swsim_parse *p, enum swsim_act_id id)
{
	swsim_add(p, id);
	p->rule->nactions++;
	p->done = true;
	return 0;
}

static int swsim_parse_action(struct swsim_parse *p, const struct flow_action_entry *entry)
{
	int err;

	/* Frames leave, or go on elsewhere: their checksum must be right by now. */
	if (p->ip4_dirty && entry->id != FLOW_ACTION_DROP && entry->id != FLOW_ACTION_CSUM &&
	    entry->id != FLOW_ACTION_MANGLE && entry->id != FLOW_ACTION_ADD)
		return CANNOT("pedit of the IPv4 header needs csum ip4h right behind it");
	switch (entry->id) {
	case FLOW_ACTION_ACCEPT:
		return swsim_parse_final(p, SWSIM_ACT_PASS);
	case FLOW_ACTION_DROP:
		return swsim_parse_final(p, SWSIM_ACT_DROP);
	case FLOW_ACTION_TRAP:
		return swsim_parse_final(p, SWSIM_ACT_TRAP);
	case FLOW_ACTION_GOTO:
		swsim_add(p, SWSIM_ACT_GOTO)->chain = entry->chain_index;
		p->rule->nactions++;
		p->done = true;
		return 0;
	case FLOW_ACTION_REDIRECT:
		err = swsim_parse_output(p, SWSIM_ACT_REDIRECT, entry->dev);
		p->done = !err;
		return err;
	case FLOW_ACTION_MIRRED:
		return swsim_parse_output(p, SWSIM_ACT_MIRROR, entry->dev);
	case FLOW_ACTION_REDIRECT_INGRESS:
	case FLOW_ACTION_MIRRED_INGRESS:
		return CANNOT("redirect and mirror are for egress only");
	case FLOW_ACTION_VLAN_PUSH:
		return swsim_parse_vlan(p, SWSIM_ACT_VLAN_PUSH, entry);
	case FLOW_ACTION_VLAN_MANGLE:
		return swsim_parse_vlan(p, SWSIM_ACT_VLAN_MODIFY, entry);
	case FLOW_ACTION_VLAN_POP:
		swsim_add(p, SWSIM_ACT_VLAN_POP);
		p->rule->nactions++;
		return 0;
	case FLOW_ACTION_MANGLE:
		return swsim_parse_pedit(p, entry, false);
	case FLOW_ACTION_ADD:
		return swsim_parse_pedit(p, entry, true);
	case FLOW_ACTION_CSUM:
		return swsim_parse_csum(p, entry);
	case FLOW_ACTION_POLICE:
		return swsim_parse_police_act(p, entry);
	case FLOW_ACTION_SAMPLE:
		return CANNOT("there is no action sample");
	case FLOW_ACTION_MARK:
	case FLOW_ACTION_PTYPE:
	case FLOW_ACTION_PRIORITY:
		return CANNOT("there is no action skbedit");
	case FLOW_ACTION_TUNNEL_ENCAP:
	case FLOW_ACTION_TUNNEL_DECAP:
		return CANNOT("there is no action tunnel_key");
	case FLOW_ACTION_CT:
		return CANNOT("there is no action ct");
	case FLOW_ACTION_VLAN_PUSH_ETH:
	case FLOW_ACTION_VLAN_POP_ETH:
		return CANNOT("vlan push_eth and pop_eth are not there");
	default:
		return CANNOT("there is no such action");
	}
}

/*
 * Fills the actions of a rule, which has room for twice as many as there are entries (a police with
 * conform "ok" becomes two). On an error the rule is to be freed with what it holds by then.
 */
int swsim_parse_actions(const struct flow_action *actions, struct swsim_rule *rule,
			struct netlink_ext_ack *extack)
{
	struct swsim_parse parse = { .rule = rule, .extack = extack }, *p = &parse;
	unsigned int i;
	int err;

	if (!flow_action_hw_stats_check(actions, extack, FLOW_ACTION_HW_STATS_IMMEDIATE_BIT))
		return -EOPNOTSUPP;
	for (i = 0; i < actions->num_entries && !p->done; i++) {
		err = swsim_parse_action(p, &actions->entries[i]);
		if (err)
			return err;
	}
	if (p->ip4_dirty)
		return CANNOT("pedit of the IPv4 header needs csum ip4h right behind it");
	return 0;
}
