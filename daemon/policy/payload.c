// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a rule's fields and its ethertype say of the packet behind the tags.
 *
 * The care taken here has a reason: flower reads most keys only where it expects them, and drops
 * the others without a word (fl_set_key() in net/sched/cls_flower.c, 6.1 and 6.12). Ports without
 * proto tcp, udp or sctp, TCP flags without tcp, ICMP types without the right icmp for the family,
 * ip_proto, TOS and TTL without an IP ethertype, ARP keys without ARP: each makes a filter that
 * matches *more*.
 */
#include "daemon/policy/payload.h"

#include <errno.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "daemon/policy/expand.h"

/* What is being found out, and whom to tell. */
struct finding {
	const struct rule *rule;
	const struct block *block;
	struct diags *d;
	unsigned int says; /* CARRIES_*: what is left of it */
	const char *who;   /* the field or action that narrowed it last; NULL: the ethertype */
	struct payload *payload;
};

#define refuse(f, part, ...) rule_refuse((f)->rule, (f)->block, (f)->d, part, NULL, __VA_ARGS__)

static int refuse_both(struct finding *f, const char *who)
{
	char name[16], ethertype[32];

	ethertype_print(f->rule->ethertype, name);
	snprintf(ethertype, sizeof(ethertype), "ethertype: %s", name);
	return refuse(f, "match", "no frame has both: '%s' and '%s' exclude each other",
		      f->who ? f->who : ethertype, who ? who : ethertype);
}

static int narrow(struct finding *f, unsigned int carries, const char *who)
{
	if (!(f->says & carries))
		return refuse_both(f, who);
	if ((f->says & carries) != f->says)
		f->who = who;
	f->says &= carries;
	return 0;
}

static int read_ethertype(struct finding *f)
{
	if (ethertype_is_vlan(f->rule->ethertype))
		f->payload->outer_tag = f->rule->ethertype;
	return narrow(f, ethertype_carries(f->rule->ethertype), NULL);
}

static int read_fields(struct finding *f)
{
	struct match_view v = rule_match(f->rule);
	struct match_entry e;
	size_t offset = 0;
	int r;

	while (match_next(v, &offset, &e)) {
		const struct field_row *row = field_row(e.field);

		if (row->internal)
			return refuse(f, "match", "'%s' is not for rules", row->name);
		if (row->carries != CARRIES_ANYTHING && f->rule->ethertype == ETHERTYPE_ALL)
			return refuse(f, "match",
				      "'%s' is not in every frame: say no 'ethertype: all'",
				      row->name);
		r = narrow(f, row->carries, row->name);
		if (r < 0)
			return r;
	}
	return 0;
}

/* dec-ttl changes what only IP has: a rule that uses it is a rule on IP. */
static int read_actions(struct finding *f)
{
	for (size_t i = 0; i < f->rule->action_count; i++) {
		if (rule_actions(f->rule)[i].kind != ACTION_DEC_TTL)
			continue;
		if (f->rule->ethertype == ETHERTYPE_ALL)
			return refuse(f, "action", "'dec-ttl' needs IP: say no 'ethertype: all'");
		return narrow(f, CARRIES_IP, "dec-ttl");
	}
	return 0;
}

/* The field that a match has of two or four, or NULL. */
static const char *has_any(struct match_view v, const enum field *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (match_has(v, list[i]))
			return field_row(list[i])->name;
	return NULL;
}

static int settle_icmp(struct finding *f, bool has_proto, uint8_t proto)
{
	static const enum field fields[] = { FIELD_ICMP_TYPE, FIELD_ICMP_CODE };
	const char *who = has_any(rule_match(f->rule), fields, ARRAY_SIZE(fields));
	uint8_t wanted;

	/* ICMP belongs to one family each; addresses may have said the other one, and then flower
	 * looks at the number alone. */
	if (has_proto && f->says == CARRIES_IP)
		f->says = ip_proto_carries(proto);
	if (!who)
		return 0;
	if (f->says == CARRIES_IP)
		return refuse(f, "match", "'%s' needs 'proto: icmp' or 'proto: icmpv6'", who);
	wanted = f->says == CARRIES_IPV4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
	if (has_proto && proto != wanted)
		return refuse(f, "match", "'%s' needs 'proto: %s' here", who,
			      wanted == IPPROTO_ICMP ? "icmp" : "icmpv6");
	match_set_u8(&f->payload->match, FIELD_IP_PROTO, wanted);
	return 0;
}

