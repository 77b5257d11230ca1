// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of what is ours and can carry no mark, in the store: see store.h and owned.h.
 */
#include <errno.h>
#include <sqlite3.h>

#include "daemon/engine/owned.h"
#include "daemon/engine/store.h"
#include "daemon/engine/store_sql.h"

/* ---- what the file has ---- */

static struct store_device *known_device(const struct store *s, uint32_t ifindex)
{
	for (size_t i = 0; i < s->device_count; i++)
		if (s->devices[i].ifindex == ifindex)
			return &s->devices[i];
	return NULL;
}

bool store_has(const struct store *s, const struct object *const *list, size_t n,
	       const struct store_device *devices, size_t device_count)
{
	for (size_t i = 0; i < n; i++)
		if (!owned_has(s->known, list[i]))
			return false;
	for (size_t i = 0; i < device_count; i++) {
		const struct store_device *known = known_device(s, devices[i].ifindex);

		if (!known || !streq(known->name, devices[i].name))
			return false;
	}
	return true;
}

/* What there is no memory for is written again. */
static void know(struct store *s, const struct object *const *list, size_t n,
		 const struct store_device *devices, size_t device_count)
{
	for (size_t i = 0; i < n; i++) {
		struct object *ref = object_ref(list[i]);

		if (state_put(s->known, ref) < 0)
			object_unref(ref);
	}
	for (size_t i = 0; i < device_count; i++) {
		struct store_device *known = known_device(s, devices[i].ifindex);

		if (known)
			*known = devices[i];
		else if (grow(&s->devices, &s->device_space, s->device_count,
			      sizeof(*s->devices)) == 0)
			s->devices[s->device_count++] = devices[i];
	}
}

static void forget(struct store *s)
{
	for (int k = 0; k < KIND_COUNT_; k++)
		state_clear_kind(s->known, (enum kind)k);
	s->device_count = 0;
}

/* ---- records ---- */

static int each_owned(struct store *s, const char *sql, const struct object *const *list, size_t n)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	char name[IFNAMSIZ], detail[OWNED_DETAIL];
	int r = sql_prepare(s, sql, &st);

	for (size_t i = 0; i < n && r == 0; i++) {
		owned_print(list[i], name, detail);
		sqlite3_bind_text(st, 1, kind_ops((enum kind)list[i]->kind)->name, -1,
				  SQLITE_STATIC);
		sqlite3_bind_text(st, 2, name, -1, SQLITE_STATIC);
		sqlite3_bind_text(st, 3, detail, -1, SQLITE_STATIC);
		r = sql_finish(st);
		sqlite3_reset(st);
	}
	return r;
}

static int put_devices(struct store *s, const struct store_device *devices, size_t n)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s, "INSERT OR REPLACE INTO device VALUES (?1, ?2)", &st);

	for (size_t i = 0; i < n && r == 0; i++) {
		sqlite3_bind_int64(st, 1, devices[i].ifindex);
		sqlite3_bind_text(st, 2, devices[i].name, -1, SQLITE_STATIC);
		r = sql_finish(st);
		sqlite3_reset(st);
	}
	return r;
}

static int put_owned(struct store *s, const struct object *const *list, size_t n,
		     const struct store_device *devices, size_t device_count)
{
	int r = each_owned(s, "INSERT OR REPLACE INTO owned VALUES (?1, ?2, ?3)", list, n);

	return r < 0 ? r : put_devices(s, devices, device_count);
}

int store_own(struct store *s, const struct object *const *list, size_t n,
	      const struct store_device *devices, size_t device_count)
{
	int r = n > 0 ? sql_begin(s) : 0;

	if (n == 0 || r < 0)
		return r;
	r = sql_end(s, put_owned(s, list, n, devices, device_count));
	if (r == 0)
		know(s, list, n, devices, device_count);
	return r;
}

int store_own_only(struct store *s, const struct object *const *list, size_t n,
		   const struct store_device *devices, size_t device_count)
{
	int r = sql_begin(s);

	if (r < 0)
		return r;
	r = sql_run(s, "DELETE FROM owned; DELETE FROM device;");
	r = sql_end(s, r < 0 ? r : put_owned(s, list, n, devices, device_count));
	forget(s);
	if (r == 0)
		know(s, list, n, devices, device_count);
	return r;
}

int store_disown(struct store *s, const struct object *const *list, size_t n)
{
	int r = n > 0 ? sql_begin(s) : 0;

	if (n == 0 || r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (owned_has(s->known, list[i]))
			state_remove(s->known, list[i]);
	return sql_end(s, each_owned(s,
				     "DELETE FROM owned WHERE kind = ?1 AND name = ?2"
				     " AND detail = ?3",
				     list, n));
}

static enum kind kind_named(const char *name)
{
	for (int k = 0; k < KIND_COUNT_; k++)
		if (owned_kind((enum kind)k) && streq(kind_ops((enum kind)k)->name, name))
			return (enum kind)k;
	return KIND_COUNT_;
}

/* Another one under its name is there, and this one is not. */
static bool is_left(const struct state *found, const struct state *into,
		    const struct object *record)
{
	const struct object *now = found ? state_find(found, record) : NULL;

	return state_find(into, record) && !(now && owned_is(record, now));
}

int store_owned(struct store *s, const struct state *found, struct state *into)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	int r = sql_prepare(s, "SELECT kind, name, detail FROM owned", &st), rc;

	if (r < 0)
		return r;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		_cleanup_object_ struct object *o = NULL;

		r = owned_parse(kind_named((const char *)sqlite3_column_text(st, 0)),
				(const char *)sqlite3_column_text(st, 1),
				(const char *)sqlite3_column_text(st, 2), &o);
		/* What can't be read is not ours any more: it stays where it is. */
		if (r == -EINVAL || (r == 0 && is_left(found, into, o)))
			continue;
		if (r < 0)
			return r;
		know(s, (const struct object *const *)&o, 1, NULL, 0);
		r = state_put(into, o);
		if (r < 0)
			return r;
		o = NULL;
	}
	return rc == SQLITE_DONE ? 0 : sql_errno(rc);
}

int store_devices(struct store *s, struct store_device **ret, size_t *ret_n)
{
	_cleanup_sql_ sqlite3_stmt *st = NULL;
	_cleanup_free_ struct store_device *list = NULL;
	size_t n = 0, space = 0;
	int r = sql_prepare(s, "SELECT ifindex, name FROM device", &st), rc;

	if (r < 0)
		return r;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		r = grow(&list, &space, n, sizeof(*list));
		if (r < 0)
			return r;
		list[n].ifindex = (uint32_t)sqlite3_column_int64(st, 0);
		/* A name that no device can have is none's. */
		n += copy_name(list[n].name, IFNAMSIZ, (const char *)sqlite3_column_text(st, 1));
	}
	if (rc != SQLITE_DONE)
		return sql_errno(rc);
	know(s, NULL, 0, list, n);
	*ret = take(list);
	*ret_n = n;
	return 0;
}
