// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/model/carries.h"

#include <net/ethernet.h>
#include <netinet/in.h>

#include "config/model/fields.h"

const struct carries_protos carries_ports = { { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP },
					      "tcp, udp or sctp" };
const struct carries_protos carries_tcp = { { IPPROTO_TCP }, "tcp" };
const struct carries_protos carries_icmp = { { IPPROTO_ICMP, IPPROTO_ICMPV6 }, "icmp or icmpv6" };

unsigned int ethertype_carries(uint16_t ethertype)
{
	if (!ethertype || ethertype == ETHERTYPE_ALL || ethertype_is_vlan(ethertype))
		return CARRIES_ANYTHING;
	switch (ethertype) {
	case ETHERTYPE_IP:
		return CARRIES_IPV4;
	case ETHERTYPE_IPV6:
		return CARRIES_IPV6;
	case ETHERTYPE_ARP:
		return CARRIES_ARP;
	}
	return CARRIES_OTHER;
}

unsigned int ip_proto_carries(uint8_t proto)
{
	return proto == IPPROTO_ICMP	 ? CARRIES_IPV4
	       : proto == IPPROTO_ICMPV6 ? CARRIES_IPV6
					 : CARRIES_IP;
}

bool carries_proto(const struct carries_protos *protos, uint8_t proto)
{
	return proto && memchr(protos->list, proto, sizeof(protos->list));
}
