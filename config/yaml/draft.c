// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * draft: where in the file something was said, and what it comes to.
 */
#include "config/yaml/draft.h"

#include <errno.h>

#include "config/base/arena.h"

int items_new(struct arena *a, size_t count, size_t size, struct items *ret)
{
	void *at = arena_alloc(a, MAX(count * size, 1u));

	if (!at)
		return -ENOMEM;
	*ret = (struct items){ .at = at };
	return 0;
}

struct origin draft_at(const struct draft *d, const char *key)
{
	const struct node *value = node_get(d->node, key);

	return node_origin(value ? value : d->node);
}

struct origin draft_name_at(const struct draft *d)
{
	return node_origin(d->name_node ? d->name_node : d->node);
}

struct origin match_at(const struct draft_match *m, const char *field)
{
	const struct node *value = node_get(m->node, field);

	return node_origin(value ? value : m->node);
}

struct origin action_at(const struct draft_actions *a, size_t i)
{
	const struct node *item = node_item(a->node, i);

	return node_origin(item ? item : a->node);
}

enum offload draft_offload(const struct draft_block *b, const struct draft_rule *r)
{
	return r->offload != OFFLOAD_UNSET ? (enum offload)r->offload : (enum offload)b->offload;
}

enum tagging draft_tagging(const struct draft_block *b, const struct draft_rule *r)
{
	if (match_tags(draft_match_view(&r->match)))
		return TAGGING_VLAN;
	return r->match.tagging != TAGGING_UNSET ? (enum tagging)r->match.tagging
						 : (enum tagging)b->tagging;
}
