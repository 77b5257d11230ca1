// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The store over SQLite, the only room that knows it: see store.h. Write-ahead log, full sync at
 * commits: an apply that was answered is on the disk.
 */
#include "daemon/engine/store.h"

#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <time.h>

#include "daemon/engine/owned.h"

#define SCHEMA_VERSION 1
#define BUSY_MS 1000

struct store {
	sqlite3 *db;
	bool rebuilt;
};

static const char schema[] = "CREATE TABLE generation ("
			     " id INTEGER PRIMARY KEY AUTOINCREMENT,"
			     " at_ns INTEGER NOT NULL,"
			     " who TEXT NOT NULL,"
			     " uid INTEGER NOT NULL,"
			     " outcome TEXT NOT NULL," /* trying, done, reverted, failed */
			     " error TEXT,"
			     " text BLOB NOT NULL);"
			     "CREATE TABLE owned ("
			     " kind TEXT NOT NULL,"
			     " name TEXT NOT NULL,"
			     " detail TEXT NOT NULL,"
			     " PRIMARY KEY (kind, name, detail));"
			     "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
			     "PRAGMA application_id = 1937204224;"
			     "PRAGMA user_version = 1;";

static int to_errno(int rc)
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
	return to_errno(sqlite3_exec(s->db, sql, NULL, NULL, NULL));
}

static void finalizep(sqlite3_stmt **st)
{
	sqlite3_finalize(*st);
}

static int prepare(struct store *s, const char *sql, sqlite3_stmt **ret)
{
	return to_errno(sqlite3_prepare_v2(s->db, sql, -1, ret, NULL));
}

/* Takes a statement that gives no rows one step. */
static int finish(sqlite3_stmt *st)
{
	int rc = sqlite3_step(st);

	return rc == SQLITE_DONE ? 0 : rc == SQLITE_ROW ? -EIO : to_errno(rc);
}

static int query_i64(struct store *s, const char *sql, int64_t *ret)
{
	_cleanup_(finalizep) sqlite3_stmt *st = NULL;
	int r = prepare(s, sql, &st), rc;

	if (r < 0)
		return r;
	rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? -ENOENT : to_errno(rc);
	*ret = sqlite3_column_int64(st, 0);
	return 0;
}

static int begin(struct store *s)
{
	return run(s, "BEGIN IMMEDIATE");
}

/* Commits, or rolls back after an error; returns the first error. */
static int end(struct store *s, int r)
{
	if (r == 0)
		r = run(s, "COMMIT");
	if (r < 0)
		run(s, "ROLLBACK");
	return r;
}

/* ---- opening ---- */

static int check_whole(struct store *s)
{
	_cleanup_(finalizep) sqlite3_stmt *st = NULL;
	int r = prepare(s, "PRAGMA quick_check(1)", &st), rc;
	const char *text;

	if (r < 0)
		return r;
	rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? -EUCLEAN : to_errno(rc);
	text = (const char *)sqlite3_column_text(st, 0);
	return text && streq(text, "ok") ? 0 : -EUCLEAN;
}

static int make_schema(struct store *s)
{
	int r = begin(s);

	return r < 0 ? r : end(s, run(s, schema));
}

static int read_place(struct store *s, const char *place, bool *ret_same)
{
	_cleanup_(finalizep) sqlite3_stmt *st = NULL;
	int r = prepare(s, "SELECT value FROM meta WHERE key = 'place'", &st), rc;

	if (r < 0)
		return r;
	rc = sqlite3_step(st);
	*ret_same = rc == SQLITE_ROW && streq((const char *)sqlite3_column_text(st, 0), place);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : to_errno(rc);
}

static int put_place(struct store *s, const char *place)
{
	_cleanup_(finalizep) sqlite3_stmt *st = NULL;
	int r = prepare(s, "INSERT OR REPLACE INTO meta VALUES ('place', ?1)", &st);

	if (r < 0)
		return r;
	sqlite3_bind_text(st, 1, place, -1, SQLITE_STATIC);
	return finish(st);
}

static int settle_place(struct store *s, const char *place)
{
	bool same;
	int r = read_place(s, place, &same);

	if (r < 0 || same)
		return r;
	r = begin(s);
	if (r < 0)
		return r;
	r = run(s, "DELETE FROM owned");
	if (r == 0)
		r = put_place(s, place);
	return end(s, r);
}

