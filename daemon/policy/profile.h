/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile: what a device's hardware and driver can take of a block.
 */
#ifndef SWD_POLICY_PROFILE_H
#define SWD_POLICY_PROFILE_H

#include <stdint.h>

#include "config/model/object.h"

struct profile {
	uint16_t pref_min, pref_max; /* 1 to 65535 */
};

#define PROFILE_WIDE ((struct profile){ .pref_min = 1, .pref_max = 65535 })

/* How devices of a driver (ethtool's word) let a changed rule take the old one's place;
 * REPLACE_AUTO: nothing is known of it. */
enum replace profile_replace(const char *driver);

#endif
