// SPDX-License-Identifier: GPL-2.0
/*
 * The forwarding path: what happens to a frame that comes from the wire or from the kernel. It is
 * looked up in the ruleset of its port and direction, the actions of the rule are executed, and it
 * ends in the kernel, on a wire, or nowhere.
 *
 * Inside this file a frame has its data at the network header, 14 bytes behind the MAC header, and
 * its outer VLAN tag beside the data: as the kernel's own ingress has it when it classifies. All
 * functions run with BH off and under the RCU read lock. A frame passes through few ports at most
 * (a rule on egress may redirect again), and every delivery is to a queue.
 */
#include <linux/etherdevice.h>

#include "swsim.h"

#define SWSIM_MAX_PORTS 4 /* that one frame passes through */
#define SWSIM_MAX_GOTO 16 /* as in software; then the frame is dropped */

enum swsim_verdict {
	SWSIM_PASS,
	SWSIM_TRAPPED,
	SWSIM_DROPPED,
	SWSIM_STOLEN
};

static void swsim_egress(struct swsim_port *port, struct sk_buff *skb, int depth);

static unsigned int swsim_len(const struct sk_buff *skb)
{
	return skb->len - skb_mac_offset(skb) + (skb_vlan_tag_present(skb) ? VLAN_HLEN : 0);
}

static void swsim_lose(struct swsim_port *port, struct sk_buff *skb, unsigned int len)
{
	swsim_count(port, SWSIM_LOST, len);
	kfree_skb(skb);
}

/* From data at the MAC header to the form that is used here. Returns NULL when it was freed. */
static struct sk_buff *swsim_open(struct sk_buff *skb, struct net_device *dev)
{
	skb->ip_summed = CHECKSUM_NONE;
	skb_reset_mac_header(skb);
	skb->pkt_type = PACKET_HOST;
	skb->protocol = eth_type_trans(skb, dev);
	skb_reset_network_header(skb);
	skb_reset_transport_header(skb);
	skb_reset_mac_len(skb);
	if (eth_type_vlan(skb->protocol))
		skb = skb_vlan_untag(skb);
	return skb;
}

/* A frame, or a copy of it, goes to a port to be sent. Owns it. */
static void swsim_forward(struct swsim_port *to, struct sk_buff *skb, int depth)
{
	struct net_device *dev = rcu_dereference(to->dev);

	if (depth >= SWSIM_MAX_PORTS || !swsim_port_up(to, dev)) {
		swsim_lose(to, skb, swsim_len(skb));
		return;
	}
	swsim_egress(to, skb, depth);
}

static void swsim_mirror(struct swsim_port *port, struct swsim_port *to, struct sk_buff *skb,
			 int depth)
{
	struct sk_buff *copy = skb_clone(skb, GFP_ATOMIC);

	if (!copy)
		return;
	swsim_count(port, SWSIM_MIRRORED, swsim_len(skb));
	swsim_forward(to, copy, depth + 1);
}

static int swsim_edit(struct sk_buff *skb, const struct swsim_action *act)
{
	int err;

	__skb_push(skb, -skb_mac_offset(skb));
	if (act->id == SWSIM_ACT_PEDIT)
		err = swsim_edit_pedit(skb, act);
	else if (act->id == SWSIM_ACT_CSUM)
		err = swsim_edit_csum(skb);
	else
		err = swsim_edit_vlan(skb, act);
	if (err)
		skb_reset_mac_header(skb);
	skb_pull(skb, ETH_HLEN);
	skb_reset_network_header(skb);
	skb_reset_mac_len(skb);
	return err;
}

/* Software may go on where hardware found nothing; the kernel takes the chain from here. */
static void swsim_restore_chain(struct sk_buff *skb, u32 chain)
{
#if IS_ENABLED(CONFIG_NET_TC_SKB_EXT)
	struct tc_skb_ext *ext = tc_skb_ext_alloc(skb);

	if (ext)
		ext->chain = chain;
#endif
}

/*
 * Executes one rule. Returns true when that decides about the frame, with the verdict; false when
 * it is to be looked up in chain *@chain.
 */
static bool swsim_execute(struct swsim_port *port, struct swsim_rule *rule, struct sk_buff *skb,
			  int depth, u32 *chain, enum swsim_verdict *ret)
{
	unsigned int i;

	for (i = 0; i < rule->nactions; i++) {
		const struct swsim_action *act = &rule->actions[i];

		switch (act->id) {
		case SWSIM_ACT_DROP:
			*ret = SWSIM_DROPPED;
			return true;
		case SWSIM_ACT_PASS:
			*ret = SWSIM_PASS;
			return true;
		case SWSIM_ACT_TRAP:
			*ret = SWSIM_TRAPPED;
			return true;
		case SWSIM_ACT_GOTO:
			*chain = act->chain;
			return false;
		case SWSIM_ACT_REDIRECT:
			swsim_count(port, SWSIM_FORWARD, swsim_len(skb));
			swsim_forward(act->port, skb, depth + 1);
			*ret = SWSIM_STOLEN;
			return true;
		case SWSIM_ACT_MIRROR:
			swsim_mirror(port, act->port, skb, depth);
			break;
		case SWSIM_ACT_POLICE:
			if (swsim_policer_pass(act->policer, swsim_len(skb)))
				break;
			atomic64_inc(&rule->drops);
			*ret = SWSIM_DROPPED;
			return true;
		case SWSIM_ACT_VLAN_PUSH:
		case SWSIM_ACT_VLAN_POP:
		case SWSIM_ACT_VLAN_MODIFY:
		case SWSIM_ACT_PEDIT:
		case SWSIM_ACT_CSUM:
			if (!swsim_edit(skb, act))
				break;
			*ret = SWSIM_DROPPED;
			return true;
		case SWSIM_ACTS:
			break;
		}
	}
	*ret = SWSIM_PASS; /* the list has ended without a last word: as in software */
	return true;
}

