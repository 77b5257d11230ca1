/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/model/set.h"

#include <errno.h>

#define PIECE 256 /* objects */

struct set_piece {
	uint32_t refs; /* atomic */
	uint32_t count;
	struct object *list[PIECE];
};

/* ---- pieces ---- */

static struct set_piece *piece_new(struct object *const *list, size_t count)
{
	struct set_piece *p = malloc(sizeof(*p));

	if (!p)
		return NULL;
	p->refs = 1;
	p->count = (uint32_t)count;
	if (count)
		memcpy(p->list, list, count * sizeof(*list));
	return p;
}

static void piece_unref(struct set_piece *p)
{
	if (__atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	for (size_t i = 0; i < p->count; i++)
		object_unref(p->list[i]);
	free(p);
}

/* Makes the part's piece ours alone, to be changed. 0 or -ENOMEM. */
static int own(struct set_part *part)
{
	struct set_piece *copy;

	if (__atomic_load_n(&part->piece->refs, __ATOMIC_ACQUIRE) == 1)
		return 0;
	copy = piece_new(part->piece->list, part->piece->count);
	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < copy->count; i++)
		object_ref(copy->list[i]);
	piece_unref(part->piece);
	part->piece = copy;
	return 0;
}

/* ---- whole sets ---- */

void set_clear(struct set *s)
{
	for (size_t i = 0; i < s->part_count; i++)
		piece_unref(s->parts[i].piece);
	free(s->parts);
	*s = (struct set){ 0 };
}

int set_copy(const struct set *s, struct set *into)
{
	if (!s->part_count)
		return 0;
	into->parts = malloc(s->part_count * sizeof(*into->parts));
	if (!into->parts)
		return -ENOMEM;
	memcpy(into->parts, s->parts, s->part_count * sizeof(*into->parts));
	for (size_t i = 0; i < s->part_count; i++)
		__atomic_add_fetch(&s->parts[i].piece->refs, 1, __ATOMIC_RELAXED);
	into->part_count = into->space = s->part_count;
	into->count = s->count;
	return 0;
}

/* ---- finding ---- */

static bool is_in(const struct set_part *part, size_t i)
{
	return i >= part->first && i - part->first < part->piece->count;
}

static __attribute__((noinline)) size_t part_searched(const struct set *s, size_t i)
{
	size_t at = LOWER_BOUND(s->parts, s->part_count, first, i + 1) - 1;

	__atomic_store_n((uint32_t *)&s->hint, (uint32_t)at, __ATOMIC_RELAXED);
	return at;
}

static inline size_t part_of(const struct set *s, size_t i)
{
	uint32_t hint = __atomic_load_n(&s->hint, __ATOMIC_RELAXED);

	if (hint < s->part_count && is_in(&s->parts[hint], i))
		return hint;
	return part_searched(s, i);
}

struct object *set_at(const struct set *s, size_t i)
{
	const struct set_part *part = &s->parts[part_of(s, i)];

	return part->piece->list[i - part->first];
}

typedef int (*set_compare)(const struct object *, const struct object *);

static struct object *last_of(const struct set_part *part)
{
	return part->piece->list[part->piece->count - 1];
}

