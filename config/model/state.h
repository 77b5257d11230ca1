/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * state: an ordered set that owns its objects; wanted and found are states of the same type. Each
 * kind is a sorted list of references, so that walking two states side by side is a merge, and a
 * copy shares what neither changes. A state belongs to one thread; a copy may be given to another.
 */
#ifndef SWD_MODEL_STATE_H
#define SWD_MODEL_STATE_H

#include "config/model/object.h"

struct state;

struct state *state_new(void); /* NULL: memory short */
void state_free(struct state *s);
DEFINE_CLEANUP(struct state *, state_free);
/* The same objects in a state of its own. NULL: memory short. */
struct state *state_copy(const struct state *s);

/*
 * Both take over the caller's reference when they succeed, and only then.
 * add: -EEXIST if an object with that key is there (ret_old, may be NULL, gets it, not referenced).
 * put: replaces it.
 * Adding in rising order costs nothing more than an append.
 */
int state_add(struct state *s, void *object, const struct object **ret_old);
int state_put(struct state *s, void *object);
/*
 * 1 if it was there, 0 if not, or -ENOMEM: a copy may share the place. key: an object of the same
 * kind with the key's members filled.
 */
int state_remove(struct state *s, const void *key);
void state_clear_kind(struct state *s, enum kind kind);

/* The object with that key, not referenced, or NULL. */
const void *state_find(const struct state *s, const void *key);
size_t state_count(const struct state *s, enum kind kind);
/* In order; i below state_count(). */
const void *state_at(const struct state *s, enum kind kind, size_t i);
/* The index of the first object that is not before key. */
size_t state_lower(const struct state *s, const void *key);

/* By name, NULL if absent. */
const struct port *state_port(const struct state *s, const char *name);
const struct vlan *state_vlan(const struct state *s, const char *name);
const struct block *state_block(const struct state *s, uint32_t id);
const struct block *state_block_named(const struct state *s, const char *name);
/* Where the filters of a block are: [*ret_first, *ret_end). */
void state_block_filters(const struct state *s, uint32_t block, size_t *ret_first, size_t *ret_end);
void state_block_rules(const struct state *s, uint32_t block, size_t *ret_first, size_t *ret_end);

#endif
