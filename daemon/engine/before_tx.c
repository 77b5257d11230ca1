// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of how ports sent before a trial: see before.h. They stand among those of the ports, each
 * with the values that were changed.
 */
#include <errno.h>

#include "config/model/tx.h"
#include "daemon/engine/before.h"

static int put(struct state *s, struct tx *t)
{
	int r = t ? state_put(s, t) : -ENOMEM;

	if (r < 0)
		object_unref(t);
	return r;
}

int before_tx_collect(const struct engine_owner *o, const struct step *step, struct state *into)
{
	const struct tx *wanted = (const struct tx *)step->wanted;
	const struct tx *found = (const struct tx *)step->found;
	const struct tx *old = tx_find(o->before, found->dev, (enum tx_part)found->part);
	uint8_t has = found->has & (uint8_t) ~(old ? old->has : 0);

	for (unsigned int i = 0; i < TX_VALUES; i++)
		if (tx_other_queue(wanted, found, i) == TX_SAME)
			has &= (uint8_t) ~(1u << i);
	return has ? put(into, tx_only(found, has)) : 0;
}

/* The oldest word on each value holds. */
static struct tx *join(const struct tx *old, const struct tx *more)
{
	struct tx *both = tx_new(more->dev, (enum tx_part)more->part,
				 old ? MAX(old->queues, more->queues) : more->queues);

	if (!both)
		return NULL;
	both->has = more->has | (old ? old->has : 0);
	for (unsigned int i = 0; i < TX_VALUES; i++) {
		const struct tx *from = old && old->has & 1u << i ? old : more;

		both->value[i] = from->value[i];
		for (uint32_t q = 0; q < both->queues; q++)
			both->queue[q][i] = tx_value(from, i, q);
	}
	return both;
}

int before_tx_keep(struct engine_owner *o, const struct state *more)
{
	int r = 0;

	for (size_t i = 0; i < state_count(more, KIND_TX) && r == 0; i++) {
		const struct tx *t = state_at(more, KIND_TX, i);

		r = put(o->before, join(tx_find(o->before, t->dev, (enum tx_part)t->part), t));
	}
	return r;
}

int before_tx_plan(const struct engine_owner *o, const struct config *config, struct plan *plan)
{
	int r = 0;

	for (size_t i = 0; i < state_count(o->before, KIND_TX) && r == 0; i++) {
		const struct tx *t = state_at(o->before, KIND_TX, i);
		const struct tx *found = tx_find(o->found, t->dev, (enum tx_part)t->part);
		const struct tx *said =
			config ? tx_find(config->wanted, t->dev, (enum tx_part)t->part) : NULL;
		_cleanup_object_ struct tx *wanted = NULL;

		if (!found)
			continue;
		/* What the device has not by now, or not as much of, can't go back. */
		wanted = tx_only(t, found->has & (uint8_t) ~(said ? said->has : 0));
		if (!wanted)
			return -ENOMEM;
		if (found->most && wanted->value[0] > found->most)
			wanted->has &= (uint8_t)~1u;
		if (!kind_ops(KIND_TX)->satisfied(&wanted->obj, &found->obj))
			r = plan_add(plan, KERNEL_CHANGE, STEP_BEFORE, &wanted->obj, &found->obj);
	}
	return r;
}
