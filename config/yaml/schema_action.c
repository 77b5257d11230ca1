// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schema_action: the actions of a rule. An action is a word ("drop"), or a map of one key with what
 * it needs ("{redirect: lan2}"); a rule has one of them, or a list.
 */
#include <errno.h>
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/base/netaddr.h"
#include "config/yaml/action_args.h"
#include "config/yaml/draft.h"
#include "config/yaml/dump.h"
#include "config/yaml/hint.h"
#include "config/yaml/walk.h"

static const char *name_at(size_t i, void *data)
{
	return action_name_at(i);
}

/* The words behind "expected", for an action that is none. */
static void unknown_action(struct reader *r, const struct node *n)
{
	char word[SHOW_TEXT], known[256];
	const char *near, *one;
	struct diag *diag;
	size_t used = 0;

	for (size_t i = 0; (one = action_name_at(i)) && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
					 one);
	diag = walk_error(r, n, "unknown action '%s', expected one of %s", show(n->text, word),
			  known);
	if (streq(word, "ct")) {
		diag_hint(diag, "connections are tracked in software, which sees nothing of what "
				"a rule in hardware takes");
		return;
	}
	near = hint_word(word, name_at, NULL);
	if (near)
		diag_hint(diag, "did you mean '%s'?", near);
}

static int read_word(struct reader *r, const struct node *n, struct action *a)
{
	const char *needs;
	enum action_kind kind;

	if (n->count == 0 && n->plain) {
		walk_expected(r, n, "an action");
		return -EINVAL;
	}
	if (action_kind_parse(n->text, &kind) < 0) {
		unknown_action(r, n);
		return -EINVAL;
	}
	needs = action_needs(kind);
	if (needs) {
		walk_error(r, n, "action '%s' needs %s: {%s: ...}", n->text, needs, n->text);
		return -EINVAL;
	}
	a->kind = (uint8_t)kind;
	return 0;
}

static int read_with_argument(struct reader *r, const struct node *n, struct action *a)
{
	const struct node *key = n->first, *value = key ? key->next : NULL;
	enum action_kind kind;
	size_t before;
	int err;

	if (!value || n->count != 1) {
		struct diag *diag = walk_error(
			r, n, "expected one action with its value, found %u keys", n->count);

		diag_hint(diag, "each action is an item of its own: [{vlan-modify: 20}, dec-ttl]");
		return -EINVAL;
	}
	if (key->kind != NODE_SCALAR)
		return -EINVAL;
	if (action_kind_parse(key->text, &kind) < 0) {
		unknown_action(r, key);
		return -EINVAL;
	}
	if (!action_needs(kind)) {
		walk_error(r, key, "action '%s' takes no value, expected the word alone",
			   key->text);
		return -EINVAL;
	}
	before = walk_enter(r, key->text);
	a->kind = (uint8_t)kind;
	err = action_read_argument(r, value, a);
	walk_leave(r, before);
	return err;
}

static int read_action(struct reader *r, const struct node *n, struct action *a)
{
	switch ((enum node_kind)n->kind) {
	case NODE_SCALAR:
		return read_word(r, n, a);
	case NODE_MAP:
		return read_with_argument(r, n, a);
	case NODE_LIST:
	case NODE_BROKEN:
	case NODE_ALIKE:
		walk_expected(r, n, "an action");
		return -EINVAL;
	}
	return -EINVAL;
}

static int actions_read(struct reader *r, const struct key *key, const struct node *n, void *to)
{
	const struct draft_actions *last = &r->last_actions;
	struct draft_actions *ret = to;
	struct action *list;
	size_t count = 0;
	bool bad = false;
	int err;

	ret->node = n;
	if (last->node && node_same_text(n, last->node)) {
		ret->list = last->list;
		ret->count = last->count;
		return 0;
	}
	if (n->kind == NODE_LIST && n->count == 0) {
		walk_error(r, n, "expected an action or a list of them, found an empty list");
		return -EINVAL;
	}
	if (n->kind == NODE_LIST && n->count > ACTIONS_MAX) {
		walk_error(r, n, "expected at most %d actions, found %u", ACTIONS_MAX, n->count);
		return -EINVAL;
	}
	list = arena_alloc(r->arena, (n->kind == NODE_LIST ? n->count : 1) * sizeof(*list));
	if (!list)
		return -ENOMEM;
	if (n->kind != NODE_LIST) {
		err = read_action(r, n, &list[count++]);
		if (err == -ENOMEM)
			return err;
		bad = err < 0;
	}
	for (const struct node *item = n->kind == NODE_LIST ? n->first : NULL; item;
	     item = item->next) {
		size_t before = walk_enter_index(r, count);

		err = node_write_out(item, r->arena);
		if (err == 0)
			err = read_action(r, item, &list[count++]);
		walk_leave(r, before);
		if (err == -ENOMEM)
			return err;
		bad |= err < 0;
	}
	if (bad)
		return -EINVAL;
	ret->list = list;
	ret->count = (uint8_t)count;
	r->last_actions = *ret;
	return 0;
}

