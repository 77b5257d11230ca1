// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One pass over the lines of a text, with a stack of the block maps and lists that are open: see
 * quick.h. The texts of all scalars are one copy of the file, with a NUL behind each of them.
 */
#include "config/yaml/quick.h"

#include <errno.h>

#define NOT_PLAIN (-1) /* from all that reads; -ENOMEM is the other */
#define KEY_MOST 1000  /* YAML knows a key again only if it is short */

struct open {
	struct node *node;
	const struct node **tail;
	uint32_t indent;
	bool wants_value; /* map: its last key has none yet */
};

struct quick {
	const char *at, *end;	/* what is read next */
	const char *line_start; /* of the line that is read */
	const char *text;
	char *copy; /* of the whole text */
	struct arena *arena;
	struct node *root;
	uint32_t line, nodes, depth;
	struct open open[TREE_DEPTH_MAX];
};

/* What a word may begin with (1), and what it may go on with (2). All else may mean something. */
static const uint8_t word_bytes[256] = {
	['0' ... '9'] = 3, ['a' ... 'z'] = 3, ['A' ... 'Z'] = 3, ['_'] = 3, ['.'] = 3, ['/'] = 3,
	['-'] = 2,	   ['+'] = 2,	      ['@'] = 2,	 ['='] = 2, ['~'] = 2,
};

static bool goes_on(char c)
{
	return word_bytes[(unsigned char)c] & 2;
}

static char peek(const struct quick *q)
{
	return q->at < q->end ? *q->at : '\n';
}

static char peek_at(const struct quick *q, const char *p)
{
	return p < q->end ? *p : '\n';
}

static void skip_spaces(struct quick *q)
{
	while (q->at < q->end && *q->at == ' ')
		q->at++;
}

static uint32_t column(const struct quick *q)
{
	return (uint32_t)(q->at - q->line_start);
}

/* ---- nodes ---- */

/* Makes a node at the place that is read, and hangs it in: into the list or map `in`. */
static struct node *hang(struct quick *q, struct open *in, enum node_kind kind)
{
	struct node *n = ++q->nodes > TREE_NODES_MAX ? NULL : arena_alloc(q->arena, sizeof(*n));

	if (!n)
		return NULL;
	n->kind = kind;
	n->line = q->line;
	n->column = column(q) + 1;
	if (!in) {
		q->root = n;
		return n;
	}
	*in->tail = n;
	in->tail = &n->next;
	in->node->count += in->node->kind == NODE_LIST || in->wants_value;
	in->wants_value = in->node->kind == NODE_MAP && !in->wants_value;
	return n;
}

static int no_node(const struct quick *q)
{
	return q->nodes > TREE_NODES_MAX ? NOT_PLAIN : -ENOMEM;
}

/* ---- scalars ---- */

/* The end of the word that begins here, or NULL. Inside, spaces count, and colons before a word. */
static const char *word_end(const struct quick *q)
{
	const char *p = q->at, *space;

	if (!(word_bytes[(unsigned char)peek(q)] & 1))
		return NULL;
	for (;;) {
		while (p < q->end && goes_on(*p))
			p++;
		if (peek_at(q, p) == ':' &&
		    (goes_on(peek_at(q, p + 1)) || peek_at(q, p + 1) == ':')) {
			p++;
			continue;
		}
		for (space = p; peek_at(q, space) == ' ';)
			space++;
		if (space == p || !goes_on(peek_at(q, space)))
			return p;
		p = space;
	}
}

/* The closing quote of the text that begins here, or NULL. */
static const char *quote_end(const struct quick *q)
{
	for (const char *p = q->at + 1; p < q->end; p++) {
		if (*p == *q->at)
			return peek_at(q, p + 1) == *p ? NULL : p;
		if (*p < ' ' || *p > '~' || *p == '\\')
			return NULL;
	}
	return NULL;
}

static int scalar(struct quick *q, struct open *in)
{
	bool quoted = peek(q) == '"' || peek(q) == '\'';
	const char *end = quoted ? quote_end(q) : word_end(q), *first = q->at + quoted;
	struct node *n;

	if (!end)
		return NOT_PLAIN;
	n = hang(q, in, NODE_SCALAR);
	if (!n)
		return no_node(q);
	n->plain = !quoted;
	n->text = q->copy + (first - q->text);
	n->count = (uint32_t)(end - first);
	q->copy[end - q->text] = 0;
	q->at = end + quoted;
	return 0;
}

/* A scalar with a colon and a space, or the line's end, behind it. */
static int key(struct quick *q, struct open *in)
{
	const char *first = q->at;
	int r = scalar(q, in);

	if (r < 0)
		return r;
	if (peek(q) != ':' || q->at - first > KEY_MOST)
		return NOT_PLAIN;
	q->at++;
	return peek(q) == ' ' || peek(q) == '\n' ? 0 : NOT_PLAIN;
}

/* ---- flow ---- */

static int flow(struct quick *q, struct open *in, uint32_t depth);

static int value(struct quick *q, struct open *in, uint32_t depth)
{
	return peek(q) == '{' || peek(q) == '[' ? flow(q, in, depth) : scalar(q, in);
}

