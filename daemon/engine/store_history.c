// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How generations are read: see store_generation.h.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>

#include "daemon/engine/store_generation.h"
#include "daemon/engine/store_sql.h"

#define ABOUT                                                                      \
	"id, at_ns, who, uid, why, reverts, confirm_ms, outcome, error, changes, " \
	"shunned, size, name"
#define ABOUT_COLUMNS 13

void generation_clear(struct generation *g)
{
	free(g->text);
	free(g->diff);
	*g = (struct generation){ 0 };
}

static void read_text(sqlite3_stmt *st, int column, char *to, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	snprintf(to, size, "%s", text ? text : "");
}

static void read_about(sqlite3_stmt *st, struct generation *g)
{
	*g = (struct generation){
		.id = (uint64_t)sqlite3_column_int64(st, 0),
		.at_ns = (uint64_t)sqlite3_column_int64(st, 1),
		.uid = (uid_t)sqlite3_column_int64(st, 3),
		.reverts = (uint64_t)sqlite3_column_int64(st, 5),
		.confirm_ms = (uint32_t)sqlite3_column_int64(st, 6),
		.changes = (uint64_t)sqlite3_column_int64(st, 9),
		.shunned = sqlite3_column_int64(st, 10) != 0,
		.size = (uint64_t)sqlite3_column_int64(st, 11),
	};
	read_text(st, 2, g->who, sizeof(g->who));
	read_text(st, 4, g->why, sizeof(g->why));
	read_text(st, 7, g->outcome, sizeof(g->outcome));
	read_text(st, 8, g->error, sizeof(g->error));
	read_text(st, 12, g->name, sizeof(g->name));
}

/* The text of a column as a string of its own; the size is what SQLite says it is. */
static int read_whole(sqlite3_stmt *st, int column, char **ret, uint64_t *ret_size)
{
	const void *from = sqlite3_column_blob(st, column);
	size_t size = (size_t)sqlite3_column_bytes(st, column);
	char *text = malloc(size + 1);

	if (!text)
		return -ENOMEM;
	if (size)
		memcpy(text, from, size);
	text[size] = '\0';
	*ret = text;
	*ret_size = size;
	return 0;
}

static int read_generation(sqlite3_stmt *st, struct generation *ret)
{
	struct generation g;
	uint64_t size;
	int r = sql_row(st);

	if (r < 0)
		return r;
	read_about(st, &g);
	r = read_whole(st, ABOUT_COLUMNS, &g.text, &g.size);
	if (r == 0 && sqlite3_column_type(st, ABOUT_COLUMNS + 1) != SQLITE_NULL)
		r = read_whole(st, ABOUT_COLUMNS + 1, &g.diff, &size);
	if (r < 0)
		generation_clear(&g);
	else
		*ret = g;
	return r;
}

#define SELECT_WHOLE                                                               \
	"SELECT " ABOUT ", (SELECT text FROM file WHERE file.id = generation.id)," \
	" (SELECT text FROM diff WHERE diff.id = generation.id) FROM generation "

int store_generation(struct store *s, uint64_t id, struct generation *ret)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s, SELECT_WHOLE "WHERE id = ?1", &st);

	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)id);
	return read_generation(st, ret);
}

int store_committed(struct store *s, uint64_t below, struct generation *ret)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s,
			    SELECT_WHOLE "WHERE outcome = 'done' AND (?1 = 0 OR id < ?1)"
					 " ORDER BY id DESC LIMIT 1",
			    &st);

	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)below);
	return read_generation(st, ret);
}

int store_shuns(struct store *s, const char *text, size_t size, struct generation *ret)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s,
			    "SELECT " ABOUT " FROM generation WHERE shunned AND size = ?1"
			    " AND ?2 = (SELECT text FROM file WHERE file.id = generation.id)"
			    " ORDER BY id DESC LIMIT 1",
			    &st);

	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)size);
	sqlite3_bind_blob64(st, 2, text ? text : "", size, SQLITE_STATIC);
	r = sql_row(st);
	if (r == 0)
		read_about(st, ret);
	return r;
}

int store_history(struct store *s, struct generation **ret, size_t *ret_n)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	_cleanup_free_ struct generation *list = NULL;
	size_t n = 0, space = 0;
	int r = sql_prepare(s, "SELECT " ABOUT " FROM generation ORDER BY id DESC", &st);

	while (r == 0) {
		r = sql_row(st);
		if (r == 0)
			r = grow(&list, &space, n, sizeof(*list));
		if (r == 0)
			read_about(st, &list[n++]);
	}
	if (r != -ENOENT)
		return r;
	*ret = take(list);
	*ret_n = n;
	return 0;
}

int store_deadline(struct store *s, struct deadline *ret)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	struct deadline d;
	int r = sql_prepare(
		s, "SELECT generation, confirm_ms, boot, boot_ns, wall_ns FROM deadline", &st);

	if (r == 0)
		r = sql_row(st);
	if (r < 0)
		return r;
	d = (struct deadline){
		.generation = (uint64_t)sqlite3_column_int64(st, 0),
		.confirm_ms = (uint32_t)sqlite3_column_int64(st, 1),
		.at.boot_ns = (uint64_t)sqlite3_column_int64(st, 3),
		.at.wall_ns = (uint64_t)sqlite3_column_int64(st, 4),
	};
	read_text(st, 2, d.at.boot, sizeof(d.at.boot));
	*ret = d;
	return 0;
}
