/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree: what a YAML text says, before anybody knows what it means. Every scalar keeps its original
 * text; nothing is turned into a number, a boolean or a date here, so "22:22", "no" and "010" stay
 * what was written until the schema of their key says what they are.
 *
 * Of YAML only what a configuration needs is taken: maps with scalar keys, lists and scalars, in
 * one document. Anchors, aliases, merge keys and tags are refused: half of them is worse than none.
 */
#ifndef SWD_YAML_TREE_H
#define SWD_YAML_TREE_H

#include <stdint.h>

#include "config/base/arena.h"
#include "config/base/diag.h"

#define TREE_DEPTH_MAX 32
#define TREE_NODES_MAX (4u << 20)

enum node_kind {
	NODE_SCALAR,
	NODE_MAP,
	NODE_LIST,
	NODE_BROKEN, /* stands for what was refused; its error has been added */
	NODE_ALIKE,  /* an item of a list: a map on one line, like another but for some scalars */
};

/*
 * 32 bytes: a hundred thousand rules written out are some million of them. So a rule that is like
 * one before it is kept as what differs: the scalars stand right behind its node, and `next` of
 * each is the scalar of the other map that it stands for.
 */
struct node {
	union {
		const char *text;	  /* scalar: never NULL, has no NUL inside */
		const struct node *first; /* map: key, value, key, value ...; list: items; or NULL;
					     alike: the other map */
	};
	const struct node *next; /* sibling, or NULL */
	uint32_t line, column;
	uint32_t count; /* scalar: bytes; list: items; map: entries; alike: what differs */
	uint8_t kind;	/* enum node_kind */
	uint8_t plain;	/* scalar: written without quotes, and not as a block */
};

/*
 * Parses `size` bytes of UTF-8; the nodes live in the arena. 0 and *ret; -EINVAL with at least one
 * error in d: a syntax error ends the reading, everything else that is refused is reported in one
 * go; -ENOMEM. The root is a map. Broken nodes are only there when -EINVAL is returned; *ret is set
 * then, too, if the text was read to its end, so that the rest can be looked at. Otherwise it is
 * NULL.
 */
int tree_parse(const char *text, size_t size, struct arena *a, struct diags *d,
	       const struct node **ret);

/* The same; tree_parse() does so only where quick.h can't. */
int tree_parse_by_library(const char *text, size_t size, struct arena *a, struct diags *d,
			  const struct node **ret);

static inline struct origin node_origin(const struct node *n)
{
	return n ? (struct origin){ n->line, n->column } : (struct origin){ 0, 0 };
}

/* Writes a node that is alike out: it becomes a map. 0 or -ENOMEM; fine for other nodes. */
int node_write_out(const struct node *n, struct arena *a);
/* Where a node stands in an item, of which it is a part; or one of the map the item is like. */
struct origin node_place(const struct node *item, const struct node *part);

/* The value of a key in a map, or NULL. */
const struct node *node_get(const struct node *map, const char *key);
/* The i-th item of a list, or NULL. */
const struct node *node_item(const struct node *list, size_t i);
/* True for what YAML calls null: nothing at all, "~" or "null" without quotes. */
bool node_is_empty(const struct node *n);

#define MERGE_KEY "<<"
/* True for a key the tree has complained of: no single word, or "<<". Nothing more is to be said.
 */
static inline bool node_is_refused_key(const struct node *n)
{
	return n->kind != NODE_SCALAR ||
	       (n->text[0] == '<' && n->plain && streq(n->text, MERGE_KEY));
}

/* True for two scalars of one text. */
static inline bool node_same_text(const struct node *a, const struct node *b)
{
	return a->count == b->count && a->kind == NODE_SCALAR && b->kind == NODE_SCALAR &&
	       memcmp(a->text, b->text, a->count) == 0;
}

#define SHOW_TEXT 64
/*
 * A text as messages may show it: cut after some 50 bytes, with everything escaped that would
 * trouble a terminal. Returns `to`.
 */
const char *show(const char *text, char to[SHOW_TEXT]);

#endif
