/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ways: how a changed filter can take the place of the old one. The file may say it, the driver may
 * be known; what the kernel answered to an apply says it best, and is remembered until swd ends.
 */
#ifndef SWD_ENGINE_WAYS_H
#define SWD_ENGINE_WAYS_H

#include "config/model/state.h"

/* What goes before anything comes, since the table was full. */
enum ways_room {
	ROOM_NONE,
	ROOM_FREE, /* what nobody misses meanwhile */
	ROOM_ALL,  /* all that goes */
};

struct way {
	uint32_t block;
	bool passing;	 /* found out by the apply that runs now, and perhaps of use for it alone */
	uint8_t replace; /* enum replace */
	bool alike;	 /* REPLACE_GAP even for two that do the same, in two prefs */
	uint8_t room;	 /* enum ways_room; of what 0 only, like this one: */
	uint8_t had;	 /* the room that the refused apply made */
	uint64_t what;	 /* hash of a match in the block; 0: the block's other ones */
	uint64_t said;	 /* hash of the words with which the way before this one was refused */
};

/* Starts as { 0 }. */
struct ways {
	struct way *list;
	size_t count, space;
};

void ways_clear(struct ways *w);

/*
 * Of a wanted block's filters, as long as nothing is known of a single one; never REPLACE_AUTO. w:
 * NULL is fine here and below, and means that nothing was found out.
 */
enum replace ways_of_block(const struct ways *w, const struct block *block,
			   const struct state *wanted, const struct state *found);
/*
 * Of one filter, in a block of which that is known. same_match: the old one has its match, so that
 * hardware has to tell them apart.
 */
enum replace ways_of(const struct ways *w, const struct filter *f, enum replace of_block,
		     bool same_match);

/* True if hardware was seen to refuse even a filter that does the same as the old one. */
bool ways_alike(const struct ways *w, const struct filter *f);

enum ways_room ways_room(const struct ways *w, uint32_t block);

struct apply;
struct diags;
/*
 * An apply was refused: was it because the old and the new filter can't be held at a time, or there
 * is no room for the new one before others go, as far as the kernel's words tell? Notes where it
 * was; true if it was so of each refusal, and thus a plan that goes another way may be taken. all:
 * what is true of one match is believed of its block.
 */
bool ways_learn(struct ways *w, const struct apply *a, const struct diags *d,
		const struct state *found, bool all);
/* The apply is over. What only it needed to know is forgotten. */
void ways_settle(struct ways *w, bool done);

#endif
