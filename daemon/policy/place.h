/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * place: prefs and handles for the filters of one chain, in their order, so that what is in the
 * kernel already stays where it is. Neighbours that cannot both match share a pref (share.h).
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
 * 0; -ERANGE: the room in *ret is less than what is needed; -EINVAL: the fixed pref of item
 * ret->bad (or the lack of room in front of it) can't be; -ENOMEM.
 */
struct placed {
	size_t bad;	     /* an item */
	size_t room, needed; /* prefs */
};
int place(struct place_item *items, size_t n, const struct compile_input *in, uint16_t min,
	  uint16_t max, struct placed *ret);

#endif
