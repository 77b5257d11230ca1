// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What was measured, in memory and in the store: see measured.h. The tries are a text there,
 * "1:640000 2:610500": frames to a doorbell, and picoseconds.
 */
#include "daemon/engine/measured.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>

#include "config/model/tx.h"
#include "daemon/engine/store_sql.h"

#define TRIES_TEXT (MEASURED_TRIES * 32)

const struct measured *measured_find(const struct measured_list *l, const char *dev)
{
	for (size_t i = 0; i < l->count; i++)
		if (streq(l->list[i].dev, dev))
			return &l->list[i];
	return NULL;
}

const struct measured *measured_of(const struct measured_list *l, const struct state *found,
				   const char *dev)
{
	const struct measured *m = measured_find(l, dev);
	const struct port *p = state_port(found, dev);

	return m && !(p && !streq(p->facts.driver, m->driver)) ? m : NULL;
}

int measured_put(struct measured_list *l, const struct measured *m)
{
	struct measured *old = (struct measured *)(uintptr_t)measured_find(l, m->dev);
	int r = old ? 0 : grow(&l->list, &l->space, l->count, sizeof(*l->list));

	if (r < 0)
		return r;
	*(old ? old : &l->list[l->count++]) = *m;
	return 0;
}

int store_put_measured(struct store *s, const struct measured *m)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	char tries[TRIES_TEXT] = "";
	size_t at = 0;
	int r = sql_prepare(s,
			    "INSERT OR REPLACE INTO measured"
			    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
			    &st);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < m->tries; i++)
		at += (size_t)snprintf(tries + at, sizeof(tries) - at, "%s%u:%" PRIu64,
				       i ? " " : "", m->tried[i], m->took_ps[i]);
	sqlite3_bind_text(st, 1, m->dev, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, m->driver, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 3, (sqlite3_int64)m->at_ns);
	sqlite3_bind_int64(st, 4, m->frames);
	sqlite3_bind_int64(st, 5, (sqlite3_int64)m->doorbell_ps);
	sqlite3_bind_int64(st, 6, (sqlite3_int64)m->frame_ps);
	sqlite3_bind_int64(st, 7, (sqlite3_int64)m->noise_ps);
	sqlite3_bind_text(st, 8, tries, -1, SQLITE_STATIC);
	sqlite3_bind_int(st, 9, m->noisy);
	return sql_finish(st);
}

static void read_tries(struct measured *m, const char *text)
{
	int used;

	while (m->tries < MEASURED_TRIES && sscanf(text, "%u:%" SCNu64 "%n", &m->tried[m->tries],
						   &m->took_ps[m->tries], &used) == 2) {
		m->tries++;
		text += used;
	}
}

/* A name may be NULL: SQLite lets a primary key be. */
static bool read_names(struct measured *m, sqlite3_stmt *st)
{
	const char *name = (const char *)sqlite3_column_text(st, 0);
	const char *driver = (const char *)sqlite3_column_text(st, 1);

	return name && driver && COPY_NAME(m->dev, name) && COPY_NAME(m->driver, driver);
}

/* No more frames than a kernel takes: the file would be refused for them. */
static bool read_frames(struct measured *m, sqlite3_stmt *st)
{
	int64_t frames = sqlite3_column_int64(st, 3);

	m->frames = (uint32_t)frames;
	return frames >= 1 && frames <= TX_FLUSH_MAX;
}

int store_measured(struct store *s, struct measured_list *into)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s,
			    "SELECT name, driver, at_ns, frames, doorbell_ps, frame_ps, noise_ps,"
			    " tries, noisy FROM measured",
			    &st);

	while (r == 0) {
		struct measured m = { 0 };

		r = sql_row(st);
		if (r < 0)
			break;
		m.at_ns = (uint64_t)sqlite3_column_int64(st, 2);
		m.doorbell_ps = (uint64_t)sqlite3_column_int64(st, 4);
		m.frame_ps = (uint64_t)sqlite3_column_int64(st, 5);
		m.noise_ps = (uint64_t)sqlite3_column_int64(st, 6);
		read_tries(&m, (const char *)sqlite3_column_text(st, 7));
		m.noisy = sqlite3_column_int(st, 8);
		if (read_names(&m, st) && read_frames(&m, st))
			r = measured_put(into, &m);
	}
	return r == -ENOENT ? 0 : r;
}
