// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tree: libyaml's events become a tree in an arena. The only file that knows libyaml.
 *
 * The events come one by one while the text is read, so a text that nests too deep or has too many
 * nodes is left as soon as it crosses a limit; what libyaml itself holds is bounded by the text's
 * size.
 */
#include "config/yaml/tree.h"

#include <errno.h>
#include <stdio.h>
#include <yaml.h>

#include "config/yaml/quick.h"

struct level {
	struct node *node;
	const struct node **tail; /* where the next child is hung in */
	bool want_value;	  /* map: the next child is a value */
};

struct builder {
	struct arena *arena;
	struct diags *diags;
	struct node *root;
	uint32_t nodes, documents, depth;
	bool refused; /* something was: the text cannot be taken */
	struct level level[TREE_DEPTH_MAX];
};

static void parser_deletep(yaml_parser_t *p)
{
	yaml_parser_delete(p);
}

static struct origin mark_origin(yaml_mark_t m)
{
	return (struct origin){ (uint32_t)m.line + 1, (uint32_t)m.column + 1 };
}

static struct diag *refuse(struct builder *b, struct origin at, const char *text)
{
	b->refused = true;
	return diags_add(b->diags, DIAG_ERROR, at, NULL, "%s", text);
}

/* Makes a node and hangs it in. 0, -ENOMEM, or -E2BIG with the error added. */
static int add_node(struct builder *b, enum node_kind kind, yaml_mark_t mark, struct node **ret)
{
	struct level *top = b->depth ? &b->level[b->depth - 1] : NULL;
	struct node *n;

	if (++b->nodes > TREE_NODES_MAX) {
		b->refused = true;
		diags_add(b->diags, DIAG_ERROR, mark_origin(mark), NULL,
			  "the file has more than %u values, keys and lists; split it",
			  TREE_NODES_MAX);
		return -E2BIG;
	}
	n = arena_alloc(b->arena, sizeof(*n));
	if (!n)
		return -ENOMEM;
	n->kind = kind;
	n->line = (uint32_t)mark.line + 1;
	n->column = (uint32_t)mark.column + 1;
	if (top) {
		*top->tail = n;
		top->tail = &n->next;
		if (top->node->kind == NODE_LIST)
			top->node->count++;
		else if (top->want_value)
			top->node->count++;
		top->want_value = !top->want_value;
	} else {
		b->root = n;
	}
	*ret = n;
	return 0;
}

/* True if the next node is the key of a map. */
static bool at_key(const struct builder *b)
{
	const struct level *top = b->depth ? &b->level[b->depth - 1] : NULL;

	return top && top->node->kind == NODE_MAP && !top->want_value;
}

static void check_properties(struct builder *b, yaml_mark_t mark, const yaml_char_t *anchor,
			     const yaml_char_t *tag)
{
	char word[SHOW_TEXT];

	if (anchor) {
		b->refused = true;
		diags_add(
			b->diags, DIAG_ERROR, mark_origin(mark), NULL,
			"anchor '&%s' is not supported, the value must be written out where it is "
			"needed",
			show((const char *)anchor, word));
	}
	if (tag) {
		b->refused = true;
		diags_add(b->diags, DIAG_ERROR, mark_origin(mark), NULL,
			  "tag '%s' is not supported, the type of a value follows from its key",
			  show((const char *)tag, word));
	}
}

static int open_level(struct builder *b, enum node_kind kind, const yaml_event_t *e)
{
	struct node *n;
	int r;

	if (at_key(b))
		refuse(b, mark_origin(e->start_mark),
		       "a key must be a single word, not a list or a map");
	if (b->depth == TREE_DEPTH_MAX) {
		b->refused = true;
		diags_add(b->diags, DIAG_ERROR, mark_origin(e->start_mark), NULL,
			  "nested deeper than %d levels, expected at most 8 in a configuration",
			  TREE_DEPTH_MAX);
		return -E2BIG;
	}
	r = add_node(b, kind, e->start_mark, &n);
	if (r < 0)
		return r;
	b->level[b->depth++] = (struct level){ .node = n, .tail = &n->first };
	return 0;
}

static int add_scalar(struct builder *b, const yaml_event_t *e)
{
	const char *text = (const char *)e->data.scalar.value;
	size_t len = e->data.scalar.length;
	bool key = at_key(b);
	struct node *n;
	char *copy;
	int r;

	check_properties(b, e->start_mark, e->data.scalar.anchor, e->data.scalar.tag);
	r = add_node(b, NODE_SCALAR, e->start_mark, &n);
	if (r < 0)
		return r;
	n->plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	if (memchr(text, 0, len)) {
		refuse(b, mark_origin(e->start_mark),
		       "a text with a NUL byte in it, expected a name or a value");
		n->kind = NODE_BROKEN;
		return 0;
	}
	if (key && n->plain && len == 2 && memcmp(text, MERGE_KEY, 2) == 0)
		refuse(b, mark_origin(e->start_mark),
		       "merge key '<<' is not supported, the keys must be written out");
	copy = arena_strndup(b->arena, text, len);
	if (!copy)
		return -ENOMEM;
	n->text = copy;
	n->count = (uint32_t)len;
	return 0;
}

