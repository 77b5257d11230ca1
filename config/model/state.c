/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sorted array of references a kind. Inserting in the middle moves what is behind: a burst of
 * single changes in 100,000 filters moves 800 kB each, some 20 us; loads come in order and only
 * append.
 */
#include "config/model/state.h"

#include <errno.h>

struct set {
	struct object **list;
	size_t count, space;
};

struct state {
	struct set sets[KIND_COUNT_];
};

struct state *state_new(void)
{
	return calloc(1, sizeof(struct state));
}

void state_clear_kind(struct state *s, enum kind kind)
{
	struct set *set = &s->sets[kind];

	for (size_t i = 0; i < set->count; i++)
		object_unref(set->list[i]);
	set->count = 0;
}

void state_free(struct state *s)
{
	if (!s)
		return;
	for (size_t kind = 0; kind < KIND_COUNT_; kind++) {
		state_clear_kind(s, (enum kind)kind);
		free(s->sets[kind].list);
	}
	free(s);
}

struct state *state_copy(const struct state *s)
{
	_cleanup_(state_freep) struct state *copy = state_new();

	if (!copy)
		return NULL;
	for (size_t kind = 0; kind < KIND_COUNT_; kind++) {
		const struct set *from = &s->sets[kind];
		struct set *to = &copy->sets[kind];

		if (!from->count)
			continue;
		to->list = malloc(from->count * sizeof(*to->list));
		if (!to->list)
			return NULL;
		to->space = from->count;
		for (; to->count < from->count; to->count++)
			to->list[to->count] = object_ref(from->list[to->count]);
	}
	return take(copy);
}

/* The index of the first object that is not before key; *ret_found tells if it has that key. */
static size_t lower(const struct set *set, const struct object *key, bool *ret_found)
{
	int (*compare)(const struct object *, const struct object *) =
		kind_ops((enum kind)key->kind)->compare;
	size_t low = 0, high = set->count;
	int order;

	*ret_found = false;
	/* Loads come in order: look at the end first. */
	if (high && compare(set->list[high - 1], key) < 0)
		return high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		order = compare(set->list[middle], key);
		if (order < 0) {
			low = middle + 1;
		} else {
			high = middle;
			*ret_found |= order == 0;
		}
	}
	return low;
}

static int insert(struct set *set, size_t at, struct object *o)
{
	int r = grow(&set->list, &set->space, set->count, sizeof(*set->list));

	if (r < 0)
		return r;
	memmove(set->list + at + 1, set->list + at, (set->count - at) * sizeof(*set->list));
	set->list[at] = o;
	set->count++;
	return 0;
}

int state_add(struct state *s, void *object, const struct object **ret_old)
{
	struct object *o = object;
	struct set *set = &s->sets[o->kind];
	bool found;
	size_t at = lower(set, o, &found);

	if (found) {
		if (ret_old)
			*ret_old = set->list[at];
		return -EEXIST;
	}
	return insert(set, at, o);
}

int state_put(struct state *s, void *object)
{
	struct object *o = object;
	struct set *set = &s->sets[o->kind];
	bool found;
	size_t at = lower(set, o, &found);

	if (!found)
		return insert(set, at, o);
	object_unref(set->list[at]);
	set->list[at] = o;
	return 0;
}

bool state_remove(struct state *s, const void *key)
{
	const struct object *o = key;
	struct set *set = &s->sets[o->kind];
	struct object *old;
	bool found;
	size_t at = lower(set, o, &found);

	if (!found)
		return false;
	old = set->list[at];
	set->count--;
	memmove(set->list + at, set->list + at + 1, (set->count - at) * sizeof(*set->list));
	object_unref(old);
	return true;
}

const void *state_find(const struct state *s, const void *key)
{
	const struct object *o = key;
	const struct set *set = &s->sets[o->kind];
	bool found;
	size_t at = lower(set, o, &found);

	return found ? set->list[at] : NULL;
}

size_t state_count(const struct state *s, enum kind kind)
{
	return s->sets[kind].count;
}

const void *state_at(const struct state *s, enum kind kind, size_t i)
{
	return s->sets[kind].list[i];
}

size_t state_lower(const struct state *s, const void *key)
{
	bool found;

	return lower(&s->sets[((const struct object *)key)->kind], key, &found);
}

const struct port *state_port(const struct state *s, const char *name)
{
	struct port key = { .obj.kind = KIND_PORT };

	return COPY_NAME(key.name, name) ? state_find(s, &key) : NULL;
}

const struct vlan *state_vlan(const struct state *s, const char *name)
{
	struct vlan key = { .obj.kind = KIND_VLAN };

	return COPY_NAME(key.name, name) ? state_find(s, &key) : NULL;
}

const struct block *state_block(const struct state *s, uint32_t id)
{
	struct block key = { .obj.kind = KIND_BLOCK, .id = id };

	return state_find(s, &key);
}

const struct block *state_block_named(const struct state *s, const char *name)
{
	const struct set *set = &s->sets[KIND_BLOCK];

	for (size_t i = 0; i < set->count; i++) {
		const struct block *b = (const struct block *)set->list[i];

		if (streq(b->name, name))
			return b;
	}
	return NULL;
}

void state_block_filters(const struct state *s, uint32_t block, size_t *ret_first, size_t *ret_end)
{
	struct filter first = { .obj.kind = KIND_FILTER, .block = block };
	struct filter end = { .obj.kind = KIND_FILTER, .block = block + 1 };

	*ret_first = state_lower(s, &first);
	*ret_end = block == UINT32_MAX ? state_count(s, KIND_FILTER) : state_lower(s, &end);
}

void state_block_rules(const struct state *s, uint32_t block, size_t *ret_first, size_t *ret_end)
{
	struct rule first = { .obj.kind = KIND_RULE, .block = block };
	struct rule end = { .obj.kind = KIND_RULE, .block = block + 1 };

	*ret_first = state_lower(s, &first);
	*ret_end = block == UINT32_MAX ? state_count(s, KIND_RULE) : state_lower(s, &end);
}
