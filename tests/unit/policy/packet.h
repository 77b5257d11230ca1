/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * packet: a frame in the abstract, and small worlds by chance, so that rules and packets meet
 * often.
 */
#ifndef SWD_TESTS_PACKET_H
#define SWD_TESTS_PACKET_H

#include "config/base/util.h"
#include "tests/unit/policy/dice.h"

#define PACKET_TAGS 8 /* up to three, and what actions push */

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
	uint8_t arp_op, arp_sender_ip[16], arp_target_ip[16]; /* the first four */
	uint8_t arp_sender_mac[6], arp_target_mac[6];
};

struct packet packet_random(struct dice *d);
void packet_print(const struct packet *p, FILE *to);

uint16_t random_vlan(struct dice *d);
void random_mac(struct dice *d, uint8_t ret[6]);
void random_ip(struct dice *d, uint8_t family, uint8_t ret[16]);
uint16_t random_port(struct dice *d);
uint8_t random_proto(struct dice *d);

#endif
