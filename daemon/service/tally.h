/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tally: wanted and found side by side, counted. "In hardware" is said only of what was read back
 * with in_hw set, is ours and is as wanted.
 */
#ifndef SWD_SERVICE_TALLY_H
#define SWD_SERVICE_TALLY_H

#include "daemon/engine/snapshot.h"

/* True if the kernel holds it as ours and as wanted. */
bool tally_fits(const struct filter *wanted, const struct filter *found);

struct tally {
	size_t wanted;	/* filters that should be there */
	size_t missing; /* of these: absent, another's, or different */
	size_t in_hw;	/* of these: in hardware */
	size_t found;	/* filters that are there */
	size_t foreign; /* of these: not ours */
};
/* Adds one block's numbers to *t. */
void tally_block(const struct snapshot *s, uint32_t block, struct tally *t);

enum rule_state {
	RULE_IN_HARDWARE,
	RULE_PARTLY, /* some of its filters, or one is held by fewer devices than another rule's */
	RULE_NOT_IN_HARDWARE,
	RULE_IN_SOFTWARE, /* offload: off, and all there */
	RULE_MISSING,
	RULE_WAITING, /* missing, and its block is bound nowhere yet, or its device is not there */
};
const char *rule_state_name(enum rule_state s);
/* The worst of its filters: list of `n` wanted ones. most: filters_most_in_hw() of their block. */
enum rule_state rule_state(const struct snapshot *s, const struct filter *const *wanted, size_t n,
			   uint32_t most);

bool device_there(const struct snapshot *s, const char *name);
/* Is that block bound to a device that is there? */
bool block_bound(const struct snapshot *s, uint32_t block);
/* The name a block has in the file, or NULL. */
const char *block_name(const struct snapshot *s, uint32_t block);

#endif
