// SPDX-License-Identifier: GPL-2.0
/*
 * From the kernel's flow_rule to our key and mask. What we know is copied, dissector struct by
 * dissector struct; anything else that has a bit in the mask is refused by name, so that no rule
 * ever matches more than was asked for.
 */
#include <linux/kernel.h>

#include "swsim.h"

struct swsim_copy {
	enum flow_dissector_key_id id;
	u16 offset, size;
};

#define COPY(kid, member)                                                                     \
	{                                                                                     \
		.id = FLOW_DISSECTOR_KEY_##kid, .offset = offsetof(struct swsim_key, member), \
		.size = sizeof_field(struct swsim_key, member)                                \
	}

static const struct swsim_copy copies[] = {
	COPY(CONTROL, control),
	COPY(BASIC, basic),
	COPY(ETH_ADDRS, eth),
	COPY(VLAN, vlan),
	COPY(CVLAN, cvlan),
	COPY(PORTS, tp),
	COPY(TCP, tcp),
	COPY(IP, ip),
	COPY(ICMP, icmp),
	COPY(ARP, arp),
	COPY(NUM_OF_VLANS, num_of_vlans),
};

#define CANNOT(what) "swsim: cannot match on " what

/* All keys that flower of 6.1 or 6.12 can use and that we do not have, in tc's words. */
static const char *swsim_unknown_key(enum flow_dissector_key_id id)
{
	switch (id) {
	case FLOW_DISSECTOR_KEY_META:
		return CANNOT("indev or l2_miss");
	case FLOW_DISSECTOR_KEY_MPLS:
		return CANNOT("mpls labels");
	case FLOW_DISSECTOR_KEY_ENC_KEYID:
		return CANNOT("enc_key_id");
	case FLOW_DISSECTOR_KEY_ENC_IPV4_ADDRS:
	case FLOW_DISSECTOR_KEY_ENC_IPV6_ADDRS:
		return CANNOT("enc_src_ip or enc_dst_ip");
	case FLOW_DISSECTOR_KEY_ENC_CONTROL:
		return CANNOT("enc_flags");
	case FLOW_DISSECTOR_KEY_ENC_PORTS:
		return CANNOT("enc_dst_port");
	case FLOW_DISSECTOR_KEY_ENC_IP:
		return CANNOT("enc_tos or enc_ttl");
	case FLOW_DISSECTOR_KEY_ENC_OPTS:
		return CANNOT("tunnel options");
	case FLOW_DISSECTOR_KEY_CT:
		return CANNOT("ct_state, ct_zone, ct_mark or ct_label");
	case FLOW_DISSECTOR_KEY_HASH:
		return CANNOT("hash");
	case FLOW_DISSECTOR_KEY_PPPOE:
		return CANNOT("pppoe_sid or ppp_proto");
	case FLOW_DISSECTOR_KEY_L2TPV3:
		return CANNOT("l2tpv3_sid");
	default:
		return CANNOT("a field it has not heard of (cfm, ipsec or newer)");
	}
}

static bool swsim_known_key(enum flow_dissector_key_id id)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(copies); i++)
		if (copies[i].id == id)
			return true;
	return id == FLOW_DISSECTOR_KEY_IPV4_ADDRS || id == FLOW_DISSECTOR_KEY_IPV6_ADDRS ||
	       id == FLOW_DISSECTOR_KEY_PORTS_RANGE;
}

static int swsim_check_keys(const struct flow_match *match, struct netlink_ext_ack *extack)
{
	int id;

	for (id = 0; id < FLOW_DISSECTOR_KEY_MAX; id++)
		if (dissector_uses_key(match->dissector, id) && !swsim_known_key(id))
			return swsim_refuse(extack, -EOPNOTSUPP, swsim_unknown_key(id));
	return 0;
}

