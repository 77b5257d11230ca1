// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/policy/table.h"

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

/* ---- the table ---- */

/* A pedit, a VLAN action: what the next chain sees. */
static void carry_out(const struct action *a, struct packet *p)
{
	switch ((enum action_kind)a->kind) {
	case ACTION_VLAN_PUSH:
		for (size_t i = p->tag_count++; i > 0; i--)
			p->tags[i] = p->tags[i - 1];
		p->tags[0].ethertype = a->vlan.ethertype;
		p->tags[0].id = a->vlan.id;
		p->tags[0].prio = a->vlan.has_prio ? a->vlan.prio : 0;
		return;
	case ACTION_VLAN_POP:
		for (size_t i = 1; i < p->tag_count; i++)
			p->tags[i - 1] = p->tags[i];
		p->tag_count -= p->tag_count > 0;
		return;
	case ACTION_VLAN_MODIFY:
		if (!p->tag_count)
			return;
		p->tags[0].ethertype = a->vlan.ethertype;
		p->tags[0].id = a->vlan.id;
		if (a->vlan.has_prio)
			p->tags[0].prio = a->vlan.prio;
		return;
	case ACTION_SET_SRC:
		memcpy(p->src_mac, a->mac, 6);
		return;
	case ACTION_SET_DST:
		memcpy(p->dst_mac, a->mac, 6);
		return;
	case ACTION_DEC_TTL:
		if (p->ethertype == (a->ttl.family_v6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP))
			p->ttl--;
		return;
	case ACTION_PASS:
	case ACTION_DROP:
	case ACTION_TRAP:
	case ACTION_GOTO:
	case ACTION_REDIRECT:
	case ACTION_MIRROR:
	case ACTION_CSUM:
	case ACTION_POLICE:
	case ACTION_SAMPLE:
	case ACTION_OTHER:
	case ACTION_COUNT_:
		return;
	}
}

static void note(struct verdict *v, const struct action *a)
{
	uint32_t dev = (uint32_t)atoi(a->dev + strcspn(a->dev, "0123456789"));

	switch ((enum action_kind)a->kind) {
	case ACTION_PASS:
		return verdict_add(v, DEED_PASS, 0);
	case ACTION_DROP:
		return verdict_add(v, DEED_DROP, 0);
	case ACTION_TRAP:
		return verdict_add(v, DEED_TRAP, 0);
	case ACTION_REDIRECT:
		return verdict_add(v, DEED_REDIRECT, dev);
	case ACTION_MIRROR:
		return verdict_add(v, DEED_MIRROR, dev);
	case ACTION_VLAN_PUSH:
		return verdict_add(v, DEED_PUSH, a->vlan.id);
	case ACTION_VLAN_POP:
		return verdict_add(v, DEED_POP, 0);
	case ACTION_VLAN_MODIFY:
		return verdict_add(v, DEED_MODIFY, a->vlan.id);
	case ACTION_SET_SRC:
		return verdict_add(v, DEED_SET_SRC, a->mac[5]);
	case ACTION_SET_DST:
		return verdict_add(v, DEED_SET_DST, a->mac[5]);
	case ACTION_DEC_TTL:
		return verdict_add(v, DEED_DEC_TTL, 0);
	case ACTION_POLICE:
		return verdict_add(v, DEED_POLICE, (uint32_t)(a->police.rate_bit / 1000000));
	case ACTION_SAMPLE:
		return verdict_add(v, DEED_SAMPLE, a->sample.group);
	case ACTION_GOTO:
	case ACTION_CSUM:
	case ACTION_OTHER:
	case ACTION_COUNT_:
		return;
	}
}

/* True, and *chain, if it jumps. */
static bool run_actions(const struct filter *f, struct packet *p, struct verdict *v,
			uint32_t *chain)
{
	for (size_t i = 0; i < f->action_count; i++) {
		const struct action *a = &filter_actions(f)[i];

		if (a->kind == ACTION_GOTO) {
			*chain = a->chain;
			return true;
		}
		note(v, a);
		carry_out(a, p);
	}
	return false;
}

static bool is_on(const struct filter *f, enum side side)
{
	return !(f->flags &
		 (side == SIDE_HARDWARE ? TCA_CLS_FLAGS_SKIP_HW : TCA_CLS_FLAGS_SKIP_SW));
}

/* What matches in the first pref of a chain that has a match; NULL if none has. */
static const struct filter *walk_chain(const struct state *filters, uint32_t block, uint32_t chain,
				       enum side side, const struct packet *p, bool last,
				       bool *ret_twice)
{
	struct filter key = { .obj.kind = KIND_FILTER, .block = block, .chain = chain };
	const struct filter *hit = NULL;

	for (size_t i = state_lower(filters, &key); i < state_count(filters, KIND_FILTER); i++) {
		const struct filter *f = state_at(filters, KIND_FILTER, i);

		if (f->block != block || f->chain != chain || (hit && hit->pref != f->pref))
			break;
		if (!is_on(f, side) || !filter_matches(f, p))
			continue;
		*ret_twice |= hit != NULL;
		hit = hit && !last ? hit : f;
	}
	return hit;
}

struct verdict table_walk(const struct state *filters, uint32_t block, enum side side,
			  const struct packet *p, bool last, bool *ret_twice)
{
	struct packet now = *p;
	struct verdict v = { 0 };
	uint32_t chain = 0;
	bool jumps = true;

	for (size_t jump = 0; jumps && jump < 16; jump++) {
		const struct filter *hit =
			walk_chain(filters, block, chain, side, &now, last, ret_twice);

		if (!hit)
			break;
		if (hit->rule && v.hit_count < VERDICT_HITS)
			v.hits[v.hit_count++] = (uint32_t)atoi(hit->rule->name + 1);
		jumps = run_actions(hit, &now, &v, &chain);
	}
	return v;
}

static bool same_actions(const struct filter *a, const struct filter *b)
{
	if (!a || !b)
		return a == b;
	return a->action_count == b->action_count &&
	       memcmp(filter_actions(a), filter_actions(b),
		      a->action_count * sizeof(struct action)) == 0;
}

bool table_mixes(const struct state *const tables[3], uint32_t block, enum side side,
		 const struct packet *p, bool last)
{
	struct packet now = *p;
	struct verdict v = { 0 };
	uint32_t chain = 0;
	bool jumps = true, twice = false;

	for (size_t jump = 0; jumps && jump < 16; jump++) {
		const struct filter *hits[3];

		for (size_t k = 0; k < 3; k++)
			hits[k] = walk_chain(tables[k], block, chain, side, &now, last, &twice);
		if (!same_actions(hits[0], hits[1]) && !same_actions(hits[0], hits[2]))
			return false;
		if (!hits[0])
			break;
		jumps = run_actions(hits[0], &now, &v, &chain);
	}
	return true;
}
