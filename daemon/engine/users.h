/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * users: the blocks whose wanted filters send frames to a device, so that one that comes or goes
 * makes nobody look at 100,000 filters for its name.
 */
#ifndef SWD_ENGINE_USERS_H
#define SWD_ENGINE_USERS_H

#include "config/model/state.h"

struct user {
	char dev[IFNAMSIZ];
	uint32_t block;
};

struct users {
	struct user *list; /* in order of name and block */
	size_t count, space;
	bool known;
	uint64_t version; /* rises when other filters are wanted; 0: none ever were */
};

/* Those of a device: [*ret_first, *ret_end) of the list. filters (may be NULL) are read when they
 * are asked about first after users_forget(). 0 or -ENOMEM. */
int users_of(struct users *u, const struct state *filters, const char *dev, size_t *ret_first,
	     size_t *ret_end);
/* Other filters are wanted now. Frees all. */
void users_forget(struct users *u);

#endif
