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

void places_add(struct places *p, const struct filter *f)
{
	size_t first, end;

	if (p->all)
		return;
	places_of(p, f->block, &first, &end);
	for (size_t i = first; i < end; i++)
		if (p->list[i].pref == 0 ||
		    (p->list[i].chain == f->chain && p->list[i].pref == f->pref))
			return;
	if (p->count == PLACES_MOST)
		places_add_block(p, f->block);
	else
		insert(p, end, (struct place){ f->block, f->chain, f->pref });
}