/* "{k: v, k: v}" or "[v, v]", up to behind its end. */
static int flow(struct quick *q, struct open *in, uint32_t depth)
{
	bool map = peek(q) == '{';
	char close = map ? '}' : ']';
	struct open self = { 0 };

	if (depth >= TREE_DEPTH_MAX)
		return NOT_PLAIN;
	self.node = hang(q, in, map ? NODE_MAP : NODE_LIST);
	if (!self.node)
		return no_node(q);
	self.tail = &self.node->first;
	q->at++;
	skip_spaces(q);
	while (peek(q) != close) {
		int r = map ? key(q, &self) : 0;

		skip_spaces(q);
		if (r == 0)
			r = value(q, &self, depth + 1);
		if (r < 0)
			return r;
		skip_spaces(q);
		if (peek(q) == close)
			break;
		if (peek(q) != ',')
			return NOT_PLAIN;
		q->at++;
		skip_spaces(q);
		if (peek(q) == close)
			return NOT_PLAIN;
	}
	q->at++;
	return 0;
}

/* ---- blocks ---- */

static struct open *top(struct quick *q)
{
	return q->depth ? &q->open[q->depth - 1] : NULL;
}

static int open_block(struct quick *q, enum node_kind kind)
{
	struct node *n;

	if (q->depth == TREE_DEPTH_MAX)
		return NOT_PLAIN;
	n = hang(q, top(q), kind);
	if (!n)
		return no_node(q);
	q->open[q->depth++] = (struct open){ .node = n, .tail = &n->first, .indent = column(q) };
	return 0;
}

static bool at_item(const struct quick *q)
{
	return peek(q) == '-' && peek_at(q, q->at + 1) == ' ';
}

/* Closes what the line that begins here is not in, and opens what it begins. */
static int find_block(struct quick *q)
{
	enum node_kind kind = at_item(q) ? NODE_LIST : NODE_MAP;
	uint32_t indent = column(q);
	struct open *in = top(q);

	if (!in)
		return indent == 0 && kind == NODE_MAP ? open_block(q, kind) : NOT_PLAIN;
	if (in->node->kind == NODE_MAP && in->wants_value) {
		/* A list may stand right below its key. */
		if (indent > in->indent || (indent == in->indent && kind == NODE_LIST))
			return open_block(q, kind);
		return NOT_PLAIN;
	}
	while (q->depth > 1 &&
	       (in->indent > indent ||
		(in->indent == indent && in->node->kind == NODE_LIST && kind == NODE_MAP))) {
		q->depth--;
		in = top(q);
	}
	return in->indent == indent && in->node->kind == kind ? 0 : NOT_PLAIN;
}

/* "key: value" or "key:". */
static int entry(struct quick *q)
{
	int r = key(q, top(q));

	if (r < 0)
		return r;
	skip_spaces(q);
	if (peek(q) == '#')
		q->at--; /* the space in front of it is its own */
	else if (peek(q) != '\n')
		return value(q, top(q), q->depth);
	return 0;
}

/* True if a key begins here: a scalar and a colon behind it. */
static bool at_key(struct quick *q)
{
	bool quoted = peek(q) == '"' || peek(q) == '\'';
	const char *end = quoted ? quote_end(q) : word_end(q);

	return end && peek_at(q, end + quoted) == ':';
}

static int item(struct quick *q)
{
	int r;

	q->at++;
	skip_spaces(q);
	if (!at_key(q))
		return value(q, top(q), q->depth);
	r = open_block(q, NODE_MAP);
	return r < 0 ? r : entry(q);
}

/* A comment up to the line's end. */
static int comment(struct quick *q)
{
	for (; q->at < q->end && *q->at != '\n'; q->at++)
		if (*q->at < ' ' || *q->at > '~')
			return NOT_PLAIN;
	return 0;
}

/* Nothing more on this line but spaces and a comment. */
static int line_end(struct quick *q)
{
	const char *before = q->at;

	skip_spaces(q);
	if (peek(q) == '#' && q->at > before)
		return comment(q);
	return peek(q) == '\n' ? 0 : NOT_PLAIN;
}

static int read_line(struct quick *q)
{
	int r;

	q->line_start = q->at;
	q->line++;
	skip_spaces(q);
	if (peek(q) == '\n')
		return 0;
	if (peek(q) == '#')
		return comment(q);
	r = find_block(q);
	if (r == 0)
		r = at_item(q) ? item(q) : entry(q);
	return r < 0 ? r : line_end(q);
}

int quick_parse(const char *text, size_t size, struct arena *a, const struct node **ret)
{
	struct quick q = { .at = text, .text = text, .end = text + size, .arena = a };
	int r = 0;

	q.copy = arena_strndup(a, text, size);
	if (!q.copy)
		return -ENOMEM;
	while (r == 0 && q.at < q.end) {
		r = read_line(&q);
		q.at++;
	}
	if (r == 0 && (!q.root || top(&q)->wants_value))
		r = NOT_PLAIN;
	if (r == 0)
		*ret = q.root;
	return r == 0 ? 1 : r == NOT_PLAIN ? 0 : r;
}
