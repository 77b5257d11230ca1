// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Statements, transactions, and SQLite's result codes as errno: see store_sql.h.
 */
#include "daemon/engine/store_sql.h"

#include <errno.h>
#include <sqlite3.h>

#include "config/base/fault.h"

int sql_errno(int rc)
{
	switch (rc & 0xff) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EUCLEAN;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	default:
		return -EIO;
	}
}

static int run(struct store *s, const char *sql)
{
	return sql_errno(sqlite3_exec(s->db, sql, NULL, NULL, NULL));
}

int sql_run(struct store *s, const char *sql)
{
	int r = fault_fails(FAULT_STORE);

	return r < 0 ? r : run(s, sql);
}

int sql_prepare(struct store *s, const char *sql, sqlite3_stmt **ret)
{
	return sql_errno(sqlite3_prepare_v2(s->db, sql, -1, ret, NULL));
}

void sql_finalizep(sqlite3_stmt **st)
{
	sqlite3_finalize(*st);
}

int sql_finish(sqlite3_stmt *st)
{
	int r = fault_fails(FAULT_STORE), rc;

	if (r < 0)
		return r;
	rc = sqlite3_step(st);
	return rc == SQLITE_DONE ? 0 : rc == SQLITE_ROW ? -EIO : sql_errno(rc);
}

int sql_row(sqlite3_stmt *st)
{
	int rc = sqlite3_step(st);

	return rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? -ENOENT : sql_errno(rc);
}

int sql_run_id(struct store *s, const char *sql, uint64_t id)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s, sql, &st);

	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)id);
	return sql_finish(st);
}

int sql_number(struct store *s, const char *sql, int64_t *ret)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s, sql, &st);

	if (r == 0)
		r = sql_row(st);
	if (r == 0)
		*ret = sqlite3_column_int64(st, 0);
	return r;
}

int sql_begin(struct store *s)
{
	return sql_run(s, "BEGIN IMMEDIATE");
}

int sql_end(struct store *s, int r)
{
	if (r == 0)
		r = sql_run(s, "COMMIT");
	if (r < 0)
		run(s, "ROLLBACK");
	return r;
}
