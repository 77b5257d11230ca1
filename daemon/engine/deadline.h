/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deadline: a moment by two clocks. While the machine stays up the time since boot counts, which
 * nobody can set; over a reboot the wall clock does, and then it never lasts longer than it was
 * asked for, whatever that clock says. Pure.
 */
#ifndef SWD_ENGINE_DEADLINE_H
#define SWD_ENGINE_DEADLINE_H

#include "config/base/util.h"
#include "daemon/engine/clock.h"

struct deadline {
	uint64_t generation; /* that must be confirmed until then; 0: there is no deadline */
	uint32_t confirm_ms; /* how long it was given */
	struct moment at;
};

/* One that begins now. */
void deadline_begin(struct deadline *d, uint64_t generation, uint32_t confirm_ms,
		    const struct moment *now);
/* Nanoseconds until it, whichever boot it is of; 0: it has passed. */
uint64_t deadline_left(const struct deadline *d, const struct moment *now);
/*
 * The same deadline by the clocks of now: of another boot, or when the wall clock was set. True if
 * that changed anything worth writing down.
 */
bool deadline_rebase(struct deadline *d, const struct moment *now);

#endif
