// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How generations are written: see store_generation.h. How they are read is in store_history.c.
 */
#include "daemon/engine/store_generation.h"

#include <errno.h>
#include <sqlite3.h>

#include "daemon/engine/store_sql.h"

#define KEEP_SHUNNED "16" /* taken back, beyond the history: the file may still hold them */

static int insert_about(struct store *s, const struct generation *g)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s,
			    "INSERT INTO generation (at_ns, who, uid, outcome, why, reverts,"
			    " confirm_ms, size, name)"
			    " VALUES (?1, ?2, ?3, 'trying', ?4, ?5, ?6, ?7, ?8)",
			    &st);

	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)now_realtime_ns());
	sqlite3_bind_text(st, 2, g->who, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 3, g->uid);
	sqlite3_bind_text(st, 4, g->why, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 5, (sqlite3_int64)g->reverts);
	sqlite3_bind_int64(st, 6, g->confirm_ms);
	sqlite3_bind_int64(st, 7, (sqlite3_int64)g->size);
	sqlite3_bind_text(st, 8, g->name, -1, SQLITE_STATIC);
	return sql_finish(st);
}

static int insert_file(struct store *s, uint64_t id, const struct generation *g)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s, "INSERT INTO file VALUES (?1, ?2)", &st);

	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)id);
	sqlite3_bind_blob64(st, 2, g->text ? g->text : "", g->size, SQLITE_STATIC);
	return sql_finish(st);
}

int store_try(struct store *s, const struct generation *g, const struct state *before,
	      uint64_t *ret_id)
{
	uint64_t id = 0;
	int r = sql_begin(s);

	if (r < 0)
		return r;
	r = insert_about(s, g);
	if (r == 0) {
		id = (uint64_t)sqlite3_last_insert_rowid(s->db);
		r = insert_file(s, id, g);
	}
	if (r == 0)
		r = store_note_before(s, id, before);
	r = sql_end(s, r);
	if (r == 0)
		*ret_id = id;
	return r;
}

/* ---- how it ended ---- */

static int put_outcome(struct store *s, uint64_t id, const char *outcome, const char *error,
		       uint64_t changes)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s,
			    "UPDATE generation SET outcome = ?2, error = ?3, changes = ?4"
			    " WHERE id = ?1",
			    &st);

	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)id);
	sqlite3_bind_text(st, 2, outcome, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 3, error, -1, SQLITE_STATIC); /* NULL binds NULL */
	sqlite3_bind_int64(st, 4, (sqlite3_int64)changes);
	return sql_finish(st);
}

static int put_diff(struct store *s, uint64_t id, const char *diff)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s, "INSERT OR REPLACE INTO diff VALUES (?1, ?2)", &st);

	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)id);
	sqlite3_bind_text(st, 2, diff, -1, SQLITE_STATIC);
	return sql_finish(st);
}

static int put_deadline(struct store *s, const struct deadline *d)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s,
			    "INSERT OR REPLACE INTO deadline (one, generation, confirm_ms, boot,"
			    " boot_ns, wall_ns) VALUES (1, ?1, ?2, ?3, ?4, ?5)",
			    &st);

	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)d->generation);
	sqlite3_bind_int64(st, 2, d->confirm_ms);
	sqlite3_bind_text(st, 3, d->at.boot, -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 4, (sqlite3_int64)d->at.boot_ns);
	sqlite3_bind_int64(st, 5, (sqlite3_int64)d->at.wall_ns);
	return sql_finish(st);
}

/* What else waited for a confirmation will never get one. */
static int supersede(struct store *s, uint64_t id)
{
	return sql_run_id(s,
			  "UPDATE generation SET outcome = 'unconfirmed', shunned = 1,"
			  " error = 'generation ' || ?1 || ' came before it was confirmed'"
			  " WHERE outcome = 'armed' AND id != ?1",
			  id);
}

