/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel holds: one classifier entry in a block. */
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/model/kinds.h"

static int filter_compare(const struct object *a, const struct object *b)
{
	const struct filter *x = (const struct filter *)a, *y = (const struct filter *)b;

	if (x->block != y->block)
		return CMP(x->block, y->block);
	if (x->chain != y->chain)
		return CMP(x->chain, y->chain);
	if (x->pref != y->pref)
		return CMP(x->pref, y->pref);
	if (x->protocol != y->protocol)
		return CMP(x->protocol, y->protocol);
	return CMP(x->handle, y->handle);
}

static bool filter_satisfied(const struct object *wanted, const struct object *found)
{
	const struct filter *w = (const struct filter *)wanted, *f = (const struct filter *)found;
	const uint32_t said = TCA_CLS_FLAGS_SKIP_SW | TCA_CLS_FLAGS_SKIP_HW;

	if (w->type != f->type || (w->flags & said) != (f->flags & said))
		return false;
	if (w->has_cookie != f->has_cookie || memcmp(w->cookie, f->cookie, sizeof(w->cookie)) != 0)
		return false;
	/* Actions and match in one, as they stand. */
	return w->action_count == f->action_count && w->match_size == f->match_size &&
	       memcmp(w->tail, f->tail, w->action_count * sizeof(struct action) + w->match_size) ==
		       0;
}

const char *filter_type_name(const struct filter *f)
{
	switch ((enum filter_type)f->type) {
	case FILTER_FLOWER:
		return "flower";
	case FILTER_MATCHALL:
		return "matchall";
	case FILTER_OTHER:
		return f->other;
	}
	return "?";
}

static void filter_label(const struct object *o, char *to, size_t size)
{
	const struct filter *f = (const struct filter *)o;
	char protocol[16];

	ethertype_print(f->protocol, protocol);
	snprintf(to, size, "block %u chain %u pref %u protocol %s %s handle 0x%x", f->block,
		 f->chain, f->pref, protocol, filter_type_name(f), f->handle);
}

static void flags_json(uint32_t flags, struct jsonw *w)
{
	jsonw_key_bool(w, "skip_hw", flags & TCA_CLS_FLAGS_SKIP_HW);
	jsonw_key_bool(w, "skip_sw", flags & TCA_CLS_FLAGS_SKIP_SW);
	jsonw_key_bool(w, "in_hw", flags & TCA_CLS_FLAGS_IN_HW);
	jsonw_key_bool(w, "not_in_hw", flags & TCA_CLS_FLAGS_NOT_IN_HW);
}

static void filter_json(const struct object *o, struct jsonw *w)
{
	const struct filter *f = (const struct filter *)o;
	char protocol[16];

	ethertype_print(f->protocol, protocol);
	jsonw_object(w);
	jsonw_key_u64(w, "block", f->block);
	jsonw_key_u64(w, "chain", f->chain);
	jsonw_key_u64(w, "pref", f->pref);
	jsonw_key_string(w, "protocol", protocol);
	jsonw_key_u64(w, "handle", f->handle);
	jsonw_key_string(w, "type", filter_type_name(f));
	jsonw_key_string(w, "owner", f->owner == OWNER_OURS ? "ours" : "foreign");
	flags_json(f->flags, w);
	jsonw_key_u64(w, "in_hw_count", f->in_hw_count);
	jsonw_key(w, "match");
	match_json(filter_match(f), w);
	jsonw_key(w, "actions");
	actions_json(filter_actions(f), f->action_count, w);
	jsonw_key_u64(w, "packets", f->stats.packets);
	jsonw_key_u64(w, "bytes", f->stats.bytes);
	jsonw_key_u64(w, "hw_packets", f->stats.hw_packets);
	jsonw_key_u64(w, "hw_bytes", f->stats.hw_bytes);
	jsonw_key_u64(w, "last_used_ms", f->stats.last_used_ms);
	jsonw_object_end(w);
}

static void filter_release(struct object *o)
{
	object_unref(((struct filter *)o)->rule);
}

const struct kind_ops kind_filter = {
	.name = "filter",
	.compare = filter_compare,
	.satisfied = filter_satisfied,
	.label = filter_label,
	.json = filter_json,
	.release = filter_release,
};
