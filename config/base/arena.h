/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * arena: memory that is given out in small pieces and freed in one go. The YAML tree lives in one.
 */
#ifndef SWD_BASE_ARENA_H
#define SWD_BASE_ARENA_H

#include <stddef.h>

#include "config/base/util.h"

struct arena;

/* Returns NULL when memory is short. */
struct arena *arena_new(void);
/* Frees everything that was given out. NULL is fine. */
void arena_free(struct arena *a);
DEFINE_CLEANUP(struct arena *, arena_free);

/* `size` bytes, zeroed, aligned for any type; NULL when memory is short. */
void *arena_alloc(struct arena *a, size_t size);
/* A copy of `len` bytes with a NUL behind them; NULL when memory is short. */
char *arena_strndup(struct arena *a, const char *s, size_t len);

#endif
