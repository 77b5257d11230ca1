/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diff: a pure merge walk of wanted and found that ends in a plan. Links and addresses are in
 * diff.c, qdiscs in diff_qdiscs.c, filters in diff_filters.c.
 *
 * Order of steps: ports (a conduit before its user ports), how they send, VLANs, addresses, qdiscs,
 * filters, qdiscs of members that may not be able to offload; then removals in reverse. Filters of
 * a chain that is jumped to come before the jump, and go after it; new ones are added before old
 * ones go. Where the kernel or hardware can't hold both at once, a copy of the old one stands
 * beside it meanwhile, or the plan has a gap: see diff_gaps.c.
 */
#ifndef SWD_ENGINE_DIFF_H
#define SWD_ENGINE_DIFF_H

#include "daemon/engine/places.h"
#include "daemon/engine/plan.h"

struct diff_input {
	const struct state *found;
	const struct state *wanted;  /* NULL: nothing is wanted; all that is ours goes */
	const struct state *filters; /* compiled ones; NULL likewise */
	const struct state *owned;   /* see owned.h */
	/*
	 * Only there are filters looked at, since all others are as wanted, and nothing waits or is
	 * in the way; NULL: everywhere. All else is looked at each time: it is little.
	 */
	const struct places *only;
	bool heal;		 /* what is missing was moved by heal: the reason to be told */
	const struct ways *ways; /* or NULL */
	/*
	 * What is there does its work, and is not to stop before it is replaced. Else it is broken,
	 * and no frame is better off for waiting.
	 */
	bool in_use;
};

/* ret starts as { 0 }. 0 or -ENOMEM. Only what is ours, or to be evicted or taken over, is removed.
 */
int diff(const struct diff_input *in, struct plan *ret);

/* The device as a port, also if it is found as a VLAN: a new reference, NULL if it is not there. 0
 * or -ENOMEM. */
int diff_found_port(const struct state *found, const char *name, struct port **ret);

struct diff_names {
	char (*list)[IFNAMSIZ];
	size_t count, space;
};

int diff_name_add(struct diff_names *n, const char *name); /* 0 or -ENOMEM */
bool diff_name_in(const struct diff_names *n, const char *name);

/* What the walks tell each other. */
struct diff_walk {
	const struct diff_input *in;
	struct plan *plan;
	struct diff_names fresh, gone; /* devices that this plan makes anew, or removes */
	struct diff_names
		early; /* VLANs that went before what comes: in its way, or not as wanted */
	struct diff_names rebound; /* those whose qdisc is taken away and made anew */
};

size_t diff_wanted_count(const struct diff_walk *w, enum kind kind);
/* True if a found object is ours and not wanted any more. */
bool diff_is_leftover(const struct diff_walk *w, const struct object *found);

/* True if a VLAN found under that name is away by now, be it made anew or not. */
bool diff_dev_went(const struct diff_walk *w, const char *dev);
/* True if the device will be there when filters are put in, and stays. */
bool diff_dev_there(const struct diff_walk *w, const char *dev);
/* True if a wanted qdisc that binds the block will be in place. */
bool diff_block_bound(const struct diff_walk *w, uint32_t block);

/* False if the block has no binding at some time in this plan, so that the kernel empties it
 * then. */
bool diff_block_survives(const struct diff_walk *w, uint32_t block);

/* Steps for how ports send. */
int diff_tx(struct diff_walk *w);

/* Steps for the wanted VLANs; then for those no longer wanted. */
int diff_vlans_wanted(struct diff_walk *w);
int diff_vlans_leftover(struct diff_walk *w);

/* Ours of a device that is taken away: goes first, with the filters that go with it. */
int diff_qdisc_with(struct diff_walk *w, const char *dev);
/*
 * What others have on the device as a clsact or in one of ours, and would go with the device; or
 * NULL. early: it goes before any qdisc comes; else behind those that come first.
 */
const struct object *diff_foreign_on(const struct diff_walk *w, const char *dev, bool early);
/* Steps for the qdiscs before the filters, and behind them; then for those no longer wanted. */
int diff_qdiscs_early(struct diff_walk *w);
int diff_qdiscs_late(struct diff_walk *w);
int diff_qdiscs_leftover(struct diff_walk *w);
/* Steps for the filters of all wanted blocks; then of those no longer wanted. */
int diff_filters_wanted(struct diff_walk *w);
int diff_filters_leftover(struct diff_walk *w);
/* Removes our filters of one block that is not wanted: before its last qdisc goes. */
int diff_filters_remove(struct diff_walk *w, uint32_t block);

#endif
