// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/policy/packet.h"

#include <net/ethernet.h>
#include <netinet/in.h>

#define TAG_Q 0x8100
#define TAG_AD 0x88a8

static bool is_tag(uint16_t ethertype)
{
	return ethertype == TAG_Q || ethertype == TAG_AD;
}

static bool is_ip(uint16_t ethertype)
{
	return ethertype == ETHERTYPE_IP || ethertype == ETHERTYPE_IPV6;
}

static bool has_ports(uint8_t proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP;
}

/* ---- dice ---- */

uint16_t random_vlan(struct dice *d)
{
	return (uint16_t)(10 + dice_below(d, 2));
}

void random_mac(struct dice *d, uint8_t ret[6])
{
	const uint8_t mac[6] = { 2, 0, 0, 0, 0, (uint8_t)(1 + dice_below(d, 3)) };

	memcpy(ret, mac, 6);
}

void random_ip(struct dice *d, uint8_t ret[16])
{
	memset(ret, 0, 16);
	ret[0] = 0x20;
	ret[1] = (uint8_t)dice_below(d, 2);
	ret[3] = (uint8_t)dice_below(d, 3);
}

uint16_t random_port(struct dice *d)
{
	return (uint16_t)(1000 + dice_below(d, 6));
}

uint8_t random_proto(struct dice *d)
{
	static const uint8_t list[] = { IPPROTO_TCP,  IPPROTO_UDP,    IPPROTO_SCTP,
					IPPROTO_ICMP, IPPROTO_ICMPV6, IPPROTO_GRE };

	return list[dice_below(d, ARRAY_SIZE(list))];
}

struct packet packet_random(struct dice *d)
{
	static const uint16_t ethertypes[] = { ETHERTYPE_IP,   ETHERTYPE_IP,  ETHERTYPE_IPV6,
					       ETHERTYPE_IPV6, ETHERTYPE_ARP, 0x88cc };
	static const uint32_t frags[] = { 0, 0, 0, 1, 3 };
	struct packet p = { 0 };

	random_mac(d, p.dst_mac);
	random_mac(d, p.src_mac);
	p.tag_count = dice_below(d, 8);
	p.tag_count = p.tag_count > 6 ? 3 : p.tag_count % 3;
	for (size_t i = 0; i < p.tag_count; i++) {
		p.tags[i].ethertype = dice_below(d, 3) ? TAG_Q : TAG_AD;
		p.tags[i].id = random_vlan(d);
		p.tags[i].prio = (uint8_t)dice_below(d, 2);
	}
	p.ethertype = ethertypes[dice_below(d, ARRAY_SIZE(ethertypes))];
	random_ip(d, p.src);
	random_ip(d, p.dst);
	p.proto = random_proto(d);
	p.tos = (uint8_t)dice_below(d, 4);
	p.ttl = (uint8_t)dice_below(d, 3);
	p.frag = frags[dice_below(d, ARRAY_SIZE(frags))];
	p.sport = random_port(d);
	p.dport = random_port(d);
	p.tcp_flags = (uint16_t)(dice_below(d, 4) * 0x10 + dice_below(d, 4));
	p.icmp_type = (uint8_t)(7 + dice_below(d, 2));
	p.icmp_code = (uint8_t)dice_below(d, 2);
	p.arp_op = (uint8_t)(1 + dice_below(d, 2));
	memcpy(p.arp_sender_ip, p.src, 4);
	memcpy(p.arp_target_ip, p.dst, 4);
	random_mac(d, p.arp_sender_mac);
	random_mac(d, p.arp_target_mac);
	return p;
}

/* ---- comparing ---- */

static bool masked_equal(const struct match_entry *e, const void *have)
{
	const uint8_t *bytes = have;

	for (size_t i = 0; i < field_row(e->field)->size; i++)
		if ((bytes[i] ^ e->value[i]) & e->mask[i])
			return false;
	return true;
}

