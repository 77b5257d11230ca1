/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * difference: in what a thing is not as wanted, in a few words: for steps, journal lines and
 * people.
 */
#ifndef SWD_MODEL_DIFFERENCE_H
#define SWD_MODEL_DIFFERENCE_H

#include "config/model/object.h"

#define DIFFERENCE_TEXT 96

/*
 * "mtu 1400 instead of 1500, down instead of up" of two objects of one kind; "" where they are
 * alike, or of a kind that is never changed in place.
 */
void object_difference(const struct object *wanted, const struct object *found,
		       char to[DIFFERENCE_TEXT]);

#endif
