/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What people write. The kernel holds no rule, only the filters that compile makes of it. */
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/model/kinds.h"

static int rule_compare(const struct object *a, const struct object *b)
{
	const struct rule *x = (const struct rule *)a, *y = (const struct rule *)b;

	if (x->block != y->block)
		return CMP(x->block, y->block);
	return CMP(x->position, y->position);
}

static bool rule_satisfied(const struct object *wanted, const struct object *found)
{
	return true;
}

static void rule_label(const struct object *o, char *to, size_t size)
{
	snprintf(to, size, "rule %s", ((const struct rule *)o)->name);
}

static void rule_json(const struct object *o, struct jsonw *w)
{
	const struct rule *r = (const struct rule *)o;
	char ethertype[16];

	jsonw_object(w);
	jsonw_key_string(w, "name", r->name);
	jsonw_key_u64(w, "block", r->block);
	jsonw_key_u64(w, "chain", r->chain);
	jsonw_key_u64(w, "position", r->position);
	if (r->pref)
		jsonw_key_u64(w, "pref", r->pref);
	if (r->ethertype) {
		ethertype_print(r->ethertype, ethertype);
		jsonw_key_string(w, "ethertype", ethertype);
	}
	jsonw_key_string(w, "offload", offload_name((enum offload)r->offload));
	jsonw_key_string(w, "tagging", tagging_name((enum tagging)r->tagging));
	jsonw_key(w, "match");
	match_json(rule_match(r), w);
	jsonw_key(w, "actions");
	actions_json(rule_actions(r), r->action_count, w);
	origin_json(&o->origin, w);
	jsonw_object_end(w);
}

const struct kind_ops kind_rule = {
	.name = "rule",
	.compare = rule_compare,
	.satisfied = rule_satisfied,
	.label = rule_label,
	.json = rule_json,
};