/* Committed: its text is good, and those that it takes back, if it is a revert, are not. */
static int judge_texts(struct store *s, uint64_t id)
{
	int r = sql_run_id(s,
			   "UPDATE generation SET shunned = 1 WHERE outcome = 'done' AND id < ?1"
			   " AND id > (SELECT reverts FROM generation"
			   " WHERE id = ?1 AND reverts > 0)",
			   id);

	if (r == 0)
		r = sql_run_id(s,
			       "UPDATE generation SET shunned = 0 WHERE shunned AND EXISTS"
			       " (SELECT 1 FROM file AS a, file AS b WHERE a.id = generation.id"
			       " AND b.id = ?1 AND a.text = b.text)",
			       id);
	return r;
}

static int commit(struct store *s, uint64_t id)
{
	int r = supersede(s, id);

	if (r == 0)
		r = judge_texts(s, id);
	if (r == 0)
		r = sql_run(s, "DELETE FROM deadline; DELETE FROM before;");
	return r;
}

/* The last two that were committed stay: one is in force, to the other one may go back. */
static int prune(struct store *s, uint32_t keep)
{
	int r = sql_run_id(s,
			   "DELETE FROM generation WHERE outcome != 'armed' AND id NOT IN"
			   " (SELECT id FROM generation ORDER BY id DESC LIMIT ?1)"
			   " AND id NOT IN (SELECT id FROM generation WHERE outcome = 'done'"
			   " ORDER BY id DESC LIMIT 2)"
			   " AND id NOT IN (SELECT id FROM generation WHERE shunned"
			   " ORDER BY id DESC LIMIT " KEEP_SHUNNED ")",
			   keep);

	if (r == 0)
		r = sql_run(s, "DELETE FROM file WHERE id NOT IN (SELECT id FROM generation);"
			       "DELETE FROM diff WHERE id NOT IN (SELECT id FROM generation);");
	return r;
}

int store_end(struct store *s, uint64_t id, const struct store_ending *e)
{
	const char *outcome = e->deadline ? "armed" : apply_outcome_name(e->outcome);
	int r = sql_begin(s);

	if (r < 0)
		return r;
	r = put_outcome(s, id, outcome, e->error, e->changes);
	if (r == 0 && e->diff)
		r = put_diff(s, id, e->diff);
	if (r == 0 && e->deadline) {
		r = supersede(s, id);
		if (r == 0)
			r = put_deadline(s, e->deadline);
	} else if (r == 0 && e->outcome == APPLY_DONE) {
		r = commit(s, id);
	} else if (r == 0) {
		r = sql_run_id(s, "DELETE FROM before WHERE generation = ?1", id);
	}
	if (r == 0)
		r = prune(s, e->keep);
	return sql_end(s, r);
}

/* ---- confirmation ---- */

int store_rearm(struct store *s, const struct deadline *d)
{
	return put_deadline(s, d);
}

int store_confirm(struct store *s, uint64_t id, uint32_t keep)
{
	int r = sql_begin(s);

	if (r < 0)
		return r;
	r = sql_run_id(s, "UPDATE generation SET outcome = 'done' WHERE id = ?1", id);
	if (r == 0)
		r = commit(s, id);
	if (r == 0)
		r = prune(s, keep);
	return sql_end(s, r);
}

static int take_back(struct store *s, uint64_t id, const char *words)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s,
			    "UPDATE generation SET outcome = 'unconfirmed', shunned = 1, error = ?2"
			    " WHERE id = ?1",
			    &st);

	if (r < 0)
		return r;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)id);
	sqlite3_bind_text(st, 2, words, -1, SQLITE_STATIC);
	return sql_finish(st);
}

int store_unconfirmed(struct store *s, uint64_t id, const char *words)
{
	int r = sql_begin(s);

	if (r < 0)
		return r;
	r = take_back(s, id, words);
	if (r == 0)
		r = sql_run_id(s, "DELETE FROM deadline WHERE generation = ?1", id);
	return sql_end(s, r);
}

int store_interrupted(struct store *s)
{
	/* One that asked for a confirmation must not come back unasked. */
	return sql_run(s, "UPDATE generation SET outcome = 'interrupted', shunned = confirm_ms > 0,"
			  " error = 'swd ended while it was being applied'"
			  " WHERE outcome = 'trying'");
}
