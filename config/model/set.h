/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * set: a sorted list of references in pieces, which copies share until one of them changes it. So a
 * copy of 100,000 objects costs some 400 references, a change in one of the copies a piece of 256,
 * and an insertion in the middle moves no more than that.
 */
#ifndef SWD_MODEL_SET_H
#define SWD_MODEL_SET_H

#include "config/model/object.h"

struct set_piece;

struct set_part {
	struct set_piece *piece;
	size_t first; /* index of its first object in the set */
};

struct set { /* starts as { 0 } */
	struct set_part *parts;
	size_t part_count, space;
	size_t count;
	uint32_t hint; /* the part that was asked last; several threads may read a set */
};

void set_clear(struct set *s);
/* into: { 0 }. 0 or -ENOMEM. */
int set_copy(const struct set *s, struct set *into);

/* i below count. */
struct object *set_at(const struct set *s, size_t i);
/* The index of the first object that is not before key; *ret_found tells if it has that key. */
size_t set_lower(const struct set *s, const struct object *key, bool *ret_found);

/* All three 0 or -ENOMEM, and then nothing has changed. insert and replace take over a reference.
 */
int set_insert(struct set *s, size_t at, struct object *o);
int set_replace(struct set *s, size_t at, struct object *o);
int set_remove(struct set *s, size_t at);

#endif