/* Of actions only a single word is changed. */
static int actions_change(struct reader *r, const struct key *key, const struct node *like,
			  const struct node *scalar, void *member)
{
	const struct draft_actions *last = &r->last_actions;
	struct draft_actions *ret = member;
	enum action_kind kind;
	struct action *list;

	if (like->kind != NODE_SCALAR || action_kind_parse(scalar->text, &kind) < 0 ||
	    action_needs(kind))
		return 1;
	ret->node = scalar;
	if (last->node && node_same_text(scalar, last->node)) {
		ret->list = last->list;
		return 0;
	}
	list = arena_alloc(r->arena, sizeof(*list));
	if (!list)
		return -ENOMEM;
	list->kind = (uint8_t)kind;
	ret->list = list;
	r->last_actions = *ret;
	return 0;
}

static void print_action(struct printer *p, const struct action *a)
{
	const char *name = action_name((enum action_kind)a->kind);

	if (!action_needs((enum action_kind)a->kind)) {
		dump_raw(p, name);
		return;
	}
	dump_rawf(p, "{%s: ", name);
	action_print_argument(p, a);
	dump_raw(p, "}");
}

static void actions_print_yaml(struct printer *p, const struct key *key, const void *from)
{
	const struct draft_actions *actions = from;

	if (actions->count == 1) {
		print_action(p, &actions->list[0]);
		return;
	}
	dump_raw(p, "[");
	for (size_t i = 0; i < actions->count; i++) {
		if (i)
			dump_raw(p, ", ");
		print_action(p, &actions->list[i]);
	}
	dump_raw(p, "]");
}

/* One action: a word of those that need nothing, or an object with one of the others. */
static void one_action_schema(struct jsonw *w)
{
	enum action_kind kind;
	const char *name;

	jsonw_key(w, "anyOf");
	jsonw_array(w);
	jsonw_object(w);
	jsonw_key(w, "enum");
	jsonw_array(w);
	for (size_t i = 0; (name = action_name_at(i)); i++)
		if (action_kind_parse(name, &kind) == 0 && !action_needs(kind))
			jsonw_string(w, name);
	jsonw_array_end(w);
	jsonw_object_end(w);
	jsonw_object(w);
	jsonw_key_string(w, "type", "object");
	jsonw_key_u64(w, "minProperties", 1);
	jsonw_key_u64(w, "maxProperties", 1);
	jsonw_key_bool(w, "additionalProperties", false);
	jsonw_key(w, "properties");
	jsonw_object(w);
	for (size_t i = 0; (name = action_name_at(i)); i++) {
		if (action_kind_parse(name, &kind) < 0 || !action_needs(kind))
			continue;
		jsonw_key(w, name);
		jsonw_object(w);
		action_argument_schema(w, kind);
		jsonw_key_string(w, "description", action_needs(kind));
		jsonw_object_end(w);
	}
	jsonw_object_end(w);
	jsonw_object_end(w);
	jsonw_array_end(w);
}

static void actions_schema(struct jsonw *w, const struct key *key)
{
	jsonw_key(w, "anyOf");
	jsonw_array(w);
	jsonw_object(w);
	one_action_schema(w);
	jsonw_object_end(w);
	jsonw_object(w);
	jsonw_key_string(w, "type", "array");
	jsonw_key_u64(w, "minItems", 1);
	jsonw_key_u64(w, "maxItems", ACTIONS_MAX);
	jsonw_key(w, "items");
	jsonw_object(w);
	one_action_schema(w);
	jsonw_object_end(w);
	jsonw_object_end(w);
	jsonw_array_end(w);
}

const struct value_type value_actions = { actions_read, actions_print_yaml, actions_schema,
					  .change = actions_change };
