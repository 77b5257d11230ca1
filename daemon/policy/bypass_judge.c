// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The judgement on a block: what was heard of it (bypass.c) joined with the filters that are there,
 * by the strategy the kernel gets. What breaks the bypass is put into words by bypass_words.c.
 */
#include <errno.h>
#include <stdio.h>

#include "daemon/policy/bypass_known.h"
#include "daemon/policy/bypass_words.h"

/* A proto as it is found: a stretch of the block's filters. */
struct stretch {
	const struct filter *first;
	size_t end;	/* index behind it */
	size_t filters; /* tables do not count */
	bool software;	/* one of them needs it */
	bool ours, foreign;
};

static struct stretch stretch_at(const struct state *found, size_t i, size_t end)
{
	struct stretch s = { .first = state_at(found, KIND_FILTER, i) };

	for (; i < end; i++) {
		const struct filter *f = state_at(found, KIND_FILTER, i);

		if (f->chain != s.first->chain || f->pref != s.first->pref ||
		    f->protocol != s.first->protocol)
			break;
		s.filters += !filter_is_table(f);
		s.software |= filter_needs_software(f);
		s.ours |= f->owner == OWNER_OURS;
		s.foreign |= f->owner != OWNER_OURS;
	}
	s.end = i;
	return s;
}

static bool is_shortcut(const struct filter *f)
{
	return f->type == FILTER_MATCHALL && f->chain == 0 && f->protocol == ETHERTYPE_ALL &&
	       f->flags & TCA_CLS_FLAGS_SKIP_HW && f->owner == OWNER_OURS && f->action_count == 1 &&
	       filter_actions(f)[0].kind == ACTION_PASS;
}

struct judging {
	const struct bypass *b;
	struct bypass_known *k;
	const struct state *found;
	const struct bypass_words *words;
	size_t first, end;	       /* of the block's filters */
	const struct filter *shortcut; /* the one that stands in front, or NULL */
	struct bypass_report *ret;
	struct bypass_culprit nowhere;
};

/* Where the next culprit goes; those that do not fit are counted and go nowhere. */
static struct bypass_culprit *next_culprit(struct judging *j)
{
	size_t i = j->ret->culprit_count++;

	return i < BYPASS_CULPRITS ? &j->ret->culprits[i] : &j->nowhere;
}

static void count_filters(struct judging *j)
{
	struct bypass_counts c = { 0 };

	if (j->b->counting)
		c = bypass_counts_of(j->b, j->ret->block);
	for (size_t i = j->first; i < j->end && !j->b->counting; i++)
		bypass_counts_add(&c, state_at(j->found, KIND_FILTER, i), 1);
	if (j->shortcut)
		bypass_counts_add(&c, j->shortcut, -1);
	j->ret->filters = c.filters;
	j->ret->filters_sw = c.filters_sw;
	j->ret->filters_dead = c.filters_dead;
	j->ret->walked = c.walked;
}

static void blame_software(struct judging *j)
{
	if (!j->ret->filters_sw)
		return;
	for (size_t i = j->first; i < j->end;) {
		struct stretch s = stretch_at(j->found, i, j->end);

		for (; i < s.end; i++) {
			const struct filter *f = state_at(j->found, KIND_FILTER, i);

			if (filter_needs_software(f) && f != j->shortcut)
				bypass_words_filter(f, s.filters == 1, j->words, next_culprit(j));
		}
	}
}

static bool holds(const struct filter *f, const struct filter *beside, int step)
{
	return f->block == beside->block && f->chain == beside->chain &&
	       f->pref == beside->pref + step;
}

uint16_t bypass_free_beside(const struct state *found, const struct filter *f)
{
	const struct filter key = {
		.obj.kind = KIND_FILTER, .block = f->block, .chain = f->chain, .pref = f->pref
	};
	size_t i = state_lower(found, &key), n = state_count(found, KIND_FILTER);
	bool below = f->pref > 1 && !(i > 0 && holds(state_at(found, KIND_FILTER, i - 1), f, -1));

	while (i < n && holds(state_at(found, KIND_FILTER, i), f, 0))
		i++;
	if (f->pref < UINT16_MAX && !(i < n && holds(state_at(found, KIND_FILTER, i), f, 1)))
		return f->pref + 1;
	return below ? f->pref - 1 : 0;
}

