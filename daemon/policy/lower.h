/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lower: the actions of a rule as one of its filters carries them, in the form the kernel says
 * back.
 */
#ifndef SWD_POLICY_LOWER_H
#define SWD_POLICY_LOWER_H

#include "daemon/policy/expand.h"

#define LOWERED_MAX (2 * ACTIONS_MAX) /* a checksum behind each TTL; the kernel takes 32 */

/*
 * flags: the filter's SKIP_SW or SKIP_HW. 0, or -EINVAL with an error in d: an action that would
 * not do to every frame of the variant what the rule says.
 */
int lower(const struct rule *r, const struct block *b, const struct variant *v, uint32_t flags,
	  struct diags *d, struct action ret[LOWERED_MAX], size_t *ret_count);

#endif
