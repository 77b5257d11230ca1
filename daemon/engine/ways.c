// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is known of replacing: see ways.h. A refusal is believed to be about the pair, and not about
 * the new filter, if another way was not tried yet, or was refused with other words.
 */
#include "daemon/engine/ways.h"

#include <errno.h>
#include <stdlib.h>

#include "config/base/hash.h"
#include "daemon/engine/apply.h"
#include "daemon/policy/profile.h"

#define WAYS_MOST 4096

void ways_clear(struct ways *w)
{
	free(w->list);
	*w = (struct ways){ 0 };
}

/* ---- what is known ---- */

static uint64_t hash_of(const struct filter *f)
{
	struct match_view match = filter_match(f);
	uint64_t hash = hash_bytes(HASH_START, &f->chain, sizeof(f->chain));

	hash = hash_bytes(hash, &f->protocol, sizeof(f->protocol));
	hash = hash_bytes(hash, match.bytes, match.size);
	return hash ? hash : 1;
}

static struct way *find(const struct ways *w, uint32_t block, uint64_t what)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->list[i].block == block && w->list[i].what == what)
			return &w->list[i];
	return NULL;
}

static enum replace worse(enum replace a, enum replace b)
{
	return MAX(a, b);
}

static enum replace of_driver(const char *dev, const struct state *found)
{
	const struct port *p = state_port(found, dev);

	return p ? profile_replace(p->facts.driver) : REPLACE_AUTO;
}

enum replace ways_of_block(const struct ways *w, const struct block *block,
			   const struct state *wanted, const struct state *found)
{
	const struct way *learned = w ? find(w, block->id, 0) : NULL;
	enum replace r = learned ? (enum replace)learned->replace : REPLACE_IN_PLACE;

	if (block->replace != REPLACE_AUTO)
		return (enum replace)block->replace;
	for (size_t i = 0; i < state_count(wanted, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(wanted, KIND_QDISC, i);

		if (q->ingress_block == block->id || q->egress_block == block->id)
			r = worse(r, of_driver(q->dev, found));
	}
	return r;
}

enum replace ways_of(const struct ways *w, const struct filter *f, enum replace of_block,
		     bool same_match)
{
	const struct way *own = w && w->count ? find(w, f->block, hash_of(f)) : NULL;
	enum replace r = same_match ? of_block : REPLACE_IN_PLACE;

	return own ? worse(r, (enum replace)own->replace) : r;
}

bool ways_alike(const struct ways *w, const struct filter *f)
{
	const struct way *own = w && w->count ? find(w, f->block, hash_of(f)) : NULL;

	return own && own->alike;
}

enum ways_room ways_room(const struct ways *w, uint32_t block)
{
	const struct way *learned = w && w->count ? find(w, block, 0) : NULL;

	return learned ? (enum ways_room)learned->room : ROOM_NONE;
}

/* ---- finding out ---- */

/* False: it was known, or there are too many. */
static bool note(struct ways *w, const struct way *way)
{
	struct way *known = find(w, way->block, way->what);

	if (known && known->replace >= way->replace && known->alike >= way->alike &&
	    known->room >= way->room)
		return false;
	if (known) {
		uint8_t room = known->room, had = known->had;

		*known = *way;
		known->room = MAX(room, way->room);
		known->had = had;
		return true;
	}
	if (w->count == WAYS_MOST || grow(&w->list, &w->space, w->count, sizeof(*w->list)) < 0)
		return false;
	w->list[w->count++] = *way;
	return true;
}

/* What the driver said, without the name of the filter behind it. */
static uint64_t words_of(const struct apply *a, const struct diags *d, size_t i)
{
	const char *text = a->said[i] ? diags_at(d, a->said[i] - 1)->text : "";
	const char *end = strrchr(text, '(');

	return hash_text(text, end ? (size_t)(end - text) : strlen(text));
}

/* One with the same match that the plan takes away: so both were there, or should have been. */
static const struct filter *old_of(const struct plan *p, const struct filter *f)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct filter *old = (const struct filter *)p->steps[i].found;

		if (p->steps[i].op == KERNEL_REMOVE && old->obj.kind == KIND_FILTER &&
		    old->block == f->block && old->chain == f->chain &&
		    old->protocol == f->protocol &&
		    match_compare(filter_match(old), filter_match(f)) == 0)
			return old;
	}
	return NULL;
}

