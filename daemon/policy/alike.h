/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * alike: in a long list most rules differ from the one before in addresses or numbers that decide
 * nothing. The filters of such a rule are those of the one before with other values, so that only
 * the first of its form goes through expand and lower.
 */
#ifndef SWD_POLICY_ALIKE_H
#define SWD_POLICY_ALIKE_H

#include "config/model/form.h"
#include "daemon/policy/expand.h"

/* Where a value goes: from the rule's match into a filter's. */
struct alike_value {
	uint16_t from, to;
	uint8_t size;
};

struct alike { /* starts as { 0 } */
	const struct rule *rule;
	struct form form;
	bool transport, fits_zeros; /* it says something of that header; payload.h */
	size_t count, value_count;
	struct {
		const struct filter *filter; /* not referenced */
		uint64_t hash;		     /* of its cookie, begun */
		struct alike_value values[FIELD_COUNT_];
	} of[VARIANTS_MAX];
};

/* The rule has those filters, which it was compiled to: add(), once for each. */
void alike_begin(struct alike *a, const struct rule *r);
void alike_add(struct alike *a, const struct filter *f);

/* True if a rule of the same block is compiled to the same filters but for values. */
bool alike_fits(const struct alike *a, const struct rule *r);
/* The i-th of them, with its cookie; NULL: memory short. Key, origin and rule are the caller's. */
struct filter *alike_filter(const struct alike *a, size_t i, const struct rule *r,
			    uint32_t instance);

#endif
