// SPDX-License-Identifier: GPL-2.0-or-later
/* A short list of ports, each with its next try: see turns.h. */
#include "daemon/engine/turns.h"

#include <errno.h>
#include <stdio.h>

#include "config/base/util.h"

static struct turn *find(const struct turns *t, const char *dev)
{
	for (size_t i = 0; i < t->count; i++)
		if (streq(t->list[i].dev, dev))
			return &t->list[i];
	return NULL;
}

const struct turn *turns_find(const struct turns *t, const char *dev)
{
	return find(t, dev);
}

int turns_begin(struct turns *t, const char *dev, uint64_t due_ns)
{
	int r;

	if (find(t, dev))
		return 0;
	r = grow(&t->list, &t->space, t->count, sizeof(*t->list));
	if (r < 0)
		return r;
	t->list[t->count] = (struct turn){ .due_ns = due_ns };
	COPY_NAME(t->list[t->count++].dev, dev);
	return 0;
}

void turns_hasten(struct turns *t, const char *dev, uint64_t now_ns)
{
	struct turn *turn = find(t, dev);
	uint64_t soon = now_ns + TURNS_SOON_NS;

	if (!turn)
		return;
	if (turn->tried_ns)
		soon = MAX(soon, turn->tried_ns + TURNS_GAP_NS);
	turn->due_ns = MIN(turn->due_ns, soon);
}

int turns_vain(struct turns *t, const char *dev, uint64_t now_ns, const struct turns_pace *pace,
	       const char *why)
{
	uint64_t wait = pace->first_ns;
	int r = turns_begin(t, dev, 0);
	struct turn *turn = find(t, dev);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < turn->times && wait < pace->most_ns; i++)
		wait *= 2;
	turn->times++;
	turn->tried_ns = now_ns;
	turn->due_ns = now_ns + MAX(MIN(wait, pace->most_ns), TURNS_GAP_NS);
	snprintf(turn->why, sizeof(turn->why), "%s", why);
	return 0;
}

void turns_end(struct turns *t, const char *dev)
{
	struct turn *turn = find(t, dev);

	if (turn)
		*turn = t->list[--t->count];
}

int turns_copy(const struct turns *t, struct turns *ret)
{
	struct turn *list = calloc(t->count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	if (t->count)
		memcpy(list, t->list, t->count * sizeof(*list));
	*ret = (struct turns){ list, t->count, t->count + 1 };
	return 0;
}

void turns_clear(struct turns *t)
{
	free(t->list);
	*t = (struct turns){ 0 };
}
