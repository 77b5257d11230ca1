/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * places: where filters may be other than wanted: prefs of chains of blocks, whole blocks, or
 * anywhere. With 100,000 rules a repair looks there, and not at all of them.
 */
#ifndef SWD_ENGINE_PLACES_H
#define SWD_ENGINE_PLACES_H

#include "config/model/object.h"

#define PLACES_MOST 64

struct place {
	uint32_t block, chain;
	uint16_t pref; /* 0: the whole block */
};

struct places {
	bool all;
	struct place list[PLACES_MOST]; /* in order; that of a whole block is its only one */
	size_t count;
	size_t last; /* that was added, or there already */
};

/* Too many of a block become the whole block, too many blocks become all. */
void places_add(struct places *p, const struct filter *f);
void places_add_block(struct places *p, uint32_t block); /* 0: none */
static inline void places_clear(struct places *p)
{
	p->all = false;
	p->count = 0;
}
/* Those of a block: [*ret_first, *ret_end). */
void places_of(const struct places *p, uint32_t block, size_t *ret_first, size_t *ret_end);

#endif
