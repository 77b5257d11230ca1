// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One pass over the lines of a text, with a stack of the block maps and lists that are open: see
 * quick.h. The texts of all scalars are one copy of the file, with a NUL behind each of them.
 *
 * What reads is given where to begin, and returns where it ended, or NULL: then it is not plain, or
 * memory is short. So the place stays in a register: this is asked for each byte of a file.
 */
#include "config/yaml/quick.h"

#include <errno.h>

#define KEY_MOST 1000 /* YAML knows a key again only if it is short */
#define NODES_A_PIECE 256
#define DIFFER_MOST 16 /* scalars in which two items differ */

/* A block map or list that has not ended yet. */
struct open {
	struct node *node;
	const struct node **tail;
	uint32_t indent;
	bool wants_value; /* map: its last key has none yet */
};

/* The last item of a list that was a flow map, and that was read whole. */
struct like {
	const struct node *node; /* or NULL */
	const char *at, *end;	 /* its text, in what is never changed */
	uint32_t depth, nodes;
	/*
	 * In these it may differ from items that are like it, in order: at first all of its values,
	 * then those in which the first such item did.
	 */
	const struct node *values[DIFFER_MOST];
	uint32_t value_count;
	bool compared;
};

struct quick {
	const char *text;
	char *copy;
	char *end;	  /* of the copy */
	char *line_start; /* of the line that is read */
	char *text_end;	  /* of the last scalar: gets its NUL when all behind it has been read */
	struct node *free, *free_end;
	struct arena *arena;
	struct node *root;
	uint32_t line, nodes, depth;
	bool no_memory;
	struct like like;
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

static char *skip_spaces(char *at)
{
	while (*at == ' ')
		at++;
	return at;
}

/* ---- nodes ---- */

static bool more_nodes(struct quick *q)
{
	if (q->nodes >= TREE_NODES_MAX)
		return false;
	q->free = arena_alloc(q->arena, NODES_A_PIECE * sizeof(*q->free));
	q->no_memory |= !q->free;
	q->free_end = q->free ? q->free + NODES_A_PIECE : NULL;
	q->nodes += NODES_A_PIECE;
	return q->free;
}

static uint32_t nodes_used(const struct quick *q)
{
	return q->nodes - (uint32_t)(q->free_end - q->free);
}

/* A node for what begins there, or NULL. */
static inline struct node *new_node(struct quick *q, const char *at, enum node_kind kind)
{
	struct node *n;

	if (q->free == q->free_end && !more_nodes(q))
		return NULL;
	n = q->free++;
	*n = (struct node){ .kind = (uint8_t)kind, .line = q->line };
	n->column = (uint32_t)(at - q->line_start) + 1;
	return n;
}

/* ---- scalars ---- */

static bool at_word(const char *at)
{
	return word_bytes[(unsigned char)*at] & 1;
}

/* The end of the word that begins here. Inside, spaces count, and colons before a word. */
static inline char *word_end(char *at)
{
	for (;;) {
		while (goes_on(*++at))
			;
		if (*at == ' ') {
			char *rest = skip_spaces(at);

			if (!goes_on(*rest))
				return at;
			at = rest;
		} else if (*at != ':' || (at[1] != ':' && !goes_on(at[1]))) {
			return at;
		}
	}
}

/* The closing quote of the text that begins here. */
static char *quote_end(char *at)
{
	if (*at != '"' && *at != '\'')
		return NULL;
	for (char *p = at + 1; *p >= ' ' && *p <= '~' && *p != '\\'; p++)
		if (*p == *at)
			return p[1] == *p ? NULL : p;
	return NULL;
}

static inline __attribute__((always_inline)) char *read_scalar(struct quick *q, char *at,
							       struct node **ret)
{
	bool plain = at_word(at);
	char *end = plain ? word_end(at) : quote_end(at);
	struct node *n = end ? new_node(q, at, NODE_SCALAR) : NULL;

