// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From the order of a chain's filters to their prefs: share.c makes slots of them, prefs.c gives
 * these their numbers. That knows numbers without holes, so the prefs that must not be used are
 * taken out first and the rest is numbered through.
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
#include "daemon/policy/share.h"

#define PREFS 65536
#define ROUNDS 32 /* how often the moved ones' prefs are left out; 9 came up in tests */

struct numbering {
	bool avoid[PREFS];	/* the caller's */
	bool left[PREFS];	/* where something stands that goes away or moves */
	uint16_t number[PREFS]; /* of a usable pref, from 1; 0: not usable */
	uint16_t pref[PREFS];	/* of a number */
};

struct placing {
	struct place_item *items;
	size_t count;
	uint16_t min, max;
	const struct filter **same;   /* for each item, the one that is there; or NULL */
	const struct filter **before; /* what is there of the chain, in order */
	size_t before_count, before_space;
	struct shared shared;	 /* the items' slots ... */
	struct pref_slot *slots; /* ... and their prefs */
	struct numbering *holes; /* NULL: there are none */
	size_t room;		 /* usable prefs */
};

static void placing_free(struct placing *p)
{
	free(p->same);
	free(p->before);
	free(p->holes);
	free(p->slots);
	shared_clear(&p->shared);
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
	if (p->same)
		return p;
	placing_free(p);
	return NULL;
}

/* What a rule says itself is used whatever stands there. */
static int read_avoid(struct placing *p, const struct compile_input *in)
{
	const struct filter *first = p->items[0].filter;

	if (!in->avoid_count && (!in->before || !state_count(in->before, KIND_FILTER)))
		return 0;
	p->holes = calloc(1, sizeof(*p->holes));
	if (!p->holes)
		return -ENOMEM;
	for (size_t i = 0; i < in->avoid_count; i++) {
		const struct pref_avoid *a = &in->avoid[i];

		if (a->block == first->block && a->chain == first->chain)
			p->holes->avoid[a->pref] = true;
	}
	for (size_t i = 0; i < p->count; i++)
		p->holes->avoid[p->items[i].fixed] = false;
	return 0;
}

/* Finds the filters of the chain that are there, and which of the wanted ones they are. */
static int read_before(struct placing *p, const struct state *before)
{
	const struct filter *item = p->items[0].filter;
	struct filter key = { .obj.kind = KIND_FILTER, .block = item->block, .chain = item->chain };
	size_t count = state_count(before, KIND_FILTER);
	int r;

	for (size_t i = state_lower(before, &key); i < count; i++) {
		const struct filter *f = state_at(before, KIND_FILTER, i);

		if (f->block != item->block || f->chain != item->chain)
			break;
		if (f->owner != OWNER_OURS || !f->has_cookie || !f->pref)
			continue;
		r = grow(&p->before, &p->before_space, p->before_count, sizeof(*p->before));
		if (r < 0)
			return r;
		p->before[p->before_count++] = f;
	}
	r = same_find(p->items, p->count, p->before, p->before_count, p->same);
	for (size_t i = 0; r == 0 && i < p->count; i++)
		if (p->same[i] && p->holes->avoid[p->same[i]->pref])
			p->same[i] = NULL;
	return r;
}

/* Slots of at most so many filters, and where something stands that no slot keeps. */
static int make_slots(struct placing *p, size_t most)
{
	int r;

	shared_clear(&p->shared);
	r = share_find(p->items, p->count, p->same, most, &p->shared);
	if (r < 0)
		return r;
	free(p->slots);
	p->slots = calloc(p->shared.count, sizeof(*p->slots));
	if (!p->slots)
		return -ENOMEM;
	if (!p->holes)
		return 0;
	memset(p->holes->left, 0, sizeof(p->holes->left));
	for (size_t i = 0; i < p->before_count; i++)
		p->holes->left[p->before[i]->pref] = true;
	for (size_t k = 0; k < p->shared.count; k++)
		p->holes->left[p->shared.list[k].before] = false;
	return 0;
}

