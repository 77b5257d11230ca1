/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/model/object.h"

#include "config/model/kinds.h"

static const struct kind_ops *const rows[KIND_COUNT_] = {
	[KIND_PORT] = &kind_port,	[KIND_TX] = &kind_tx,	      [KIND_VLAN] = &kind_vlan,
	[KIND_ADDRESS] = &kind_address, [KIND_BLOCK] = &kind_block,   [KIND_QDISC] = &kind_qdisc,
	[KIND_RULE] = &kind_rule,	[KIND_FILTER] = &kind_filter,
};

const struct kind_ops *kind_ops(enum kind kind)
{
	return rows[kind];
}

void *object_new(enum kind kind, size_t size)
{
	struct object *o = calloc(1, size);

	if (!o)
		return NULL;
	o->kind = (uint8_t)kind;
	o->refs = 1;
	return o;
}

void *object_ref(const void *object)
{
	struct object *o = (struct object *)object;

	if (o)
		__atomic_add_fetch(&o->refs, 1, __ATOMIC_RELAXED);
	return o;
}

void object_unref(void *object)
{
	struct object *o = object;

	if (!o || __atomic_sub_fetch(&o->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	if (rows[o->kind]->release)
		rows[o->kind]->release(o);
	free(o);
}

_Static_assert(offsetof(struct rule, tail) == sizeof(struct rule) &&
		       offsetof(struct filter, tail) == sizeof(struct filter),
	       "tails begin where the structs end");

/*
 * Rules and filters carry both lists behind the struct: actions first, since they need alignment.
 */
static void *new_with_tail(enum kind kind, size_t size, struct match_view match,
			   const struct action *actions, size_t count)
{
	struct object *o = malloc(size + count * sizeof(*actions) + match.size);
	uint8_t *tail = (uint8_t *)o + size;

	if (!o)
		return NULL;
	memset(o, 0, size);
	o->kind = (uint8_t)kind;
	o->refs = 1;
	if (count)
		memcpy(tail, actions, count * sizeof(*actions));
	if (match.size)
		memcpy(tail + count * sizeof(*actions), match.bytes, match.size);
	return o;
}

struct rule *rule_new(struct match_view match, const struct action *actions, size_t count)
{
	struct rule *r = new_with_tail(KIND_RULE, sizeof(*r), match, actions, count);

	if (!r)
		return NULL;
	r->action_count = (uint8_t)count;
	r->match_size = match.size;
	return r;
}

struct filter *filter_new(struct match_view match, const struct action *actions, size_t count)
{
	struct filter *f = new_with_tail(KIND_FILTER, sizeof(*f), match, actions, count);

	if (!f)
		return NULL;
	f->action_count = (uint8_t)count;
	f->match_size = match.size;
	return f;
}

struct filter *filter_copy(const struct filter *f)
{
	size_t size = sizeof(*f) + f->action_count * sizeof(struct action) + f->match_size;
	struct filter *copy = malloc(size);

	if (!copy)
		return NULL;
	memcpy(copy, f, size);
	copy->obj.refs = 1;
	copy->rule = object_ref(f->rule);
	return copy;
}

const char *offload_name(enum offload v)
{
	switch (v) {
	case OFFLOAD_UNSET:
		return "unset";
	case OFFLOAD_REQUIRED:
		return "required";
	case OFFLOAD_PREFERRED:
		return "preferred";
	case OFFLOAD_OFF:
		return "off";
	}
	return "?";
}

const char *foreign_name(enum foreign v)
{
	switch (v) {
	case FOREIGN_REPORT:
		return "report";
	case FOREIGN_EVICT:
		return "evict";
	}
	return "?";
}

const char *tagging_name(enum tagging v)
{
	switch (v) {
	case TAGGING_UNSET:
		return "unset";
	case TAGGING_NONE:
		return "none";
	case TAGGING_ANY:
		return "any";
	case TAGGING_VLAN:
		return "vlan";
	}
	return "?";
}

const char *bypass_want_name(enum bypass_want v)
{
	switch (v) {
	case BYPASS_WANT_PREFERRED:
		return "preferred";
	case BYPASS_WANT_REQUIRED:
		return "required";
	case BYPASS_WANT_OFF:
		return "off";
	}
	return "?";
}

const char *replace_name(enum replace v)
{
	switch (v) {
	case REPLACE_AUTO:
		return "auto";
	case REPLACE_IN_PLACE:
		return "in-place";
	case REPLACE_BESIDE:
		return "beside";
	case REPLACE_GAP:
		return "gap";
	}
	return "?";
}
