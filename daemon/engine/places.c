// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/engine/places.h"

void places_of(const struct places *p, uint32_t block, size_t *ret_first, size_t *ret_end)
{
	size_t end = LOWER_BOUND(p->list, p->count, block, block);

	*ret_first = end;
	while (end < p->count && p->list[end].block == block)
		end++;
	*ret_end = end;
}

static void insert(struct places *p, size_t at, struct place place)
{
	if (p->count == PLACES_MOST) {
		p->all = true;
		return;
	}
	memmove(&p->list[at + 1], &p->list[at], (p->count - at) * sizeof(*p->list));
	p->last = at;
	p->list[at] = place;
	p->count++;
}

void places_add_block(struct places *p, uint32_t block)
{
	size_t first, end;

	if (p->all || !block)
		return;
	places_of(p, block, &first, &end);
	memmove(&p->list[first], &p->list[end], (p->count - end) * sizeof(*p->list));
	p->count -= end - first;
	insert(p, first, (struct place){ .block = block });
}

static bool is_before(const struct place *a, const struct filter *f)
{
	return a->pref && (a->chain != f->chain ? a->chain < f->chain : a->pref < f->pref);
}

static bool covers(const struct place *a, const struct filter *f)
{
	return a->block == f->block &&
	       (a->pref == 0 || (a->chain == f->chain && a->pref == f->pref));
}

void places_add(struct places *p, const struct filter *f)
{
	size_t first, end;

	/* Neighbours come one behind the other. */
	if (p->all || (p->last < p->count && covers(&p->list[p->last], f)))
		return;
	places_of(p, f->block, &first, &end);
	while (first < end && is_before(&p->list[first], f))
		first++;
	if (first < end && covers(&p->list[first], f)) {
		p->last = first;
		return;
	}
	if (p->count == PLACES_MOST)
		places_add_block(p, f->block);
	else
		insert(p, first, (struct place){ f->block, f->chain, f->pref });
}
