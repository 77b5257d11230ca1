/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_order: the steps of one block, found pref by pref, and brought into the order of diff.h.
 */
#ifndef SWD_ENGINE_DIFF_ORDER_H
#define SWD_ENGINE_DIFF_ORDER_H

#include "daemon/engine/diff.h"
#include "daemon/engine/ways.h"

enum phase {
	PHASE_UNCOVER, /* the shortcut goes first if a foreign filter needs what it hides */
	PHASE_HOLD,    /* copies of what must go before its successor comes ... */
	PHASE_CLEAR,   /* ... and now it may; and what makes room in a full table */
	PHASE_PUT,     /* chains that are jumped to first; prefs rising */
	PHASE_TAKE,    /* the other way round */
	PHASE_COVER,   /* the shortcut comes last */
};

struct pending {
	enum phase phase;
	uint32_t chain;
	size_t rank; /* of the chain: targets before those that jump to them */
	size_t number;
	enum kernel_op op;
	enum step_reason reason;
	const struct filter *wanted, *found;
	const struct filter *next; /* of a removal: what needs its place, if that is known */
};

/* Starts as { 0 }. */
struct order {
	struct pending *list;
	size_t count, space;
	struct filter **kept; /* copies that steps are about */
	size_t kept_count, kept_space;
};
void order_clear(struct order *o);
/* Takes over a reference, as long as the order lives. 0 or -ENOMEM. */
int order_keep(struct order *o, struct filter *f);

/* Behind what is there already. 0 or -ENOMEM. */
int order_add(struct order *o, enum phase phase, enum kernel_op op, enum step_reason reason,
	      const struct filter *wanted, const struct filter *found);
/* Sorts them and adds them to the walk's plan. 0 or -ENOMEM. */
int order_emit(struct order *o, struct diff_walk *w, uint32_t block);

/*
 * What must go before its successor comes gets a copy that stands meanwhile, or the plan says that
 * there is a gap; and room is made in a table that was full. way: of the block. Before
 * order_emit(). 0 or -ENOMEM.
 */
int diff_gaps(struct order *o, struct diff_walk *w, enum replace way, uint32_t block);

#endif