static bool equal_u16(const struct match_entry *e, uint16_t have)
{
	uint8_t bytes[2] = { (uint8_t)(have >> 8), (uint8_t)have };

	return masked_equal(e, bytes);
}

static bool in_range(const struct match_entry *e, uint16_t have)
{
	return have >= (e->value[0] << 8 | e->value[1]) && have <= (e->mask[0] << 8 | e->mask[1]);
}

static bool equal_u32(const struct match_entry *e, uint32_t have)
{
	uint8_t bytes[4] = { (uint8_t)(have >> 24), (uint8_t)(have >> 16), (uint8_t)(have >> 8),
			     (uint8_t)have };

	return masked_equal(e, bytes);
}

/* ---- the rule, as people read it ---- */

/* Is the field so in the packet, whatever else the rule says? A packet without it: no. */
static bool field_holds(const struct match_entry *e, const struct packet *p)
{
	bool ip = is_ip(p->ethertype), arp = p->ethertype == ETHERTYPE_ARP;
	bool ports = ip && has_ports(p->proto) && !p->frag;
	bool icmp = ip && !p->frag &&
		    p->proto == (p->ethertype == ETHERTYPE_IP ? IPPROTO_ICMP : IPPROTO_ICMPV6);

	switch (e->field) {
	case FIELD_DST_MAC:
		return masked_equal(e, p->dst_mac);
	case FIELD_SRC_MAC:
		return masked_equal(e, p->src_mac);
	case FIELD_VLAN:
		return p->tag_count >= 1 && equal_u16(e, p->tags[0].id);
	case FIELD_VLAN_PRIO:
		return p->tag_count >= 1 && masked_equal(e, &p->tags[0].prio);
	case FIELD_CVLAN:
		return p->tag_count >= 2 && equal_u16(e, p->tags[1].id);
	case FIELD_CVLAN_PRIO:
		return p->tag_count >= 2 && masked_equal(e, &p->tags[1].prio);
	case FIELD_IP_PROTO:
		return ip && masked_equal(e, &p->proto);
	case FIELD_TOS:
		return ip && masked_equal(e, &p->tos);
	case FIELD_TTL:
		return ip && masked_equal(e, &p->ttl);
	case FIELD_IP_FLAGS:
		return ip && equal_u32(e, p->frag);
	case FIELD_IPV4_SRC:
		return p->ethertype == ETHERTYPE_IP && masked_equal(e, p->src);
	case FIELD_IPV4_DST:
		return p->ethertype == ETHERTYPE_IP && masked_equal(e, p->dst);
	case FIELD_IPV6_SRC:
		return p->ethertype == ETHERTYPE_IPV6 && masked_equal(e, p->src);
	case FIELD_IPV6_DST:
		return p->ethertype == ETHERTYPE_IPV6 && masked_equal(e, p->dst);
	case FIELD_SPORT:
		return ports && equal_u16(e, p->sport);
	case FIELD_DPORT:
		return ports && equal_u16(e, p->dport);
	case FIELD_SPORT_RANGE:
		return ports && in_range(e, p->sport);
	case FIELD_DPORT_RANGE:
		return ports && in_range(e, p->dport);
	case FIELD_TCP_FLAGS:
		return ports && p->proto == IPPROTO_TCP && equal_u16(e, p->tcp_flags);
	case FIELD_ICMP_TYPE:
		return icmp && masked_equal(e, &p->icmp_type);
	case FIELD_ICMP_CODE:
		return icmp && masked_equal(e, &p->icmp_code);
	case FIELD_ARP_OP:
		return arp && masked_equal(e, &p->arp_op);
	case FIELD_ARP_SENDER_IP:
		return arp && masked_equal(e, p->arp_sender_ip);
	case FIELD_ARP_TARGET_IP:
		return arp && masked_equal(e, p->arp_target_ip);
	case FIELD_ARP_SENDER_MAC:
		return arp && masked_equal(e, p->arp_sender_mac);
	case FIELD_ARP_TARGET_MAC:
		return arp && masked_equal(e, p->arp_target_mac);
	case FIELD_VLAN_ETHTYPE:
	case FIELD_CVLAN_ETHTYPE:
	case FIELD_COUNT_:
		return false;
	}
	return false;
}

