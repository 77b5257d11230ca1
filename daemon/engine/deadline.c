// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The arithmetic of a deadline: see deadline.h.
 */
#include "daemon/engine/deadline.h"

#define MS 1000000ULL
#define STEP_NS 1000000000ULL /* a wall clock that differs by more was set */

void deadline_begin(struct deadline *d, uint64_t generation, uint32_t confirm_ms,
		    const struct moment *now)
{
	*d = (struct deadline){ .generation = generation, .confirm_ms = confirm_ms, .at = *now };
	d->at.boot_ns += confirm_ms * MS;
	d->at.wall_ns += confirm_ms * MS;
}

static bool same_boot(const struct moment *a, const struct moment *b)
{
	return a->boot[0] && streq(a->boot, b->boot);
}

uint64_t deadline_left(const struct deadline *d, const struct moment *now)
{
	bool same = same_boot(&d->at, now);
	uint64_t until = same ? d->at.boot_ns : d->at.wall_ns;
	uint64_t at = same ? now->boot_ns : now->wall_ns;

	return until > at ? MIN(until - at, d->confirm_ms * MS) : 0;
}

bool deadline_rebase(struct deadline *d, const struct moment *now)
{
	uint64_t left = deadline_left(d, now), wall = now->wall_ns + left;
	uint64_t off = wall > d->at.wall_ns ? wall - d->at.wall_ns : d->at.wall_ns - wall;

	if (same_boot(&d->at, now) && off <= STEP_NS)
		return false;
	d->at = *now;
	d->at.boot_ns += left;
	d->at.wall_ns = wall;
	return true;
}
