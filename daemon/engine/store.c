// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The store's file: opening it, its schema, and what is done about one that is broken. See store.h;
 * the store*.c are the only files that know SQLite. Write-ahead log, full sync at commits: an apply
 * that was answered is on the disk.
 */
#include "daemon/engine/store.h"

#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "daemon/engine/store_sql.h"

#define BUSY_MS 1000

/*
 * What makes a file of version n - 1 into one of version n; the first makes an empty one. A new
 * schema is a new row; a row that was released is never changed. The texts, which may be large,
 * stand apart, so that how an apply ended is noted without writing them again.
 */
static const char *const versions[] = {
	"CREATE TABLE generation ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" at_ns INTEGER NOT NULL,"
	" who TEXT NOT NULL,"
	" uid INTEGER NOT NULL,"
	" outcome TEXT NOT NULL,"
	" error TEXT,"
	" text BLOB NOT NULL);"
	"CREATE TABLE owned ("
	" kind TEXT NOT NULL,"
	" name TEXT NOT NULL,"
	" detail TEXT NOT NULL,"
	" PRIMARY KEY (kind, name, detail));"
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
	"PRAGMA application_id = 1937204224;"
	"PRAGMA user_version = 1;",

	"ALTER TABLE generation RENAME TO generation_1;"
	"CREATE TABLE generation ("
	" id INTEGER PRIMARY KEY AUTOINCREMENT,"
	" at_ns INTEGER NOT NULL,"
	" who TEXT NOT NULL,"
	" uid INTEGER NOT NULL,"
	" outcome TEXT NOT NULL,"
	" error TEXT,"
	" name TEXT NOT NULL DEFAULT ''," /* of the text, as messages call it */
	" why TEXT NOT NULL DEFAULT '',"
	" reverts INTEGER NOT NULL DEFAULT 0,"	  /* whose text it is; 0: none */
	" confirm_ms INTEGER NOT NULL DEFAULT 0," /* 0: it needs no confirmation */
	" changes INTEGER NOT NULL DEFAULT 0,"
	" size INTEGER NOT NULL,"
	" shunned INTEGER NOT NULL DEFAULT 0);" /* a start does not take such a file */
	"CREATE TABLE file (id INTEGER PRIMARY KEY, text BLOB NOT NULL);"
	"CREATE TABLE diff (id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
	"CREATE TABLE deadline ("
	" one INTEGER PRIMARY KEY CHECK (one = 1),"
	" generation INTEGER NOT NULL,"
	" confirm_ms INTEGER NOT NULL,"
	" boot TEXT NOT NULL,"
	" boot_ns INTEGER NOT NULL,"
	" wall_ns INTEGER NOT NULL);"
	"CREATE TABLE before (" /* the trial */
	" generation INTEGER NOT NULL,"
	" name TEXT NOT NULL,"
	" what INTEGER NOT NULL,"
	" value INTEGER NOT NULL,"
	" PRIMARY KEY (name, what));"
	"INSERT INTO generation (id, at_ns, who, uid, outcome, error, size)"
	" SELECT id, at_ns, who, uid, outcome, error, length(text) FROM generation_1;"
	"INSERT INTO file SELECT id, text FROM generation_1;"
	"DROP TABLE generation_1;"
	"PRAGMA user_version = 2;",

	"CREATE TABLE device (ifindex INTEGER PRIMARY KEY, name TEXT NOT NULL);" /* of `owned` */
	"PRAGMA user_version = 3;",

	"CREATE TABLE measured ("
	" name TEXT PRIMARY KEY,"
	" driver TEXT NOT NULL,"
	" at_ns INTEGER NOT NULL,"
	" frames INTEGER NOT NULL,"
	" doorbell_ps INTEGER NOT NULL,"
	" frame_ps INTEGER NOT NULL,"
	" noise_ps INTEGER NOT NULL,"
	" tries TEXT NOT NULL);" /* see store_measured.c */
	"PRAGMA user_version = 4;",

	"ALTER TABLE measured ADD COLUMN noisy INTEGER NOT NULL DEFAULT 0;"
	"PRAGMA user_version = 5;",
};

/* ---- opening ---- */

static int check_whole(struct store *s)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s, "PRAGMA quick_check(1)", &st), rc;
	const char *text;

	if (r < 0)
		return r;
	rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? -EUCLEAN : sql_errno(rc);
	text = (const char *)sqlite3_column_text(st, 0);
	return text && streq(text, "ok") ? 0 : -EUCLEAN;
}

static int make_schema(struct store *s, size_t version)
{
	int r = sql_begin(s);

	if (r < 0)
		return r;
	for (; r == 0 && version < ARRAY_SIZE(versions); version++)
		r = sql_run(s, versions[version]);
	return sql_end(s, r);
}