/* Numbers the usable prefs through. A fixed one is always usable. */
static void number_prefs(struct placing *p, bool use_left)
{
	struct numbering *h = p->holes;

	p->room = h ? 0 : (size_t)(p->max - p->min) + 1;
	if (!h)
		return;
	memset(h->number, 0, sizeof(h->number));
	for (size_t i = 0; i < p->count; i++)
		if (p->items[i].fixed)
			h->left[p->items[i].fixed] = false;
	for (uint32_t pref = p->min; pref <= p->max; pref++) {
		if (h->avoid[pref] || (h->left[pref] && !use_left))
			continue;
		h->number[pref] = (uint16_t)++p->room;
		h->pref[p->room] = (uint16_t)pref;
	}
}

static uint16_t number_of(const struct placing *p, uint16_t pref)
{
	if (p->holes)
		return p->holes->number[pref];
	return pref < p->min || pref > p->max ? 0 : (uint16_t)(pref - p->min + 1);
}

static uint16_t pref_of(const struct placing *p, uint16_t number)
{
	return p->holes ? p->holes->pref[number] : (uint16_t)(p->min + number - 1);
}

static int assign(struct placing *p, bool use_left, struct placed *ret)
{
	size_t n = p->shared.count, bad;
	int r;

	number_prefs(p, use_left);
	for (size_t k = 0; k < n; k++) {
		const struct share_slot *slot = &p->shared.list[k];

		p->slots[k].fixed = number_of(p, slot->fixed);
		p->slots[k].before = number_of(p, slot->before);
		if (slot->fixed && !p->slots[k].fixed) { /* outside of what the device takes */
			ret->bad = slot->first;
			return -EINVAL;
		}
	}
	if (!p->room)
		return -ERANGE;
	r = prefs_assign(p->slots, n, 1, (uint16_t)p->room, &bad);
	if (r == -EINVAL)
		ret->bad = bad < n ? p->shared.list[bad].first : p->count;
	for (size_t i = 0; r == 0 && i < p->count; i++)
		p->items[i].filter->pref = pref_of(p, p->slots[p->shared.of[i]].ret);
	return r;
}

/* Remembers the prefs of slots that moved; true if there were some. */
static bool leave_moved(struct placing *p)
{
	bool moved = false;

	for (size_t k = 0; k < p->shared.count; k++) {
		struct share_slot *slot = &p->shared.list[k];

		if (!slot->before || pref_of(p, p->slots[k].ret) == slot->before)
			continue;
		p->holes->left[slot->before] = true;
		slot->before = 0;
		moved = true;
	}
	return moved;
}

static int number(struct placing *p, size_t most, struct placed *ret)
{
	int r = make_slots(p, most);

	for (size_t round = 0; r == 0; round++) {
		r = assign(p, false, ret);
		if (r == -ERANGE || r == -EINVAL)
			return assign(p, true, ret);
		if (r < 0 || round == ROUNDS || !leave_moved(p))
			break;
	}
	return r;
}

int place(struct place_item *items, size_t n, const struct compile_input *in, uint16_t min,
	  uint16_t max, struct placed *ret)
{
	_cleanup_(placing_freep) struct placing *p = NULL;
	int r = 0;

	if (!n)
		return 0;
	p = placing_new(items, n, min, max);
	if (!p)
		return -ENOMEM;
	r = read_avoid(p, in);
	if (r == 0 && p->holes && in->before)
		r = read_before(p, in->before);
	if (r == 0)
		r = number(p, SHARE_MOST, ret);
	/* Where prefs are few, what is there must not stand in the way, ... */
	if ((r == -ERANGE || r == -EINVAL) && p->before_count) {
		memset(p->same, 0, n * sizeof(*p->same));
		r = number(p, SHARE_MOST, ret);
	}
	/* ... and large ones are better than none. */
	if ((r == -ERANGE || r == -EINVAL) && n > SHARE_FILL)
		r = number(p, MAX(n, (size_t)SHARE_MOST + 1), ret);
	ret->room = p->room;
	ret->needed = p->shared.count;
	if (r == 0)
		r = share_handles(items, n, p->same, p->before, p->before_count, &p->shared);
	return r;
}
