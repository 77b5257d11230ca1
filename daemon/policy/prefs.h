/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * prefs: from an order to numbers. What had a pref keeps it as far as the order allows (the longest
 * rising run of old prefs stays), what is new goes into the gaps; only where a gap is full do
 * neighbours move, as few as possible.
 */
#ifndef SWD_POLICY_PREFS_H
#define SWD_POLICY_PREFS_H

#include <stddef.h>
#include <stdint.h>

struct pref_slot {
	uint16_t fixed;	 /* said by the file, or 0 */
	uint16_t before; /* the pref it had, or 0 */
	uint16_t ret;	 /* result */
};

#define PREFS_GAP 64 /* numbers from a new slot to the next, where there is room */

/*
 * Gives every slot a pref within [min, max], strictly rising from slot to slot. No choice keeps
 * more old prefs than this one, given the fixed ones. Where new slots stand at an end or alone they
 * are PREFS_GAP apart; between two that stay, or where that is too wide, they are spread evenly.
 * O(n log n). 0; -ERANGE: more slots than prefs; -EINVAL: the fixed ones do not rise or leave too
 * little room, *ret_bad is the slot where it fails; -ENOMEM. Results are valid only after 0.
 */
int prefs_assign(struct pref_slot *slots, size_t n, uint16_t min, uint16_t max, size_t *ret_bad);

#endif
