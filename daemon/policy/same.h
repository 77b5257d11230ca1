/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * same: which of the filters that are there is which of the filters that are wanted, within a
 * chain.
 */
#ifndef SWD_POLICY_SAME_H
#define SWD_POLICY_SAME_H

#include "daemon/policy/place.h"

/*
 * Sets ret[i] to the filter of `before` that item i can take over in place, or NULL, each at most
 * once. In falling order of likeness: same content and rule name; same content; same rule name and
 * form (protocol and inner ethertypes), if the kernel can replace one by the other. 0 or -ENOMEM.
 */
int same_find(const struct place_item *items, size_t n, const struct filter *const *before,
	      size_t m, const struct filter **ret);

/* True if a replace with the same key and handle turns one into the other (FACTS: flower, same
 * mask). */
bool same_replaceable(const struct filter *old, const struct filter *new);

#endif
