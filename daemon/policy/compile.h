/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compile: rules to filters. A rule means what it says for every packet it says it for, so it
 * becomes as many filters as families and tagging take (expand.h); order becomes prefs (place.h,
 * prefs.h). What can't be made exact is refused with a diag at the rule's place, never widened.
 * Pure: it reads no kernel.
 */
#ifndef SWD_POLICY_COMPILE_H
#define SWD_POLICY_COMPILE_H

#include "config/base/diag.h"
#include "config/model/config.h"
#include "daemon/policy/profile.h"

/* A pref that compile shall not use: a foreign filter sits there, or it is to be left for healing.
 */
struct pref_avoid {
	uint32_t block, chain;
	uint16_t pref;
};

struct compile_input {
	const struct config *config;
	/*
	 * Filters that are there, or NULL: of the compile before (with ->rule), or found ones of
	 * ours (without). Their prefs and handles are kept where order allows and the kernel can
	 * change them in place: flower with other fields or masks, other skip flags or another
	 * matchall gets a new pref instead, so that it can stand beside the old one before that
	 * goes.
	 */
	const struct state *before;
	/*
	 * In any order; what is listed is not used, but by a rule that says that very pref. To
	 * rebuild a pref (bypass_to_heal) list it here: what was in it goes to a new one in the
	 * same gap, and everything else stays. compile_avoid_foreign() lists what is taken.
	 */
	const struct pref_avoid *avoid;
	size_t avoid_count;
	/*
	 * The shortcut strategy is in use on this kernel: blocks that may have it (bypass not off,
	 * every filter skip_sw, something in chain 0) get a first filter (FILTER_ROLE_SHORTCUT) at
	 * the lowest pref, which is left to it. While a foreign filter needs software, diff leaves
	 * it out.
	 */
	bool shortcut;
	uint32_t instance; /* for the cookies */
	struct profile profile;
};

/*
 * Adds the filters of all blocks to `into`, each with OWNER_OURS, a handle, a cookie and its rule.
 * 0, -EINVAL with errors in d, or -ENOMEM; `into` may hold some after a failure. Each filter's
 * origin is its rule's.
 */
int compile(const struct compile_input *in, struct diags *d, struct state *into);

/* The prefs of all foreign filters in `found`; the caller frees *ret. 0 or -ENOMEM. */
int compile_avoid_foreign(const struct state *found, struct pref_avoid **ret, size_t *ret_count);

#endif
