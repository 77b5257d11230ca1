// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From neighbours to slots: see share.h. First the runs and who keeps which pref, then the slots of
 * each run: those that had a pref in rising order, new ones behind them.
 */
#include "daemon/policy/share.h"

#include <errno.h>

#include "config/base/hash.h"
#include "config/model/form.h"

#define PREFS 65536

#define PROTOCOLS 16 /* runs of so many are looked after at once; compile knows fewer */

struct open_run {
	uint16_t protocol;
	uint32_t first, last;
	uint32_t flags; /* of its filters */
	bool alone;	/* its first may share with none */
	struct form form;
};

/* On the prefs that are there. */
struct claims {
	uint32_t held[PREFS];  /* by the run that is looked at */
	uint32_t best[PREFS];  /* by the run that keeps it */
	uint32_t owner[PREFS]; /* the first item of that run */
	uint32_t slot[PREFS];  /* of a pref that is kept */
};

struct sharing {
	const struct place_item *items;
	const struct filter *const *same;
	size_t count, most, fill;
	struct shared *ret;

	uint32_t *run;			 /* of each item: the first item of its run */
	uint32_t *next;			 /* of each item: the next one of its run; 0: none */
	struct open_run open[PROTOCOLS]; /* the newest run of each protocol */
	size_t open_count;
	uint32_t *seen; /* open addressing over protocols and matches: item + 1 */
	size_t space;
	uint16_t *touched; /* prefs that a run had */
	size_t touched_count;
	struct claims *claims; /* NULL: nothing is there */
};

#define FOR_EACH_IN_RUN(i, s, first) \
	for ((i) = (first); (i) != SIZE_MAX; (i) = (s)->next[i] ? (s)->next[i] : SIZE_MAX)

static void sharing_free(struct sharing *s)
{
	free(s->run);
	free(s->next);
	free(s->seen);
	free(s->touched);
	free(s->claims);
	free(s);
}
DEFINE_CLEANUP(struct sharing *, sharing_free);

void shared_clear(struct shared *s)
{
	free(s->list);
	free(s->of);
	*s = (struct shared){ 0 };
}

/* ---- runs ---- */

static bool has_range(struct match_view v)
{
	struct match_entry e;
	size_t offset = 0;

	while (match_next(v, &offset, &e))
		if (field_row(e.field)->type == FIELD_TYPE_RANGE)
			return true;
	return false;
}

/* Begins a run: what may join it is of the form of its first. */
static void open_run(struct open_run *run, const struct place_item *item, size_t i)
{
	struct match_view match = filter_match(item->filter);

	run->protocol = item->filter->protocol;
	run->first = run->last = (uint32_t)i;
	run->alone = item->fixed || item->filter->type != FILTER_FLOWER || has_range(match);
	run->flags = item->filter->flags;
	form_make(match, UINT32_MAX, &run->form);
}

static bool may_join(const struct open_run *run, const struct place_item *item)
{
	return !run->alone && !item->fixed && item->filter->type == FILTER_FLOWER &&
	       item->filter->flags == run->flags &&
	       form_fits(&run->form, filter_match(item->filter));
}

/* True if an item of that run has the very match; in any case the item is the one to be found. */
static bool key_again(struct sharing *s, size_t first, size_t i)
{
	const struct filter *f = s->items[i].filter;
	struct match_view match = filter_match(f);
	uint64_t hash = hash_text(match.bytes, match.size) + f->protocol;
	size_t at = (hash ^ hash >> 40) & (s->space - 1); /* above all bytes show */

	for (; s->seen[at]; at = (at + 1) & (s->space - 1)) {
		size_t k = s->seen[at] - 1;

		if (s->items[k].filter->protocol != f->protocol ||
		    match_compare(filter_match(s->items[k].filter), match) != 0)
			continue;
		s->seen[at] = (uint32_t)i + 1;
		return s->run[k] == first;
	}
	s->seen[at] = (uint32_t)i + 1;
	return false;
}

/*
 * Ties an item to the run it is in. Frames of one protocol are nothing to filters of another, so a
 * run goes on behind those; what is for all protocols ends all runs.
 */