static int settle_proto(struct finding *f)
{
	static const enum field ports[] = { FIELD_SPORT, FIELD_DPORT, FIELD_SPORT_RANGE,
					    FIELD_DPORT_RANGE };
	struct match_view v = rule_match(f->rule);
	const char *port = has_any(v, ports, ARRAY_SIZE(ports));
	uint8_t proto = 0;
	bool has_proto = match_get_u8(v, FIELD_IP_PROTO, &proto);

	if (match_has(v, FIELD_TCP_FLAGS)) {
		if (has_proto && proto != IPPROTO_TCP)
			return refuse(f, "match", "'tcp-flags' needs 'proto: tcp'");
		match_set_u8(&f->payload->match, FIELD_IP_PROTO, IPPROTO_TCP);
		has_proto = true;
		proto = IPPROTO_TCP;
	}
	if (port && !(has_proto && carries_proto(&carries_ports, proto)))
		return refuse(f, "match", "'%s' needs 'proto: tcp', 'udp' or 'sctp'", port);
	return settle_icmp(f, has_proto, proto);
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

const char *payload_fits_zeros(struct match_view v)
{
	const char *who = NULL;
	struct match_entry e;
	size_t offset = 0;

	while (match_next(v, &offset, &e)) {
		if (!field_row(e.field)->protos)
			continue;
		if (!is_zero(e.value, field_row(e.field)->size)) /* of a range: the lowest */
			return NULL;
		who = field_row(e.field)->name;
	}
	return who;
}

/*
 * flower does not look for a transport header in fragments, and its key stays zero there. So a rule
 * on ports 0-1023, icmp-type 0 or tcp-flags !syn would take every fragment: it must say that it
 * wants none.
 */
static int settle_fragments(struct finding *f)
{
	const char *who = payload_fits_zeros(rule_match(f->rule));
	uint8_t value[4] = { 0 }, mask[4] = { 0 };
	const uint8_t *said, *said_mask;

	if (!who)
		return 0;
	if (match_get(rule_match(f->rule), FIELD_IP_FLAGS, &said, &said_mask)) {
		memcpy(value, said, sizeof(value));
		memcpy(mask, said_mask, sizeof(mask));
	}
	if (value[3] & TCA_FLOWER_KEY_FLAGS_IS_FRAGMENT)
		return refuse(f, "match", "no frame has both: a fragment shows no '%s'", who);
	mask[3] |= TCA_FLOWER_KEY_FLAGS_IS_FRAGMENT;
	match_set(&f->payload->match, FIELD_IP_FLAGS, value, mask);
	return 0;
}

int payload_of(const struct rule *r, const struct block *b, struct diags *d, struct payload *ret)
{
	struct payload p = { 0 };
	struct finding f = {
		.rule = r, .block = b, .d = d, .payload = &p, .says = CARRIES_ANYTHING
	};
	struct match_view v = rule_match(r);

	memcpy(p.match.bytes, v.bytes, v.size);
	p.match.size = v.size;
	if (read_ethertype(&f) < 0 || read_fields(&f) < 0 || read_actions(&f) < 0 ||
	    settle_proto(&f) < 0 || settle_fragments(&f) < 0)
		return -EINVAL;
	if (f.says == CARRIES_ANYTHING)
		f.says = 0;
	if (f.says & CARRIES_IPV4)
		p.ethertypes[p.count++] = ETHERTYPE_IP;
	if (f.says & CARRIES_IPV6)
		p.ethertypes[p.count++] = ETHERTYPE_IPV6;
	if (f.says & CARRIES_ARP)
		p.ethertypes[p.count++] = ETHERTYPE_ARP;
	if (f.says & CARRIES_OTHER)
		p.ethertypes[p.count++] = r->ethertype;
	*ret = p;
	return 0;
}
