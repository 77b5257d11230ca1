// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/policy/packet.h"

#include <net/ethernet.h>
#include <netinet/in.h>

#include "config/base/netaddr.h"

uint16_t random_vlan(struct dice *d)
{
	return (uint16_t)(10 + dice_below(d, 2));
}

void random_mac(struct dice *d, uint8_t ret[6])
{
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, (uint8_t)(1 + dice_below(d, 3)) };

	memcpy(ret, mac, 6);
}

void random_ip(struct dice *d, uint8_t family, uint8_t ret[16])
{
	static const uint8_t last[] = { 0, 1, 2, 3, 127, 128, 255 };
	static const uint8_t v6[8] = { 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0 };

	memset(ret, 0, 16);
	if (family == 4) {
		ret[0] = 10;
		ret[2] = (uint8_t)dice_below(d, 2);
		ret[3] = last[dice_below(d, ARRAY_SIZE(last))];
		return;
	}
	memcpy(ret, v6, sizeof(v6));
	ret[5] = (uint8_t)dice_below(d, 2);
	ret[15] = last[dice_below(d, 4)];
}

uint16_t random_port(struct dice *d)
{
	return (uint16_t)(dice_below(d, 24) ? 1000 + dice_below(d, 6) : dice_below(d, 2) * 65535);
}

uint8_t random_proto(struct dice *d)
{
	static const uint8_t list[] = { IPPROTO_TCP,  IPPROTO_TCP,    IPPROTO_UDP, IPPROTO_SCTP,
					IPPROTO_ICMP, IPPROTO_ICMPV6, IPPROTO_GRE };

	return list[dice_below(d, ARRAY_SIZE(list))];
}

struct packet packet_random(struct dice *d)
{
	static const uint16_t ethertypes[] = { ETHERTYPE_IP,   ETHERTYPE_IP,   ETHERTYPE_IP,
					       ETHERTYPE_IPV6, ETHERTYPE_IPV6, ETHERTYPE_ARP,
					       0x88cc };
	static const uint32_t frags[] = { 0, 0, 0, 0, 1, 3 };
	struct packet p = { 0 };

	random_mac(d, p.dst_mac);
	random_mac(d, p.src_mac);
	p.tag_count = dice_below(d, 8);
	p.tag_count = p.tag_count > 6 ? 3 : p.tag_count % 3;
	for (size_t i = 0; i < 3; i++) {
		p.tags[i].ethertype = dice_below(d, 3) ? 0x8100 : 0x88a8;
		p.tags[i].id = random_vlan(d);
		p.tags[i].prio = (uint8_t)dice_below(d, 2);
	}
	p.ethertype = ethertypes[dice_below(d, ARRAY_SIZE(ethertypes))];
	random_ip(d, p.ethertype == ETHERTYPE_IP ? 4 : 6, p.src);
	random_ip(d, p.ethertype == ETHERTYPE_IP ? 4 : 6, p.dst);
	p.proto = random_proto(d);
	p.tos = (uint8_t)dice_below(d, 4);
	p.ttl = (uint8_t)dice_below(d, 4);
	p.frag = frags[dice_below(d, ARRAY_SIZE(frags))];
	p.sport = random_port(d);
	p.dport = random_port(d);
	p.tcp_flags = (uint16_t)(dice_below(d, 2) * 0x10 + dice_below(d, 4));
	p.icmp_type = (uint8_t)dice_below(d, 10);
	p.icmp_code = (uint8_t)dice_below(d, 3);
	p.arp_op = (uint8_t)(1 + dice_below(d, 2));
	random_ip(d, 4, p.arp_sender_ip);
	random_ip(d, 4, p.arp_target_ip);
	random_mac(d, p.arp_sender_mac);
	random_mac(d, p.arp_target_mac);
	return p;
}

void packet_print(const struct packet *p, FILE *to)
{
	char a[NETADDR_TEXT], b[NETADDR_TEXT];

	mac_print(p->src_mac, a);
	mac_print(p->dst_mac, b);
	fprintf(to, "packet: %s > %s", a, b);
	for (size_t i = 0; i < p->tag_count; i++)
		fprintf(to, ", tag %04x id %u prio %u", p->tags[i].ethertype, p->tags[i].id,
			p->tags[i].prio);
	fprintf(to, ", ethertype %04x", p->ethertype);
	if (p->ethertype == ETHERTYPE_ARP) {
		ip_print(4, p->arp_sender_ip, a);
		ip_print(4, p->arp_target_ip, b);
		fprintf(to, " op %u %s > %s", p->arp_op, a, b);
	} else if (p->ethertype == ETHERTYPE_IP || p->ethertype == ETHERTYPE_IPV6) {
		ip_print(p->ethertype == ETHERTYPE_IP ? 4 : 6, p->src, a);
		ip_print(p->ethertype == ETHERTYPE_IP ? 4 : 6, p->dst, b);
		fprintf(to,
			" %s > %s proto %u tos %u ttl %u frag %u ports %u > %u tcp-flags 0x%x "
			"icmp %u/%u",
			a, b, p->proto, p->tos, p->ttl, p->frag, p->sport, p->dport, p->tcp_flags,
			p->icmp_type, p->icmp_code);
	}
	fputc('\n', to);
}
