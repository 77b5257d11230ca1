// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schema_port: a network device that is there without swd. Nothing here has a default: what the
 * file does not say is left as it is.
 */
#include "config/yaml/draft.h"

static const struct key keys[] = {
	[PORT_UP] = {
		.name = "up", .type = &value_bool, .offset = offsetof(struct draft_port, up),
		.doc = "administratively up; the conduit of a switch port is brought up with it",
	},
	[PORT_MTU] = {
		.name = "mtu", .type = &value_uint, .offset = offsetof(struct draft_port, mtu),
		.min = 68, .max = 65535,
		.doc = "bytes an IP packet may have",
	},
	[PORT_TC_OFFLOAD] = {
		.name = "tc-offload", .type = &value_bool,
		.offset = offsetof(struct draft_port, tc_offload),
		.doc = "the device's hw-tc-offload feature, without which a NIC takes no rule",
	},
	[PORT_TX] = {
		.name = "tx", .type = &value_map, .offset = offsetof(struct draft_port, tx),
		.section = &schema_tx,
		.doc = "how it sends; what is not said stays as it is",
	},
	[PORT_ADDRESSES] = {
		.name = "addresses", .type = &value_prefixes,
		.offset = offsetof(struct draft_port, addresses),
		.doc = "addresses to add; others on the device stay",
	},
};

const struct section schema_port = { "a port", keys, ARRAY_SIZE(keys), sizeof(struct draft_port) };