static int add_alias(struct builder *b, const yaml_event_t *e)
{
	char word[SHOW_TEXT];
	struct node *n;

	b->refused = true;
	diags_add(b->diags, DIAG_ERROR, mark_origin(e->start_mark), NULL,
		  "alias '*%s' is not supported, the value must be written out where it is needed",
		  show((const char *)e->data.alias.anchor, word));
	return add_node(b, NODE_BROKEN, e->start_mark, &n);
}

static int take_event(struct builder *b, const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (++b->documents > 1) {
			refuse(b, mark_origin(e->start_mark),
			       "a second document starts here, expected one document in a file");
			return -E2BIG;
		}
		return 0;
	case YAML_MAPPING_START_EVENT:
		check_properties(b, e->start_mark, e->data.mapping_start.anchor,
				 e->data.mapping_start.tag);
		return open_level(b, NODE_MAP, e);
	case YAML_SEQUENCE_START_EVENT:
		check_properties(b, e->start_mark, e->data.sequence_start.anchor,
				 e->data.sequence_start.tag);
		return open_level(b, NODE_LIST, e);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		b->depth--;
		return 0;
	case YAML_SCALAR_EVENT:
		return add_scalar(b, e);
	case YAML_ALIAS_EVENT:
		return add_alias(b, e);
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_END_EVENT:
		return 0;
	}
	return 0;
}

/* libyaml's reader counts bytes and not lines. */
static struct origin offset_origin(const char *text, size_t size, size_t offset)
{
	struct origin at = { 1, 1 };

	for (size_t i = 0; i < MIN(size, offset); i++) {
		if (text[i] == '\n')
			at = (struct origin){ at.line + 1, 1 };
		else if (((unsigned char)text[i] & 0xc0) != 0x80)
			at.column++;
	}
	return at;
}

/* The byte at a place, or 0. */
static char byte_at(const char *text, size_t size, struct origin at)
{
	const char *p = text, *end = text + size;

	for (uint32_t line = 1; line < at.line; line++) {
		p = memchr(p, '\n', (size_t)(end - p));
		if (!p)
			return 0;
		p++;
	}
	return (size_t)(end - p) >= at.column ? p[at.column - 1] : 0;
}

static void syntax_error(struct builder *b, const yaml_parser_t *p, const char *text, size_t size)
{
	struct origin at = mark_origin(p->problem_mark);
	struct diag *diag;

	b->refused = true;
	if (p->error == YAML_READER_ERROR) {
		at = offset_origin(text, size, p->problem_offset);
		diags_add(b->diags, DIAG_ERROR, at, NULL, "expected UTF-8 text, found %s 0x%02x",
			  strstr(p->problem, "ontrol") ? "the control character" : "the byte",
			  (unsigned int)p->problem_value);
		return;
	}
	if (p->context && p->context_mark.line + 1 != at.line)
		diag = diags_add(b->diags, DIAG_ERROR, at, NULL,
				 "not YAML: %s %s that begins at line %zu", p->problem, p->context,
				 p->context_mark.line + 1);
	else
		diag = diags_add(b->diags, DIAG_ERROR, at, NULL, "not YAML: %s%s%s", p->problem,
				 p->context ? " " : "", p->context ? p->context : "");
	if (diag && byte_at(text, size, at) == '\t')
		diag_hint(diag, "indent with spaces, not with tabs");
}

static int read_events(struct builder *b, yaml_parser_t *p, const char *text, size_t size)
{
	for (;;) {
		yaml_event_t event;
		bool last;
		int r;

		if (!yaml_parser_parse(p, &event)) {
			if (p->error == YAML_MEMORY_ERROR)
				return -ENOMEM;
			syntax_error(b, p, text, size);
			return -EINVAL;
		}
		last = event.type == YAML_STREAM_END_EVENT;
		r = take_event(b, &event);
		yaml_event_delete(&event);
		if (r < 0)
			return r == -ENOMEM ? r : -EINVAL;
		if (last)
			return 0;
	}
}

