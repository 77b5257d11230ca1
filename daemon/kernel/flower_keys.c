// SPDX-License-Identifier: GPL-2.0-or-later
/* The attributes of flower's keys, as far as they depend on what else the filter says. */
#include "daemon/kernel/flower_keys.h"

#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <netinet/in.h>

#include "daemon/kernel/classifier.h"

struct flower_context flower_context(uint16_t protocol, struct match_view match)
{
	struct flower_context c = { .protocol = protocol };

	if (ethertype_is_vlan(protocol)) {
		match_get_u16(match, FIELD_VLAN_ETHTYPE, &c.inner);
		c.network = c.inner;
		if (ethertype_is_vlan(c.inner)) {
			c.network = 0;
			match_get_u16(match, FIELD_CVLAN_ETHTYPE, &c.network);
		}
	} else if (protocol != ETHERTYPE_ALL) {
		c.network = protocol;
	}
	c.has_ip_proto = match_get_u8(match, FIELD_IP_PROTO, &c.ip_proto);
	return c;
}

uint16_t flower_network_protocol(uint16_t protocol, struct match_view match)
{
	return flower_context(protocol, match).network;
}

/* ---- what depends on the protocol above IP ---- */

static bool port_key(const struct flower_context *c, bool source, uint16_t *ret_attr,
		     uint16_t *ret_mask)
{
	if (!c->has_ip_proto)
		return false;
	switch (c->ip_proto) {
	case IPPROTO_TCP:
		*ret_attr = source ? TCA_FLOWER_KEY_TCP_SRC : TCA_FLOWER_KEY_TCP_DST;
		*ret_mask = source ? TCA_FLOWER_KEY_TCP_SRC_MASK : TCA_FLOWER_KEY_TCP_DST_MASK;
		return true;
	case IPPROTO_UDP:
		*ret_attr = source ? TCA_FLOWER_KEY_UDP_SRC : TCA_FLOWER_KEY_UDP_DST;
		*ret_mask = source ? TCA_FLOWER_KEY_UDP_SRC_MASK : TCA_FLOWER_KEY_UDP_DST_MASK;
		return true;
	case IPPROTO_SCTP:
		*ret_attr = source ? TCA_FLOWER_KEY_SCTP_SRC : TCA_FLOWER_KEY_SCTP_DST;
		*ret_mask = source ? TCA_FLOWER_KEY_SCTP_SRC_MASK : TCA_FLOWER_KEY_SCTP_DST_MASK;
		return true;
	}
	return false;
}

static bool icmp_key(const struct flower_context *c, bool type, uint16_t *ret_attr,
		     uint16_t *ret_mask)
{
	if (!c->has_ip_proto)
		return false;
	if (c->network == ETH_P_IP && c->ip_proto == IPPROTO_ICMP) {
		*ret_attr = type ? TCA_FLOWER_KEY_ICMPV4_TYPE : TCA_FLOWER_KEY_ICMPV4_CODE;
		*ret_mask =
			type ? TCA_FLOWER_KEY_ICMPV4_TYPE_MASK : TCA_FLOWER_KEY_ICMPV4_CODE_MASK;
		return true;
	}
	if (c->network == ETH_P_IPV6 && c->ip_proto == IPPROTO_ICMPV6) {
		*ret_attr = type ? TCA_FLOWER_KEY_ICMPV6_TYPE : TCA_FLOWER_KEY_ICMPV6_CODE;
		*ret_mask =
			type ? TCA_FLOWER_KEY_ICMPV6_TYPE_MASK : TCA_FLOWER_KEY_ICMPV6_CODE_MASK;
		return true;
	}
	return false;
}

static bool has_ports(const struct flower_context *c)
{
	uint16_t attr, mask;

	return port_key(c, true, &attr, &mask);
}

static bool is_ip(const struct flower_context *c)
{
	return c->network == ETH_P_IP || c->network == ETH_P_IPV6;
}

bool flower_key(const struct flower_context *c, enum field f, uint16_t *ret_attr,
		uint16_t *ret_mask)
{
	const struct field_row *row = field_row(f);

	*ret_attr = row->attr;
	*ret_mask = row->mask_attr;
	switch (f) {
	case FIELD_DST_MAC:
	case FIELD_SRC_MAC:
		return true;
	case FIELD_VLAN:
	case FIELD_VLAN_PRIO:
	case FIELD_VLAN_ETHTYPE:
		return ethertype_is_vlan(c->protocol);
	case FIELD_CVLAN:
	case FIELD_CVLAN_PRIO:
	case FIELD_CVLAN_ETHTYPE:
		return ethertype_is_vlan(c->protocol) && ethertype_is_vlan(c->inner);
	case FIELD_IP_PROTO:
	case FIELD_TOS:
	case FIELD_TTL:
	case FIELD_IP_FLAGS:
		return is_ip(c);
	case FIELD_IPV4_SRC:
	case FIELD_IPV4_DST:
		return c->network == ETH_P_IP;
	case FIELD_IPV6_SRC:
	case FIELD_IPV6_DST:
		return c->network == ETH_P_IPV6;
	case FIELD_SPORT:
		return is_ip(c) && port_key(c, true, ret_attr, ret_mask);
	case FIELD_DPORT:
		return is_ip(c) && port_key(c, false, ret_attr, ret_mask);
	case FIELD_SPORT_RANGE:
	case FIELD_DPORT_RANGE:
		return is_ip(c) && has_ports(c);
	case FIELD_TCP_FLAGS:
		return is_ip(c) && c->has_ip_proto && c->ip_proto == IPPROTO_TCP;
	case FIELD_ICMP_TYPE:
		return icmp_key(c, true, ret_attr, ret_mask);
	case FIELD_ICMP_CODE:
		return icmp_key(c, false, ret_attr, ret_mask);
	case FIELD_ARP_OP:
	case FIELD_ARP_SENDER_IP:
	case FIELD_ARP_TARGET_IP:
	case FIELD_ARP_SENDER_MAC:
	case FIELD_ARP_TARGET_MAC:
		return c->network == ETH_P_ARP || c->network == ETH_P_RARP;
	case FIELD_COUNT_:
		break;
	}
	return false;
}
