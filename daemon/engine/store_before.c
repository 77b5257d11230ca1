// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a trial changed of devices, in the store: see store_generation.h and before.h.
 */
#include <errno.h>
#include <sqlite3.h>

#include "config/model/tx.h"
#include "daemon/engine/store_generation.h"
#include "daemon/engine/store_sql.h"

static int put(sqlite3_stmt *st, uint64_t generation, const char *name, uint32_t what,
	       uint32_t value)
{
	int r;

	sqlite3_bind_int64(st, 1, (sqlite3_int64)generation);
	sqlite3_bind_text(st, 2, name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 3, what);
	sqlite3_bind_int64(st, 4, value);
	r = sql_finish(st);
	sqlite3_reset(st);
	return r;
}

/* `what` of a value of how a port sends: above the PORT_HAS_*. */
#define TX_WHAT(part, i, queue) (((part) + 1u) << 8 | (i) | (uint32_t)(queue) << 16)

static int put_tx(sqlite3_stmt *st, uint64_t generation, const struct tx *t)
{
	int r = 0;

	for (unsigned int i = 0; i < TX_VALUES; i++)
		for (uint32_t q = 0; t->has & 1u << i && q < MAX(t->queues, 1u) && r == 0; q++)
			r = put(st, generation, t->dev, TX_WHAT(t->part, i, q), tx_value(t, i, q));
	return r;
}

int store_note_before(struct store *s, uint64_t generation, const struct state *ports)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s, "INSERT OR IGNORE INTO before VALUES (?1, ?2, ?3, ?4)", &st);

	for (size_t i = 0; ports && i < state_count(ports, KIND_PORT) && r == 0; i++) {
		const struct port *p = state_at(ports, KIND_PORT, i);

		if (p->has & PORT_HAS_UP)
			r = put(st, generation, p->name, PORT_HAS_UP, p->up);
		if (r == 0 && p->has & PORT_HAS_MTU)
			r = put(st, generation, p->name, PORT_HAS_MTU, p->mtu);
		if (r == 0 && p->has & PORT_HAS_TC_OFFLOAD)
			r = put(st, generation, p->name, PORT_HAS_TC_OFFLOAD, p->tc_offload);
	}
	for (size_t i = 0; ports && i < state_count(ports, KIND_TX) && r == 0; i++)
		r = put_tx(st, generation, state_at(ports, KIND_TX, i));
	return r;
}

int store_forget_before(struct store *s)
{
	return sql_run(s, "DELETE FROM before");
}

static int add_tx(struct state *into, const char *name, uint32_t what, uint32_t value)
{
	uint32_t part = (what >> 8 & 0xff) - 1, i = what & 0xff, queue = what >> 16;
	uint32_t queues = part == TX_BQL ? queue + 1 : 0;
	const struct tx *old;
	struct tx *t;
	int r;

	if (part >= TX_PART_COUNT_ || i >= TX_VALUES || strlen(name) >= IFNAMSIZ)
		return -EINVAL;
	old = tx_find(into, name, (enum tx_part)part);
	t = tx_new(name, (enum tx_part)part, old ? MAX(old->queues, queues) : queues);
	if (!t)
		return -ENOMEM;
	if (old) {
		t->has = old->has;
		memcpy(t->value, old->value, sizeof(t->value));
		memcpy(t->queue, old->queue, old->queues * sizeof(t->queue[0]));
	}
	t->has |= (uint8_t)(1u << i);
	if (queue == 0)
		t->value[i] = value;
	if (queue < t->queues)
		t->queue[queue][i] = value;
	r = state_put(into, t);
	if (r < 0)
		object_unref(t);
	return r;
}

static int add(struct state *into, const char *name, uint32_t what, uint32_t value)
{
	const struct port *old = state_port(into, name);
	struct port *p;
	int r;

	if (what >= TX_WHAT(0, 0, 0))
		return add_tx(into, name, what, value);
	p = object_new(KIND_PORT, sizeof(*p));
	if (!p)
		return -ENOMEM;
	if (old) {
		p->has = old->has;
		p->up = old->up;
		p->mtu = old->mtu;
		p->tc_offload = old->tc_offload;
	}
	p->has |= what;
	if (what == PORT_HAS_UP)
		p->up = value != 0;
	else if (what == PORT_HAS_MTU)
		p->mtu = value;
	else
		p->tc_offload = value != 0;
	r = COPY_NAME(p->name, name) ? state_put(into, p) : -EINVAL;
	if (r < 0)
		object_unref(p);
	return r;
}

int store_before(struct store *s, struct state *into)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s, "SELECT name, what, value FROM before", &st);

	while (r == 0) {
		r = sql_row(st);
		if (r == 0)
			r = add(into, (const char *)sqlite3_column_text(st, 0),
				(uint32_t)sqlite3_column_int64(st, 1),
				(uint32_t)sqlite3_column_int64(st, 2));
	}
	return r == -ENOENT ? 0 : r;
}
