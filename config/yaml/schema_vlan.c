// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schema_vlan: a VLAN device on a port, made by swd. As swd makes it, it comes up unless the file
 * says otherwise.
 */
#include "config/yaml/draft.h"

static const struct key keys[] = {
	[VLAN_LINK] = {
		.name = "link", .type = &value_name, .offset = offsetof(struct draft_vlan, link),
		.required = true, .check_name = check_device_name,
		.doc = "the device below it, which carries the tagged frames",
	},
	[VLAN_ID] = {
		.name = "id", .type = &value_uint, .offset = offsetof(struct draft_vlan, id),
		.required = true, .min = 1, .max = 4094,
		.doc = "its VLAN id, 1 to 4094",
	},
	[VLAN_PROTOCOL] = {
		.name = "protocol", .type = &value_protocol,
		.offset = offsetof(struct draft_vlan, protocol),
		.def = "802.1q",
		.doc = "the kind of tag: 802.1q, or 802.1ad for the outer tag of two",
	},
	[VLAN_UP] = {
		.name = "up", .type = &value_bool, .offset = offsetof(struct draft_vlan, up),
		.def = "true",
		.doc = "administratively up",
	},
	[VLAN_MTU] = {
		.name = "mtu", .type = &value_uint, .offset = offsetof(struct draft_vlan, mtu),
		.min = 68, .max = 65535,
		.doc = "bytes an IP packet may have; not more than the device below takes",
	},
	[VLAN_ADDRESSES] = {
		.name = "addresses", .type = &value_prefixes,
		.offset = offsetof(struct draft_vlan, addresses),
		.doc = "addresses to add",
	},
};

const struct section schema_vlan = { "a VLAN", keys, ARRAY_SIZE(keys), sizeof(struct draft_vlan) };
