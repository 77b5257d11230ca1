// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check_match: fields of one match that no frame can have together, or that the kernel looks at
 * only beside another.
 */
#include <stdio.h>

#include "config/yaml/check.h"

const char *match_protocol(const struct draft_match *m)
{
	switch (m->carries) {
	case CARRIES_IPV4:
		return "ip";
	case CARRIES_IPV6:
		return "ipv6";
	case CARRIES_IP:
		return "ip and ipv6";
	case CARRIES_ARP:
		return "arp";
	default:
		return m->size || m->ethertype ? "other protocols" : "all";
	}
}

bool match_is_ip(const struct draft_match *m)
{
	return m->carries & CARRIES_IP;
}

static const char *carries_words(unsigned int carries)
{
	switch (carries) {
	case CARRIES_IPV4:
		return "IPv4";
	case CARRIES_IPV6:
		return "IPv6";
	case CARRIES_IP:
		return "IP";
	case CARRIES_ARP:
		return "ARP";
	default:
		return "neither IP nor ARP";
	}
}

/* Two fields that are about different frames: dst in IPv6 and src in IPv4. The first such pair. */
static bool check_carries(const struct checker *c, const struct draft_block *b,
			  const struct draft_rule *r)
{
	struct match_view v = draft_match_view(&r->match);
	struct match_entry e, other;

	if (r->match.carries && r->match.ethertype != ETHERTYPE_ALL)
		return true;
	for (size_t offset = 0; match_next(v, &offset, &e);) {
		unsigned int mine = draft_field_carries(v, e.field);

		if (r->match.ethertype == ETHERTYPE_ALL && mine != CARRIES_ANYTHING) {
			check_add_rule(c, DIAG_ERROR, b, r, match_at(r, field_row(e.field)->name),
				       "%s is not in every frame, expected no ethertype: all "
				       "beside it",
				       field_row(e.field)->name);
			return false;
		}
		if (!(mine & ethertype_carries(r->match.ethertype))) {
			check_add_rule(c, DIAG_ERROR, b, r, match_at(r, field_row(e.field)->name),
				       "no frame has both: %s is about %s and ethertype about %s, "
				       "expected one of them",
				       field_row(e.field)->name, carries_words(mine),
				       carries_words(ethertype_carries(r->match.ethertype)));
			return false;
		}
		for (size_t before = 0; match_next(v, &before, &other) && before < offset;) {
			unsigned int its = draft_field_carries(v, other.field);

			if (mine & its)
				continue;
			check_add_rule(
				c, DIAG_ERROR, b, r, match_at(r, field_row(e.field)->name),
				"no frame has both: %s is about %s and %s about %s, expected a "
				"rule for each",
				field_row(other.field)->name, carries_words(its),
				field_row(e.field)->name, carries_words(mine));
			return false;
		}
	}
	return true;
}

/* Fields that are in a frame only if its protocol says so; the kernel refuses them without. */
static void check_needs_proto(const struct checker *c, const struct draft_block *b,
			      const struct draft_rule *r)
{
	struct match_view v = draft_match_view(&r->match);
	struct match_entry e;
	uint8_t proto = 0;
	bool has_proto;

	if (!r->match.needs_proto)
		return;
	has_proto = match_get_u8(v, FIELD_IP_PROTO, &proto);
	for (size_t offset = 0; match_next(v, &offset, &e);) {
		const struct field_row *row = field_row(e.field);

		if (!row->protos || (has_proto && carries_proto(row->protos, proto)))
			continue;
		check_add_rule(c, DIAG_ERROR, b, r, match_at(r, row->name),
			       "%s needs %s: %s beside it%s", row->name,
			       field_row(FIELD_IP_PROTO)->name, row->protos->words,
			       has_proto ? ", found another" : "");
	}
}

static void check_tags(const struct checker *c, const struct draft_block *b,
		       const struct draft_rule *r)
{
	struct match_view v = draft_match_view(&r->match);
	struct match_entry e;

	for (size_t offset = 0; r->match.tags == 2 && match_next(v, &offset, &e);) {
		const char *name = field_row(e.field)->name;

		if (field_row(e.field)->tags == 2 && !match_has(v, FIELD_VLAN))
			check_add_rule(
				c, DIAG_ERROR, b, r, match_at(r, name),
				"%s is in the inner of two tags, expected %s for the outer one "
				"beside it",
				name, field_row(FIELD_VLAN)->name);
	}
	if (r->match.tagging && draft_tagging(b, r) == TAGGING_VLAN)
		check_add_rule(c, DIAG_ERROR, b, r, match_at(r, "tagging"),
			       "the match names a tag already, expected no tagging: %s beside it",
			       tagging_name((enum tagging)r->match.tagging));
	if (ethertype_is_vlan(r->match.ethertype) && r->match.tagging == TAGGING_NONE)
		check_add_rule(
			c, DIAG_ERROR, b, r, match_at(r, "tagging"),
			"no frame has both: the ethertype is that of a tag and tagging says there "
			"is none, expected one of them");
}

static bool has_action(const struct draft_rule *r, enum action_kind kind)
{
	for (size_t i = 0; HAS(r, RULE_ACTION) && i < r->actions.count; i++)
		if (r->actions.list[i].kind == kind)
			return true;
	return false;
}

/*
 * A filter for untagged frames asks for their ethertype, and there is none for "no tag, whatever
 * else" (daemon/policy/expand.c). dec-ttl says that it is IP.
 */
static void check_untagged(const struct checker *c, const struct draft_block *b,
			   const struct draft_rule *r)
{
	bool all = r->match.ethertype == ETHERTYPE_ALL && !r->match.tagging;

	if (draft_tagging(b, r) != TAGGING_NONE || all || ethertype_is_vlan(r->match.ethertype) ||
	    r->match.carries != CARRIES_ANYTHING || has_action(r, ACTION_DEC_TTL))
		return;
	check_add_rule(c, DIAG_ERROR, b, r, node_place(r->draft.node, r->match.node),
		       "no filter can say 'every frame without a tag', expected an ethertype or a "
		       "field of IP or ARP in the match, or tagging: any");
}

void check_match(const struct checker *c, const struct draft_block *b, const struct draft_rule *r)
{
	if (!HAS(r, RULE_MATCH))
		return;
	if (check_carries(c, b, r))
		check_needs_proto(c, b, r);
	check_tags(c, b, r);
	check_untagged(c, b, r);
}