static bool has(const struct rule *r, enum field f)
{
	return match_has(rule_match(r), f);
}

/* Anything that is about what is behind the tags. */
static bool says_payload(const struct rule *r)
{
	for (int f = FIELD_IP_PROTO; f < FIELD_COUNT_; f++)
		if (has(r, (enum field)f))
			return true;
	for (size_t i = 0; i < r->action_count; i++)
		if (rule_actions(r)[i].kind == ACTION_DEC_TTL)
			return true;
	return r->ethertype && r->ethertype != ETHERTYPE_ALL && !is_tag(r->ethertype);
}

/* "Exactly n" if the rule says what is behind the tags, "at least n" if it does not. */
static bool tags_fit(const struct rule *r, const struct packet *p, size_t n)
{
	return says_payload(r) ? p->tag_count == n : p->tag_count >= n;
}

static bool tagging_fits(const struct rule *r, const struct block *b, const struct packet *p)
{
	enum tagging tagging = r->tagging ? r->tagging : b->tagging;

	if (has(r, FIELD_CVLAN) || has(r, FIELD_CVLAN_PRIO))
		return tags_fit(r, p, 2) && p->tags[1].ethertype == TAG_Q &&
		       (!is_tag(r->ethertype) || r->ethertype == p->tags[0].ethertype);
	if (is_tag(r->ethertype))
		return tags_fit(r, p, 1) && p->tags[0].ethertype == r->ethertype;
	if (has(r, FIELD_VLAN) || has(r, FIELD_VLAN_PRIO))
		return tags_fit(r, p, 1) && p->tags[0].ethertype == TAG_Q;
	if (r->ethertype == ETHERTYPE_ALL && !r->tagging)
		return true;
	if (tagging == TAGGING_NONE)
		return p->tag_count == 0;
	return says_payload(r) ? p->tag_count <= 2 : true;
}

bool rule_speaks_of(const struct rule *r, const struct block *b, const struct packet *p)
{
	bool v4 = has(r, FIELD_IPV4_SRC) || has(r, FIELD_IPV4_DST) || r->ethertype == ETHERTYPE_IP;
	bool v6 =
		has(r, FIELD_IPV6_SRC) || has(r, FIELD_IPV6_DST) || r->ethertype == ETHERTYPE_IPV6;
	struct match_entry e;
	size_t offset = 0;
	uint8_t proto = 0;

	if (!tagging_fits(r, b, p))
		return false;
	while (match_next(rule_match(r), &offset, &e))
		if (!field_holds(&e, p))
			return false;
	if (r->ethertype && r->ethertype != ETHERTYPE_ALL && !is_tag(r->ethertype) &&
	    p->ethertype != r->ethertype)
		return false;
	for (size_t i = 0; i < r->action_count; i++)
		if (rule_actions(r)[i].kind == ACTION_DEC_TTL && !is_ip(p->ethertype))
			return false;
	/* ICMP is of IPv4, ICMPv6 of IPv6, unless the rule names the other family. */
	if (match_get_u8(rule_match(r), FIELD_IP_PROTO, &proto) && !v4 && !v6) {
		if (proto == IPPROTO_ICMP && p->ethertype != ETHERTYPE_IP)
			return false;
		if (proto == IPPROTO_ICMPV6 && p->ethertype != ETHERTYPE_IPV6)
			return false;
	}
	return true;
}

/* ---- the filter, as flower reads it ---- */

/* The ethertype at a depth: that of a tag, or what is behind the last. */
static uint16_t ethertype_at(const struct packet *p, size_t depth)
{
	return depth < p->tag_count ? p->tags[depth].ethertype : p->ethertype;
}

