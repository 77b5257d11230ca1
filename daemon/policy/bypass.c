// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bypass of each block, what was heard of it: bypass_marks.c keeps the marks of 6.12, the last
 * reading of our patch is kept here. What it means is for bypass_judge.c.
 */
#include "daemon/policy/bypass_known.h"

#include <errno.h>

enum bypass_strategy bypass_strategy_for(enum bypass_ability ability)
{
	switch (ability) {
	case BYPASS_ABILITY_UNKNOWN:
		return BYPASS_STRATEGY_NONE;
	case BYPASS_ABILITY_NONE:
		return BYPASS_STRATEGY_SHORTCUT;
	case BYPASS_ABILITY_MARKS:
	case BYPASS_ABILITY_READBACK:
		return BYPASS_STRATEGY_KERNEL;
	}
	return BYPASS_STRATEGY_NONE;
}

struct bypass *bypass_new(enum bypass_ability ability)
{
	struct bypass *b = calloc(1, sizeof(*b));

	if (b)
		b->ability = ability;
	return b;
}

void bypass_free(struct bypass *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->count; i++) {
		marks_free(b->list[i].marks);
		free(b->list[i].counters);
	}
	free(b->list);
	free(b->counts);
	free(b);
}

/* ---- what happens ---- */

struct bypass_known *bypass_known(const struct bypass *b, uint32_t block)
{
	size_t at = LOWER_BOUND(b->list, b->count, block, block);

	return at < b->count && b->list[at].block == block ? &b->list[at] : NULL;
}

struct bypass_known *bypass_known_or_new(struct bypass *b, uint32_t block)
{
	struct bypass_known *k = bypass_known(b, block);
	struct marks *marks;
	size_t at;

	if (k)
		return k;
	marks = marks_new();
	if (!marks)
		return NULL;
	if (grow(&b->list, &b->space, b->count, sizeof(*b->list)) < 0) {
		marks_free(marks);
		return NULL;
	}
	at = LOWER_BOUND(b->list, b->count, block, block);
	k = &b->list[at];
	memmove(k + 1, k, (b->count - at) * sizeof(*k));
	b->count++;
	*k = (struct bypass_known){ .block = block, .marks = marks };
	return k;
}

int bypass_block_born(struct bypass *b, uint32_t block)
{
	struct bypass_known *k = bypass_known_or_new(b, block);
	struct marks *marks = marks_new();

	if (!k || !marks) {
		marks_free(marks);
		return -ENOMEM;
	}
	marks_free(k->marks);
	k->marks = marks;
	k->heard = true;
	bypass_known_changed(k);
	return 0;
}

int bypass_block_found(struct bypass *b, uint32_t block, const struct state *found)
{
	struct bypass_known *k = bypass_known_or_new(b, block);
	int r;

	if (!k)
		return -ENOMEM;
	r = b->ability == BYPASS_ABILITY_MARKS ? marks_found(k->marks, block, found) : 0;
	k->heard = r == 0;
	bypass_known_changed(k);
	return r;
}

void bypass_all_stale(struct bypass *b)
{
	for (size_t i = 0; i < b->count; i++) {
		marks_stale(b->list[i].marks);
		b->list[i].version++;
	}
}

void bypass_block_gone(struct bypass *b, uint32_t block)
{
	struct bypass_known *k = bypass_known(b, block);

	if (!k)
		return;
	marks_free(k->marks);
	free(k->counters);
	b->count--;
	memmove(k, k + 1, (b->count - (size_t)(k - b->list)) * sizeof(*k));
}

int bypass_filter_new(struct bypass *b, const struct filter *f)
{
	struct bypass_known *k = bypass_known(b, f->block);
	int r;

	if (!k || !k->heard)
		return 0;
	bypass_known_changed(k);
	if (b->ability != BYPASS_ABILITY_MARKS)
		return 0; /* nothing is judged by marks there */
	r = marks_filter_new(k->marks, f);
	/* What could not be noted must not pass for unmarked. */
	if (r < 0)
		marks_stale(k->marks);
	return r;
}

