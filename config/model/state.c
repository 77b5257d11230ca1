/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A set (set.h) for each kind, and the few questions everyone asks.
 */
#include "config/model/state.h"

#include <errno.h>

#include "config/model/set.h"

struct state {
	struct set sets[KIND_COUNT_];
};

struct state *state_new(void)
{
	return calloc(1, sizeof(struct state));
}

void state_clear_kind(struct state *s, enum kind kind)
{
	set_clear(&s->sets[kind]);
}

void state_free(struct state *s)
{
	if (!s)
		return;
	for (size_t kind = 0; kind < KIND_COUNT_; kind++)
		set_clear(&s->sets[kind]);
	free(s);
}

struct state *state_copy(const struct state *s)
{
	_cleanup_(state_freep) struct state *copy = state_new();

	for (size_t kind = 0; copy && kind < KIND_COUNT_; kind++)
		if (set_copy(&s->sets[kind], &copy->sets[kind]) < 0)
			return NULL;
	return take(copy);
}

int state_add(struct state *s, void *object, const struct object **ret_old)
{
	struct object *o = object;
	struct set *set = &s->sets[o->kind];
	bool found;
	size_t at = set_lower(set, o, &found);

	if (found) {
		if (ret_old)
			*ret_old = set_at(set, at);
		return -EEXIST;
	}
	return set_insert(set, at, o);
}

int state_put(struct state *s, void *object)
{
	struct object *o = object;
	struct set *set = &s->sets[o->kind];
	bool found;
	size_t at = set_lower(set, o, &found);

	return found ? set_replace(set, at, o) : set_insert(set, at, o);
}

int state_remove(struct state *s, const void *key)
{
	const struct object *o = key;
	struct set *set = &s->sets[o->kind];
	bool found;
	size_t at = set_lower(set, o, &found);
	int r = found ? set_remove(set, at) : 0;

	return r < 0 ? r : found;
}

const void *state_find(const struct state *s, const void *key)
{
	const struct object *o = key;
	const struct set *set = &s->sets[o->kind];
	bool found;
	size_t at = set_lower(set, o, &found);

	return found ? set_at(set, at) : NULL;
}

size_t state_count(const struct state *s, enum kind kind)
{
	return s->sets[kind].count;
}

const void *state_at(const struct state *s, enum kind kind, size_t i)
{
	return set_at(&s->sets[kind], i);
}

size_t state_lower(const struct state *s, const void *key)
{
	bool found;

	return set_lower(&s->sets[((const struct object *)key)->kind], key, &found);
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
		const struct block *b = (const struct block *)set_at(set, i);

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
