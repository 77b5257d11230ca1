// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first-match walk over rules as they are written, by the words of swd.yaml(5). It calls
 * nothing of the program.
 */
#include <net/ethernet.h>
#include <netinet/in.h>

#include "tests/unit/policy/written.h"

static bool is_tag(uint16_t ethertype)
{
	return ethertype == 0x8100 || ethertype == 0x88a8;
}

static bool is_ip(const struct packet *p)
{
	return p->ethertype == 0x0800 || p->ethertype == 0x86dd;
}

/* ---- one thing that is said ---- */

static bool number_is(const struct written_number *n, bool shown, uint32_t have)
{
	return !n->said || (shown && (have & n->mask) == n->value);
}

static bool range_is(const struct written_range *r, bool shown, uint16_t have)
{
	return !r->said || (shown && have >= r->low && have <= r->high);
}

static bool net_is(const struct written_net *n, uint8_t family, const uint8_t *have)
{
	if (!n->family)
		return true;
	if (n->family != family)
		return false;
	for (unsigned int bit = 0; bit < n->len; bit++)
		if ((n->addr[bit / 8] ^ have[bit / 8]) & 0x80 >> bit % 8)
			return false;
	return true;
}

static bool mac_is(const struct written_mac *m, bool shown, const uint8_t have[6])
{
	if (!m->said)
		return true;
	for (size_t i = 0; i < 6; i++)
		if ((have[i] & m->mask[i]) != m->addr[i])
			return false;
	return shown;
}

/* ---- the rule ---- */

/* "IPv4 and IPv6 are both meant unless an address or ethertype says which." */
static bool names_family(const struct written *w)
{
	return w->src.family || w->dst.family || w->ethertype == 0x0800 || w->ethertype == 0x86dd;
}

static bool speaks_of_ip(const struct written *w)
{
	bool ttl = false;

	for (size_t i = 0; i < w->deed_count; i++)
		ttl |= w->deeds[i].kind == DEED_DEC_TTL;
	return ttl || w->src.family || w->dst.family || w->proto.said || w->sport.said ||
	       w->dport.said || w->tcp_flags.said || w->icmp_type.said || w->icmp_code.said ||
	       w->ttl.said || w->tos.said || w->ip_flags.said;
}

static bool speaks_of_arp(const struct written *w)
{
	return w->arp_op.said || w->arp_sender.family || w->arp_target.family ||
	       w->arp_sender_mac.said || w->arp_target_mac.said;
}

static bool payload_is(const struct written *w, const struct packet *p)
{
	if (speaks_of_ip(w) && !is_ip(p))
		return false;
	if (speaks_of_arp(w) && p->ethertype != 0x0806)
		return false;
	if (w->ethertype && w->ethertype != ETHERTYPE_ALL && !is_tag(w->ethertype) &&
	    w->ethertype != p->ethertype)
		return false;
	/* ICMP is IPv4's and ICMPv6 IPv6's, unless the rule says which family it is about. */
	if (w->proto.said && w->proto.value == IPPROTO_ICMP && !names_family(w))
		return p->ethertype == 0x0800;
	if (w->proto.said && w->proto.value == IPPROTO_ICMPV6 && !names_family(w))
		return p->ethertype == 0x86dd;
	return true;
}

/* Which tags a frame must have. */
static bool tags_are(const struct written *w, const struct written_block *b, const struct packet *p)
{
	bool payload = speaks_of_ip(w) || speaks_of_arp(w) ||
		       (w->ethertype && w->ethertype != ETHERTYPE_ALL && !is_tag(w->ethertype));
	enum tagging tagging = w->tagging ? w->tagging : b->tagging;
	size_t tags = 0;

	if (w->cvlan.said || w->cvlan_prio.said)
		tags = 2;
	else if (w->vlan.said || w->vlan_prio.said || is_tag(w->ethertype))
		tags = 1;
	/* "no other tag is behind it if the rule says what is there" */
	if (tags && (payload ? p->tag_count != tags : p->tag_count < tags))
		return false;
	if (tags && is_tag(w->ethertype) && p->tags[0].ethertype != w->ethertype)
		return false;
	if (tags == 2)
		return p->tags[1].ethertype == 0x8100;
	if (tags == 1)
		return is_tag(w->ethertype) || p->tags[0].ethertype == 0x8100;
	if (w->ethertype == ETHERTYPE_ALL && !w->tagging)
		return true;
	if (tagging == TAGGING_NONE)
		return p->tag_count == 0;
	/* "those without, with one and with two tags"; a rule that says nothing of what they carry
	 * is for every frame. */
	return payload ? p->tag_count <= 2 : true;
}