/* The first part whose last object is not before key. */
static size_t lower_part(const struct set *s, const struct object *key, set_compare compare)
{
	size_t low = 0, high = s->part_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(last_of(&s->parts[middle]), key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t set_lower(const struct set *s, const struct object *key, bool *ret_found)
{
	set_compare compare = kind_ops((enum kind)key->kind)->compare;
	const struct set_part *part;
	size_t low = 0, high;
	int end;

	*ret_found = false;
	if (!s->count)
		return 0;
	/* Loads come in order, and what came last is asked for: look at the end first. */
	end = compare(last_of(&s->parts[s->part_count - 1]), key);
	*ret_found = end == 0;
	if (end <= 0)
		return end < 0 ? s->count : s->count - 1;
	part = &s->parts[lower_part(s, key, compare)];
	for (high = part->piece->count; low < high;) {
		size_t middle = low + (high - low) / 2;
		int order = compare(part->piece->list[middle], key);

		if (order < 0) {
			low = middle + 1;
		} else {
			high = middle;
			*ret_found |= order == 0;
		}
	}
	return part->first + low;
}

/* ---- changing ---- */

static int add_part(struct set *s, size_t at, struct object *const *list, size_t count)
{
	struct set_piece *piece;

	if (grow(&s->parts, &s->space, s->part_count, sizeof(*s->parts)) < 0)
		return -ENOMEM;
	piece = piece_new(list, count);
	if (!piece)
		return -ENOMEM;
	memmove(s->parts + at + 1, s->parts + at, (s->part_count - at) * sizeof(*s->parts));
	s->parts[at] = (struct set_part){ .piece = piece };
	s->part_count++;
	return 0;
}

/* From that part on, after pieces have changed. */
static void count_again(struct set *s, size_t part)
{
	size_t first = part ? s->parts[part - 1].first + s->parts[part - 1].piece->count : 0;

	for (; part < s->part_count; part++) {
		s->parts[part].first = first;
		first += s->parts[part].piece->count;
	}
	s->count = first;
}

/* Gives the upper half of a full part to a new one behind it. */
static int split(struct set *s, size_t at)
{
	struct set_piece *p = s->parts[at].piece;
	int r = add_part(s, at + 1, p->list + PIECE / 2, PIECE - PIECE / 2);

	if (r < 0)
		return r;
	p->count = PIECE / 2;
	count_again(s, at + 1);
	return 0;
}

static int append(struct set *s, struct object *o)
{
	struct set_part *last = s->part_count ? &s->parts[s->part_count - 1] : NULL;
	int r;

	if (!last || last->piece->count == PIECE) {
		r = add_part(s, s->part_count, &o, 1);
		if (r < 0)
			return r;
		s->parts[s->part_count - 1].first = s->count;
	} else {
		r = own(last);
		if (r < 0)
			return r;
		last->piece->list[last->piece->count++] = o;
	}
	s->count++;
	return 0;
}

int set_insert(struct set *s, size_t at, struct object *o)
{
	struct set_piece *p;
	size_t part, in;
	int r;

	if (at == s->count)
		return append(s, o);
	part = part_of(s, at);
	r = own(&s->parts[part]);
	if (r == 0 && s->parts[part].piece->count == PIECE) {
		r = split(s, part);
		part = part_of(s, at);
	}
	if (r < 0)
		return r;
	p = s->parts[part].piece;
	in = at - s->parts[part].first;
	memmove(p->list + in + 1, p->list + in, (p->count - in) * sizeof(*p->list));
	p->list[in] = o;
	p->count++;
	count_again(s, part + 1);
	return 0;
}

int set_replace(struct set *s, size_t at, struct object *o)
{
	struct set_part *part = &s->parts[part_of(s, at)];
	struct object *old;
	int r = own(part);

	if (r < 0)
		return r;
	old = part->piece->list[at - part->first];
	part->piece->list[at - part->first] = o;
	object_unref(old);
	return 0;
}

int set_remove(struct set *s, size_t at)
{
	size_t part = part_of(s, at), in = at - s->parts[part].first;
	struct set_piece *p;
	int r = own(&s->parts[part]);

	if (r < 0)
		return r;
	p = s->parts[part].piece;
	object_unref(p->list[in]);
	p->count--;
	memmove(p->list + in, p->list + in + 1, (p->count - in) * sizeof(*p->list));
	if (p->count == 0) {
		piece_unref(p);
		s->part_count--;
		memmove(s->parts + part, s->parts + part + 1,
			(s->part_count - part) * sizeof(*s->parts));
		count_again(s, part);
	} else {
		count_again(s, part + 1);
	}
	return 0;
}
