// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schema_root: the sections of the file.
 */
#include "config/yaml/draft.h"

static const struct key keys[] = {
	[ROOT_VERSION] = {
		.name = "version", .type = &value_uint,
		.offset = offsetof(struct draft_root, version),
		.required = true, .min = 1, .max = 1,
		.doc = "the version of this language, 1",
	},
	[ROOT_DAEMON] = {
		.name = "daemon", .type = &value_map, .offset = offsetof(struct draft_root, daemon),
		.section = &schema_daemon,
		.doc = "swd's own settings",
	},
	[ROOT_PORTS] = {
		.name = "ports", .type = &value_map_by_name,
		.offset = offsetof(struct draft_root, ports),
		.section = &schema_port, .check_name = check_device_name,
		.doc = "network devices that are there without swd, by name; what is not said "
		       "stays as it is",
	},
	[ROOT_VLANS] = {
		.name = "vlans", .type = &value_map_by_name,
		.offset = offsetof(struct draft_root, vlans),
		.section = &schema_vlan, .check_name = check_device_name,
		.doc = "VLAN devices that swd makes, by name: the legs of a router on a stick",
	},
	[ROOT_BLOCKS] = {
		.name = "blocks", .type = &value_map_by_name,
		.offset = offsetof(struct draft_root, blocks),
		.section = &schema_block, .check_name = check_block_name,
		.doc = "tc blocks by name: ports that share rules, and the rules",
	},
};

const struct section schema_root = { "the file", keys, ARRAY_SIZE(keys),
				     sizeof(struct draft_root) };