/* True if something of ours goes from the block behind the step, and may go before it. */
static bool more_goes(const struct plan *p, size_t i, uint32_t block)
{
	for (i++; i < p->count; i++) {
		const struct filter *old = (const struct filter *)p->steps[i].found;

		if (p->steps[i].op == KERNEL_REMOVE && old->obj.kind == KIND_FILTER &&
		    old->block == block && old->owner == OWNER_OURS)
			return true;
	}
	return false;
}

/* A full table: it needs more room than was made for it. */
static bool learn_room(struct ways *w, const struct apply *a, size_t i)
{
	const struct filter *f = (const struct filter *)a->plan->steps[i].wanted;
	const struct way *known = find(w, f->block, 0);
	struct way way = {
		.block = f->block,
		.passing = !known || known->passing,
		.replace = known ? known->replace : REPLACE_IN_PLACE,
		.alike = known && known->alike,
		.room = (known ? known->had : ROOM_NONE) + 1,
	};

	if (way.room > ROOM_ALL || !more_goes(a->plan, i, f->block))
		return false;
	note(w, &way);
	return true;
}

/* The way to try next, or REPLACE_AUTO: there is none. */
static enum replace next_way(const struct ways *w, const struct apply *a, size_t i, uint64_t words)
{
	const struct step *s = &a->plan->steps[i];
	const struct filter *f = (const struct filter *)s->wanted;
	const struct way *own = find(w, f->block, hash_of(f));

	if (s->op == KERNEL_CHANGE)
		return a->errors[i] == -ENOSPC ? REPLACE_GAP : REPLACE_BESIDE;
	if (s->reason == STEP_BESIDE)
		return REPLACE_GAP;
	if (!old_of(a->plan, f) ||
	    (own && own->said == words && a->errors[i] != -EEXIST && a->errors[i] != -ENOSPC))
		return REPLACE_AUTO;
	return REPLACE_GAP;
}

/* Errors of drivers that can't hold what they are given, or have no room for it. */
static bool may_be_the_pair(int error)
{
	return error == -EOPNOTSUPP || error == -EEXIST || error == -EINVAL || error == -EBUSY ||
	       error == -ENOSPC;
}

/* Its place is another's now. */
static bool is_foreign(const struct state *found, const struct filter *f)
{
	const struct filter *now = state_find(found, f);

	return now && now->owner != OWNER_OURS;
}

static bool learn_step(struct ways *w, const struct apply *a, const struct diags *d,
		       const struct state *found, size_t i, bool all)
{
	const struct step *s = &a->plan->steps[i];
	const struct filter *f = (const struct filter *)s->wanted;
	uint64_t words = words_of(a, d, i);
	struct way way = { .said = words };
	bool news;

	if (!f || f->obj.kind != KIND_FILTER || !may_be_the_pair(a->errors[i]) ||
	    is_foreign(found, f))
		return false;
	way.block = f->block;
	way.replace = (uint8_t)next_way(w, a, i, words);
	if (way.replace == REPLACE_AUTO)
		return a->errors[i] == -ENOSPC && learn_room(w, a, i);
	way.what = hash_of(f);
	way.alike = s->op == KERNEL_ADD && s->reason != STEP_BESIDE &&
		    filter_same_actions(old_of(a->plan, f), f);
	/* A table that is full now is not so for ever. */
	way.passing = way.replace == REPLACE_BESIDE || a->errors[i] == -ENOSPC;
	news = note(w, &way);
	way.what = 0;
	way.alike = false;
	way.passing = true;
	if ((way.replace == REPLACE_BESIDE || all) &&
	    (!s->found ||
	     match_compare(filter_match((const struct filter *)s->found), filter_match(f)) == 0))
		news |= note(w, &way);
	return news;
}

bool ways_learn(struct ways *w, const struct apply *a, const struct diags *d,
		const struct state *found, bool all)
{
	size_t learned = 0, refused = 0;

	for (size_t i = 0; i < w->count; i++)
		w->list[i].had = w->list[i].room;
	for (size_t i = 0; a->outcomes && i < a->plan->count; i++) {
		if (a->outcomes[i] != KERNEL_REFUSED)
			continue;
		refused++;
		learned += learn_step(w, a, d, found, i, all);
	}
	return refused > 0 && learned == refused;
}

void ways_settle(struct ways *w, bool done)
{
	size_t n = 0;

	for (size_t i = 0; i < w->count; i++) {
		struct way way = w->list[i];

		/* Other rules of the block will go the way that this one could go. */
		if (way.passing && (!done || way.what || way.replace != REPLACE_BESIDE))
			continue;
		way.passing = false;
		way.room = way.had = ROOM_NONE;
		way.said = 0;
		w->list[n++] = way;
	}
	w->count = n;
}
