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
#include <stdarg.h>
#include <stdio.h>

#include "daemon/policy/expand.h"

#define SAYS_IPV4 0x1
#define SAYS_IPV6 0x2
#define SAYS_ARP 0x4
#define SAYS_OTHER 0x8 /* an ethertype we have no fields for */
#define SAYS_IP (SAYS_IPV4 | SAYS_IPV6)

/* What a field needs behind the tags; 0: nothing. */
static uint8_t field_needs(enum field f)
{
	switch (f) {
	case FIELD_DST_MAC:
	case FIELD_SRC_MAC:
	case FIELD_VLAN:
	case FIELD_VLAN_PRIO:
	case FIELD_VLAN_ETHTYPE:
	case FIELD_CVLAN:
	case FIELD_CVLAN_PRIO:
	case FIELD_CVLAN_ETHTYPE:
	case FIELD_COUNT_:
		return 0;
	case FIELD_IP_PROTO:
	case FIELD_TOS:
	case FIELD_TTL:
	case FIELD_IP_FLAGS:
	case FIELD_SPORT:
	case FIELD_DPORT:
	case FIELD_SPORT_RANGE:
	case FIELD_DPORT_RANGE:
	case FIELD_TCP_FLAGS:
	case FIELD_ICMP_TYPE:
	case FIELD_ICMP_CODE:
		return SAYS_IP;
	case FIELD_IPV4_SRC:
	case FIELD_IPV4_DST:
		return SAYS_IPV4;
	case FIELD_IPV6_SRC:
	case FIELD_IPV6_DST:
		return SAYS_IPV6;
	case FIELD_ARP_OP:
	case FIELD_ARP_SENDER_IP:
	case FIELD_ARP_TARGET_IP:
	case FIELD_ARP_SENDER_MAC:
	case FIELD_ARP_TARGET_MAC:
		return SAYS_ARP;
	}
	return 0;
}

/* What is being found out, and whom to tell. */
struct finding {
	const struct rule *rule;
	const struct block *block;
	struct diags *d;
	uint8_t says;	 /* 0: nothing yet */
	const char *who; /* the field, action or key that narrowed it last */
	struct payload *payload;
	char ethertype[32]; /* "ethertype: arp" */
};

_printf_(3, 4) static int refuse(const struct finding *f, const char *part, const char *fmt, ...)
{
	char path[RULE_PATH], text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	rule_path(f->rule, f->block, part, path);
	diags_add(f->d, DIAG_ERROR, f->rule->obj.origin, path, "%s", text);
	return -EINVAL;
}

static int narrow(struct finding *f, uint8_t needs, const char *who)
{
	if (f->says && !(f->says & needs))
		return refuse(f, "match", "no frame has both: '%s' and '%s' exclude each other",
			      f->who, who);
	if (!f->says || (f->says & needs) != f->says)
		f->who = who;
	f->says = f->says ? f->says & needs : needs;
	return 0;
}

static int read_ethertype(struct finding *f)
{
	char name[16];

	ethertype_print(f->rule->ethertype, name);
	snprintf(f->ethertype, sizeof(f->ethertype), "ethertype: %s", name);
	switch (f->rule->ethertype) {
	case 0:
	case ETHERTYPE_ALL:
		return 0;
	case ETHERTYPE_IP:
		return narrow(f, SAYS_IPV4, f->ethertype);
	case ETHERTYPE_IPV6:
		return narrow(f, SAYS_IPV6, f->ethertype);
	case ETHERTYPE_ARP:
	case ETHERTYPE_REVARP: /* flower reads the same keys for both */
		return narrow(f, SAYS_ARP, f->ethertype);
	case ETHERTYPE_VLAN:
	case 0x88a8:
		f->payload->outer_tag = f->rule->ethertype;
		return 0;
	}
	return narrow(f, SAYS_OTHER, f->ethertype);
}

static int read_fields(struct finding *f)
{
	struct match_view v = rule_match(f->rule);
	struct match_entry e;
	size_t offset = 0;
	int r;

	while (match_next(v, &offset, &e)) {
		uint8_t needs = field_needs(e.field);

		if (field_row(e.field)->internal)
			return refuse(f, "match", "'%s' is not for rules",
				      field_row(e.field)->name);
		if (needs && f->rule->ethertype == ETHERTYPE_ALL)
			return refuse(f, "match",
				      "'%s' is not in every frame: say no 'ethertype: all'",
				      field_row(e.field)->name);
		r = needs ? narrow(f, needs, field_row(e.field)->name) : 0;
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
		return narrow(f, SAYS_IP, "dec-ttl");
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
	if (has_proto && f->says == SAYS_IP && proto == IPPROTO_ICMP)
		f->says = SAYS_IPV4;
	if (has_proto && f->says == SAYS_IP && proto == IPPROTO_ICMPV6)
		f->says = SAYS_IPV6;
	if (!who)
		return 0;
	if (f->says == SAYS_IP)
		return refuse(f, "match", "'%s' needs 'proto: icmp' or 'proto: icmpv6'", who);
	wanted = f->says == SAYS_IPV4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
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
	if (port &&
	    (!has_proto || (proto != IPPROTO_TCP && proto != IPPROTO_UDP && proto != IPPROTO_SCTP)))
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

/* The name of a field of the transport header, if all that the match has of those fit zeros. */
static const char *fits_zeros(struct match_view v)
{
	const char *who = NULL;
	struct match_entry e;
	size_t offset = 0;

	while (match_next(v, &offset, &e)) {
		if (e.field < FIELD_SPORT || e.field > FIELD_ICMP_CODE)
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
	const char *who = fits_zeros(rule_match(f->rule));
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
	struct finding f = { .rule = r, .block = b, .d = d, .payload = &p };
	struct match_view v = rule_match(r);

	memcpy(p.match.bytes, v.bytes, v.size);
	p.match.size = v.size;
	if (read_ethertype(&f) < 0 || read_fields(&f) < 0 || read_actions(&f) < 0 ||
	    settle_proto(&f) < 0 || settle_fragments(&f) < 0)
		return -EINVAL;
	if (f.says & SAYS_IPV4)
		p.ethertypes[p.count++] = ETHERTYPE_IP;
	if (f.says & SAYS_IPV6)
		p.ethertypes[p.count++] = ETHERTYPE_IPV6;
	if (f.says & SAYS_ARP)
		p.ethertypes[p.count++] =
			r->ethertype == ETHERTYPE_REVARP ? ETHERTYPE_REVARP : ETHERTYPE_ARP;
	if (f.says & SAYS_OTHER)
		p.ethertypes[p.count++] = r->ethertype;
	*ret = p;
	return 0;
}