void bypass_filter_gone(struct bypass *b, const struct filter *key)
{
	struct bypass_known *k = bypass_known(b, key->block);

	if (!k || !k->heard)
		return;
	bypass_known_changed(k);
	marks_filter_gone(k->marks, key);
}

static struct bypass_counts *find_counts(const struct bypass *b, uint32_t block)
{
	size_t at = LOWER_BOUND(b->counts, b->counts_count, block, block);

	return at < b->counts_count && b->counts[at].block == block ? &b->counts[at] : NULL;
}

int bypass_read(struct bypass *b, const struct bypass_reading *reading)
{
	struct bypass_counts *counts;
	struct bypass_known *k = bypass_known_or_new(b, reading->block);

	if (!k)
		return -ENOMEM;
	k->reading = *reading;
	k->has_reading = true;
	counts = find_counts(b, reading->block);
	if (counts)
		counts->unread = false;
	return 0;
}

/* ---- counts ---- */

void bypass_counts_add(struct bypass_counts *c, const struct filter *f, int by)
{
	uint32_t n = (uint32_t)by; /* counts wrap, and come out right */

	c->foreign += f->owner == OWNER_FOREIGN ? n : 0;
	marks_sum_add(&c->sum, f, by);
	if (filter_is_table(f))
		return;
	c->filters += n;
	if (filter_needs_software(f))
		c->filters_sw += n;
	else if (!(f->flags & TCA_CLS_FLAGS_IN_HW)) /* filter_is_dead() */
		c->filters_dead += n;
	c->walked += f->chain == 0 ? n : 0;
}

struct bypass_counts bypass_counts_of(const struct bypass *b, uint32_t block)
{
	const struct bypass_counts *c = find_counts(b, block);

	return c ? *c : (struct bypass_counts){ .block = block };
}

void bypass_count(struct bypass *b, const struct filter *f, int by)
{
	size_t at = LOWER_BOUND(b->counts, b->counts_count, block, f->block);

	if (b->counts_failed)
		return;
	b->counting = true;
	if (at == b->counts_count || b->counts[at].block != f->block) {
		if (grow(&b->counts, &b->counts_space, b->counts_count, sizeof(*b->counts)) < 0) {
			b->counts_failed = true;
			b->counting = false;
			return;
		}
		memmove(&b->counts[at + 1], &b->counts[at],
			(b->counts_count - at) * sizeof(*b->counts));
		b->counts[at] = (struct bypass_counts){ .block = f->block };
		b->counts_count++;
	}
	bypass_counts_add(&b->counts[at], f, by);
	b->counts[at].version++;
	b->counts[at].unread = true;
}

bool bypass_unread(const struct bypass *b, uint32_t block)
{
	const struct bypass_counts *c = b->counting ? find_counts(b, block) : NULL;

	/* Of a block without filters its packets are all there is to read. */
	return !c || c->unread || c->filters == 0;
}

size_t bypass_foreign(const struct bypass *b, uint32_t block)
{
	return b->counting ? bypass_counts_of(b, block).foreign : SIZE_MAX;
}

/* ---- names ---- */

const char *bypass_strategy_name(enum bypass_strategy s)
{
	switch (s) {
	case BYPASS_STRATEGY_NONE:
		return "none";
	case BYPASS_STRATEGY_SHORTCUT:
		return "shortcut";
	case BYPASS_STRATEGY_KERNEL:
		return "kernel";
	}
	return "?";
}

const char *bypass_state_name(enum bypass_state s)
{
	switch (s) {
	case BYPASS_OFF:
		return "off";
	case BYPASS_ON:
		return "on";
	case BYPASS_UNKNOWN:
		return "unknown";
	}
	return "?";
}

const char *bypass_evidence_name(enum bypass_evidence e)
{
	switch (e) {
	case BYPASS_BY_NOTHING:
		return "nothing";
	case BYPASS_BY_READBACK:
		return "read back";
	case BYPASS_BY_HISTORY:
		return "derived from its history";
	case BYPASS_BY_FILTERS:
		return "seen from its filters";
	case BYPASS_BY_COUNTERS:
		return "disproved by a counter";
	}
	return "?";
}
