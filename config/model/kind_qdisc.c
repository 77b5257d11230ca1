/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clsact qdisc of a port and the blocks it binds: one object, since the kernel can't change the
 * blocks of a live qdisc (net/sched/sch_api.c, "Change of blocks is not supported").
 */
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/model/kinds.h"

static int qdisc_compare(const struct object *a, const struct object *b)
{
	return strcmp(((const struct qdisc *)a)->dev, ((const struct qdisc *)b)->dev);
}

static bool qdisc_satisfied(const struct object *wanted, const struct object *found)
{
	const struct qdisc *w = (const struct qdisc *)wanted, *f = (const struct qdisc *)found;

	return streq(w->type, f->type) && w->ingress_block == f->ingress_block &&
	       w->egress_block == f->egress_block;
}

static void qdisc_label(const struct object *o, char *to, size_t size)
{
	const struct qdisc *q = (const struct qdisc *)o;

	if (q->ingress_block && q->egress_block)
		snprintf(to, size, "%s on %s (ingress block %u, egress block %u)", q->type, q->dev,
			 q->ingress_block, q->egress_block);
	else if (q->ingress_block || q->egress_block)
		snprintf(to, size, "%s on %s (%s block %u)", q->type, q->dev,
			 q->ingress_block ? "ingress" : "egress",
			 q->ingress_block ? q->ingress_block : q->egress_block);
	else
		snprintf(to, size, "%s on %s", q->type, q->dev);
}

static void qdisc_json(const struct object *o, struct jsonw *w)
{
	const struct qdisc *q = (const struct qdisc *)o;

	jsonw_object(w);
	jsonw_key_string(w, "dev", q->dev);
	jsonw_key_string(w, "type", q->type);
	jsonw_key_u64(w, "ingress_block", q->ingress_block);
	jsonw_key_u64(w, "egress_block", q->egress_block);
	origin_json(&o->origin, w);
	jsonw_object_end(w);
}

const struct kind_ops kind_qdisc = {
	.name = "qdisc",
	.compare = qdisc_compare,
	.satisfied = qdisc_satisfied,
	.label = qdisc_label,
	.json = qdisc_json,
};