static void swsim_copy(const struct flow_match *match, enum flow_dissector_key_id id,
		       unsigned int offset, unsigned int size, struct swsim_rule *rule)
{
	u8 *key = (u8 *)&rule->key + offset, *mask = (u8 *)&rule->mask + offset;

	if (!dissector_uses_key(match->dissector, id))
		return;
	memcpy(key, skb_flow_dissector_target(match->dissector, id, match->key), size);
	memcpy(mask, skb_flow_dissector_target(match->dissector, id, match->mask), size);
}

/* IPv4 and IPv6 addresses share their place, and flower names both keys for either. */
static int swsim_copy_addresses(const struct flow_match *match, struct swsim_rule *rule,
				struct netlink_ext_ack *extack)
{
	switch (rule->mask.control.addr_type ? rule->key.control.addr_type : 0) {
	case 0:
		break;
	case FLOW_DISSECTOR_KEY_IPV4_ADDRS:
		swsim_copy(match, FLOW_DISSECTOR_KEY_IPV4_ADDRS, offsetof(struct swsim_key, ipv4),
			   sizeof(rule->key.ipv4), rule);
		break;
	case FLOW_DISSECTOR_KEY_IPV6_ADDRS:
		swsim_copy(match, FLOW_DISSECTOR_KEY_IPV6_ADDRS, offsetof(struct swsim_key, ipv6),
			   sizeof(rule->key.ipv6), rule);
		break;
	default:
		return swsim_refuse(extack, -EOPNOTSUPP, CANNOT("this type of address"));
	}
	return 0;
}

static void swsim_copy_range(struct swsim_range *ret, __be16 min, __be16 max, __be16 min_mask)
{
	ret->on = min_mask;
	ret->min = ntohs(min);
	ret->max = ntohs(max);
}

/*
 * A range beside an exact port is refused: the dissector of 6.1 fills one of the two only, so that
 * software there matches nothing, and hardware would be wider.
 */
static int swsim_copy_ranges(const struct flow_match *match, struct swsim_rule *rule,
			     struct netlink_ext_ack *extack)
{
	struct flow_dissector_key_ports_range *key, *mask;

	if (!dissector_uses_key(match->dissector, FLOW_DISSECTOR_KEY_PORTS_RANGE))
		return 0;
	key = skb_flow_dissector_target(match->dissector, FLOW_DISSECTOR_KEY_PORTS_RANGE,
					match->key);
	mask = skb_flow_dissector_target(match->dissector, FLOW_DISSECTOR_KEY_PORTS_RANGE,
					 match->mask);
	swsim_copy_range(&rule->src, key->tp_min.src, key->tp_max.src, mask->tp_min.src);
	swsim_copy_range(&rule->dst, key->tp_min.dst, key->tp_max.dst, mask->tp_min.dst);
	if ((rule->src.on || rule->dst.on) && rule->mask.tp.ports)
		return swsim_refuse(extack, -EOPNOTSUPP,
				    CANNOT("an exact port together with a range of ports"));
	return 0;
}

/* Fills the match of a rule; on an error the rule is to be thrown away. */
int swsim_parse_match(const struct flow_match *match, struct swsim_rule *rule,
		      struct netlink_ext_ack *extack)
{
	unsigned int i;
	int err;

	err = swsim_check_keys(match, extack);
	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(copies); i++)
		swsim_copy(match, copies[i].id, copies[i].offset, copies[i].size, rule);
	err = swsim_copy_addresses(match, rule, extack);
	if (err)
		return err;
	err = swsim_copy_ranges(match, rule, extack);
	if (err)
		return err;
	if (rule->mask.control.flags & ~(u32)(FLOW_DIS_IS_FRAGMENT | FLOW_DIS_FIRST_FRAG))
		return swsim_refuse(extack, -EOPNOTSUPP,
				    CANNOT("ip_flags other than frag and firstfrag"));
	for (i = 0; i < SWSIM_KEY_WORDS; i++)
		((u64 *)&rule->key)[i] &= ((const u64 *)&rule->mask)[i];
	return 0;
}
