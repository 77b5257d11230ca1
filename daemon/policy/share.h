/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * share: which filters of a chain stand in one pref. Neighbours that cannot both match (the same
 * protocol, skip flags and mask, no ranges, no key twice) may, those of other protocols between
 * them passed over; and since none of them decides over another, each may stand in any pref of its
 * run. So what had a pref of the run's stays there, and a new one goes beside the neighbour in
 * front while there is room.
 */
#ifndef SWD_POLICY_SHARE_H
#define SWD_POLICY_SHARE_H

#include "daemon/policy/place.h"

#define SHARE_FILL 512 /* filters that a new pref gets at first */
#define SHARE_MOST \
	1024 /* and at most: so much a heal can rebuild at once, or a split move half of */

struct share_slot {
	uint16_t before; /* the pref that those of its filters that stay had; 0: none */
	uint16_t fixed;	 /* said by the rule of its only filter, or 0 */
	size_t first;	 /* an item of it: the first */
	size_t count;
};

struct shared {
	struct share_slot *list; /* in their order */
	size_t count, space;
	uint32_t *of; /* for each item, its slot */
};
void shared_clear(struct shared *s);

/*
 * same: for each item the filter that is there and whose pref it may keep, or NULL. A pref that
 * several runs had is kept by the one with most of its filters. most: filters of a pref, at most.
 * 0 or -ENOMEM. ret starts as { 0 }.
 */
int share_find(const struct place_item *items, size_t n, const struct filter *const *same,
	       size_t most, struct shared *ret);

/*
 * Handles, once prefs are given: what stays in its pref with its match keeps its own, the others
 * get the lowest that no filter that is there has. What gets another match is no exception: in
 * place, frames of the old one would fall to rules behind it, before those come that shall have
 * them. before: those of the chain, in the order of a state. 0 or -ENOMEM.
 */
int share_handles(const struct place_item *items, size_t n, const struct filter *const *same,
		  const struct filter *const *before, size_t m, const struct shared *shared);

#endif