static int read_place(struct store *s, const char *place, bool *ret_same)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s, "SELECT value FROM meta WHERE key = 'place'", &st), rc;

	if (r < 0)
		return r;
	rc = sqlite3_step(st);
	*ret_same = rc == SQLITE_ROW && streq((const char *)sqlite3_column_text(st, 0), place);
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : sql_errno(rc);
}

static int put_place(struct store *s, const char *place)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s, "INSERT OR REPLACE INTO meta VALUES ('place', ?1)", &st);

	if (r < 0)
		return r;
	sqlite3_bind_text(st, 1, place, -1, SQLITE_STATIC);
	return sql_finish(st);
}

static int settle_place(struct store *s, const char *place)
{
	bool same;
	int r = read_place(s, place, &same);

	if (r < 0 || same)
		return r;
	r = sql_begin(s);
	if (r < 0)
		return r;
	r = sql_run(s, "DELETE FROM owned; DELETE FROM device; DELETE FROM before;");
	if (r == 0)
		r = put_place(s, place);
	return sql_end(s, r);
}

/* ---- where its files are ---- */

static ino_t inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* SQLite makes the log at the first look into a file, and keeps it until it is closed. */
static int note_files(struct store *s, const char *path)
{
	static const char *const ends[STORE_FILES] = { "", "-wal", "-shm" };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		if (asprintf(&s->paths[i], "%s%s", path, ends[i]) < 0) {
			s->paths[i] = NULL;
			return -ENOMEM;
		}
		s->inodes[i] = inode_of(s->paths[i]);
	}
	return 0;
}

int store_there(const struct store *s)
{
	for (size_t i = 0; i < STORE_FILES; i++)
		if (inode_of(s->paths[i]) != s->inodes[i])
			return i == 0 ? -ESTALE : -ENOLINK;
	return 0;
}

static int open_file(const char *path, const char *place, struct store **ret)
{
	_cleanup_(store_closep) struct store *s = calloc(1, sizeof(*s));
	int64_t version, tables;
	int r;

	if (!s)
		return -ENOMEM;
	s->known = state_new();
	if (!s->known)
		return -ENOMEM;
	r = sql_errno(sqlite3_open_v2(path, &s->db,
				      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
					      SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
				      NULL));
	if (r < 0)
		return r;
	/* SQLite falls back to reading only, and says so much later. */
	if (sqlite3_db_readonly(s->db, "main") == 1)
		return -EROFS;
	sqlite3_busy_timeout(s->db, BUSY_MS);
	r = sql_number(s, "PRAGMA user_version", &version);
	if (r == 0)
		r = sql_number(s, "SELECT count(*) FROM sqlite_master", &tables);
	if (r < 0)
		return r;
	if (version > (int64_t)ARRAY_SIZE(versions))
		return -EPROTO;
	r = check_whole(s);
	if (r == 0)
		r = sql_run(s, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
	/* A file with tables and without our version was made by someone else, or half made. */
	if (r == 0 && (version < 0 || (version == 0 && tables > 0)))
		r = -EUCLEAN;
	if (r == 0 && version < (int64_t)ARRAY_SIZE(versions))
		r = make_schema(s, (size_t)version);
	if (r == 0)
		r = settle_place(s, place);
	if (r == 0)
		r = note_files(s, path);
	if (r == 0)
		*ret = take(s);
	return r;
}

/* A name to move the file to. A machine without a clock may be here in the same second again. */
static int free_name(const char *path, char *to, size_t size)
{
	long long now = (long long)time(NULL);

	for (int i = 0; i < 100; i++) {
		char more[16] = "";

		if (i)
			snprintf(more, sizeof(more), ".%d", i);
		if ((size_t)snprintf(to, size, "%s.corrupt-%lld%s", path, now, more) >= size)
			return -ENAMETOOLONG;
		if (access(to, F_OK) < 0)
			return 0;
	}
	return -EEXIST;
}

/* Moves the file and what SQLite keeps beside it out of the way; nothing is deleted. */
static int move_aside(const char *path, char *to, size_t size)
{
	static const char *const beside[] = { "-wal", "-shm" };
	char from[PATH_MAX + 8], aside[PATH_MAX + 40];
	int r;

	r = free_name(path, to, size);
	if (r < 0)
		return r;
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
	for (size_t i = 0; i < STORE_FILES; i++)
		free(s->paths[i]);
	state_free(s->known);
	free(s->devices);
	free(s);
}

bool store_rebuilt(const struct store *s)
{
	return s->rebuilt;
}