static int open_file(const char *path, const char *place, struct store **ret)
{
	_cleanup_(store_closep) struct store *s = calloc(1, sizeof(*s));
	int64_t version, tables;
	int r;

	if (!s)
		return -ENOMEM;
	r = to_errno(sqlite3_open_v2(path, &s->db,
				     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
					     SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
				     NULL));
	if (r < 0)
		return r;
	/* SQLite falls back to reading only, and says so much later. */
	if (sqlite3_db_readonly(s->db, "main") == 1)
		return -EROFS;
	sqlite3_busy_timeout(s->db, BUSY_MS);
	r = query_i64(s, "PRAGMA user_version", &version);
	if (r == 0)
		r = query_i64(s, "SELECT count(*) FROM sqlite_master", &tables);
	if (r < 0)
		return r;
	if (version > SCHEMA_VERSION)
		return -EPROTO;
	r = check_whole(s);
	if (r == 0)
		r = run(s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
	/* A file with tables and without our version was made by someone else, or half made. */
	if (r == 0 && version == 0)
		r = tables == 0 ? make_schema(s) : -EUCLEAN;
	if (r == 0)
		r = settle_place(s, place);
	if (r == 0)
		*ret = take(s);
	return r;
}

/* Moves the file and what SQLite keeps beside it out of the way; nothing is deleted. */
static int move_aside(const char *path, char *to, size_t size)
{
	static const char *const beside[] = { "-wal", "-shm" };
	char from[PATH_MAX + 8], aside[PATH_MAX + 40];

	if ((size_t)snprintf(to, size, "%s.corrupt-%lld", path, (long long)time(NULL)) >= size)
		return -ENAMETOOLONG;
	if (access(to, F_OK) == 0)
		return -EEXIST;
	if (rename(path, to) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(beside); i++) {
		snprintf(from, sizeof(from), "%s%s", path, beside[i]);
		snprintf(aside, sizeof(aside), "%s%s", to, beside[i]);
		if (rename(from, aside) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

int store_open(const char *dir, const char *place, struct store **ret, char words[STORE_WORDS])
{
	char path[PATH_MAX], aside[PATH_MAX + 32];
	int r;

	words[0] = '\0';
	if (snprintf(path, sizeof(path), "%s/swd.db", dir) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	r = open_file(path, place, ret);
	if (r == -EUCLEAN) {
		r = move_aside(path, aside, sizeof(aside));
		if (r < 0) {
			snprintf(words, STORE_WORDS,
				 "%.150s is corrupt and can't be moved aside: %s", path,
				 strerror(-r));
			return -EUCLEAN;
		}
		r = open_file(path, place, ret);
		if (r == 0) {
			(*ret)->rebuilt = true;
			snprintf(words, STORE_WORDS, "it was corrupt: moved to %.200s, begun anew",
				 aside);
		}
		return r;
	}
	if (r == -EPROTO)
		snprintf(words, STORE_WORDS, "%.150s is of a newer version of swd; left as it is",
			 path);
	else if (r < 0)
		snprintf(words, STORE_WORDS, "%.150s: %s", path, strerror(-r));
	return r;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	free(s);
}

bool store_rebuilt(const struct store *s)
{
	return s->rebuilt;
}

/* ---- generations ---- */

void generation_clear(struct generation *g)
{
	free(g->text);
	*g = (struct generation){ 0 };
}

int store_try(struct store *s, const char *text, size_t size, const char *who, uid_t uid,
	      uint64_t *ret_id)
{
	_cleanup_(finalizep) sqlite3_stmt *st = NULL;
	int r = prepare(s,
			"INSERT INTO generation (at_ns, who, uid, outcome, text)"
			" VALUES (?1, ?2, ?3, 'trying', ?4)",
			&st);

	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)now_realtime_ns());
	sqlite3_bind_text(st, 2, who, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 3, uid);
	sqlite3_bind_blob64(st, 4, text ? text : "", size, SQLITE_STATIC);
	r = finish(st);
	if (r == 0)
		*ret_id = (uint64_t)sqlite3_last_insert_rowid(s->db);
	return r;
}

static int put_outcome(struct store *s, uint64_t id, enum apply_outcome outcome, const char *error)
{
	_cleanup_(finalizep) sqlite3_stmt *st = NULL;
	int r = prepare(s, "UPDATE generation SET outcome = ?2, error = ?3 WHERE id = ?1", &st);

	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)id);
	sqlite3_bind_text(st, 2, apply_outcome_name(outcome), -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 3, error, -1, SQLITE_STATIC); /* NULL binds NULL */
	return finish(st);
}

static int prune(struct store *s, unsigned int keep)
{
	_cleanup_(finalizep) sqlite3_stmt *st = NULL;
	int r = prepare(s,
			"DELETE FROM generation WHERE id NOT IN"
			" (SELECT id FROM generation ORDER BY id DESC LIMIT ?1)"
			" AND id NOT IN (SELECT max(id) FROM generation WHERE outcome = 'done')",
			&st);

	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, keep);
	return finish(st);
}

