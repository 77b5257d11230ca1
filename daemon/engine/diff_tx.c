// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How ports send: see diff.h. What the device has not is told before anything is tried; only a
 * kernel without our patch is none to refuse a file for: it rings the doorbell for each frame, as
 * it always did.
 */
#include "config/model/tx.h"
#include "daemon/engine/diff.h"

static const char *driver_of(const struct diff_walk *w, const char *dev)
{
	const struct port *p = state_port(w->in->found, dev);

	return p && p->facts.driver[0] ? p->facts.driver : "its driver";
}

static int tell_lack(struct diff_walk *w, const struct tx *wanted, uint8_t lacks)
{
	const char *dev = wanted->dev, *driver = driver_of(w, dev);
	unsigned int i = (unsigned int)__builtin_ctz(lacks);

	switch ((enum tx_part)wanted->part) {
	case TX_FLUSH:
		return plan_conflict(
			w->plan, &wanted->obj, false,
			"this kernel can't collect frames (it lacks swd's patches), so "
			"%s has a doorbell for each",
			dev);
	case TX_RING:
		return plan_conflict(w->plan, &wanted->obj, true,
				     "%s has no transmit ring whose size can be set (%s)", dev,
				     driver);
	case TX_COALESCE:
		return plan_conflict(w->plan, &wanted->obj, true, "%s has no %s (%s)", dev,
				     tx_value_name(TX_COALESCE, i), driver);
	case TX_BQL:
		return plan_conflict(w->plan, &wanted->obj, true, "%s has no byte queue limits",
				     dev);
	case TX_PART_COUNT_:
		break;
	}
	return 0;
}

/* A device that is not there is waited for as a port. */
static int tell_unknown(struct diff_walk *w, const struct tx *wanted)
{
	if (!state_port(w->in->found, wanted->dev) && !state_vlan(w->in->found, wanted->dev))
		return 0;
	return plan_conflict(w->plan, &wanted->obj, true, "%s does not tell what it has (%s)",
			     wanted->dev, driver_of(w, wanted->dev));
}

static int diff_part(struct diff_walk *w, const struct tx *wanted)
{
	const struct tx *found = tx_find(w->in->found, wanted->dev, (enum tx_part)wanted->part);
	uint8_t lacks;

	if (!found)
		return tell_unknown(w, wanted);
	lacks = tx_lacks(wanted, found);
	if (lacks)
		return tell_lack(w, wanted, lacks);
	if (found->most && wanted->has & 1 && wanted->value[0] > found->most)
		return plan_conflict(w->plan, &wanted->obj, true,
				     "%u is more than %s has, expected at most %u",
				     wanted->value[0], wanted->dev, found->most);
	if (kind_ops(KIND_TX)->satisfied(&wanted->obj, &found->obj))
		return 0;
	return plan_add(w->plan, KERNEL_CHANGE, STEP_DIFFERENT, &wanted->obj, &found->obj);
}

int diff_tx(struct diff_walk *w)
{
	int r = 0;

	for (size_t i = 0; i < diff_wanted_count(w, KIND_TX) && r == 0; i++)
		r = diff_part(w, state_at(w->in->wanted, KIND_TX, i));
	return r;
}
