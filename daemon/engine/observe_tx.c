// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading how ports send: see observe.h. Only what somebody names is asked for, since that takes
 * two requests and some files of each device; the family of ethtool tells when it changes, sysfs
 * does not.
 */
#include <errno.h>

#include "config/model/tx.h"
#include "daemon/engine/measure.h"
#include "daemon/engine/observe.h"

/*
 * A driver that does not tell one part (nfp where it can't coalesce, others while they reset) is no
 * reason to hold up all else: what was found before stays, and the audit asks again.
 */
static int read_device(struct engine_owner *o, const char *dev)
{
	for (unsigned int part = 0; part < TX_PART_COUNT_; part++) {
		_cleanup_object_ struct tx *key = tx_new(dev, (enum tx_part)part, 0);
		int r = key ? observe_ask(o, &key->obj) : -ENOMEM;

		if (r == -ENOMEM)
			return r;
		/* The event that it went has more to say. */
		if (r == -ENOENT)
			return 0;
	}
	return 0;
}

int observe_tx_of(struct engine_owner *o, const struct state *named)
{
	const char *last = "";
	int r = 0;

	for (size_t i = 0; named && i < state_count(named, KIND_TX) && r == 0; i++) {
		const struct tx *t = state_at(named, KIND_TX, i);

		if (!streq(t->dev, last) &&
		    (state_port(o->found, t->dev) || state_vlan(o->found, t->dev)))
			r = read_device(o, t->dev);
		last = t->dev;
	}
	return r;
}

int observe_tx(struct engine_owner *o)
{
	int r = observe_tx_of(o, o->config ? o->config->wanted : NULL);

	return r < 0 ? r : observe_tx_of(o, o->before);
}

void observe_tx_new(struct engine_owner *o, const char *dev)
{
	bool named = false;

	for (unsigned int part = 0; o->config && part < TX_PART_COUNT_; part++)
		named |= tx_find(o->config->wanted, dev, (enum tx_part)part) != NULL;
	if (!named)
		return;
	o->stale.tx = true;
	measure_new(o, dev);
}

static bool can_send(const struct object *dev)
{
	const struct port *p = (const struct port *)dev;

	return dev->kind == KIND_PORT && p->up && p->facts.carrier;
}

void observe_tx_link(struct engine_owner *o, const struct object *before, const struct object *now)
{
	if (can_send(now) && !can_send(before))
		measure_link_up(o, observe_dev_name(now));
}

void observe_tx_gone(struct engine_owner *o, const char *dev)
{
	for (unsigned int part = 0; part < TX_PART_COUNT_; part++) {
		_cleanup_object_ struct tx *t =
			object_ref(tx_find(o->found, dev, (enum tx_part)part));

		if (t)
			observe_drop(o, &t->obj);
	}
}