static void join_run(struct sharing *s, size_t i)
{
	uint16_t protocol = s->items[i].filter->protocol;
	size_t at = 0;
	bool again;

	while (at < s->open_count && s->open[at].protocol != protocol)
		at++;
	again = key_again(s, at < s->open_count ? s->open[at].first : i, i);
	if (at < s->open_count && !again && may_join(&s->open[at], &s->items[i])) {
		s->run[i] = s->open[at].first;
		s->next[s->open[at].last] = (uint32_t)i;
		s->open[at].last = (uint32_t)i;
		return;
	}
	s->run[i] = (uint32_t)i;
	if (protocol == ETHERTYPE_ALL || (at == s->open_count && at == PROTOCOLS)) {
		s->open_count = 0;
		return;
	}
	s->open_count = MAX(s->open_count, at + 1);
	open_run(&s->open[at], &s->items[i], i);
}

/* ---- who keeps which pref ---- */

static uint16_t pref_before(const struct sharing *s, size_t i)
{
	return s->same[i] ? s->same[i]->pref : 0;
}

static void claim(struct sharing *s, size_t first)
{
	size_t i;

	s->touched_count = 0;
	FOR_EACH_IN_RUN(i, s, first) {
		uint16_t pref = pref_before(s, i);

		if (pref && s->claims->held[pref]++ == 0)
			s->touched[s->touched_count++] = pref;
	}
	for (size_t k = 0; k < s->touched_count; k++) {
		uint16_t pref = s->touched[k];

		if (s->claims->held[pref] > s->claims->best[pref]) {
			s->claims->best[pref] = s->claims->held[pref];
			s->claims->owner[pref] = (uint32_t)first;
		}
		s->claims->held[pref] = 0;
	}
}

static int claim_all(struct sharing *s)
{
	size_t there = 0;

	while (there < s->count && !s->same[there])
		there++;
	if (there == s->count)
		return 0;
	s->claims = calloc(1, sizeof(*s->claims));
	s->touched = calloc(s->count, sizeof(*s->touched));
	if (!s->claims || !s->touched)
		return -ENOMEM;
	for (size_t i = 0; i < s->count; i++)
		if (s->run[i] == i)
			claim(s, i);
	return 0;
}

static bool keeps(const struct sharing *s, size_t first, uint16_t pref)
{
	return s->claims && pref && s->claims->best[pref] && s->claims->owner[pref] == first;
}

/* ---- slots ---- */

static int add_slot(struct sharing *s, size_t first, uint16_t before, uint16_t fixed)
{
	struct shared *ret = s->ret;
	int r = grow(&ret->list, &ret->space, ret->count, sizeof(*ret->list));

	if (r < 0)
		return r;
	ret->list[ret->count++] =
		(struct share_slot){ .before = before, .fixed = fixed, .first = first };
	return 0;
}

static void join(struct sharing *s, size_t i, size_t slot)
{
	s->ret->of[i] = (uint32_t)slot;
	s->ret->list[slot].count++;
}

static int by_number(const void *a, const void *b)
{
	return CMP(*(const uint16_t *)a, *(const uint16_t *)b);
}

/* Those that stay, into the prefs that the run keeps. */
static int keep_prefs(struct sharing *s, size_t first)
{
	size_t i;
	int r = 0;

	s->touched_count = 0;
	FOR_EACH_IN_RUN(i, s, first) {
		uint16_t pref = pref_before(s, i);

		if (keeps(s, first, pref) && s->claims->held[pref]++ == 0)
			s->touched[s->touched_count++] = pref;
	}
	qsort(s->touched, s->touched_count, sizeof(*s->touched), by_number);
	for (size_t k = 0; k < s->touched_count && r == 0; k++) {
		s->claims->held[s->touched[k]] = 0;
		s->claims->slot[s->touched[k]] = (uint32_t)s->ret->count;
		r = add_slot(s, SIZE_MAX, s->touched[k], s->items[first].fixed);
	}
	FOR_EACH_IN_RUN(i, s, r == 0 ? first : SIZE_MAX) {
		uint16_t pref = pref_before(s, i);

		if (!keeps(s, first, pref))
			continue;
		join(s, i, s->claims->slot[pref]);
		s->ret->list[s->claims->slot[pref]].first =
			MIN(s->ret->list[s->claims->slot[pref]].first, i);
	}
	return r;
}

