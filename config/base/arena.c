/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/base/arena.h"

/*
 * The first chunk, and the most: each is as big as all before it. A big one is fresh memory from
 * the kernel, which nobody has to clear, and what is not used of it costs nothing.
 */
#define CHUNK_SIZE (64u << 10)
#define CHUNK_SIZE_MAX (4u << 20)
#define ALIGNMENT _Alignof(max_align_t)

struct chunk {
	struct chunk *next;
	size_t used, size;
	uint8_t bytes[] __attribute__((aligned(ALIGNMENT)));
};

struct arena {
	struct chunk *chunks; /* the newest first: it gives out memory */
	size_t size;	      /* of all of them */
};

struct arena *arena_new(void)
{
	return calloc(1, sizeof(struct arena));
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	while (a->chunks) {
		struct chunk *next = a->chunks->next;

		free(a->chunks);
		a->chunks = next;
	}
	free(a);
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct chunk *c = a->chunks;
	size_t room;
	void *ret;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
	if (!c || c->size - c->used < size) {
		room = MIN(MAX(a->size, (size_t)CHUNK_SIZE), (size_t)CHUNK_SIZE_MAX);
		room = MAX(size, room);
		c = calloc(1, sizeof(*c) + room);
		if (!c)
			return NULL;
		c->size = room;
		a->size += room;
		c->next = a->chunks;
		a->chunks = c;
	}
	ret = c->bytes + c->used;
	c->used += size;
	return ret;
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *copy = arena_alloc(a, len + 1);

	if (copy)
		memcpy(copy, s, len);
	return copy;
}
