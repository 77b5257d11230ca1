/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk: reads a tree by the tables. Unknown and duplicate keys, wrong types, missing and empty
 * values are found here, for every section alike, and the path of each is kept at hand.
 */
#ifndef SWD_YAML_WALK_H
#define SWD_YAML_WALK_H

#include "config/yaml/draft.h"

/* One step of the path to a value: a name, or the place in a list. */
struct walk_step {
	const char *name; /* NULL: an index */
	size_t index;
};

/* A scalar of an item that others are like: the value it is in or is, and the key of that. */
struct walk_change {
	const struct node *part, *value;
	const struct key *key;
};

struct reader {
	struct arena *arena;
	struct diags *diags;
	/* "blocks.edge.rules[3]", put together only when there is something to say. */
	struct walk_step path[TREE_DEPTH_MAX];
	size_t depth; /* steps below the last are not kept */
	/* What was read last without an error: where a text is the same again, so is its meaning.
	 */
	const struct draft_match *last_match; /* or NULL */
	struct draft_actions last_actions;    /* node: or NULL */
	/* The item of a list that others may be like, and what it was read as. */
	const struct node *like;
	const struct section *like_section;
	const void *like_draft;
	struct walk_change changes[4]; /* the last ones */
};

/* Goes down the path; returns what walk_leave() takes. The name must live until then. */
static inline size_t walk_enter(struct reader *r, const char *name)
{
	if (r->depth < ARRAY_SIZE(r->path))
		r->path[r->depth].name = name;
	return r->depth++;
}

static inline size_t walk_enter_index(struct reader *r, size_t i)
{
	if (r->depth < ARRAY_SIZE(r->path))
		r->path[r->depth] = (struct walk_step){ .index = i };
	return r->depth++;
}

static inline void walk_leave(struct reader *r, size_t before)
{
	r->depth = before;
}

/* Adds an error at a node with the path as it is. Returns it, for a hint, or NULL. */
struct diag *walk_error(struct reader *r, const struct node *n, const char *fmt, ...)
	_printf_(3, 4);
/* "expected WHAT, found 'text'" (a list, a map, nothing). */
struct diag *walk_expected(struct reader *r, const struct node *n, const char *what);

/* Reads a map into the draft at `to`. 0, -EINVAL after errors (the rest is read), or -ENOMEM. */
int walk_section(struct reader *r, const struct section *s, const struct node *n, void *to);
/* The same for an item of a list. */
int walk_item(struct reader *r, const struct section *s, const struct node *n, void *to);
/* Reads a text by a key's type: for defaults. */
int walk_default(struct reader *r, const struct key *key, void *to);

/*
 * For maps without a table: checks that it is a map, not empty by mistake, and that no key is there
 * twice. what: "a match"; how: "{}". 0, -EINVAL, -ENOMEM.
 */
int walk_map(struct reader *r, const struct node *n, const char *what);
int walk_list(struct reader *r, const struct node *n, const char *what);
/* The error for a key nobody knows, with a hint if there is one. names(i): the known ones. */
struct diag *walk_unknown(struct reader *r, const struct node *key, const char *what,
			  const char *(*name)(size_t i, void *data), void *data);
/* True for a scalar; else the error has been added. what: "a number from 1 to 4094". */
bool walk_scalar(struct reader *r, const struct node *n, const char *what);

#endif
