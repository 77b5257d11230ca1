/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a device sends, a part an object: see tx.h. A kernel without our patch rings the doorbell for
 * each frame; so a device that has no such setting is as wanted where one frame is.
 */
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/model/kinds.h"
#include "config/model/tx.h"

static const struct {
	const char *name, *values[TX_VALUES];
} rows[TX_PART_COUNT_] = {
	[TX_FLUSH] = { "flush", { "flush" } },
	[TX_RING] = { "ring", { "ring" } },
	[TX_COALESCE] = { "coalesce", { "tx-usecs", "tx-frames", "adaptive-tx" } },
	[TX_BQL] = { "bql", { "limit-min", "limit-max" } },
};

#define ADAPTIVE 2 /* the one value that is no number */

const char *tx_part_name(enum tx_part part)
{
	return rows[part].name;
}

const char *tx_value_name(enum tx_part part, unsigned int i)
{
	return rows[part].values[i];
}

struct tx *tx_new(const char *dev, enum tx_part part, uint32_t queues)
{
	struct tx *t = object_new(KIND_TX, sizeof(*t) + queues * sizeof(t->queue[0]));

	if (!t)
		return NULL;
	COPY_NAME(t->dev, dev);
	t->part = (uint8_t)part;
	t->queues = queues;
	return t;
}

struct tx *tx_only(const struct tx *t, uint8_t has)
{
	struct tx *copy = tx_new(t->dev, t->part, t->queues);

	if (!copy)
		return NULL;
	copy->has = t->has & has;
	memcpy(copy->value, t->value, sizeof(copy->value));
	memcpy(copy->queue, t->queue, t->queues * sizeof(t->queue[0]));
	return copy;
}

const struct tx *tx_find(const struct state *s, const char *dev, enum tx_part part)
{
	struct tx key = { .obj.kind = KIND_TX, .part = (uint8_t)part };

	return s && COPY_NAME(key.dev, dev) ? state_find(s, &key) : NULL;
}

uint8_t tx_lacks(const struct tx *wanted, const struct tx *found)
{
	uint8_t said = wanted->automatic ? 1 : wanted->has;
	uint8_t lacks = said & (uint8_t)~found->has;

	return wanted->part == TX_FLUSH && wanted->has && wanted->value[0] == 1 ? 0 : lacks;
}

uint32_t tx_other_queue(const struct tx *wanted, const struct tx *found, unsigned int i)
{
	if (!(wanted->has & 1u << i))
		return TX_SAME;
	if (!(found->has & 1u << i))
		return tx_lacks(wanted, found) & 1u << i ? 0 : TX_SAME;
	for (uint32_t q = 0; q < MAX(found->queues, 1u); q++)
		if (tx_value(wanted, i, q) != tx_value(found, i, q))
			return q;
	return TX_SAME;
}

void tx_print(const struct tx *t, unsigned int i, uint32_t queue, char to[TX_TEXT])
{
	uint32_t v = tx_value(t, i, queue);

	if (!(t->has & 1u << i))
		snprintf(to, TX_TEXT, "none");
	else if (t->part == TX_COALESCE && i == ADAPTIVE)
		snprintf(to, TX_TEXT, "%s", v ? "on" : "off");
	else
		snprintf(to, TX_TEXT, "%u", v);
}

static int tx_compare(const struct object *a, const struct object *b)
{
	const struct tx *x = (const struct tx *)a, *y = (const struct tx *)b;
	int order = strcmp(x->dev, y->dev);

	return order ? order : CMP(x->part, y->part);
}

static bool tx_satisfied(const struct object *wanted, const struct object *found)
{
	for (unsigned int i = 0; i < TX_VALUES; i++)
		if (tx_other_queue((const struct tx *)wanted, (const struct tx *)found, i) !=
		    TX_SAME)
			return false;
	return true;
}

static void tx_label(const struct object *o, char *to, size_t size)
{
	const struct tx *t = (const struct tx *)o;

	snprintf(to, size, "port %s tx %s", t->dev, rows[t->part].name);
}

static void tx_json(const struct object *o, struct jsonw *w)
{
	const struct tx *t = (const struct tx *)o;

	jsonw_object(w);
	jsonw_key_string(w, "port", t->dev);
	jsonw_key_string(w, "part", rows[t->part].name);
	if (t->automatic)
		jsonw_key_bool(w, "auto", true);
	for (unsigned int i = 0; i < TX_VALUES; i++)
		if (t->has & 1u << i)
			jsonw_key_u64(w, rows[t->part].values[i], t->value[i]);
	origin_json(&o->origin, w);
	jsonw_object_end(w);
}

const struct kind_ops kind_tx = {
	.name = "tx",
	.compare = tx_compare,
	.satisfied = tx_satisfied,
	.label = tx_label,
	.json = tx_json,
};
