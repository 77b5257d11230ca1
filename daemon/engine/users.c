// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/engine/users.h"

static int order(const struct user *a, const char *dev, uint32_t block)
{
	int c = strcmp(a->dev, dev);

	return c ? c : CMP(a->block, block);
}

static size_t lower(const struct users *u, const char *dev, uint32_t block)
{
	size_t low = 0, high = u->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (order(&u->list[middle], dev, block) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add(struct users *u, const char *dev, uint32_t block)
{
	size_t at = lower(u, dev, block);
	int r;

	if (at < u->count && order(&u->list[at], dev, block) == 0)
		return 0;
	r = grow(&u->list, &u->space, u->count, sizeof(*u->list));
	if (r < 0)
		return r;
	memmove(&u->list[at + 1], &u->list[at], (u->count - at) * sizeof(*u->list));
	u->count++;
	u->list[at] = (struct user){ .block = block };
	COPY_NAME(u->list[at].dev, dev);
	return 0;
}

static int read_all(struct users *u, const struct state *filters)
{
	size_t n = filters ? state_count(filters, KIND_FILTER) : 0;
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct filter *f = state_at(filters, KIND_FILTER, i);

		for (size_t j = 0; j < f->action_count && r == 0; j++) {
			const struct action *a = &filter_actions(f)[j];

			if (a->kind == ACTION_REDIRECT || a->kind == ACTION_MIRROR)
				r = add(u, a->dev, f->block);
		}
	}
	return r;
}

int users_of(struct users *u, const struct state *filters, const char *dev, size_t *ret_first,
	     size_t *ret_end)
{
	int r = u->known ? 0 : read_all(u, filters);

	*ret_first = *ret_end = 0;
	if (r < 0) {
		users_forget(u);
		return r;
	}
	u->known = true;
	*ret_first = *ret_end = lower(u, dev, 0);
	while (*ret_end < u->count && streq(u->list[*ret_end].dev, dev))
		++*ret_end;
	return 0;
}

void users_forget(struct users *u)
{
	free(u->list);
	*u = (struct users){ .version = u->version + 1 };
}
