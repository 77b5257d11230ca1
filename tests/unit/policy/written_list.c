// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lists of rules by chance, and what people do to them.
 */
#include "tests/unit/policy/written.h"

static bool one_in(struct dice *d, size_t n)
{
	return dice_below(d, n) == 0;
}

struct written_block written_copy(const struct written_block *b)
{
	struct written_block copy = *b;

	copy.space = b->count + 8;
	copy.rules = calloc(copy.space, sizeof(*copy.rules));
	if (!copy.rules)
		abort();
	if (b->count)
		memcpy(copy.rules, b->rules, b->count * sizeof(*b->rules));
	return copy;
}

void written_take(struct written_block *b, size_t i)
{
	memmove(&b->rules[i], &b->rules[i + 1], (b->count - i - 1) * sizeof(*b->rules));
	b->count--;
}

static void insert(struct written_block *b, size_t i, const struct written *w)
{
	if (grow(&b->rules, &b->space, b->count, sizeof(*b->rules)) < 0)
		abort();
	memmove(&b->rules[i + 1], &b->rules[i], (b->count - i) * sizeof(*b->rules));
	b->rules[i] = *w;
	b->count++;
}

struct written_block written_list(struct dice *d, size_t n, uint32_t *id)
{
	static const enum offload offloads[] = { OFFLOAD_REQUIRED, OFFLOAD_REQUIRED,
						 OFFLOAD_REQUIRED, OFFLOAD_PREFERRED, OFFLOAD_OFF };
	struct written_block b = {
		.offload = offloads[dice_below(d, ARRAY_SIZE(offloads))],
		.tagging = one_in(d, 3) ? TAGGING_ANY : TAGGING_NONE,
		.bypass = one_in(d, 4) ? BYPASS_WANT_OFF : BYPASS_WANT_PREFERRED,
	};

	while (b.count < n) {
		struct written w = written_random(d, (*id)++, &b);

		insert(&b, b.count, &w);
	}
	return b;
}

/* ---- edits ---- */

static void move_rule(struct dice *d, struct written_block *b, size_t from)
{
	struct written w = b->rules[from];

	w.pref = 0;
	written_take(b, from);
	insert(b, dice_below(d, b->count + 1), &w);
}

/* A rule of another kind under the same name. */
static void rewrite(struct dice *d, struct written_block *b, size_t i)
{
	struct written_block none = { 0 };
	struct written w = written_random(d, b->rules[i].id, &none);

	b->rules[i] = w;
}

void written_edit(struct dice *d, struct written_block *b, uint32_t *id)
{
	size_t i = b->count ? dice_below(d, b->count) : 0, kind = dice_below(d, 14);
	struct written w;

	if (!b->count || kind < 4) {
		w = written_random(d, (*id)++, b);
		insert(b, dice_below(d, b->count + 1), &w);
	} else if (kind < 6) {
		written_take(b, i);
	} else if (kind < 8) {
		written_deeds(d, &b->rules[i]);
	} else if (kind < 10) {
		written_reroll(d, &b->rules[i]);
	} else if (kind == 10) {
		move_rule(d, b, i);
	} else if (kind == 11) {
		rewrite(d, b, i);
	} else if (kind == 12) {
		b->rules[i].id = (*id)++;
	} else if (one_in(d, 4)) {
		b->tagging = one_in(d, 2) ? TAGGING_ANY : TAGGING_NONE;
	} else if (one_in(d, 3)) {
		b->offload = one_in(d, 2) ? OFFLOAD_REQUIRED : OFFLOAD_PREFERRED;
	} else {
		b->rules[i].tagging = one_in(d, 2) ? TAGGING_ANY : TAGGING_UNSET;
	}
}
