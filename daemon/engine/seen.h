/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seen: a set of addresses, for who reads 100,000 objects and wants to know which he did not. */
#ifndef SWD_ENGINE_SEEN_H
#define SWD_ENGINE_SEEN_H

#include "config/base/util.h"

struct seen {
	const void **list; /* open addressing; `space` is a power of two */
	size_t space, count;
};

/* With room for so many; it grows. 0 or -ENOMEM. Starts as { 0 }. */
int seen_init(struct seen *s, size_t count);
int seen_add(struct seen *s, const void *p); /* 0 or -ENOMEM */
bool seen_has(const struct seen *s, const void *p);
void seen_clear(struct seen *s);

#endif
