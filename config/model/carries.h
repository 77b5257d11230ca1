/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * carries: what a frame carries behind its tags, as far as ethertypes, IP protocols and fields
 * tell. What each field is about stands in its row (fields.h).
 */
#ifndef SWD_MODEL_CARRIES_H
#define SWD_MODEL_CARRIES_H

#include <stdint.h>

#include "config/base/util.h"

enum {
	CARRIES_IPV4 = 1,
	CARRIES_IPV6 = 2,
	CARRIES_IP = CARRIES_IPV4 | CARRIES_IPV6,
	CARRIES_ARP = 4,
	CARRIES_OTHER = 8, /* an ethertype that no field is about */
	CARRIES_ANYTHING = 15,
};

/* IP protocols that have a field in their header. */
struct carries_protos {
	uint8_t list[4]; /* ended by 0 */
	const char *words;
};

extern const struct carries_protos carries_ports, carries_tcp, carries_icmp;

static inline bool ethertype_is_vlan(uint16_t ethertype)
{
	return ethertype == 0x8100 || ethertype == 0x88a8;
}

/* CARRIES_ANYTHING for 0, ETHERTYPE_ALL and a tag, which say nothing of what is behind it. */
unsigned int ethertype_carries(uint16_t ethertype);
/* The families an IP protocol is of: ICMP and ICMPv6 have one each. */
unsigned int ip_proto_carries(uint8_t proto);
bool carries_proto(const struct carries_protos *protos, uint8_t proto);

#endif
