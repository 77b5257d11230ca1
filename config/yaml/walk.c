// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * walk: one reader for all sections. It knows maps, keys and paths; what a value means is its
 * type's.
 */
#include "config/yaml/walk.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "config/yaml/hint.h"

/* Beyond so many errors only their number matters: no time is spent on hints. */
#define HINTS_MAX 1000

#define PATH_TEXT 256

/* The path as a text, cut where it is too long; NULL if there is none. */
static const char *path_text(const struct reader *r, char to[PATH_TEXT])
{
	size_t used = 0;

	for (size_t i = 0; i < MIN(r->depth, ARRAY_SIZE(r->path)) && used < PATH_TEXT; i++) {
		const struct walk_step *step = &r->path[i];
		char word[SHOW_TEXT];

		if (step->name)
			used += (size_t)snprintf(to + used, PATH_TEXT - used, "%s%s", i ? "." : "",
						 show(step->name, word));
		else
			used += (size_t)snprintf(to + used, PATH_TEXT - used, "[%zu]", step->index);
	}
	return used ? to : NULL;
}

struct diag *walk_error(struct reader *r, const struct node *n, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	char path[PATH_TEXT];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	if (len < 0)
		text = NULL;
	return diags_add(r->diags, DIAG_ERROR, node_origin(n), path_text(r, path), "%s",
			 text ? text : "out of memory");
}

struct diag *walk_expected(struct reader *r, const struct node *n, const char *what)
{
	char word[SHOW_TEXT];

	switch ((enum node_kind)n->kind) {
	case NODE_BROKEN:
		return NULL; /* its error is there already, and counts */
	case NODE_MAP:
	case NODE_ALIKE:
		return walk_error(r, n, "expected %s, found a map of keys and values", what);
	case NODE_LIST:
		return walk_error(r, n, "expected %s, found a list", what);
	case NODE_SCALAR:
		if (n->plain && n->count == 0)
			return walk_error(r, n, "expected %s, found nothing", what);
		return walk_error(r, n, "expected %s, found '%s'", what, show(n->text, word));
	}
	return NULL;
}

bool walk_scalar(struct reader *r, const struct node *n, const char *what)
{
	if (n->kind == NODE_SCALAR)
		return true;
	walk_expected(r, n, what);
	return false;
}

static int by_text(const void *a, const void *b)
{
	const struct node *x = *(const struct node *const *)a, *y = *(const struct node *const *)b;
	int c = strcmp(x->text, y->text);

	if (c)
		return c;
	return x->line != y->line ? CMP(x->line, y->line) : CMP(x->column, y->column);
}

/* So many are compared in pairs; a map may have a hundred thousand, and those are sorted. */
#define FEW_KEYS 16

static bool all_differ(const struct node *map)
{
	for (const struct node *k = map->first; k && k->next; k = k->next->next)
		for (const struct node *b = map->first; b != k; b = b->next->next)
			if (node_same_text(b, k))
				return false;
	return true;
}

