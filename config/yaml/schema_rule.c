// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schema_rule: one rule of a block.
 */
#include "config/yaml/draft.h"

static const char *offload_word(unsigned int v)
{
	return offload_name((enum offload)v);
}

static const struct key keys[] = {
	[RULE_NAME] = {
		.name = "name", .type = &value_name, .offset = offsetof(struct draft_rule, name),
		.required = true, .check_name = check_rule_name,
		.doc = "what the rule is called, once in its block",
	},
	[RULE_MATCH] = {
		.name = "match", .type = &value_match, .offset = offsetof(struct draft_rule, match),
		.required = true,
		.doc = "the frames it is for; {} for all",
	},
	[RULE_ACTION] = {
		.name = "action", .type = &value_actions,
		.offset = offsetof(struct draft_rule, actions),
		.required = true,
		.doc = "what happens to them: one action, or a list that is run in order",
	},
	[RULE_OFFLOAD] = {
		.name = "offload", .type = &value_word,
		.offset = offsetof(struct draft_rule, offload),
		.min = OFFLOAD_REQUIRED, .max = OFFLOAD_OFF, .word = offload_word,
		.doc = "required, preferred or off; the block's, if not said",
	},
	[RULE_CHAIN] = {
		.name = "chain", .type = &value_uint, .offset = offsetof(struct draft_rule, chain),
		/* TC_ACT_EXT_VAL_MASK: a goto has no room for more. */
		.min = 0, .max = TC_ACT_EXT_VAL_MASK, .def = "0",
		.doc = "the chain it is in; frames start in chain 0 and get elsewhere by goto",
	},
	[RULE_PREF] = {
		.name = "pref", .type = &value_uint, .offset = offsetof(struct draft_rule, pref),
		.min = 1, .max = 65535,
		.doc = "the tc preference it must have; swd chooses, if not said",
	},
};

const struct section schema_rule = { "a rule", keys, ARRAY_SIZE(keys), sizeof(struct draft_rule) };