int tree_parse_by_library(const char *text, size_t size, struct arena *a, struct diags *d,
			  const struct node **ret)
{
	_cleanup_(parser_deletep) yaml_parser_t parser = { 0 };
	struct builder b = { .arena = a, .diags = d };
	char word[SHOW_TEXT];
	int r;

	*ret = NULL;
	if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* a byte order mark */
		text += 3;
		size -= 3;
	}
	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	/* Said, not guessed: else two bytes at the start turn the whole file into UTF-16. */
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)(size ? text : ""), size);
	r = read_events(&b, &parser, text, size);
	if (r < 0)
		return r;

	if (!b.root || node_is_empty(b.root)) {
		refuse(&b, (struct origin){ 1, 1 },
		       "the file says nothing, expected at least 'version: 1'");
		return -EINVAL;
	}
	if (b.root->kind == NODE_BROKEN)
		return -EINVAL;
	if (b.root->kind != NODE_MAP) {
		diags_add(d, DIAG_ERROR, node_origin(b.root), NULL,
			  "expected keys and values, starting with 'version: 1', found %s%s%s",
			  b.root->kind == NODE_LIST ? "a list" : "'",
			  b.root->kind == NODE_SCALAR ? show(b.root->text, word) : "",
			  b.root->kind == NODE_LIST ? "" : "'");
		return -EINVAL;
	}
	*ret = b.root;
	return b.refused ? -EINVAL : 0;
}

int tree_parse(const char *text, size_t size, struct arena *a, struct diags *d,
	       const struct node **ret)
{
	int r = quick_parse(text, size, a, ret);

	if (r != 0)
		return MIN(r, 0);
	return tree_parse_by_library(text, size, a, d, ret);
}

struct origin node_place(const struct node *item, const struct node *part)
{
	struct origin at = node_origin(item);

	if (!part || item->kind != NODE_ALIKE || (part >= item && part <= item + item->count))
		return node_origin(part);
	at.column += part->column - item->first->column;
	for (const struct node *n = item + 1; n <= item + item->count; n++)
		if (n->next->column < part->column)
			at.column += n->count - n->next->count;
	return at;
}

/* What stands in an item for a part of the map it is like. */
static const struct node *part_of(const struct node *item, const struct node *like, struct arena *a)
{
	struct node *part = arena_alloc(a, sizeof(*part));
	struct origin at = node_place(item, like);
	const struct node **tail;

	if (!part)
		return NULL;
	*part = *like;
	part->line = at.line;
	part->column = at.column;
	if (like->kind == NODE_SCALAR) {
		for (const struct node *n = item + 1; n <= item + item->count; n++)
			if (n->next == like) {
				part->text = n->text;
				part->count = n->count;
			}
		return part;
	}
	tail = &part->first;
	for (const struct node *n = like->first; n; n = n->next) {
		*tail = part_of(item, n, a);
		if (!*tail)
			return NULL;
		tail = (const struct node **)&(*tail)->next;
	}
	return part;
}

int node_write_out(const struct node *n, struct arena *a)
{
	const struct node *whole, *next = n->next;

	if (n->kind != NODE_ALIKE)
		return 0;
	whole = part_of(n, n->first, a);
	if (!whole)
		return -ENOMEM;
	*(struct node *)n = *whole;
	((struct node *)n)->next = next;
	return 0;
}

const struct node *node_get(const struct node *map, const char *key)
{
	if (map && map->kind == NODE_ALIKE)
		map = map->first;
	if (!map || map->kind != NODE_MAP)
		return NULL;
	for (const struct node *k = map->first; k && k->next; k = k->next->next)
		if (k->kind == NODE_SCALAR && streq(k->text, key))
			return k->next;
	return NULL;
}

const struct node *node_item(const struct node *list, size_t i)
{
	const struct node *n = list && list->kind == NODE_LIST ? list->first : NULL;

	for (; n && i > 0; i--)
		n = n->next;
	return n;
}

bool node_is_empty(const struct node *n)
{
	return n->kind == NODE_SCALAR && n->plain &&
	       (n->count == 0 || streq(n->text, "~") || streq(n->text, "null"));
}

/*
 * Bytes of a character that is no text: control characters of ASCII and Latin 1, and those of
 * Unicode that reorder or break a line (U+2028 to U+202E, U+2066 to U+2069). 0: it is text.
 */
static size_t trouble(const unsigned char *s)
{
	if (*s < 0x20 || *s == 0x7f)
		return 1;
	if (s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0)
		return 2;
	if (s[0] == 0xe2 && ((s[1] == 0x80 && s[2] >= 0xa8 && s[2] <= 0xae) ||
			     (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9)))
		return 3;
	return 0;
}

/* Bytes of the character that begins here, as its first byte says; the tree holds valid UTF-8. */
static size_t character(const unsigned char *s)
{
	size_t size = *s < 0xc0 ? 1 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;

	return strnlen((const char *)s, size);
}

const char *show(const char *text, char to[SHOW_TEXT])
{
	size_t used = 0;

	for (const unsigned char *s = (const unsigned char *)text; *s;) {
		size_t bad = trouble(s), size = bad ? bad : character(s);

		if (used > SHOW_TEXT - 16) { /* "\\xNN" three times, "..." and NUL */
			memcpy(to + used, "...", 3);
			used += 3;
			break;
		}
		for (size_t i = 0; i < size; i++, s++) {
			if (bad)
				used += (size_t)sprintf(to + used, "\\x%02x", *s);
			else
				to[used++] = (char)*s;
		}
	}
	to[used] = 0;
	return to;
}