int store_end(struct store *s, uint64_t id, enum apply_outcome outcome, const char *error,
	      unsigned int keep)
{
	int r = begin(s);

	if (r < 0)
		return r;
	r = put_outcome(s, id, outcome, error);
	if (r == 0)
		r = prune(s, keep);
	return end(s, r);
}

int store_committed(struct store *s, struct generation *ret)
{
	_cleanup_(finalizep) sqlite3_stmt *st = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size;
	int r = prepare(s,
			"SELECT id, text FROM generation WHERE outcome = 'done'"
			" ORDER BY id DESC LIMIT 1",
			&st),
	    rc;

	if (r < 0)
		return r;
	rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? -ENOENT : to_errno(rc);
	size = (size_t)sqlite3_column_bytes(st, 1);
	text = malloc(size + 1);
	if (!text)
		return -ENOMEM;
	if (size)
		memcpy(text, sqlite3_column_blob(st, 1), size);
	text[size] = '\0';
	ret->id = (uint64_t)sqlite3_column_int64(st, 0);
	ret->text = take(text);
	ret->size = size;
	return 0;
}

/* ---- ownership ---- */

static int each_owned(struct store *s, const char *sql, const struct object *const *list, size_t n)
{
	_cleanup_(finalizep) sqlite3_stmt *st = NULL;
	char name[IFNAMSIZ], detail[OWNED_DETAIL];
	int r = prepare(s, sql, &st);

	for (size_t i = 0; i < n && r == 0; i++) {
		owned_print(list[i], name, detail);
		sqlite3_bind_text(st, 1, kind_ops((enum kind)list[i]->kind)->name, -1,
				  SQLITE_STATIC);
		sqlite3_bind_text(st, 2, name, -1, SQLITE_STATIC);
		sqlite3_bind_text(st, 3, detail, -1, SQLITE_STATIC);
		r = finish(st);
		sqlite3_reset(st);
	}
	return r;
}

static int change_owned(struct store *s, const char *sql, const struct object *const *list,
			size_t n)
{
	int r;

	if (n == 0)
		return 0;
	r = begin(s);
	return r < 0 ? r : end(s, each_owned(s, sql, list, n));
}

int store_own(struct store *s, const struct object *const *list, size_t n)
{
	return change_owned(s, "INSERT OR REPLACE INTO owned VALUES (?1, ?2, ?3)", list, n);
}

int store_disown(struct store *s, const struct object *const *list, size_t n)
{
	return change_owned(s, "DELETE FROM owned WHERE kind = ?1 AND name = ?2 AND detail = ?3",
			    list, n);
}

static enum kind kind_named(const char *name)
{
	for (int k = 0; k < KIND_COUNT_; k++)
		if (owned_kind((enum kind)k) && streq(kind_ops((enum kind)k)->name, name))
			return (enum kind)k;
	return KIND_COUNT_;
}

int store_owned(struct store *s, struct state *into)
{
	_cleanup_(finalizep) sqlite3_stmt *st = NULL;
	int r = prepare(s, "SELECT kind, name, detail FROM owned", &st), rc;

	if (r < 0)
		return r;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		_cleanup_object_ struct object *o = NULL;

		r = owned_parse(kind_named((const char *)sqlite3_column_text(st, 0)),
				(const char *)sqlite3_column_text(st, 1),
				(const char *)sqlite3_column_text(st, 2), &o);
		/* What can't be read is not ours any more: it stays where it is. */
		if (r == -EINVAL)
			continue;
		if (r < 0)
			return r;
		r = state_put(into, o);
		if (r < 0)
			return r;
		o = NULL;
	}
	return rc == SQLITE_DONE ? 0 : to_errno(rc);
}
