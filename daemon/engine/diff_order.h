/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff_order: the steps of one block, found pref by pref, and brought into the order of diff.h.
 */
#ifndef SWD_ENGINE_DIFF_ORDER_H
#define SWD_ENGINE_DIFF_ORDER_H

#include "daemon/engine/diff.h"

enum phase {
	PHASE_UNCOVER, /* the shortcut goes first, since it hides what comes */
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
};

struct order {
	struct pending *list;
	size_t count, space;
};

/* Behind what is there already. 0 or -ENOMEM. */
int order_add(struct order *o, enum phase phase, enum kernel_op op, enum step_reason reason,
	      const struct filter *wanted, const struct filter *found);
/* Sorts them and adds them to the walk's plan. 0 or -ENOMEM. */
int order_emit(struct order *o, struct diff_walk *w, uint32_t block);

#endif
