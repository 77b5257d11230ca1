// SPDX-License-Identifier: GPL-2.0-or-later
/* The attributes of flower's keys, as far as they depend on what else the filter says. */
#include "daemon/kernel/flower_keys.h"

#include <arpa/inet.h>
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

/* What the kernel knows to be behind the tags. It reads the same keys for ARP and RARP. */
static bool network_carries(const struct flower_context *c, unsigned int wanted)
{
	unsigned int carries =
		c->network == ETH_P_RARP ? CARRIES_ARP : ethertype_carries(c->network);

	return wanted == CARRIES_ANYTHING || (carries != CARRIES_ANYTHING && carries & wanted);
}

static unsigned int tags_known(const struct flower_context *c)
{
	if (!ethertype_is_vlan(c->protocol))
		return 0;
	return ethertype_is_vlan(c->inner) ? 2 : 1;
}

bool flower_key(const struct flower_context *c, enum field f, uint16_t *ret_attr,
		uint16_t *ret_mask)
{
	const struct field_row *row = field_row(f);

	*ret_attr = row->attr;
	*ret_mask = row->mask_attr;
	if (row->tags > tags_known(c) || !network_carries(c, row->carries))
		return false;
	if (row->protos && !(c->has_ip_proto && carries_proto(row->protos, c->ip_proto)))
		return false;
	if (row->attr)
		return true;
	return row->protos == &carries_icmp ? icmp_key(c, f == FIELD_ICMP_TYPE, ret_attr, ret_mask)
					    : port_key(c, f == FIELD_SPORT, ret_attr, ret_mask);
}

void flower_turn(const struct field_row *row, uint8_t *bytes)
{
	if (!row->host_order)
		return;
	if (row->size == 2) {
		uint16_t v;

		memcpy(&v, bytes, sizeof(v));
		v = htons(v);
		memcpy(bytes, &v, sizeof(v));
	} else if (row->size == 4) {
		uint32_t v;

		memcpy(&v, bytes, sizeof(v));
		v = htonl(v);
		memcpy(bytes, &v, sizeof(v));
	}
}