static bool transport_is(const struct written *w, const struct packet *p)
{
	bool whole = is_ip(p) && !(p->frag & 1);
	bool tcp = whole && p->proto == IPPROTO_TCP;
	bool ports = tcp || (whole && (p->proto == IPPROTO_UDP || p->proto == IPPROTO_SCTP));
	bool icmp = whole && (p->ethertype == 0x0800 ? p->proto == IPPROTO_ICMP
						     : p->proto == IPPROTO_ICMPV6);

	return range_is(&w->sport, ports, p->sport) && range_is(&w->dport, ports, p->dport) &&
	       number_is(&w->tcp_flags, tcp, p->tcp_flags) &&
	       number_is(&w->icmp_type, icmp, p->icmp_type) &&
	       number_is(&w->icmp_code, icmp, p->icmp_code);
}

static bool is_for(const struct written *w, const struct written_block *b, const struct packet *p)
{
	uint8_t family = p->ethertype == 0x0800 ? 4 : p->ethertype == 0x86dd ? 6 : 0;
	uint8_t arp = p->ethertype == 0x0806 ? 4 : 0;

	return tags_are(w, b, p) && payload_is(w, p) &&
	       number_is(&w->vlan, p->tag_count >= 1, p->tags[0].id) &&
	       number_is(&w->vlan_prio, p->tag_count >= 1, p->tags[0].prio) &&
	       number_is(&w->cvlan, p->tag_count >= 2, p->tags[1].id) &&
	       number_is(&w->cvlan_prio, p->tag_count >= 2, p->tags[1].prio) &&
	       mac_is(&w->src_mac, true, p->src_mac) && mac_is(&w->dst_mac, true, p->dst_mac) &&
	       net_is(&w->src, family, p->src) && net_is(&w->dst, family, p->dst) &&
	       number_is(&w->proto, is_ip(p), p->proto) && number_is(&w->ttl, is_ip(p), p->ttl) &&
	       number_is(&w->tos, is_ip(p), p->tos) && number_is(&w->ip_flags, is_ip(p), p->frag) &&
	       transport_is(w, p) && number_is(&w->arp_op, arp, p->arp_op) &&
	       net_is(&w->arp_sender, arp, p->arp_sender_ip) &&
	       net_is(&w->arp_target, arp, p->arp_target_ip) &&
	       mac_is(&w->arp_sender_mac, arp, p->arp_sender_mac) &&
	       mac_is(&w->arp_target_mac, arp, p->arp_target_mac);
}

/* ---- the list ---- */

/* Later chains see the frame as these left it. */
static void change(struct packet *p, const struct deed *d)
{
	switch (d->kind) {
	case DEED_PUSH:
		memmove(p->tags + 1, p->tags, (PACKET_TAGS - 1) * sizeof(p->tags[0]));
		p->tags[0].ethertype = 0x8100;
		p->tags[0].id = (uint16_t)d->number;
		p->tags[0].prio = 0;
		p->tag_count++;
		return;
	case DEED_POP:
		p->tag_count--;
		memmove(p->tags, p->tags + 1, p->tag_count * sizeof(p->tags[0]));
		return;
	case DEED_MODIFY:
		p->tags[0].id = (uint16_t)d->number;
		return;
	case DEED_SET_SRC:
		memcpy(p->src_mac, (const uint8_t[]){ 2, 0, 0, 0, 0, (uint8_t)d->number }, 6);
		return;
	case DEED_SET_DST:
		memcpy(p->dst_mac, (const uint8_t[]){ 2, 0, 0, 0, 0, (uint8_t)d->number }, 6);
		return;
	case DEED_DEC_TTL:
		p->ttl--;
		return;
	case DEED_PASS:
	case DEED_DROP:
	case DEED_TRAP:
	case DEED_REDIRECT:
	case DEED_GOTO:
	case DEED_MIRROR:
	case DEED_POLICE:
	case DEED_SAMPLE:
		return;
	}
}

static bool is_on(const struct written *w, const struct written_block *b, enum side side)
{
	enum offload offload = w->offload ? w->offload : b->offload;

	return offload != (side == SIDE_HARDWARE ? OFFLOAD_OFF : OFFLOAD_REQUIRED);
}

struct verdict written_walk(const struct written_block *b, enum side side, const struct packet *p)
{
	struct packet now = *p;
	struct verdict v = { 0 };
	uint32_t chain = 0;
	size_t i = 0;

	while (i < b->count) {
		const struct written *w = &b->rules[i++];
		bool jumps = false;

		if (w->chain != chain || !is_on(w, b, side) || !is_for(w, b, &now))
			continue;
		if (v.hit_count < VERDICT_HITS)
			v.hits[v.hit_count++] = w->id;
		for (size_t k = 0; k < w->deed_count; k++) {
			jumps = w->deeds[k].kind == DEED_GOTO;
			if (jumps)
				chain = w->deeds[k].number;
			else
				verdict_add(&v, w->deeds[k].kind, w->deeds[k].number);
			change(&now, &w->deeds[k]);
		}
		if (!jumps)
			break;
		i = 0;
	}
	return v;
}
