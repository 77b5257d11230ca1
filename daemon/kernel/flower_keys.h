/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flower_keys: which attribute a field goes by in a given filter, and whether the kernel would look
 * at it there at all. cls_flower takes an address under protocol arp, or a port without a protocol,
 * without a word and then ignores it: the filter matches more than was asked (fl_set_key(), 6.1
 * and 6.12).
 */
#ifndef SWD_KERNEL_FLOWER_KEYS_H
#define SWD_KERNEL_FLOWER_KEYS_H

#include "config/model/match.h"

/* What of a filter decides about its other fields. */
struct flower_context {
	uint16_t protocol; /* the filter's, host order */
	uint16_t inner;	   /* behind the outer tag, 0: not said */
	uint16_t network;  /* behind all tags, 0: not said */
	uint8_t ip_proto;  /* if has_ip_proto */
	bool has_ip_proto;
};

/* What a field's attribute is depends on these: a bit for each. */
#define FLOWER_DECIDING \
	(1u << FIELD_VLAN_ETHTYPE | 1u << FIELD_CVLAN_ETHTYPE | 1u << FIELD_IP_PROTO)

struct flower_context flower_context(uint16_t protocol, struct match_view match);

/* The attributes of a field; mask 0: it has none. False: the kernel would not look at the field
 * here. */
bool flower_key(const struct flower_context *c, enum field f, uint16_t *ret_attr,
		uint16_t *ret_mask);

/* Between a frame's order and the attribute's; one function for both ways. */
void flower_turn(const struct field_row *row, uint8_t *bytes);

#endif