bool bypass_worth_healing(enum bypass_state state, const struct block *block)
{
	if (!block || block->bypass == BYPASS_WANT_OFF)
		return false;
	return state == BYPASS_OFF ||
	       (state == BYPASS_UNKNOWN && block->bypass == BYPASS_WANT_REQUIRED);
}

/* All that a judgement with these words depends on; words 0: it is not known. */
static struct bypass_moment moment_of(const struct bypass *b, const struct bypass_known *k,
				      uint64_t words)
{
	return (struct bypass_moment){
		.heard = k->version,
		.found = bypass_counts_of(b, k->block).version,
		.words = b->counting && b->ability == BYPASS_ABILITY_MARKS ? words : 0,
	};
}

static bool is_now(const struct bypass_moment *then, const struct bypass_moment *now)
{
	return then->words && then->words == now->words && then->heard == now->heard &&
	       then->found == now->found;
}

/* Nothing needs to be looked at to know that nothing is marked. */
static bool is_clean(const struct bypass *b, const struct bypass_known *k)
{
	struct bypass_counts c = bypass_counts_of(b, k->block);

	return b->counting && marks_clean(k->marks, &c.sum);
}

/*
 * Protos whose filters do not show it, with a mark of that kind, where the block is in that state
 * if there is one. Returns how many.
 */
static size_t blame_marks(struct judging *j, enum mark mark, enum bypass_state state)
{
	struct bypass_mark_words say = {
		.sure = mark == MARK_SET,
		.healed = bypass_worth_healing(state, j->words->block_wanted),
	};
	size_t n = 0;

	for (size_t i = is_clean(j->b, j->k) ? j->end : j->first; i < j->end;) {
		struct stretch s = stretch_at(j->found, i, j->end);
		const struct filter *f = s.first;

		i = s.end;
		if (s.software || marks_get(j->k->marks, f->chain, f->pref, f->protocol) != mark)
			continue;
		say.ours = !s.foreign;
		say.room = bypass_free_beside(j->found, f);
		bypass_words_proto(f, &say, j->words, next_culprit(j));
		n++;
	}
	return n;
}

static void judge_marks(struct judging *j)
{
	struct bypass_report *ret = j->ret;

	ret->evidence = BYPASS_BY_HISTORY;
	if (!j->k->heard) {
		ret->state = ret->filters_sw ? BYPASS_OFF : BYPASS_UNKNOWN;
		ret->evidence = ret->filters_sw ? BYPASS_BY_HISTORY : BYPASS_BY_NOTHING;
		blame_software(j);
		return;
	}
	blame_software(j);
	blame_marks(j, MARK_SET, BYPASS_OFF);
	ret->state = ret->culprit_count ? BYPASS_OFF : BYPASS_ON;
	if (j->k->disproved && ret->state == BYPASS_ON) {
		ret->state = BYPASS_OFF;
		ret->evidence = BYPASS_BY_COUNTERS;
	}
	if (ret->state == BYPASS_OFF) {
		blame_marks(j, MARK_MAYBE, BYPASS_OFF);
	} else if (blame_marks(j, MARK_MAYBE, BYPASS_UNKNOWN)) {
		ret->state = BYPASS_UNKNOWN;
		ret->evidence = BYPASS_BY_NOTHING;
	}
}

static void judge_reading(struct judging *j)
{
	if (!j->k->has_reading) {
		j->ret->state = BYPASS_UNKNOWN;
		return;
	}
	j->ret->reading = j->k->reading;
	j->ret->evidence = BYPASS_BY_READBACK;
	j->ret->state = j->k->reading.bypassed ? BYPASS_ON : BYPASS_OFF;
	if (j->ret->state == BYPASS_OFF)
		blame_software(j);
}

/* The first filter of chain 0 must be the shortcut, and none of the others need software. */
static void judge_shortcut(struct judging *j)
{
	const struct filter *front = NULL, *hidden = NULL;
	bool stands = false;

	for (size_t i = j->first; i < j->end && !stands && !j->shortcut; i++) {
		const struct filter *f = state_at(j->found, KIND_FILTER, i);

		stands = is_shortcut(f);
		if (!hidden && f->owner != OWNER_OURS && filter_needs_software(f))
			hidden = f;
		if (f->chain == 0 && !front && !filter_is_table(f))
			front = f;
	}
	j->ret->evidence = BYPASS_BY_FILTERS;
	blame_software(j);
	if (!j->shortcut)
		bypass_words_shortcut(stands ? front : NULL, hidden, j->ret->block, j->words,
				      next_culprit(j));
	j->ret->state = j->ret->culprit_count ? BYPASS_OFF : BYPASS_ON;
}