/* What fl_set_key() made of the attributes: which levels it read, and the n_proto it ended with. */
struct flower_key {
	bool reads_vlan, reads_cvlan;
	uint16_t vlan_tpid, cvlan_tpid; /* 0: not compared */
	uint16_t n_proto;		/* 0: not compared */
	uint8_t ip_proto;		/* 0: not read */
};

static struct flower_key set_key(const struct filter *f)
{
	struct match_view v = filter_match(f);
	struct flower_key k = { 0 };
	uint16_t next = f->protocol == ETHERTYPE_ALL ? 0 : f->protocol;

	if (is_tag(next)) {
		k.reads_vlan = true;
		k.vlan_tpid = next;
		next = 0;
		match_get_u16(v, FIELD_VLAN_ETHTYPE, &next);
		if (is_tag(next)) {
			k.reads_cvlan = true;
			k.cvlan_tpid = next;
			next = 0;
			match_get_u16(v, FIELD_CVLAN_ETHTYPE, &next);
		}
	}
	k.n_proto = next;
	if (is_ip(k.n_proto))
		match_get_u8(v, FIELD_IP_PROTO, &k.ip_proto);
	return k;
}

/* Keys flower does not read are no part of the match. */
static bool key_is_read(enum field f, const struct flower_key *k)
{
	switch (f) {
	case FIELD_DST_MAC:
	case FIELD_SRC_MAC:
	case FIELD_IPV4_SRC:
	case FIELD_IPV4_DST:
	case FIELD_IPV6_SRC:
	case FIELD_IPV6_DST:
	case FIELD_IP_FLAGS:
		return true;
	case FIELD_VLAN:
	case FIELD_VLAN_PRIO:
	case FIELD_VLAN_ETHTYPE:
		return k->reads_vlan;
	case FIELD_CVLAN:
	case FIELD_CVLAN_PRIO:
	case FIELD_CVLAN_ETHTYPE:
		return k->reads_cvlan;
	case FIELD_IP_PROTO:
	case FIELD_TOS:
	case FIELD_TTL:
		return is_ip(k->n_proto);
	case FIELD_SPORT:
	case FIELD_DPORT:
	case FIELD_SPORT_RANGE:
	case FIELD_DPORT_RANGE:
		return has_ports(k->ip_proto);
	case FIELD_TCP_FLAGS:
		return k->ip_proto == IPPROTO_TCP;
	case FIELD_ICMP_TYPE:
	case FIELD_ICMP_CODE:
		return (k->n_proto == ETHERTYPE_IP && k->ip_proto == IPPROTO_ICMP) ||
		       (k->n_proto == ETHERTYPE_IPV6 && k->ip_proto == IPPROTO_ICMPV6);
	case FIELD_ARP_OP:
	case FIELD_ARP_SENDER_IP:
	case FIELD_ARP_TARGET_IP:
	case FIELD_ARP_SENDER_MAC:
	case FIELD_ARP_TARGET_MAC:
		return k->n_proto == ETHERTYPE_ARP || k->n_proto == ETHERTYPE_REVARP;
	case FIELD_COUNT_:
		return false;
	}
	return false;
}

