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

	return node_place(d->node, value ? value : d->node);
}

struct origin draft_name_at(const struct draft *d)
{
	return node_origin(d->name_node ? d->name_node : d->node);
}

struct origin match_at(const struct draft_rule *r, const char *field)
{
	const struct node *value = node_get(r->match.node, field);

	return node_place(r->draft.node, value ? value : r->match.node);
}

struct origin action_at(const struct draft_rule *r, size_t i)
{
	const struct node *item = node_item(r->actions.node, i);

	return node_place(r->draft.node, item ? item : r->actions.node);
}

unsigned int draft_field_carries(struct match_view v, enum field f)
{
	uint8_t proto;

	if (f == FIELD_IP_PROTO && match_get_u8(v, f, &proto))
		return ip_proto_carries(proto);
	return field_row(f)->carries;
}

void draft_match_sum(struct draft_match *m)
{
	unsigned int carries = ethertype_carries(m->ethertype);
	struct match_view v = draft_match_view(m);
	struct match_entry e;

	for (size_t offset = 0; match_next(v, &offset, &e);) {
		const struct field_row *row = field_row(e.field);

		carries &=
			e.field == FIELD_IP_PROTO ? draft_field_carries(v, e.field) : row->carries;
		m->tags = MAX(m->tags, row->tags);
		m->needs_proto |= row->protos != NULL;
	}
	m->carries = (uint8_t)carries;
}
