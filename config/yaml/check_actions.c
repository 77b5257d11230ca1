// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check_actions: lists of actions that cannot do what they say.
 */
#include <stdio.h>

#include "config/yaml/check.h"

static const char *name_of(const struct draft_rule *r, size_t i)
{
	return action_name((enum action_kind)r->actions.list[i].kind);
}

static void check_final(const struct checker *c, const struct draft_block *b,
			const struct draft_rule *r)
{
	for (size_t i = 0; i + 1 < r->actions.count; i++) {
		if (!action_is_final((enum action_kind)r->actions.list[i].kind))
			continue;
		check_add_rule(c, DIAG_ERROR, b, r, action_at(r, i + 1),
			       "%s comes after %s, which ends the list, expected %s last",
			       name_of(r, i + 1), name_of(r, i), name_of(r, i));
		return;
	}
}

/* How many tags there surely are, as actions add and take them. */
static void check_tags(const struct checker *c, const struct draft_block *b,
		       const struct draft_rule *r)
{
	enum tagging tagging = draft_tagging(b, r);
	unsigned int tags = r->match.tags;

	if (!HAS(r, RULE_MATCH))
		return;
	if (tags == 0 && ethertype_is_vlan(r->match.ethertype))
		tags = 1;
	for (size_t i = 0; i < r->actions.count; i++) {
		enum action_kind kind = (enum action_kind)r->actions.list[i].kind;

		if (kind == ACTION_VLAN_PUSH)
			tags++;
		if (kind != ACTION_VLAN_POP && kind != ACTION_VLAN_MODIFY)
			continue;
		if (tags == 0 && tagging == TAGGING_ANY) {
			check_add_rule(
				c, DIAG_ERROR, b, r, action_at(r, i),
				"%s on frames that may have no tag, expected %s in the match",
				name_of(r, i), field_row(FIELD_VLAN)->name);
			return;
		}
		if (tags == 0) {
			check_add_rule(
				c, DIAG_ERROR, b, r, action_at(r, i),
				tagging == TAGGING_VLAN
					? "%s finds no tag left that the match is sure of, "
					  "expected %s in it"
					: "%s on frames that have no tag, expected %s in the match",
				name_of(r, i),
				field_row(tagging == TAGGING_VLAN ? FIELD_CVLAN : FIELD_VLAN)
					->name);
			return;
		}
		if (kind == ACTION_VLAN_POP)
			tags--;
	}
}

/*
 * Software edits the header that is right behind the outer tag; what is behind two of them only
 * hardware reaches (daemon/policy/lower.c).
 */
static void check_deep_ttl(const struct checker *c, const struct draft_block *b,
			   const struct draft_rule *r)
{
	unsigned int tags = r->match.tags;

	if (!HAS(r, RULE_MATCH) || draft_offload(b, r) == OFFLOAD_REQUIRED)
		return;
	if (tags == 0)
		tags = ethertype_is_vlan(r->match.ethertype) ? 1
		       : draft_tagging(b, r) == TAGGING_ANY  ? 2
							     : 0;
	for (size_t i = 0; i < r->actions.count; i++) {
		enum action_kind kind = (enum action_kind)r->actions.list[i].kind;

		if (kind == ACTION_DEC_TTL && tags > 1) {
			check_add_rule(
				c, DIAG_ERROR, b, r, action_at(r, i),
				"%s behind two tags is for hardware alone, expected offload: "
				"required, tagging: none or a vlan",
				name_of(r, i));
			return;
		}
		tags += kind == ACTION_VLAN_PUSH;
		tags -= kind == ACTION_VLAN_POP && tags > 0;
	}
}

static void check_dec_ttl(const struct checker *c, const struct draft_block *b,
			  const struct draft_rule *r)
{
	if (!HAS(r, RULE_MATCH) || (match_is_ip(&r->match) && r->match.ethertype != ETHERTYPE_ALL))
		return;
	for (size_t i = 0; i < r->actions.count; i++)
		if (r->actions.list[i].kind == ACTION_DEC_TTL)
			check_add_rule(
				c, DIAG_ERROR, b, r, action_at(r, i),
				"%s needs an IP packet, expected a match on one; this rule is for "
				"%s",
				name_of(r, i), match_protocol(&r->match));
}

/*
 * Software has no trap: sch_handle_ingress() frees the frame on TC_ACT_TRAP (net/core/dev.c, 6.1
 * and 6.12). A rule that software sees as well would eat what hardware handed up.
 */
static void check_trap(const struct checker *c, const struct draft_block *b,
		       const struct draft_rule *r)
{
	enum offload offload = draft_offload(b, r);
	struct diag *diag;

	if (offload == OFFLOAD_REQUIRED || offload == OFFLOAD_UNSET)
		return;
	for (size_t i = 0; i < r->actions.count; i++) {
		if (r->actions.list[i].kind != ACTION_TRAP)
			continue;
		diag = check_add_rule(
			c, DIAG_ERROR, b, r, action_at(r, i),
			"trap is for hardware alone, in software it loses the frame, expected "
			"offload: required and not %s",
			offload_name(offload));
		diag_hint(diag, "in software, pass hands a frame to the CPU");
	}
}

void check_actions(const struct checker *c, const struct draft_block *b, const struct draft_rule *r)
{
	if (!HAS(r, RULE_ACTION))
		return;
	check_final(c, b, r);
	check_tags(c, b, r);
	check_dec_ttl(c, b, r);
	check_deep_ttl(c, b, r);
	check_trap(c, b, r);
}