static bool has_room(const struct sharing *s, size_t slot)
{
	const struct share_slot *at = &s->ret->list[slot];

	return at->count < (at->before ? s->most : s->fill);
}

/* The others: beside the one in front of them, or in a new pref. */
static int place_new(struct sharing *s, size_t first)
{
	size_t kept = s->ret->count, slot = kept - s->touched_count, i;

	FOR_EACH_IN_RUN(i, s, first) {
		int r = 0;

		if (keeps(s, first, pref_before(s, i))) {
			slot = s->ret->of[i];
			continue;
		}
		if (slot >= s->ret->count || !has_room(s, slot)) {
			slot = s->ret->count - 1;
			if (s->ret->count == kept || !has_room(s, slot)) {
				slot = s->ret->count;
				r = add_slot(s, i, 0, s->items[first].fixed);
			}
		}
		if (r < 0)
			return r;
		join(s, i, slot);
		s->ret->list[slot].first = MIN(s->ret->list[slot].first, i);
	}
	return 0;
}

static struct sharing *sharing_new(const struct place_item *items, size_t n,
				   const struct filter *const *same, size_t most,
				   struct shared *ret)
{
	struct sharing *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->items = items;
	s->count = n;
	s->same = same;
	s->most = most;
	s->fill = most > SHARE_MOST ? most : SHARE_FILL;
	s->ret = ret;
	for (s->space = 16; s->space < 2 * n;)
		s->space *= 2;
	s->seen = calloc(s->space, sizeof(*s->seen));
	s->run = calloc(n + 1, sizeof(*s->run));
	s->next = calloc(n + 1, sizeof(*s->next));
	ret->of = calloc(n + 1, sizeof(*ret->of));
	if (s->seen && s->run && s->next && ret->of)
		return s;
	sharing_free(s);
	return NULL;
}

int share_find(const struct place_item *items, size_t n, const struct filter *const *same,
	       size_t most, struct shared *ret)
{
	_cleanup_(sharing_freep) struct sharing *s = sharing_new(items, n, same, most, ret);
	int r;

	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		join_run(s, i);
	r = claim_all(s);
	for (size_t i = 0; i < n && r == 0; i++) {
		if (s->run[i] != i)
			continue;
		if (s->claims)
			r = keep_prefs(s, i);
		if (r == 0)
			r = place_new(s, i);
	}
	return r;
}

/* ---- handles ---- */

struct handles {
	size_t old;    /* among before: the first that may still take a number of this pref */
	uint32_t next; /* the lowest number not tried */
};

static size_t first_at(const struct filter *const *before, size_t m, uint16_t pref)
{
	size_t low = 0, high = m;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (before[middle]->pref < pref)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int share_handles(const struct place_item *items, size_t n, const struct filter *const *same,
		  const struct filter *const *before, size_t m, const struct shared *shared)
{
	_cleanup_free_ struct handles *slots = calloc(shared->count + 1, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t k = 0; k < shared->count; k++)
		slots[k] = (struct handles){
			first_at(before, m, items[shared->list[k].first].filter->pref), 1
		};
	for (size_t i = 0; i < n; i++) {
		struct handles *h = &slots[shared->of[i]];
		struct filter *f = items[i].filter;

		if (same[i] && same[i]->pref == f->pref &&
		    match_compare(filter_match(same[i]), filter_match(f)) == 0) {
			f->handle = same[i]->handle;
			continue;
		}
		for (; h->old < m && before[h->old]->pref == f->pref &&
		       before[h->old]->handle <= h->next;
		     h->old++)
			h->next += before[h->old]->handle == h->next;
		f->handle = h->next++;
	}
	return 0;
}
