// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rules by chance. Values come from small worlds, so that rules overlap and packets meet them; half
 * of the rules are others with new values, so that neighbours with one mask are frequent.
 */
#include <netinet/in.h>

#include "tests/unit/policy/written.h"

#define CHAINS 4

static bool one_in(struct dice *d, size_t n)
{
	return dice_below(d, n) == 0;
}

#define PICK(d, list) ((list)[dice_below(d, ARRAY_SIZE(list))])

/* ---- values ---- */

static void cut_net(struct written_net *n)
{
	for (unsigned int bit = n->len; bit < 128; bit++)
		n->addr[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
}

static void random_net(struct dice *d, struct written_net *n, uint8_t family)
{
	static const uint8_t v4[] = { 8, 16, 23, 24, 25, 30, 31, 32, 32 };
	static const uint8_t v6[] = { 3, 32, 48, 64, 126, 127, 128, 128 };

	n->family = family;
	n->len = family == 4 ? PICK(d, v4) : PICK(d, v6);
	random_ip(d, family, n->addr);
	cut_net(n);
}

static void random_hw(struct dice *d, struct written_mac *m)
{
	m->said = true;
	memset(m->mask, 0xff, sizeof(m->mask));
	if (one_in(d, 4))
		m->mask[5] = 0xfe;
	else if (one_in(d, 6))
		memset(m->mask + 1, 0, 5);
	random_mac(d, m->addr);
	for (size_t i = 0; i < 6; i++)
		m->addr[i] &= m->mask[i];
}

static void set(struct written_number *n, uint32_t value, uint32_t mask)
{
	*n = (struct written_number){ true, value & mask, mask };
}

static void random_small(struct dice *d, struct written_number *n, uint32_t below)
{
	static const uint32_t masks[] = { 0xff, 0xff, 0xff, 0x01, 0x03, 0xfe };

	set(n, (uint32_t)dice_below(d, below), PICK(d, masks));
}

static void random_range(struct dice *d, struct written_range *r)
{
	r->said = true;
	r->low = r->high = random_port(d);
	if (!one_in(d, 3))
		return;
	r->high = (uint16_t)MIN(r->low + 1u + dice_below(d, 4), 65535u);
	if (one_in(d, 6))
		r->low = 0;
	if (one_in(d, 6))
		r->high = 65535;
	if (r->low == r->high)
		r->low--;
}

/* ---- shapes ---- */

static void random_transport(struct dice *d, struct written *w)
{
	set(&w->proto, random_proto(d), 0xff);
	switch (w->proto.value) {
	case IPPROTO_TCP:
		if (one_in(d, 3))
			set(&w->tcp_flags, (uint32_t)dice_below(d, 4) | 0x10,
			    1 + (uint32_t)dice_below(d, 3) + (one_in(d, 2) ? 0x10 : 0));
		/* fallthrough */
	case IPPROTO_UDP:
	case IPPROTO_SCTP:
		if (one_in(d, 3))
			random_range(d, &w->sport);
		if (!one_in(d, 3))
			random_range(d, &w->dport);
		break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		if (one_in(d, 2))
			random_small(d, &w->icmp_type, 10);
		if (one_in(d, 4))
			random_small(d, &w->icmp_code, 3);
		break;
	}
}

static void random_payload_ip(struct dice *d, struct written *w)
{
	uint8_t family = one_in(d, 3) ? 6 : 4;
	size_t shape = dice_below(d, 4);

	if (shape != 0 && !one_in(d, 3))
		random_net(d, &w->dst, family);
	if (shape != 0 && one_in(d, 3))
		random_net(d, &w->src, family);
	if (one_in(d, 8))
		w->ethertype = family == 6 ? 0x86dd : 0x0800;
	if (shape == 0 || one_in(d, 3))
		random_transport(d, w);
	if (one_in(d, 12))
		random_small(d, &w->ttl, 4);
	if (one_in(d, 12))
		random_small(d, &w->tos, 4);
	if (one_in(d, 12))
		set(&w->ip_flags, (uint32_t)dice_below(d, 4), 1 + (uint32_t)dice_below(d, 3));
}

static void random_payload_arp(struct dice *d, struct written *w)
{
	if (one_in(d, 2))
		set(&w->arp_op, 1 + (uint32_t)dice_below(d, 2), 0xff);
	if (one_in(d, 3))
		random_net(d, &w->arp_sender, 4);
	if (one_in(d, 3))
		random_net(d, &w->arp_target, 4);
	if (one_in(d, 4))
		random_hw(d, &w->arp_sender_mac);
	if (one_in(d, 4))
		random_hw(d, &w->arp_target_mac);
	if (one_in(d, 2))
		w->ethertype = 0x0806;
}

static void random_tags(struct dice *d, struct written *w)
{
	static const uint16_t tags[] = { 0x8100, 0x88a8 };

	if (one_in(d, 4)) {
		w->tagging = one_in(d, 2) ? TAGGING_ANY : TAGGING_NONE;
		return;
	}
	if (!one_in(d, 3))
		return;
	if (!w->ethertype && one_in(d, 4))
		w->ethertype = PICK(d, tags);
	if (one_in(d, 4))
		set(&w->vlan_prio, (uint32_t)dice_below(d, 2), 7);
	if (!one_in(d, 4))
		set(&w->vlan, random_vlan(d), 0xfff);
	if (!w->vlan.said || !one_in(d, 3))
		return;
	if (one_in(d, 4))
		set(&w->cvlan_prio, (uint32_t)dice_below(d, 2), 7);
	else
		set(&w->cvlan, random_vlan(d), 0xfff);
}

static void random_match(struct dice *d, struct written *w)
{
	static const uint16_t others[] = { 0x88cc, 0x8847, 0x88cc, ETHERTYPE_ALL };
	size_t shape = dice_below(d, 16);

	if (shape < 12)
		random_payload_ip(d, w);
	else if (shape == 12)
		random_payload_arp(d, w);
	else if (shape == 13)
		w->ethertype = PICK(d, others);
	if (shape == 14 || one_in(d, 8))
		random_hw(d, one_in(d, 2) ? &w->dst_mac : &w->src_mac);
	random_tags(d, w);
}

/* ---- deeds ---- */

static void add(struct written *w, enum deed_kind kind, size_t number)
{
	w->deeds[w->deed_count++] = (struct deed){ kind, (uint32_t)number };
}

static void random_way(struct dice *d, struct written *w)
{
	if (one_in(d, 10))
		add(w, DEED_DEC_TTL, 0);
	else if (w->vlan.said && one_in(d, 4))
		add(w, one_in(d, 2) ? DEED_MODIFY : DEED_POP, random_vlan(d));
	else if (one_in(d, 14))
		add(w, DEED_PUSH, random_vlan(d));
	if (w->deed_count && w->deeds[0].kind == DEED_POP)
		w->deeds[0].number = 0;
	if (one_in(d, 12))
		add(w, one_in(d, 2) ? DEED_SET_DST : DEED_SET_SRC, 1 + dice_below(d, 3));
	else if (one_in(d, 16))
		add(w, DEED_MIRROR, 1 + dice_below(d, 6));
	else if (one_in(d, 16))
		add(w, DEED_POLICE, 1 + dice_below(d, 20));
	else if (one_in(d, 24))
		add(w, DEED_SAMPLE, 1 + dice_below(d, 9));
}

void written_deeds(struct dice *d, struct written *w)
{
	w->deed_count = 0;
	if (one_in(d, 2))
		random_way(d, w);
	switch (dice_below(d, 14)) {
	case 0:
	case 1:
		add(w, DEED_PASS, 0);
		return;
	case 2:
	case 3:
		add(w, DEED_DROP, 0);
		return;
	case 4:
		add(w, DEED_TRAP, 0);
		return;
	case 5:
	case 6:
	case 7:
	case 8:
		if (w->chain + 1 < CHAINS) {
			add(w, DEED_GOTO, w->chain + 1 + dice_below(d, CHAINS - w->chain - 1));
			return;
		}
		/* fallthrough */
	case 9:
		if (w->deed_count)
			return; /* ends as with pass */
				/* fallthrough */
	default:
		add(w, DEED_REDIRECT, 1 + dice_below(d, 6));
	}
}

/* ---- rules ---- */

static void reroll_net(struct dice *d, struct written_net *n)
{
	if (!n->family)
		return;
	random_ip(d, n->family, n->addr);
	cut_net(n);
}

static void reroll_mac(struct dice *d, struct written_mac *m)
{
	random_mac(d, m->addr);
	for (size_t i = 0; i < 6; i++)
		m->addr[i] &= m->mask[i];
}

static void reroll_number(struct dice *d, struct written_number *n, size_t below)
{
	if (n->said)
		n->value = (uint32_t)dice_below(d, below) & n->mask;
}

static void reroll_port(struct dice *d, struct written_range *r)
{
	if (!r->said)
		return;
	if (r->low == r->high)
		r->low = r->high = random_port(d);
	else
		random_range(d, r);
}

void written_reroll(struct dice *d, struct written *w)
{
	reroll_net(d, &w->src);
	reroll_net(d, &w->dst);
	reroll_net(d, &w->arp_sender);
	reroll_net(d, &w->arp_target);
	reroll_mac(d, &w->src_mac);
	reroll_mac(d, &w->dst_mac);
	reroll_mac(d, &w->arp_sender_mac);
	reroll_mac(d, &w->arp_target_mac);
	reroll_number(d, &w->ttl, 4);
	reroll_number(d, &w->tos, 4);
	reroll_number(d, &w->icmp_type, 10);
	reroll_number(d, &w->vlan_prio, 2);
	reroll_number(d, &w->tcp_flags, 4);
	if (w->vlan.said)
		w->vlan.value = random_vlan(d);
	if (w->cvlan.said)
		w->cvlan.value = random_vlan(d);
	reroll_port(d, &w->sport);
	reroll_port(d, &w->dport);
}

struct written written_random(struct dice *d, uint32_t id, const struct written_block *others)
{
	struct written w = { 0 };

	if (others->count && one_in(d, 2)) {
		w = others->rules[dice_below(d, others->count)];
		written_reroll(d, &w);
	} else {
		w.chain = one_in(d, 2) ? (uint32_t)dice_below(d, CHAINS) : 0;
		random_match(d, &w);
	}
	w.id = id;
	w.pref = 0;
	w.offload = one_in(d, 16) ? (enum offload)(1 + dice_below(d, 3)) : OFFLOAD_UNSET;
	written_deeds(d, &w);
	return w;
}

/* ---- packets ---- */

/* A number the rule takes, or one just beside. */
static uint32_t meet(struct dice *d, const struct written_number *n, uint32_t have)
{
	uint32_t value;

	if (!n->said)
		return have;
	value = (have & ~n->mask) | n->value;
	return one_in(d, 10) ? value + (one_in(d, 2) ? 1u : UINT32_MAX) : value;
}

static uint16_t meet_range(struct dice *d, const struct written_range *r, uint16_t have)
{
	const uint16_t edges[] = {
		r->low, r->high, r->low, r->high, (uint16_t)(r->low - 1), (uint16_t)(r->high + 1)
	};

	return r->said ? PICK(d, edges) : have;
}

/* Inside by chance, its first or last address, or the one before or behind it. */
static void meet_net(struct dice *d, const struct written_net *n, uint8_t family, uint8_t *addr)
{
	unsigned int size = family == 4 ? 4 : 16, ones = 0;
	uint8_t fill = one_in(d, 2) ? 0xff : 0;
	bool edge = !one_in(d, 3);

	if (n->family != family)
		return;
	for (unsigned int i = 0; i < size * 8; i++) {
		uint8_t bit = (uint8_t)(0x80 >> i % 8);

		if (i < n->len)
			addr[i / 8] = (uint8_t)((addr[i / 8] & ~bit) | (n->addr[i / 8] & bit));
		else if (edge)
			addr[i / 8] = (uint8_t)((addr[i / 8] & ~bit) | (fill & bit));
	}
	if (!edge || !one_in(d, 5))
		return;
	for (ones = size; ones-- > 0;)
		if (fill ? ++addr[ones] : addr[ones]--)
			break;
}

static void meet_mac(struct dice *d, const struct written_mac *m, uint8_t addr[6])
{
	if (!m->said)
		return;
	for (size_t i = 0; i < 6; i++)
		addr[i] = (uint8_t)((addr[i] & ~m->mask[i]) | m->addr[i]);
	if (one_in(d, 10))
		addr[5]++;
}

static void meet_tags(struct dice *d, const struct written *w, struct packet *p)
{
	if (w->vlan.said || w->vlan_prio.said)
		p->tag_count = 1;
	if (w->cvlan.said || w->cvlan_prio.said)
		p->tag_count = 2;
	if (w->ethertype == 0x8100 || w->ethertype == 0x88a8) {
		p->tag_count = MAX(p->tag_count, (size_t)1);
		p->tags[0].ethertype = w->ethertype;
	}
	if (p->tag_count && one_in(d, 12))
		p->tag_count = dice_below(d, 4);
	p->tags[0].id = (uint16_t)(meet(d, &w->vlan, p->tags[0].id) & 0xfff);
	p->tags[0].prio = (uint8_t)(meet(d, &w->vlan_prio, p->tags[0].prio) & 7);
	p->tags[1].id = (uint16_t)(meet(d, &w->cvlan, p->tags[1].id) & 0xfff);
	p->tags[1].prio = (uint8_t)(meet(d, &w->cvlan_prio, p->tags[1].prio) & 7);
}

struct packet written_packet(struct dice *d, const struct written *w)
{
	struct packet p = packet_random(d);
	uint8_t family = w->src.family | w->dst.family;

	if (family)
		p.ethertype = family == 4 ? 0x0800 : 0x86dd;
	if (w->arp_op.said || w->arp_sender.family || w->arp_target.family)
		p.ethertype = 0x0806;
	if (w->ethertype >= 0x0600 && w->ethertype != 0x8100 && w->ethertype != 0x88a8)
		p.ethertype = w->ethertype;
	if (w->proto.said && !family && (w->proto.value == 1 || w->proto.value == 58) &&
	    !one_in(d, 8))
		p.ethertype = w->proto.value == 1 ? 0x0800 : 0x86dd;
	meet_tags(d, w, &p);
	if (p.ethertype == 0x0800 || p.ethertype == 0x86dd) {
		meet_net(d, &w->src, p.ethertype == 0x0800 ? 4 : 6, p.src);
		meet_net(d, &w->dst, p.ethertype == 0x0800 ? 4 : 6, p.dst);
	}
	p.proto = (uint8_t)meet(d, &w->proto, p.proto);
	p.ttl = (uint8_t)meet(d, &w->ttl, p.ttl);
	p.tos = (uint8_t)meet(d, &w->tos, p.tos);
	if (w->ip_flags.said)
		p.frag = meet(d, &w->ip_flags, p.frag) & 3;
	p.frag = p.frag & 1 ? p.frag : 0; /* the first one is one */
	p.sport = meet_range(d, &w->sport, p.sport);
	p.dport = meet_range(d, &w->dport, p.dport);
	p.tcp_flags = (uint16_t)(meet(d, &w->tcp_flags, p.tcp_flags) & 0xff);
	p.icmp_type = (uint8_t)meet(d, &w->icmp_type, p.icmp_type);
	p.icmp_code = (uint8_t)meet(d, &w->icmp_code, p.icmp_code);
	p.arp_op = (uint8_t)meet(d, &w->arp_op, p.arp_op);
	meet_net(d, &w->arp_sender, 4, p.arp_sender_ip);
	meet_net(d, &w->arp_target, 4, p.arp_target_ip);
	meet_mac(d, &w->src_mac, p.src_mac);
	meet_mac(d, &w->dst_mac, p.dst_mac);
	meet_mac(d, &w->arp_sender_mac, p.arp_sender_mac);
	meet_mac(d, &w->arp_target_mac, p.arp_target_mac);
	return p;
}
