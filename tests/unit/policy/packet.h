/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * packet: a frame in the abstract, and two judges who look at it without knowing of each other. One
 * reads a rule as people do (by the words of expand.h), the other a filter as flower does (by the
 * source of cls_flower.c and flow_dissector.c, its silent dropping of keys included).
 */
#ifndef SWD_TESTS_PACKET_H
#define SWD_TESTS_PACKET_H

#include "config/model/object.h"
#include "tests/unit/policy/dice.h"

#define PACKET_TAGS 3

struct packet {
	uint8_t dst_mac[6], src_mac[6];
	struct {
		uint16_t ethertype, id;
		uint8_t prio;
	} tags[PACKET_TAGS];
	size_t tag_count;
	uint16_t ethertype; /* behind the tags */
	/* IP */
	uint8_t src[16], dst[16]; /* IPv4: the first four */
	uint8_t proto, tos, ttl;
	uint32_t frag; /* flower's bits: 1 fragment, 2 the first one */
	/* tcp, udp, sctp (if not a fragment); tcp; icmp and icmpv6 */
	uint16_t sport, dport, tcp_flags;
	uint8_t icmp_type, icmp_code;
	/* ARP */
	uint8_t arp_op, arp_sender_ip[4], arp_target_ip[4], arp_sender_mac[6], arp_target_mac[6];
};

struct packet packet_random(struct dice *d);
/* Does the rule speak of this packet? It must be one that compile accepts. */
bool rule_speaks_of(const struct rule *r, const struct block *b, const struct packet *p);
/* Does the kernel match it with this filter? */
bool filter_matches(const struct filter *f, const struct packet *p);

/* ---- small worlds, so that rules and packets meet often ---- */
uint16_t random_vlan(struct dice *d);
void random_mac(struct dice *d, uint8_t ret[6]);
void random_ip(struct dice *d, uint8_t ret[16]);
uint16_t random_port(struct dice *d);
uint8_t random_proto(struct dice *d);

#endif