static int check_duplicate_keys(struct reader *r, const struct node *map)
{
	_cleanup_free_ const struct node **keys = NULL;
	char word[SHOW_TEXT];
	size_t n = 0;
	bool found = false;

	if (map->count <= FEW_KEYS && all_differ(map))
		return 0;
	keys = calloc(map->count + 1, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	for (const struct node *k = map->first; k && k->next; k = k->next->next)
		if (!node_is_refused_key(k))
			keys[n++] = k;
	qsort(keys, n, sizeof(*keys), by_text);
	for (size_t first = 0, i = 1; i < n; i++) {
		if (!streq(keys[i]->text, keys[first]->text)) {
			first = i;
			continue;
		}
		found = true;
		walk_error(r, keys[i], "duplicate key '%s', it was given in line %u before",
			   show(keys[i]->text, word), keys[first]->line);
	}
	return found ? -EINVAL : 0;
}

int walk_map(struct reader *r, const struct node *n, const char *what)
{
	struct diag *diag;
	char expected[96];

	if (n->kind == NODE_MAP)
		return check_duplicate_keys(r, n);
	snprintf(expected, sizeof(expected), "%s as keys and values", what);
	diag = walk_expected(r, n, expected);
	if (node_is_empty(n))
		diag_hint(diag, "write {} if it is meant to be empty");
	return -EINVAL;
}

int walk_list(struct reader *r, const struct node *n, const char *what)
{
	struct diag *diag;
	char expected[96];

	if (n->kind == NODE_LIST)
		return 0;
	snprintf(expected, sizeof(expected), "a list of %s", what);
	diag = walk_expected(r, n, expected);
	if (node_is_empty(n))
		diag_hint(diag, "write [] if it is meant to be empty");
	else if (n->kind == NODE_SCALAR)
		diag_hint(diag, "write it in brackets: [...]");
	return -EINVAL;
}

struct diag *walk_unknown(struct reader *r, const struct node *key, const char *what,
			  const char *(*name)(size_t i, void *data), void *data)
{
	char word[SHOW_TEXT], known[512];
	const char *one, *near;
	struct diag *diag;
	size_t used = 0;

	if (diags_errors(r->diags) >= HINTS_MAX)
		return walk_error(r, key, "unknown key");
	for (size_t i = 0; (one = name(i, data)) && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
					 one);
	diag = walk_error(r, key, "unknown key '%s', expected for %s: %s", show(key->text, word),
			  what, known);
	near = hint_word(word, name, data);
	if (near)
		diag_hint(diag, "did you mean '%s'?", near);
	return diag;
}

static const char *section_key_name(size_t i, void *data)
{
	const struct section *s = data;

	return i < s->count ? s->keys[i].name : NULL;
}

/* The index of a key, or s->count. Most files have them in the order of the table: from `i` on. */
static uint32_t find_key(const struct section *s, const char *name, uint32_t i)
{
	for (uint32_t n = 0; n < s->count; n++, i++) {
		if (i >= s->count)
			i = 0;
		if (s->keys[i].name[0] == name[0] && streq(s->keys[i].name, name))
			return i;
	}
	return s->count;
}

static int read_keys(struct reader *r, const struct section *s, const struct node *n,
		     struct draft *draft, uint32_t *ret_seen)
{
	const struct node *last = NULL; /* the key before */
	char word[SHOW_TEXT];
	bool bad = false;
	uint32_t i = 0;

	for (const struct node *k = n->first; k && k->next; k = k->next->next) {
		const struct key *key;
		struct diag *diag;
		size_t before;
		int err;

		if (node_is_refused_key(k))
			continue;
		i = find_key(s, k->text, i);
		before = walk_enter(r, k->text);
		if (i == s->count) {
			diag = walk_unknown(r, k, s->what, section_key_name, (void *)s);
			if (diag && !diag->hint && last && node_is_empty(last->next))
				diag_hint(diag, "if it belongs to '%s' above, indent it more",
					  show(last->text, word));
			bad = true;
		} else if (!(*ret_seen & 1u << i)) { /* of duplicates the first is read */
			*ret_seen |= 1u << i;
			key = &s->keys[i];
			err = key->type->read(r, key, k->next, (char *)draft + key->offset);
			if (err == 0)
				draft->has |= 1u << i;
			else if (err == -ENOMEM)
				return err;
			else
				bad = true;
		}
		walk_leave(r, before);
		last = k;
	}
	return bad ? -EINVAL : 0;
}

int walk_section(struct reader *r, const struct section *s, const struct node *n, void *to)
{
	struct draft *draft = to;
	uint32_t seen = 0;
	bool bad = false;
	int err;

	draft->node = n;
	err = walk_map(r, n, s->what);
	if (err == -ENOMEM || n->kind != NODE_MAP)
		return err;
	bad |= err < 0;
	err = read_keys(r, s, n, draft, &seen);
	if (err == -ENOMEM)
		return err;
	bad |= err < 0;
	for (uint32_t i = 0; i < s->count; i++) {
		if (seen & 1u << i)
			continue;
		if (s->keys[i].required) {
			walk_error(r, n, "'%s' is missing: %s", s->keys[i].name, s->keys[i].doc);
			bad = true;
		} else if (s->keys[i].def &&
			   !streq(s->keys[i].def, "0")) { /* drafts start as zeros */
			err = walk_default(r, &s->keys[i], (char *)to + s->keys[i].offset);
			if (err == -ENOMEM)
				return err;
		}
	}
	return bad ? -EINVAL : 0;
}

/* The key of a map on one line whose value is that part, or has it. */
static const struct node *key_over(const struct node *map, const struct node *part)
{
	const struct node *k = map->first;

	while (k->next->next && k->next->next->column < part->column)
		k = k->next->next;
	return k;
}

/* Makes the draft of an item from that of the map it is like. As value_type.change(). */
static int change_draft(struct reader *r, const struct section *s, const struct node *n,
			struct draft *draft)
{
	if (n->first != r->like || s != r->like_section)
		return 1;
	memcpy(draft, r->like_draft, s->size);
	draft->node = n;
	for (uint32_t i = 0; i < n->count; i++) {
		struct walk_change *c = &r->changes[i % ARRAY_SIZE(r->changes)];
		const struct node *scalar = n + 1 + i;
		int err = 1;

		if (c->part != scalar->next) {
			const struct node *k = key_over(n->first, scalar->next);

			*c = (struct walk_change){ .part = scalar->next, .value = k->next };
			c->key = &s->keys[find_key(s, k->text, 0)];
		}
		if (c->key->type->change)
			err = c->key->type->change(r, c->key, c->value, scalar,
						   (char *)draft + c->key->offset);
		if (err)
			return err;
	}
	return 0;
}

int walk_item(struct reader *r, const struct section *s, const struct node *n, void *to)
{
	int err;

	if (n->kind == NODE_ALIKE) {
		err = change_draft(r, s, n, to);
		if (err <= 0)
			return err;
		memset(to, 0, s->size);
		err = node_write_out(n, r->arena);
		if (err < 0)
			return err;
		return walk_section(r, s, n, to);
	}
	err = walk_section(r, s, n, to);
	if (err == 0) {
		r->like = n;
		r->like_section = s;
		r->like_draft = to;
	}
	return err;
}

int walk_default(struct reader *r, const struct key *key, void *to)
{
	struct node n = { .text = key->def, .kind = NODE_SCALAR, .plain = 1 };

	return key->type->read(r, key, &n, to);
}
