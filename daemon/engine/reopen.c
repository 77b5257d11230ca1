// SPDX-License-Identifier: GPL-2.0-or-later
/* Opening the store, once and again: see reopen.h. */
#include "daemon/engine/reopen.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "config/base/log.h"
#include "daemon/engine/owned.h"
#include "daemon/engine/renames.h"
#include "daemon/engine/trial.h"

/* This boot and this network namespace: what the kernel holds is gone with either. */
static void read_place(char to[128])
{
	struct stat st = { 0 };
	struct moment now;

	clock_now(&now);
	stat("/proc/self/ns/net", &st);
	snprintf(to, 128, "%s net:%llu", now.boot[0] ? now.boot : "?",
		 (unsigned long long)st.st_ino);
}

static int open_store(struct engine_owner *o)
{
	char place[128], words[STORE_WORDS];
	int r;

	read_place(place);
	pulse_wait(o->pulse);
	r = store_open(o->state_dir, place, &o->store, words);
	pulse_go(o->pulse);
	if (r < 0)
		alert_set(&o->alerts, "store", "store", "%s; applies are refused",
			  words[0] ? words : strerror(-r));
	else if (words[0])
		alert_set(&o->alerts, "store-rebuilt", "store", "%s", words);
	/* A file that is of no use is looked at once: it is the operator's turn. */
	o->store_lost = r == -EPROTO || r == -EUCLEAN;
	return r;
}

void reopen_first(struct engine_owner *o)
{
	open_store(o);
}

/* Records in the store beside those made since, which it does not have. */
static int join_owned(struct engine_owner *o)
{
	_cleanup_(state_freep) struct state *since = state_copy(o->owned);
	int r = since ? store_owned(o->store, o->found, o->owned) : -ENOMEM;

	for (int k = 0; k < KIND_COUNT_ && r == 0; k++) {
		for (size_t i = 0; i < state_count(since, (enum kind)k) && r == 0; i++) {
			struct object *ref = object_ref(state_at(since, (enum kind)k, i));

			r = state_put(o->owned, ref);
			if (r < 0)
				object_unref(ref);
		}
	}
	if (r == 0)
		renames_since(o);
	return r < 0 ? r : renames_write(o);
}

/* What was in force without a store may be what it has as committed. */
static int join_generation(struct engine_owner *o)
{
	_cleanup_(generation_clear) struct generation g = { 0 };
	int r = store_interrupted(o->store);

	if (r == 0)
		r = store_committed(o->store, 0, &g);
	if (r == 0 && o->config && trial_hash(g.text, g.size) == o->text_hash)
		o->generation = g.id;
	return r == -ENOENT ? 0 : r;
}

static int open_late(struct engine_owner *o)
{
	int r = open_store(o);

	if (r < 0)
		return r;
	r = join_owned(o);
	if (r == 0)
		r = join_generation(o);
	owner_store_result(o, "what is ours can't be read", r);
	if (r < 0)
		store_close(take(o->store));
	else
		log_notice("the store is open again");
	return r;
}

int reopen_store(struct engine_owner *o)
{
	int r = o->store ? store_there(o->store) : 0;

	if (o->store && r == 0)
		return 0;
	if (r == -ESTALE) {
		alert_set(&o->alerts, "store", "store",
			  "its file in %s was taken away; applies are refused until swd is started "
			  "again",
			  o->state_dir);
		return r;
	}
	if (!o->store)
		return o->store_lost ? -ENODEV : open_late(o);
	/* The last to close it writes into the file what the log holds, wherever that is now. */
	log_warning("the store's log was taken away; it is opened again");
	store_close(take(o->store));
	return open_store(o);
}

/* ---- a new one ---- */

static int adopt(struct engine_owner *o, enum kind kind)
{
	const struct state *wanted = o->config->wanted;
	int r = 0;

	for (size_t i = 0; i < state_count(wanted, kind) && r == 0; i++) {
		const struct object *w = state_at(wanted, kind, i);
		const struct object *found = state_find(o->found, w);
		struct object *ref;

		if (!found || !kind_ops(kind)->satisfied(w, found) || state_find(o->owned, w))
			continue;
		ref = object_ref(found);
		r = state_put(o->owned, ref);
		if (r < 0)
			object_unref(ref);
	}
	return r;
}

void reopen_adopt(struct engine_owner *o)
{
	int r = 0;

	if (!o->store || !store_rebuilt(o->store) || !o->config)
		return;
	for (int k = 0; k < KIND_COUNT_ && r == 0; k++)
		if (owned_kind((enum kind)k))
			r = adopt(o, (enum kind)k);
	if (r == 0)
		r = renames_write(o);
	owner_store_result(o, "what is ours can't be recorded", r);
}
