// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is known of devices by their drivers. Only what was read in the drivers stands here; of all
 * others swd finds out what they can by trying.
 */
#include "daemon/policy/profile.h"

#include "config/base/util.h"

enum replace profile_replace(const char *driver)
{
	static const struct {
		const char *driver;
		enum replace replace;
	} known[] = {
		/*
		 * All rules of one pref are a table, and one match is one entry in it: a second
		 * rule with the same match is refused (EEXIST, check_conflicting_ftes()) or, of two
		 * redirects, made a second destination, so that frames go both ways until the first
		 * one is gone (add_rule_fg(); fs_core.c in 6.1).
		 */
		{ "mlx5_core", REPLACE_BESIDE },
		{ "mlx5e_rep", REPLACE_BESIDE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (streq(driver, known[i].driver))
			return known[i].replace;
	return REPLACE_AUTO;
}
