/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chains: in which order the chains of a block are filled. A chain that is jumped to comes before
 * those that jump, so that no frame meets a jump into nothing; emptied in reverse.
 */
#ifndef SWD_ENGINE_CHAINS_H
#define SWD_ENGINE_CHAINS_H

#include "config/model/object.h"

struct chain_jump {
	uint32_t from, to;
};

/* Starts as { 0 }. */
struct chains {
	uint32_t *list; /* of chain numbers, rising after chains_rank() */
	size_t *ranks;
	size_t count, space;
	struct chain_jump *jumps;
	size_t jump_count, jump_space;
};

void chains_clear(struct chains *c);
/* Notes a filter's chain and its jumps. 0 or -ENOMEM. */
int chains_add(struct chains *c, const struct filter *f);
/* Settles the ranks; jumps in a circle are cut somewhere. 0 or -ENOMEM. */
int chains_rank(struct chains *c);
/* Lower ranks are filled first. */
size_t chains_rank_of(const struct chains *c, uint32_t chain);

#endif