/* The dissector puts zeros where a packet has no such thing. */
static bool key_equal(const struct match_entry *e, const struct packet *p)
{
	static const uint8_t zeros[16];
	const struct packet none = { 0 };
	bool ip = is_ip(p->ethertype), arp = p->ethertype == ETHERTYPE_ARP;
	bool v4 = p->ethertype == ETHERTYPE_IP, v6 = p->ethertype == ETHERTYPE_IPV6;
	const struct packet *l4 = ip && !p->frag ? p : &none;
	bool icmp = l4->proto == IPPROTO_ICMP || l4->proto == IPPROTO_ICMPV6;
	bool ports = has_ports(l4->proto);
	const struct packet *a = arp ? p : &none;
	uint8_t proto = ip ? p->proto : 0;

	switch (e->field) {
	case FIELD_DST_MAC:
		return masked_equal(e, p->dst_mac);
	case FIELD_SRC_MAC:
		return masked_equal(e, p->src_mac);
	case FIELD_VLAN:
		return equal_u16(e, p->tag_count ? p->tags[0].id : 0);
	case FIELD_VLAN_PRIO:
		return masked_equal(e, p->tag_count ? &p->tags[0].prio : zeros);
	case FIELD_VLAN_ETHTYPE:
		return equal_u16(e, p->tag_count ? ethertype_at(p, 1) : 0);
	case FIELD_CVLAN:
		return equal_u16(e, p->tag_count > 1 ? p->tags[1].id : 0);
	case FIELD_CVLAN_PRIO:
		return masked_equal(e, p->tag_count > 1 ? &p->tags[1].prio : zeros);
	case FIELD_CVLAN_ETHTYPE:
		return equal_u16(e, p->tag_count > 1 ? ethertype_at(p, 2) : 0);
	case FIELD_IP_PROTO:
		return masked_equal(e, &proto);
	case FIELD_TOS:
		return masked_equal(e, ip ? &p->tos : zeros);
	case FIELD_TTL:
		return masked_equal(e, ip ? &p->ttl : zeros);
	case FIELD_IP_FLAGS:
		return equal_u32(e, ip ? p->frag : 0);
	case FIELD_IPV4_SRC: /* control.addr_type is compared whole */
		return v4 && masked_equal(e, p->src);
	case FIELD_IPV4_DST:
		return v4 && masked_equal(e, p->dst);
	case FIELD_IPV6_SRC:
		return v6 && masked_equal(e, p->src);
	case FIELD_IPV6_DST:
		return v6 && masked_equal(e, p->dst);
	case FIELD_SPORT:
		return equal_u16(e, ports ? p->sport : 0);
	case FIELD_DPORT:
		return equal_u16(e, ports ? p->dport : 0);
	case FIELD_SPORT_RANGE:
		return in_range(e, ports ? p->sport : 0);
	case FIELD_DPORT_RANGE:
		return in_range(e, ports ? p->dport : 0);
	case FIELD_TCP_FLAGS:
		return equal_u16(e, l4->proto == IPPROTO_TCP ? p->tcp_flags : 0);
	case FIELD_ICMP_TYPE:
		return masked_equal(e, icmp ? &p->icmp_type : zeros);
	case FIELD_ICMP_CODE:
		return masked_equal(e, icmp ? &p->icmp_code : zeros);
	case FIELD_ARP_OP:
		return masked_equal(e, &a->arp_op);
	case FIELD_ARP_SENDER_IP:
		return masked_equal(e, a->arp_sender_ip);
	case FIELD_ARP_TARGET_IP:
		return masked_equal(e, a->arp_target_ip);
	case FIELD_ARP_SENDER_MAC:
		return masked_equal(e, a->arp_sender_mac);
	case FIELD_ARP_TARGET_MAC:
		return masked_equal(e, a->arp_target_mac);
	case FIELD_COUNT_:
		return false;
	}
	return false;
}

bool filter_matches(const struct filter *f, const struct packet *p)
{
	struct flower_key k = set_key(f);
	struct match_entry e;
	size_t offset = 0;

	/* __tcf_classify() asks a proto only for its own protocol. */
	if (f->protocol != ETHERTYPE_ALL && f->protocol != ethertype_at(p, 0))
		return false;
	if (f->type == FILTER_MATCHALL)
		return true;
	if (k.vlan_tpid && (p->tag_count < 1 || p->tags[0].ethertype != k.vlan_tpid))
		return false;
	if (k.cvlan_tpid && (p->tag_count < 2 || p->tags[1].ethertype != k.cvlan_tpid))
		return false;
	/* The dissector goes through all tags, so n_proto is what stands behind the last. */
	if (k.n_proto && p->ethertype != k.n_proto)
		return false;
	while (match_next(filter_match(f), &offset, &e))
		if (key_is_read(e.field, &k) && !key_equal(&e, p))
			return false;
	return true;
}
