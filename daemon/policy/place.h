/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place: prefs and handles for the filters of one chain, in their order, so that what is in the
 * kernel already stays where it is. Today each filter has a pref of its own and handle 1; sharing
 * prefs would give one slot several items.
 */
#ifndef SWD_POLICY_PLACE_H
#define SWD_POLICY_PLACE_H

#include "config/model/state.h"
#include "daemon/policy/compile.h"

struct place_item {
	struct filter
		*filter; /* with block, chain, protocol, cookie and rule; gets pref and handle */
	uint16_t fixed;	 /* or 0 */
};

/*
 * Items of one (block, chain). min and max: the prefs there are; in: before and avoid.
 * 0; -ERANGE: *ret_room prefs are there, fewer than items; -EINVAL: the fixed pref of item *ret_bad
 * (or the lack of room in front of it) can't be; -ENOMEM.
 */
int place(struct place_item *items, size_t n, const struct compile_input *in, uint16_t min,
	  uint16_t max, size_t *ret_bad, size_t *ret_room);

#endif
