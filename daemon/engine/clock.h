/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock: which boot this is, how long it is up, sleep included, and what the wall clock says. For
 * times that must be right although someone sets the wall clock, and that outlive the process.
 */
#ifndef SWD_ENGINE_CLOCK_H
#define SWD_ENGINE_CLOCK_H

#include <stdint.h>

#define BOOT_ID 40

struct moment {
	char boot[BOOT_ID]; /* the kernel's random name of this boot; "" if it can't be read */
	uint64_t boot_ns;   /* since then (CLOCK_BOOTTIME) */
	uint64_t wall_ns;   /* since 1970 */
};

void clock_now(struct moment *ret);
/* Its boot_ns alone. */
uint64_t clock_boot_ns(void);

#endif
