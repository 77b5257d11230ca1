// SPDX-License-Identifier: GPL-2.0
/*
 * How actions change a frame, byte for byte as act_pedit, act_csum and act_vlan do it in software.
 * Everywhere here data is at the MAC header, and the outer VLAN tag may be kept beside the data.
 */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <net/ip.h>

#include "swsim.h"

/* Where the header behind the Ethernet header and all tags is, and what it is. */
static int swsim_l3(struct sk_buff *skb, __be16 *ret_proto)
{
	__be16 proto = skb->protocol;
	int offset = ETH_HLEN;

	while (eth_type_vlan(proto)) {
		struct vlan_hdr buf, *vlan;

		vlan = skb_header_pointer(skb, offset, sizeof(buf), &buf);
		if (!vlan)
			return -EINVAL;
		proto = vlan->h_vlan_encapsulated_proto;
		offset += VLAN_HLEN;
	}
	*ret_proto = proto;
	return offset;
}

/* A word behind the end of a cut-off frame is left out, and the frame goes on: as in software. */
int swsim_edit_pedit(struct sk_buff *skb, const struct swsim_action *act)
{
	int offset = 0, err;
	__be16 proto;
	u32 word, val;

	if (act->pedit.base != SWSIM_BASE_ETH) {
		offset = swsim_l3(skb, &proto);
		if (offset < 0)
			return offset;
		if (proto !=
		    (act->pedit.base == SWSIM_BASE_IP4 ? htons(ETH_P_IP) : htons(ETH_P_IPV6)))
			return 0;
	}
	offset += act->pedit.offset;
	if (offset + sizeof(word) > skb->len)
		return 0;
	err = skb_ensure_writable(skb, offset + sizeof(word));
	if (err)
		return err;
	word = get_unaligned((u32 *)(skb->data + offset));
	val = act->pedit.val;
	if (act->pedit.add)
		val = (word + val) & ~act->pedit.mask;
	put_unaligned((word & act->pedit.mask) ^ val, (u32 *)(skb->data + offset));
	return 0;
}

/* Nothing to do for what is not IPv4, as in software. */
int swsim_edit_csum(struct sk_buff *skb)
{
	struct iphdr *iph;
	int offset, err;
	__be16 proto;

	offset = swsim_l3(skb, &proto);
	if (offset < 0)
		return offset;
	if (proto != htons(ETH_P_IP))
		return 0;
	err = skb_ensure_writable(skb, offset + sizeof(*iph));
	if (err)
		return err;
	iph = (struct iphdr *)(skb->data + offset);
	if (iph->ihl < 5)
		return -EINVAL;
	err = skb_ensure_writable(skb, offset + iph->ihl * 4);
	if (err)
		return err;
	iph = (struct iphdr *)(skb->data + offset);
	iph->check = 0;
	iph->check = ip_fast_csum(iph, iph->ihl);
	return 0;
}

/* An outer tag's VLAN and type are replaced; frames without a tag stay as they are. */
static int swsim_vlan_modify(struct sk_buff *skb, const struct swsim_action *act)
{
	u16 tci;
	int err;

	if (skb_vlan_tag_present(skb)) {
		tci = skb_vlan_tag_get(skb);
		__vlan_hwaccel_clear_tag(skb);
	} else if (eth_type_vlan(skb->protocol)) {
		err = __skb_vlan_pop(skb, &tci);
		if (err)
			return err;
	} else {
		return 0;
	}
	tci = (tci & ~VLAN_VID_MASK) | act->vlan.vid;
	if (act->vlan.prio)
		tci = (tci & ~VLAN_PRIO_MASK) | act->vlan.prio << VLAN_PRIO_SHIFT;
	__vlan_hwaccel_put_tag(skb, act->vlan.proto, tci);
	return 0;
}

int swsim_edit_vlan(struct sk_buff *skb, const struct swsim_action *act)
{
	switch (act->id) {
	case SWSIM_ACT_VLAN_PUSH:
		return skb_vlan_push(skb, act->vlan.proto,
				     act->vlan.vid | act->vlan.prio << VLAN_PRIO_SHIFT);
	case SWSIM_ACT_VLAN_POP:
		return skb_vlan_pop(skb);
	default:
		return swsim_vlan_modify(skb, act);
	}
}
