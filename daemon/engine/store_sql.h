/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_sql: the few words of SQLite that the store's files share. Nobody else includes this. All
 * return 0 or -errno.
 */
#ifndef SWD_ENGINE_STORE_SQL_H
#define SWD_ENGINE_STORE_SQL_H

#include <stdint.h>
#include <sys/types.h>

#include "config/base/util.h"

struct sqlite3;
struct sqlite3_stmt;

#define STORE_FILES 3

struct store {
	struct sqlite3 *db;
	bool rebuilt;
	struct state *known; /* records of ownership that are in the file, and of their devices */
	struct store_device *devices;
	size_t device_count, device_space;
	char *paths[STORE_FILES]; /* the file, its log, and that one's index */
	ino_t inodes[STORE_FILES];
};

int sql_errno(int rc); /* of a result code; 0 for rows and their end */
int sql_run(struct store *s, const char *sql);
int sql_prepare(struct store *s, const char *sql, struct sqlite3_stmt **ret);
void sql_finalizep(struct sqlite3_stmt **st);
#define _cleanup_sql_ _cleanup_(sql_finalizep)
/* Takes a statement that gives no rows to its end. */
int sql_finish(struct sqlite3_stmt *st);
/* Takes a statement to its first row; -ENOENT: there is none. */
int sql_row(struct sqlite3_stmt *st);
/* Runs a statement whose ?1 is a number, and that gives no rows. */
int sql_run_id(struct store *s, const char *sql, uint64_t id);
int sql_number(struct store *s, const char *sql, int64_t *ret);

int sql_begin(struct store *s);
/* Commits, or rolls back if r is an error or the commit fails; returns the first error. */
int sql_end(struct store *s, int r);

#endif
