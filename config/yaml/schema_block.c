// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schema_block: a tc block, the ports that share it and what holds for all its rules.
 */
#include "config/yaml/draft.h"

static const char *offload_word(unsigned int v)
{
	return offload_name((enum offload)v);
}

static const char *foreign_word(unsigned int v)
{
	return foreign_name((enum foreign)v);
}

static const char *tagging_word(unsigned int v)
{
	return tagging_name((enum tagging)v);
}

static const char *bypass_word(unsigned int v)
{
	return bypass_want_name((enum bypass_want)v);
}

static const char *replace_word(unsigned int v)
{
	return replace_name((enum replace)v);
}

static const struct key keys[] = {
	[BLOCK_ID] = {
		.name = "id", .type = &value_uint, .offset = offsetof(struct draft_block, id),
		.required = true, .min = 1, .max = UINT32_MAX - 1,
		.doc = "the tc block index, as in 'tc filter show block N'",
	},
	[BLOCK_BIND] = {
		.name = "bind", .type = &value_names, .offset = offsetof(struct draft_block, bind),
		.check_name = check_device_name,
		.doc = "devices whose incoming frames meet the rules",
	},
	[BLOCK_BIND_EGRESS] = {
		.name = "bind-egress", .type = &value_names,
		.offset = offsetof(struct draft_block, bind_egress),
		.check_name = check_device_name,
		.doc = "devices whose outgoing frames meet the rules",
	},
	[BLOCK_TAKEOVER] = {
		.name = "takeover", .type = &value_bool,
		.offset = offsetof(struct draft_block, takeover),
		.def = "false",
		.doc = "may replace a clsact or ingress qdisc that somebody else made, or whose "
		       "block holds filters of others, with all its filters",
	},
	[BLOCK_OFFLOAD] = {
		.name = "offload", .type = &value_word,
		.offset = offsetof(struct draft_block, offload),
		.min = OFFLOAD_REQUIRED, .max = OFFLOAD_OFF, .word = offload_word,
		.def = "required",
		.doc = "required: a rule is in hardware (skip_sw) or refused; preferred: software "
		       "helps out; off: software only (skip_hw)",
	},
	[BLOCK_FOREIGN] = {
		.name = "foreign", .type = &value_word,
		.offset = offsetof(struct draft_block, foreign),
		.min = FOREIGN_REPORT, .max = FOREIGN_EVICT, .word = foreign_word, .def = "report",
		.doc = "filters that others put into the block are reported, or evicted",
	},
	[BLOCK_TAGGING] = {
		.name = "tagging", .type = &value_word,
		.offset = offsetof(struct draft_block, tagging),
		.min = TAGGING_NONE, .max = TAGGING_ANY, .word = tagging_word, .def = "any",
		.doc = "rules that say nothing of VLANs hold for untagged frames only (none), or "
		       "for frames without, with one and with two tags (any)",
	},
	[BLOCK_BYPASS] = {
		.name = "bypass", .type = &value_word,
		.offset = offsetof(struct draft_block, bypass),
		.min = BYPASS_WANT_PREFERRED, .max = BYPASS_WANT_OFF, .word = bypass_word,
		.def = "preferred",
		.doc = "skipping the rules in software: required refuses rules that would end it, "
		       "preferred has it when the rules allow it, off never uses swd's own "
		       "shortcut",
	},
	[BLOCK_REPLACE] = {
		.name = "replace", .type = &value_word,
		.offset = offsetof(struct draft_block, replace),
		.min = REPLACE_AUTO, .max = REPLACE_GAP, .word = replace_word, .def = "auto",
		.doc = "how hardware lets a changed rule take the old one's place: at its pref "
		       "(in-place), only from another one (beside), or not before the old one is "
		       "gone (gap); auto finds out",
	},
	[BLOCK_RULES] = {
		.name = "rules", .type = &value_map_list,
		.offset = offsetof(struct draft_block, rules),
		.required = true, .section = &schema_rule,
		.doc = "the rules, evaluated in this order; [] for none",
	},
};

const struct section schema_block = { "a block", keys, ARRAY_SIZE(keys),
				      sizeof(struct draft_block) };
