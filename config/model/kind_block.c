/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tc block: what holds for all its rules. The kernel has no object for it alone; it is there as
 * long as a qdisc binds it.
 */
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/model/kinds.h"

static int block_compare(const struct object *a, const struct object *b)
{
	return CMP(((const struct block *)a)->id, ((const struct block *)b)->id);
}

static bool block_satisfied(const struct object *wanted, const struct object *found)
{
	return true;
}

static void block_label(const struct object *o, char *to, size_t size)
{
	const struct block *b = (const struct block *)o;

	snprintf(to, size, "block %s (%u)", b->name, b->id);
}

static void block_json(const struct object *o, struct jsonw *w)
{
	const struct block *b = (const struct block *)o;

	jsonw_object(w);
	jsonw_key_string(w, "name", b->name);
	jsonw_key_u64(w, "id", b->id);
	jsonw_key_string(w, "offload", offload_name((enum offload)b->offload));
	jsonw_key_string(w, "foreign", foreign_name((enum foreign)b->foreign));
	jsonw_key_string(w, "tagging", tagging_name((enum tagging)b->tagging));
	jsonw_key_string(w, "bypass", bypass_want_name((enum bypass_want)b->bypass));
	jsonw_key_string(w, "replace", replace_name((enum replace)b->replace));
	origin_json(&o->origin, w);
	jsonw_object_end(w);
}

const struct kind_ops kind_block = {
	.name = "block",
	.compare = block_compare,
	.satisfied = block_satisfied,
	.label = block_label,
	.json = block_json,
};