static enum swsim_verdict swsim_run(struct swsim_port *port, enum swsim_dir dir,
				    struct sk_buff *skb, int depth)
{
	struct swsim_ruleset *set = rcu_dereference(port->set[dir]);
	enum swsim_verdict ret;
	struct swsim_key key;
	u32 chain = 0;
	int loops;

	if (!set || !READ_ONCE(set->entries))
		return SWSIM_PASS;
	for (loops = 0; loops <= SWSIM_MAX_GOTO; loops++) {
		struct swsim_rule *rule;

		swsim_dissect(skb, &key);
		rule = swsim_lookup(set, chain, skb_protocol(skb, false), &key);
		if (!rule) {
			if (chain && dir == SWSIM_INGRESS)
				swsim_restore_chain(skb, chain);
			return SWSIM_PASS;
		}
		atomic64_inc(&rule->packets);
		atomic64_add(swsim_len(skb), &rule->bytes);
		if (READ_ONCE(rule->lastused) != jiffies)
			WRITE_ONCE(rule->lastused, jiffies);
		if (swsim_execute(port, rule, skb, depth, &chain, &ret))
			return ret;
	}
	return SWSIM_DROPPED;
}

static void swsim_to_cpu(struct swsim_port *port, struct sk_buff *skb)
{
	struct net_device *dev = rcu_dereference(port->dev);

	if (!dev) {
		swsim_lose(port, skb, swsim_len(skb));
		return;
	}
	swsim_count(port, SWSIM_CPU_RX, swsim_len(skb));
	port->to_cpu(port, dev, skb);
}

static void swsim_drop(struct swsim_port *port, struct sk_buff *skb)
{
	swsim_count(port, SWSIM_DROP, swsim_len(skb));
	kfree_skb(skb);
}

static void swsim_egress(struct swsim_port *port, struct sk_buff *skb, int depth)
{
	struct swsim_port *mirror;

	switch (swsim_run(port, SWSIM_EGRESS, skb, depth)) {
	case SWSIM_PASS:
		mirror = rcu_dereference(port->mirror[SWSIM_EGRESS]);
		if (mirror)
			swsim_mirror(port, mirror, skb, depth);
		swsim_wire_out(port, skb);
		break;
	case SWSIM_TRAPPED:
		swsim_to_cpu(port, skb);
		break;
	case SWSIM_DROPPED:
		swsim_drop(port, skb);
		break;
	case SWSIM_STOLEN:
		break;
	}
}

/*
 * A frame comes to a port; data at the MAC header. Counts it, and returns it in the form that is
 * used here, or NULL when it was freed.
 */
static struct sk_buff *swsim_enter(struct swsim_port *port, struct sk_buff *skb,
				   enum swsim_count what)
{
	struct net_device *dev = rcu_dereference(port->dev);
	unsigned int len = skb->len;

	if (!swsim_port_up(port, dev) || !pskb_may_pull(skb, ETH_HLEN)) {
		swsim_lose(port, skb, len);
		return NULL;
	}
	swsim_count(port, what, len);
	return swsim_open(skb, dev);
}

/* A frame from the kernel; data at the MAC header. Owns it. */
void swsim_cpu_tx(struct swsim_port *port, struct sk_buff *skb)
{
	rcu_read_lock();
	skb = swsim_enter(port, skb, SWSIM_CPU_TX);
	if (skb)
		swsim_egress(port, skb, 0);
	rcu_read_unlock();
}

static void swsim_ingress(struct swsim_port *port, struct sk_buff *skb)
{
	struct swsim_policer *policer = rcu_dereference(port->policer);
	struct swsim_port *mirror = rcu_dereference(port->mirror[SWSIM_INGRESS]);

	if (mirror)
		swsim_mirror(port, mirror, skb, 0);
	if (policer && !swsim_policer_pass(policer, swsim_len(skb))) {
		swsim_drop(port, skb);
		return;
	}
	switch (swsim_run(port, SWSIM_INGRESS, skb, 0)) {
	case SWSIM_PASS:
	case SWSIM_TRAPPED:
		swsim_to_cpu(port, skb);
		break;
	case SWSIM_DROPPED:
		swsim_drop(port, skb);
		break;
	case SWSIM_STOLEN:
		break;
	}
}

/* A frame from the wire; data at the MAC header. Owns it. */
void swsim_rx(struct swsim_port *port, struct sk_buff *skb)
{
	rcu_read_lock();
	skb = swsim_enter(port, skb, SWSIM_RX);
	if (skb)
		swsim_ingress(port, skb);
	rcu_read_unlock();
}
