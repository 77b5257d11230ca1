/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compile: rules to filters. A rule means what it says for every packet it says it for, so it becomes as
 * many filters as families, tagging and ranges take; order becomes prefs (prefs.h). What can't be made
 * exact is refused with a diag at the rule's place, never widened. Pure: it reads no kernel.
 */
#ifndef SWD_POLICY_COMPILE_H
#define SWD_POLICY_COMPILE_H

#include "config/base/diag.h"
#include "config/model/config.h"
#include "daemon/policy/profile.h"

struct compile_input {
	const struct config *config;
	/* Filters of the compile before, or NULL: their prefs and handles are kept where order allows. */
	const struct state *before;
	/* The shortcut strategy is in use on this kernel: blocks that may have it get a first filter
	 * (FILTER_ROLE_SHORTCUT), and prefs leave pref 1 to it. */
	bool shortcut;
	struct profile profile;
};

/*
 * Adds the filters of all blocks to `into`, each with OWNER_OURS, a cookie and its rule. 0, -EINVAL with
 * errors in d, or -ENOMEM. Each filter's origin is its rule's.
 */
int compile(const struct compile_input *in, struct diags *d, struct state *into);

#endif
