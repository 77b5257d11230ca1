// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/engine/seen.h"

#include <errno.h>

/* Where it is, or where it would be. */
static size_t slot(const struct seen *s, const void *p)
{
	size_t i = (size_t)((uintptr_t)p * 0x9e3779b97f4a7c15ULL >> 20) & (s->space - 1);

	while (s->list[i] && s->list[i] != p)
		i = (i + 1) & (s->space - 1);
	return i;
}

int seen_init(struct seen *s, size_t count)
{
	size_t space = 64;

	while (space < 2 * count)
		space *= 2;
	s->list = calloc(space, sizeof(*s->list));
	if (!s->list)
		return -ENOMEM;
	s->space = space;
	s->count = 0;
	return 0;
}

static int widen(struct seen *s)
{
	struct seen wider;

	if (seen_init(&wider, s->space) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < s->space; i++)
		if (s->list[i])
			wider.list[slot(&wider, s->list[i])] = s->list[i];
	wider.count = s->count;
	free(s->list);
	*s = wider;
	return 0;
}

int seen_add(struct seen *s, const void *p)
{
	size_t i;

	if (4 * s->count >= 3 * s->space && widen(s) < 0)
		return -ENOMEM;
	i = slot(s, p);
	s->count += !s->list[i];
	s->list[i] = p;
	return 0;
}

bool seen_has(const struct seen *s, const void *p)
{
	return s->list[slot(s, p)];
}

void seen_clear(struct seen *s)
{
	free(s->list);
	*s = (struct seen){ 0 };
}
