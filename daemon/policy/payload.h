/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * payload: what a rule says of the packet behind the tags: which ethertypes it can have. Part of
 * expand.h, whose words it holds to.
 */
#ifndef SWD_POLICY_PAYLOAD_H
#define SWD_POLICY_PAYLOAD_H

#include "config/base/diag.h"
#include "config/model/object.h"

#define PAYLOADS_MAX 2

struct payload {
	uint8_t count; /* 0: nothing is said */
	uint16_t ethertypes[PAYLOADS_MAX];
	uint16_t outer_tag; /* ethertype: 802.1q or 802.1ad; or 0 */
	struct match match; /* the rule's, with the proto and !frag that its fields imply */
};

/* 0, or -EINVAL with an error in d: no frame can be all that, or flower would not look at a field.
 */
int payload_of(const struct rule *r, const struct block *b, struct diags *d, struct payload *ret);

/* What is found out depends on the values of these fields, a bit for each, and on ... */
#define PAYLOAD_DECIDING (1u << FIELD_IP_PROTO | 1u << FIELD_IP_FLAGS)
/* ... this: the name of a field of the transport header, if all that the match says of that fits
 * zeros; or NULL. */
const char *payload_fits_zeros(struct match_view v);

#endif
