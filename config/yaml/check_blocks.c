// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check_blocks: block ids, who is bound to what, and the price of rules that need software.
 */
#include <errno.h>
#include <stdio.h>

#include "config/yaml/check.h"

static void block_path(const struct draft_block *b, const char *key, char *to, size_t size)
{
	char word[SHOW_TEXT];

	snprintf(to, size, "blocks.%s.%s", show(b->draft.name, word), key);
}

/* ---- ids ---- */

static int by_id(const void *a, const void *b)
{
	const struct draft_block *x = *(const struct draft_block *const *)a;
	const struct draft_block *y = *(const struct draft_block *const *)b;

	return x->id != y->id ? CMP(x->id, y->id) : CMP(x, y);
}

static int check_block_ids(const struct checker *c)
{
	_cleanup_free_ const struct draft_block **list = NULL;
	const struct draft_block *b;
	size_t n = 0;

	list = calloc(c->root->blocks.count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	FOR_EACH_ITEM(b, c->root->blocks)
		if (HAS(b, BLOCK_ID))
			list[n++] = b;
	qsort(list, n, sizeof(*list), by_id);
	for (size_t i = 1; i < n; i++) {
		char path[128], word[SHOW_TEXT];

		if (list[i]->id != list[i - 1]->id)
			continue;
		block_path(list[i], "id", path, sizeof(path));
		diags_add(c->diags, DIAG_ERROR, draft_at(&list[i]->draft, "id"), path,
			  "block '%s' has the id %u already (line %u), expected an id of its own",
			  show(list[i - 1]->draft.name, word), list[i]->id,
			  draft_at(&list[i - 1]->draft, "id").line);
	}
	return 0;
}

/* ---- binds ---- */

struct bind {
	const struct draft_block *block;
	const struct draft_name *dev;
	bool egress;
};

static int by_device(const void *a, const void *b)
{
	const struct bind *x = a, *y = b;
	int r = strcmp(x->dev->name, y->dev->name);

	if (r)
		return r;
	if (x->egress != y->egress)
		return CMP(x->egress, y->egress);
	if (x->dev->node->line != y->dev->node->line)
		return CMP(x->dev->node->line, y->dev->node->line);
	return CMP(x->dev->node->column, y->dev->node->column);
}

static void check_bound_twice(const struct checker *c, const struct bind *first,
			      const struct bind *second)
{
	char path[128], dev[SHOW_TEXT], block[SHOW_TEXT];

	block_path(second->block, second->egress ? "bind-egress" : "bind", path, sizeof(path));
	show(second->dev->name, dev);
	if (first->block == second->block)
		diags_add(c->diags, DIAG_ERROR, node_origin(second->dev->node), path,
			  "device '%s' is in this list twice (line %u before), expected it once",
			  dev, first->dev->node->line);
	else
		diags_add(
			c->diags, DIAG_ERROR, node_origin(second->dev->node), path,
			"device '%s' is bound to block '%s' already (line %u), expected one block "
			"for what %s a device",
			dev, show(first->block->draft.name, block), first->dev->node->line,
			second->egress ? "leaves" : "enters");
}

static int check_binds(const struct checker *c)
{
	_cleanup_free_ struct bind *list = NULL;
	const struct draft_block *b;
	const struct draft_name *dev;
	size_t n = 0;

	FOR_EACH_ITEM(b, c->root->blocks)
		n += b->bind.count + b->bind_egress.count;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	n = 0;
	FOR_EACH_ITEM(b, c->root->blocks) {
		FOR_EACH_ITEM(dev, b->bind)
			list[n++] = (struct bind){ b, dev, false };
		FOR_EACH_ITEM(dev, b->bind_egress)
			list[n++] = (struct bind){ b, dev, true };
	}
	qsort(list, n, sizeof(*list), by_device);
	for (size_t i = 1, first = 0; i < n; i++) {
		if (!streq(list[i].dev->name, list[first].dev->name) ||
		    list[i].egress != list[first].egress)
			first = i;
		else
			check_bound_twice(c, &list[first], &list[i]);
	}
	return 0;
}

static bool list_is_empty(const struct draft_block *b, const char *key)
{
	const struct node *list = node_get(b->draft.node, key);

	return !list || (list->kind == NODE_LIST && list->count == 0);
}

static void check_bound_at_all(const struct checker *c, const struct draft_block *b)
{
	char path[128];

	if (b->rules.count == 0 || !list_is_empty(b, "bind") || !list_is_empty(b, "bind-egress"))
		return;
	block_path(b, "bind", path, sizeof(path));
	diags_add(c->diags, DIAG_WARNING, draft_name_at(&b->draft), path,
		  "no device is bound, so the rules of this block meet no frame");
}

/* ---- bypass ---- */

/*
 * bypass: required, and rules that need software. One message a block, at the first such rule:
 * there may be thousands, and they have one cause.
 */
static void check_bypass(const struct checker *c, const struct draft_block *b)
{
	const struct draft_rule *rule, *first = NULL;
	size_t more = 0;
	struct diag *diag;
	char others[48] = "";

	if (b->bypass != BYPASS_WANT_REQUIRED)
		return;
	FOR_EACH_ITEM(rule, b->rules) {
		if (draft_offload(b, rule) == OFFLOAD_REQUIRED || !draft_offload(b, rule))
			continue;
		if (first)
			more++;
		else
			first = rule;
	}
	if (!first)
		return;
	if (more)
		snprintf(others, sizeof(others), " (and %zu more)", more);
	diag = check_add_rule(
		c, DIAG_ERROR, b, first,
		draft_at(first->offload ? &first->draft : &b->draft, "offload"),
		"rule '%s'%s needs software (offload: %s), which ends the bypass this block "
		"requires: every packet that reaches the CPU would be tried against up to "
		"%u rules",
		first->name ? first->name : "?", others, offload_name(draft_offload(b, first)),
		b->rules.count);
	diag_hint(diag, "offload: required, or bypass: preferred (line %u)",
		  draft_at(&b->draft, "bypass").line);
}

int check_blocks(const struct checker *c)
{
	const struct draft_block *b;
	int r;

	r = check_block_ids(c);
	if (r < 0)
		return r;
	r = check_binds(c);
	if (r < 0)
		return r;
	FOR_EACH_ITEM(b, c->root->blocks) {
		check_bound_at_all(c, b);
		check_bypass(c, b);
	}
	return 0;
}