	if (!n)
		return NULL;
	n->plain = plain;
	n->text = plain ? at : at + 1;
	n->count = (uint32_t)(end - n->text);
	*q->text_end = 0;
	q->text_end = end;
	*ret = n;
	return plain ? end : end + 1;
}

/* Goes over the colon behind a key, and the spaces behind that. */
static inline char *skip_colon(char *at, const struct node *key)
{
	if (*at != ':' || key->count > KEY_MOST || (at[1] != ' ' && at[1] != '\n'))
		return NULL;
	return skip_spaces(at + 1);
}

/* ---- flow ---- */

static bool at_flow(const char *at)
{
	return *at == '{' || *at == '[';
}

/* "{k: v, k: v}" or "[v, v]". */
static char *read_flow(struct quick *q, char *at, uint32_t depth, struct node **ret)
{
	bool map = *at == '{', key = map;
	char close = map ? '}' : ']';
	struct node *self = new_node(q, at, map ? NODE_MAP : NODE_LIST);
	const struct node **tail;

	if (!self || depth >= TREE_DEPTH_MAX)
		return NULL;
	tail = &self->first;
	at = skip_spaces(at + 1);
	for (bool more = *at != close; more; key = map && !key) {
		struct node *n, *inner;

		if (!key && at_flow(at)) {
			at = read_flow(q, at, depth + 1, &inner);
			n = inner;
		} else {
			at = read_scalar(q, at, &n);
		}
		if (!at)
			return NULL;
		*tail = n;
		tail = &n->next;
		if (key) {
			at = skip_colon(at, n);
			if (!at)
				return NULL;
			continue;
		}
		self->count++;
		at = skip_spaces(at);
		more = *at == ',';
		if (more)
			at = skip_spaces(at + 1);
	}
	if (*at != close)
		return NULL;
	*ret = self;
	return at + 1;
}

/* ---- blocks ---- */

static struct open *top(struct quick *q)
{
	return q->depth ? &q->open[q->depth - 1] : NULL;
}

/* Hangs a node into the block that is open. */
static void hang(struct quick *q, struct node *n)
{
	struct open *in = top(q);

	if (!in) {
		q->root = n;
		return;
	}
	*in->tail = n;
	in->tail = &n->next;
	in->node->count += in->node->kind == NODE_LIST || in->wants_value;
	in->wants_value = in->node->kind == NODE_MAP && !in->wants_value;
}

static bool open_block(struct quick *q, const char *at, enum node_kind kind)
{
	struct node *n = q->depth < TREE_DEPTH_MAX ? new_node(q, at, kind) : NULL;

	if (!n)
		return false;
	hang(q, n);
	q->open[q->depth++] =
		(struct open){ .node = n, .tail = &n->first, .indent = n->column - 1 };
	return true;
}

static bool at_item(const char *at)
{
	return at[0] == '-' && at[1] == ' ';
}

/* Closes what the line that begins here is not in, and opens what it begins. */
static bool find_block(struct quick *q, const char *at)
{
	enum node_kind kind = at_item(at) ? NODE_LIST : NODE_MAP;
	uint32_t indent = (uint32_t)(at - q->line_start);
	struct open *in = top(q);

	if (!in)
		return indent == 0 && kind == NODE_MAP && open_block(q, at, kind);
	if (in->node->kind == NODE_MAP && in->wants_value) {
		/* A list may stand right below its key. */
		return (indent > in->indent || (indent == in->indent && kind == NODE_LIST)) &&
		       open_block(q, at, kind);
	}
	while (q->depth > 1 &&
	       (in->indent > indent ||
		(in->indent == indent && in->node->kind == NODE_LIST && kind == NODE_MAP))) {
		q->depth--;
		in = top(q);
	}
	return in->indent == indent && in->node->kind == kind;
}

static char *read_value(struct quick *q, char *at)
{
	struct node *n;

	at = at_flow(at) ? read_flow(q, at, q->depth, &n) : read_scalar(q, at, &n);
	if (at)
		hang(q, n);
	return at;
}

/* "key: value" or "key:". */
static char *read_entry(struct quick *q, char *at)
{
	struct node *key;

	at = read_scalar(q, at, &key);
	if (at)
		at = skip_colon(at, key);
	if (!at)
		return NULL;
	hang(q, key);
	if (*at == '#')
		return at - 1; /* the space in front of it is its own */
	return *at == '\n' ? at : read_value(q, at);
}

/* True if a key begins here: a scalar and a colon behind it. */
static bool at_key(char *at)
{
	const char *end = at_word(at) ? word_end(at) : quote_end(at);

	return end && end[!at_word(at)] == ':';
}

/* ---- items that are like another ---- */

/* Where a scalar begins, in the text that is never changed: with its quote. */
static const char *scalar_start(const struct quick *q, const struct node *n)
{
	return q->text + (n->text - q->copy) - !n->plain;
}

/* The values below a node: all scalars but keys. False if there are too many. */
static bool list_values(struct like *like, const struct node *n)
{
	const struct node *child = n->first;

	if (n->kind == NODE_SCALAR) {
		if (like->value_count < DIFFER_MOST)
			like->values[like->value_count] = n;
		return like->value_count++ < DIFFER_MOST;
	}
	while (child) {
		if (n->kind == NODE_MAP)
			child = child->next;
		if (!list_values(like, child))
			return false;
		child = child->next;
	}
	return true;
}

/* Keeps in mind the item that was read last, from there to there. */
static void keep_like(struct quick *q, const struct node *n, const char *at, const char *end,
		      uint32_t nodes)
{
	q->like = (struct like){
		.node = n,
		.at = q->text + (at - q->copy),
		.end = q->text + (end - q->copy),
		.depth = q->depth,
		.nodes = nodes,
	};
	if (!list_values(&q->like, n))
		q->like.node = NULL;
}

/* Goes over a text that is as it was; NULL if it is another. */
static char *skip_same(const struct quick *q, char *at, const char *was, const char *was_end)
{
	size_t size = (size_t)(was_end - was);

	if ((size_t)(q->end - at) < size || memcmp(at, was, size) != 0)
		return NULL;
	return at + size;
}

/*
 * An item whose text is that of the other but for values that may differ. NULL: it is not, and then
 * the other is of no use any more.
 */
static char *read_alike(struct quick *q, char *at, struct node **ret)
{
	struct like *like = &q->like;
	const char *was = like->at;
	struct node *self, *n;
	uint32_t kept = 0;

	if (!like->node || q->depth != like->depth ||
	    (q->free_end - q->free < DIFFER_MOST + 1 && !more_nodes(q)))
		return NULL;
	self = n = q->free;
	*self = (struct node){ .kind = NODE_ALIKE, .first = like->node, .line = q->line };
	self->column = (uint32_t)(at - q->line_start) + 1;
	for (uint32_t i = 0; i < like->value_count; i++) {
		const struct node *value = like->values[i];
		const char *start = scalar_start(q, value);
		char *end;

		at = skip_same(q, at, was, start);
		if (!at || at_word(at) != value->plain)
			return NULL;
		end = value->plain ? word_end(at) : quote_end(at);
		if (!end)
			return NULL;
		was = start + value->count + 2 * !value->plain;
		*++n = (struct node){ .kind = NODE_SCALAR, .plain = value->plain, .next = value };
		n->line = q->line;
		n->column = (uint32_t)(at - q->line_start) + 1;
		n->text = at + !value->plain;
		n->count = (uint32_t)(end - n->text);
		at = end + !value->plain;
		if (!like->compared && n->count == value->count &&
		    memcmp(n->text, start + !value->plain, n->count) == 0)
			n--;
		else
			like->values[kept++] = value;
	}
	at = skip_same(q, at, was, like->end);
	if (!at)
		return NULL;
	like->value_count = kept;
	like->compared = true;
	self->count = kept;
	for (n = self + 1; n <= self + kept; n++)
		((char *)n->text)[n->count] = 0;
	q->free = n;
	q->nodes += like->nodes;
	*ret = self;
	return at;
}

/* A flow map or list. */
static char *read_flow_item(struct quick *q, char *at)
{
	struct node *n;
	char *end = read_alike(q, at, &n);

	if (!end) {
		uint32_t before = nodes_used(q);

		q->like.node = NULL;
		end = read_flow(q, at, q->depth, &n);
		if (end && n->kind == NODE_MAP)
			keep_like(q, n, at, end, nodes_used(q) - before);
	}
	if (end)
		hang(q, n);
	return end;
}

static char *read_item(struct quick *q, char *at)
{
	at = skip_spaces(at + 1);
	if (at_flow(at))
		return read_flow_item(q, at);
	if (!at_key(at))
		return read_value(q, at);
	return open_block(q, at, NODE_MAP) ? read_entry(q, at) : NULL;
}

/* Up to the line's end. */
static char *skip_comment(char *at)
{
	for (; *at != '\n'; at++)
		if (*at < ' ' || *at > '~')
			return NULL;
	return at;
}

/* Up to the line's end as well: nothing more is there but spaces and a comment. */
static char *skip_rest(char *at)
{
	char *rest = skip_spaces(at);

	if (*rest == '#' && rest > at)
		return skip_comment(rest);
	return *rest == '\n' ? rest : NULL;
}

/* Up to its end. */
static char *read_line(struct quick *q, char *at)
{
	q->line_start = at;
	q->line++;
	at = skip_spaces(at);
	if (*at == '\n')
		return at;
	if (*at == '#')
		return skip_comment(at);
	if (!find_block(q, at))
		return NULL;
	at = at_item(at) ? read_item(q, at) : read_entry(q, at);
	return at ? skip_rest(at) : NULL;
}

int quick_parse(const char *text, size_t size, struct arena *a, const struct node **ret)
{
	char *at = arena_alloc(a, size + 2), *end = at + size;
	struct quick q = {
		.text = text,
		.copy = at,
		.end = end,
		.text_end = end + 1,
		.arena = a,
	};

	if (!at)
		return -ENOMEM;
	memcpy(at, text, size);
	*end = '\n'; /* each line has an end */
	while (at && at < end) {
		at = read_line(&q, at);
		if (at)
			at++;
	}
	if (q.no_memory)
		return -ENOMEM;
	if (!at || !q.root || top(&q)->wants_value)
		return 0;
	*q.text_end = 0;
	*ret = q.root;
	return 1;
}
