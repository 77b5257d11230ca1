// SPDX-License-Identifier: GPL-2.0
/*
 * The switch's side of the tags between it and its conduit: what the kernel's taggers rtl8_4 (one
 * switch, up to 16 ports; used with platform data) and dsa (32 switches of 32 ports; used with a
 * device tree) expect. The formats are those of net/dsa/tag_rtl8_4.c and tag_dsa.c.
 */
#include <linux/etherdevice.h>

#include "swsim.h"

#define RTL8_4_LEN 8
#define RTL8_4_PROTOCOL 0x0400 /* RTL8365MB, reason "forward" */
#define RTL8_4_PORTS 0x07ff

#define DSA_LEN 4
#define DSA_CMD_FROM_CPU 1
#define DSA_CMD_FORWARD 3
#define DSA_TAGGED 0x20

/* Makes room for @len bytes behind the MAC addresses; data is at the MAC header. */
static u8 *swsim_tag_open(struct sk_buff *skb, unsigned int len)
{
	if (skb_cow_head(skb, len))
		return NULL;
	skb_push(skb, len);
	memmove(skb->data, skb->data + len, 2 * ETH_ALEN);
	skb_reset_mac_header(skb);
	return skb->data + 2 * ETH_ALEN;
}

static void swsim_tag_close(struct sk_buff *skb, unsigned int len)
{
	memmove(skb->data + len, skb->data, 2 * ETH_ALEN);
	skb_pull(skb, len);
	skb_reset_mac_header(skb);
}

static bool swsim_tag_rtl8_4(struct sk_buff *skb, unsigned int port)
{
	u8 *tag = swsim_tag_open(skb, RTL8_4_LEN);

	if (!tag)
		return false;
	put_unaligned_be16(ETH_P_REALTEK, tag);
	put_unaligned_be16(RTL8_4_PROTOCOL, tag + 2);
	put_unaligned_be16(0, tag + 4);
	put_unaligned_be16(port, tag + 6);
	return true;
}

/* Always the untagged form: a VLAN tag of the frame stays behind ours, as it came. */
static bool swsim_tag_dsa(struct sk_buff *skb, unsigned int sw, unsigned int port)
{
	u8 *tag = swsim_tag_open(skb, DSA_LEN);

	if (!tag)
		return false;
	tag[0] = DSA_CMD_FORWARD << 6 | sw;
	tag[1] = port << 3;
	tag[2] = 0;
	tag[3] = 0;
	return true;
}

/*
 * A frame that arrived at @port goes to the kernel: tagged, to the conduit. Data is at the network
 * header, the RCU read lock is held, BH is off. Owns the frame.
 */
void swsim_dsa_to_cpu(struct swsim_port *port, struct net_device *dev, struct sk_buff *skb)
{
	struct dsa_port *dp = port->dp;
	struct net_device *conduit = swsim_cpu_conduit(dp->cpu_dp);
	bool tagged;

	__skb_push(skb, -skb_mac_offset(skb));
	if (skb_vlan_tag_present(skb)) {
		skb = __vlan_hwaccel_push_inside(skb);
		if (!skb)
			return;
	}
	if (dp->cpu_dp->tag_ops->proto == DSA_TAG_PROTO_RTL8_4)
		tagged = swsim_tag_rtl8_4(skb, port->index);
	else
		tagged = swsim_tag_dsa(skb, dp->ds->index, port->index);
	if (!tagged || !netif_running(conduit)) {
		kfree_skb(skb);
		return;
	}
	dev_sw_netstats_rx_add(conduit, skb->len);
	skb->pkt_type = PACKET_HOST;
	skb->protocol = eth_type_trans(skb, conduit);
	netif_rx(skb);
}

/*
 * Takes the tag off a frame that the kernel sends through the conduit; data is at the MAC header.
 * Returns the frame and where it is to go, or NULL when it has no tag (then it is freed).
 */
struct sk_buff *swsim_dsa_untag(struct sk_buff *skb, enum dsa_tag_protocol proto,
				unsigned int *ret_switch, unsigned int *ret_port)
{
	unsigned int len = proto == DSA_TAG_PROTO_RTL8_4 ? RTL8_4_LEN : DSA_LEN;
	u8 *tag;

	if (!pskb_may_pull(skb, ETH_HLEN + len) || skb_cow_head(skb, 0))
		goto drop;
	tag = skb->data + 2 * ETH_ALEN;
	if (proto == DSA_TAG_PROTO_RTL8_4) {
		u16 ports = get_unaligned_be16(tag + 6) & RTL8_4_PORTS;

		if (get_unaligned_be16(tag) != ETH_P_REALTEK || !ports)
			goto drop;
		*ret_switch = 0;
		*ret_port = __ffs(ports);
		swsim_tag_close(skb, len);
		return skb;
	}
	if (tag[0] >> 6 != DSA_CMD_FROM_CPU)
		goto drop;
	*ret_switch = tag[0] & 0x1f;
	*ret_port = tag[1] >> 3;
	if (tag[0] & DSA_TAGGED) {
		/* Our tag stands in place of the 802.1Q tag, and keeps its DEI elsewhere. */
		if (tag[1] & 1)
			tag[2] |= 0x10;
		put_unaligned_be16(ETH_P_8021Q, tag);
	} else {
		swsim_tag_close(skb, len);
	}
	return skb;
drop:
	kfree_skb(skb);
	return NULL;
}
