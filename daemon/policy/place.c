// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the order of a chain's filters to their prefs. prefs.c knows numbers without holes, so the
 * prefs that must not be used are taken out first and the rest is numbered through.
 *
 * A new filter must not land where an old one still stands: the kernel takes no second protocol or
 * kind in a pref, and no other mask in a replace. So the prefs of filters that go away or move are
 * left out as well, which may make others move; that is repeated until it settles, and given up if
 * room is short.
 */
#include "daemon/policy/place.h"

#include <errno.h>

#include "daemon/policy/prefs.h"
#include "daemon/policy/same.h"

#define PREFS 65536
#define ROUNDS 8 /* how often the moved ones' prefs are left out; more never came up in tests */

struct placing {
	struct place_item *items;
	size_t count;
	uint16_t min, max;
	const struct filter **same; /* for each item; NULL: none, or no more */
	struct pref_slot *slots;
	bool avoid[PREFS];	/* the caller's */
	bool left[PREFS];	/* where something stands that goes away or moves */
	uint16_t number[PREFS]; /* of a usable pref, from 1; 0: not usable */
	uint16_t pref[PREFS];	/* of a number */
	size_t room;		/* usable prefs */
};

static void placing_free(struct placing *p)
{
	free(p->same);
	free(p->slots);
	free(p);
}
DEFINE_CLEANUP(struct placing *, placing_free);

static struct placing *placing_new(struct place_item *items, size_t n, uint16_t min, uint16_t max)
{
	struct placing *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->items = items;
	p->count = n;
	p->min = min;
	p->max = max;
	p->same = calloc(n, sizeof(*p->same));
	p->slots = calloc(n, sizeof(*p->slots));
	if (p->same && p->slots)
		return p;
	placing_free(p);
	return NULL;
}

/* What a rule says itself is used whatever stands there. */
static void read_avoid(struct placing *p, const struct compile_input *in)
{
	const struct filter *first = p->items[0].filter;

	for (size_t i = 0; i < in->avoid_count; i++) {
		const struct pref_avoid *a = &in->avoid[i];

		if (a->block == first->block && a->chain == first->chain)
			p->avoid[a->pref] = true;
	}
	for (size_t i = 0; i < p->count; i++)
		p->avoid[p->items[i].fixed] = false;
}

/* Finds the filters of the chain that are there, and which of the wanted ones they are. */
static int read_before(struct placing *p, const struct state *before)
{
	const struct filter *item = p->items[0].filter;
	struct filter key = { .obj.kind = KIND_FILTER, .block = item->block, .chain = item->chain };
	_cleanup_free_ const struct filter **list = NULL;
	size_t count = state_count(before, KIND_FILTER), n = 0, space = 0;
	int r;

	for (size_t i = state_lower(before, &key); i < count; i++) {
		const struct filter *f = state_at(before, KIND_FILTER, i);

		if (f->block != item->block || f->chain != item->chain)
			break;
		if (f->owner != OWNER_OURS || !f->has_cookie || !f->pref)
			continue;
		r = grow(&list, &space, n, sizeof(*list));
		if (r < 0)
			return r;
		list[n++] = f;
		p->left[f->pref] = true;
	}
	r = same_find(p->items, p->count, list, n, p->same);
	if (r < 0)
		return r;
	for (size_t i = 0; i < p->count; i++) {
		if (p->same[i] && p->avoid[p->same[i]->pref])
			p->same[i] = NULL;
		if (p->same[i])
			p->left[p->same[i]->pref] = false;
	}
	return 0;
}

/* Numbers the usable prefs through. A fixed one is always usable. */
static void number_prefs(struct placing *p, bool use_left)
{
	p->room = 0;
	memset(p->number, 0, sizeof(p->number));
	for (size_t i = 0; i < p->count; i++)
		if (p->items[i].fixed)
			p->left[p->items[i].fixed] = false;
	for (uint32_t pref = p->min; pref <= p->max; pref++) {
		if (p->avoid[pref] || (p->left[pref] && !use_left))
			continue;
		p->number[pref] = (uint16_t)++p->room;
		p->pref[p->room] = (uint16_t)pref;
	}
}

static int assign(struct placing *p, bool use_left, size_t *ret_bad)
{
	int r;

	number_prefs(p, use_left);
	for (size_t i = 0; i < p->count; i++) {
		p->slots[i].fixed = p->number[p->items[i].fixed];
		p->slots[i].before = p->same[i] ? p->number[p->same[i]->pref] : 0;
		if (p->items[i].fixed &&
		    !p->slots[i].fixed) { /* outside of what the device takes */
			*ret_bad = i;
			return -EINVAL;
		}
	}
	if (!p->room)
		return -ERANGE;
	r = prefs_assign(p->slots, p->count, 1, (uint16_t)p->room, ret_bad);
	for (size_t i = 0; r == 0 && i < p->count; i++)
		p->items[i].filter->pref = p->pref[p->slots[i].ret];
	return r;
}

/* Remembers the prefs of those that moved; true if there were some. */
static bool leave_moved(struct placing *p)
{
	bool moved = false;

	for (size_t i = 0; i < p->count; i++) {
		const struct filter *old = p->same[i];

		if (!old || p->items[i].filter->pref == old->pref)
			continue;
		p->left[old->pref] = true;
		p->same[i] = NULL;
		moved = true;
	}
	return moved;
}

int place(struct place_item *items, size_t n, const struct compile_input *in, uint16_t min,
	  uint16_t max, size_t *ret_bad, size_t *ret_room)
{
	_cleanup_(placing_freep) struct placing *p = NULL;
	int r = 0;

	if (!n)
		return 0;
	p = placing_new(items, n, min, max);
	if (!p)
		return -ENOMEM;
	read_avoid(p, in);
	if (in->before)
		r = read_before(p, in->before);
	for (size_t round = 0; r == 0; round++) {
		r = assign(p, false, ret_bad);
		if (r == -ERANGE || r == -EINVAL) {
			r = assign(p, true, ret_bad);
			break;
		}
		if (r < 0 || round == ROUNDS || !leave_moved(p))
			break;
	}
	*ret_room = p->room;
	for (size_t i = 0; r == 0 && i < n; i++)
		items[i].filter->handle = 1;
	return r;
}
