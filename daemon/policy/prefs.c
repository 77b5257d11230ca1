// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prefs for the slots of one chain (place.c asks for them).
 *
 * Two slots i < j can keep their old prefs only if there are enough numbers between them for all
 * that stand between: before[j] - before[i] >= j - i. So with the *level* of a slot, pref - index,
 * what is kept is a run of levels that never falls, and the most that can be kept is the longest
 * such run. The fixed slots are stops on the way: between two of them only levels between theirs
 * count.
 */
#include "daemon/policy/prefs.h"

#include <errno.h>
#include <stdbool.h>

#include "config/base/util.h"

struct run {
	int64_t *level; /* lowest end of a run of that length, so far */
	size_t *slot;	/* the slot at that end */
	size_t *from;	/* for each slot, the one before it in its run */
};

#define NO_SLOT SIZE_MAX

static int64_t level_of(uint16_t pref, size_t index)
{
	return (int64_t)pref - (int64_t)index;
}

/* How many runs end at or below the level: so long can a run be that this slot prolongs. */
static size_t run_below(const struct run *run, size_t length, int64_t level)
{
	size_t low = 0, high = length;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (run->level[middle] <= level)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Chooses what is kept among slots [first, end), whose levels must be in [low, high]. */
static void keep_most(struct pref_slot *slots, size_t first, size_t end, int64_t low, int64_t high,
		      struct run *run)
{
	size_t length = 0;

	for (size_t i = first; i < end; i++) {
		int64_t level = level_of(slots[i].before, i);
		size_t at;

		slots[i].ret = 0;
		if (!slots[i].before || level < low || level > high)
			continue;
		at = run_below(run, length, level);
		run->from[i] = at ? run->slot[at - 1] : NO_SLOT;
		run->level[at] = level;
		run->slot[at] = i;
		if (at == length)
			length++;
	}
	for (size_t i = length ? run->slot[length - 1] : NO_SLOT; i != NO_SLOT; i = run->from[i])
		slots[i].ret = slots[i].before;
}

/* Fixed slots take their prefs, and between them as many as possible keep theirs. */
static int anchor(struct pref_slot *slots, size_t n, uint16_t min, uint16_t max, struct run *run,
		  size_t *ret_bad)
{
	int64_t low = min, high, top = level_of(max, n - 1);
	size_t start = 0;

	for (size_t i = 0; i <= n; i++) {
		if (i < n && !slots[i].fixed)
			continue;
		high = i < n ? level_of(slots[i].fixed, i) : top;
		if (high < low || high > top) {
			*ret_bad = i;
			return -EINVAL;
		}
		keep_most(slots, start, i, low, high, run);
		if (i < n)
			slots[i].ret = slots[i].fixed;
		low = high;
		start = i + 1;
	}
	return 0;
}

/* Numbers slots [first, end) between two prefs that are taken; `open`: nothing stands there. */
static void fill(struct pref_slot *slots, size_t first, size_t end, uint32_t before,
		 bool open_before, uint32_t behind, bool open_behind)
{
	uint32_t count = (uint32_t)(end - first), room = behind - before;
	uint32_t step = MIN(room / (count + 1), (uint32_t)PREFS_GAP);

	for (uint32_t k = 1; k <= count; k++) {
		struct pref_slot *slot = &slots[first + k - 1];

		if (open_behind)
			slot->ret = (uint16_t)(before + k * step);
		else if (open_before)
			slot->ret = (uint16_t)(behind - (count + 1 - k) * step);
		else
			slot->ret = (uint16_t)(before + (uint64_t)k * room / (count + 1));
	}
}

int prefs_assign(struct pref_slot *slots, size_t n, uint16_t min, uint16_t max, size_t *ret_bad)
{
	_cleanup_free_ int64_t *level = NULL;
	_cleanup_free_ size_t *slot = NULL, *from = NULL;
	struct run run;
	uint32_t before = min - 1u;
	bool open_before = true;
	int r;

	if (!n)
		return 0;
	if (!min || min > max || n > (size_t)(max - min) + 1)
		return -ERANGE;
	level = malloc(n * sizeof(*level));
	slot = malloc(n * sizeof(*slot));
	from = malloc(n * sizeof(*from));
	if (!level || !slot || !from)
		return -ENOMEM;
	run = (struct run){ level, slot, from };
	r = anchor(slots, n, min, max, &run, ret_bad);
	if (r < 0)
		return r;
	for (size_t i = 0, start = 0; i <= n; i++) {
		if (i < n && !slots[i].ret)
			continue;
		fill(slots, start, i, before, open_before, i < n ? slots[i].ret : max + 1u, i == n);
		if (i == n)
			break;
		before = slots[i].ret;
		open_before = false;
		start = i + 1;
	}
	return 0;
}