/* The shortcut, if it is the first of chain 0. Chain 0 comes first, and prefs rise. */
static const struct filter *front_shortcut(const struct judging *j)
{
	for (size_t i = j->first; i < j->end; i++) {
		const struct filter *f = state_at(j->found, KIND_FILTER, i);

		if (!filter_is_table(f))
			return is_shortcut(f) ? f : NULL;
	}
	return NULL;
}

static enum bypass_strategy strategy_of(const struct bypass *b, const struct bypass_words *words)
{
	enum bypass_strategy s = bypass_strategy_for(b->ability);

	if (s == BYPASS_STRATEGY_SHORTCUT && words->block_wanted &&
	    words->block_wanted->bypass == BYPASS_WANT_OFF)
		return BYPASS_STRATEGY_NONE;
	return s;
}

static void judge_by_strategy(const struct bypass *b, struct judging *j)
{
	switch (j->ret->strategy) {
	case BYPASS_STRATEGY_NONE:
		/* Without a bypass of the kernel's and a shortcut of ours all is classified. */
		j->ret->state = b->ability == BYPASS_ABILITY_UNKNOWN ? BYPASS_UNKNOWN : BYPASS_OFF;
		count_filters(j);
		return;
	case BYPASS_STRATEGY_SHORTCUT:
		j->shortcut = front_shortcut(j);
		count_filters(j);
		judge_shortcut(j);
		return;
	case BYPASS_STRATEGY_KERNEL:
		count_filters(j);
		if (b->ability == BYPASS_ABILITY_READBACK)
			judge_reading(j);
		else
			judge_marks(j);
		return;
	}
}

int bypass_judge(struct bypass *b, uint32_t block, const struct state *found,
		 const struct bypass_words *words, struct bypass_report *ret)
{
	static const struct bypass_words none;
	struct judging j = { .b = b,
			     .k = bypass_known_or_new(b, block),
			     .found = found,
			     .words = words ? words : &none,
			     .ret = ret };

	struct bypass_moment now;

	if (!j.k)
		return -ENOMEM;
	now = moment_of(b, j.k, j.words->version);
	if (is_now(&j.k->told_at, &now)) {
		*ret = j.k->told;
		return 0;
	}
	*ret = (struct bypass_report){ .block = block };
	ret->strategy = strategy_of(b, j.words);
	state_block_filters(found, block, &j.first, &j.end);
	judge_by_strategy(b, &j);
	if (!j.k->judged || j.k->state != ret->state)
		j.k->since_ns = now_realtime_ns();
	j.k->judged = true;
	j.k->state = ret->state;
	ret->since_ns = j.k->since_ns;
	j.k->told = *ret;
	j.k->told_at = now;
	return 0;
}

size_t bypass_to_heal(const struct bypass *b, uint32_t block, const struct state *found,
		      struct bypass_proto *ret, size_t most)
{
	struct bypass_known *k = bypass_known(b, block);
	struct bypass_moment now;
	size_t first, end, n = 0;

	if (b->ability != BYPASS_ABILITY_MARKS || !k || !k->heard || is_clean(b, k))
		return 0;
	now = moment_of(b, k, 1); /* no words are needed */
	if (is_now(&k->nothing_at, &now))
		return 0;
	state_block_filters(found, block, &first, &end);
	for (size_t i = first; i < end && n < most;) {
		struct stretch s = stretch_at(found, i, end);
		const struct filter *f = s.first;

		i = s.end;
		if (s.software || s.foreign)
			continue;
		if (marks_get(k->marks, f->chain, f->pref, f->protocol) != MARK_NONE)
			ret[n++] = (struct bypass_proto){ f->chain, f->pref, f->protocol };
	}
	if (n == 0 && most > 0)
		k->nothing_at = now;
	return n;
}

void bypass_cost(const struct bypass_report *r, char to[BYPASS_COST])
{
	to[0] = '\0';
	if (r->state == BYPASS_ON || !r->walked)
		return;
	/* Those that share a pref and a mask are asked at once. */
	snprintf(to, BYPASS_COST, "%s%u filter%s walked for each packet that reaches the CPU%s",
		 r->walked == 1 ? "" : "up to ", r->walked, r->walked == 1 ? "" : "s",
		 r->state == BYPASS_UNKNOWN ? ", if it is off" : "");
}
