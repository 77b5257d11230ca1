// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finding filters again from one compile to the next, and after a restart from what the kernel
 * holds. Filters of the compile before know their rule; found ones have but their cookie, which is
 * a hash of type, flags, match and actions (kernel/cookie.h). Content counts more than the name:
 * rules that have no name of their own are named by their place, and one more in front renames all
 * that follow.
 */
#include "daemon/policy/same.h"

#include <errno.h>

#include "config/base/util.h"

struct candidate {
	const struct filter *filter;
	size_t index; /* among the items, or among before */
};

typedef int (*same_order)(const void *a, const void *b);

static const char *name_of(const struct filter *f)
{
	return f->rule ? f->rule->name : "";
}

static int by_content(const void *a, const void *b)
{
	const struct filter *x = ((const struct candidate *)a)->filter;
	const struct filter *y = ((const struct candidate *)b)->filter;
	int order = memcmp(x->cookie, y->cookie, sizeof(x->cookie));

	return order ? order : CMP(x->protocol, y->protocol);
}

static int by_content_and_name(const void *a, const void *b)
{
	int order = by_content(a, b);

	return order ? order
		     : strcmp(name_of(((const struct candidate *)a)->filter),
			      name_of(((const struct candidate *)b)->filter));
}

static int by_match(const void *a, const void *b)
{
	const struct filter *x = ((const struct candidate *)a)->filter;
	const struct filter *y = ((const struct candidate *)b)->filter;
	int order = CMP(x->protocol, y->protocol);

	return order ? order : match_compare(filter_match(x), filter_match(y));
}

static uint32_t inner_of(const struct filter *f)
{
	uint16_t vlan = 0, cvlan = 0;

	match_get_u16(filter_match(f), FIELD_VLAN_ETHTYPE, &vlan);
	match_get_u16(filter_match(f), FIELD_CVLAN_ETHTYPE, &cvlan);
	return (uint32_t)vlan << 16 | cvlan;
}

static int by_name_and_form(const void *a, const void *b)
{
	const struct filter *x = ((const struct candidate *)a)->filter;
	const struct filter *y = ((const struct candidate *)b)->filter;
	int order = strcmp(name_of(x), name_of(y));

	if (order)
		return order;
	if (x->protocol != y->protocol)
		return CMP(x->protocol, y->protocol);
	return CMP(inner_of(x), inner_of(y));
}

bool same_replaceable(const struct filter *old, const struct filter *new)
{
	const uint32_t said = TCA_CLS_FLAGS_SKIP_SW | TCA_CLS_FLAGS_SKIP_HW;
	struct match_view a = filter_match(old), b = filter_match(new);

	/* matchall has no replace at all; other flags would mark a proto, or leave a mark
	 * (bypass.h). */
	if (old->type != FILTER_FLOWER || new->type != FILTER_FLOWER ||
	    (old->flags & said) != (new->flags &said))
		return false;
	/* Ranges are part of the mask in a way of their own: only the same ones are sure. */
	return match_same_mask(a, b) || match_compare(a, b) == 0;
}

/* Candidates in the given order; those of one content in the order they stand. */
struct candidates {
	struct candidate *list;
	size_t count;
};

static int in_place(const void *a, const void *b, void *data)
{
	int order = (*(same_order *)data)(a, b);

	return order ? order
		     : CMP(((const struct candidate *)a)->index,
			   ((const struct candidate *)b)->index);
}

static void sort(struct candidates *c, same_order order)
{
	qsort_r(c->list, c->count, sizeof(*c->list), in_place, &order);
}

/* One walk side by side: what is equal, and can take the other's place, becomes a pair. */
static void pair_up(struct candidates *wanted, struct candidates *before, same_order order,
		    const struct filter **ret, bool *taken)
{
	size_t i = 0, k = 0;

	sort(wanted, order);
	sort(before, order);
	while (i < wanted->count && k < before->count) {
		const struct candidate *w = &wanted->list[i], *b = &before->list[k];
		int side = ret[w->index] ? -1 : taken[b->index] ? 1 : order(w, b);

		if (side == 0 && same_replaceable(b->filter, w->filter)) {
			ret[w->index] = b->filter;
			taken[b->index] = true;
		}
		i += side <= 0;
		k += side >= 0;
	}
}

/* By the hash in the cookies: for each of `before` the next with the same one, in their order. */
struct index {
	uint32_t *first; /* by hash: index + 1 */
	uint32_t *next;	 /* of each: index + 1 */
	size_t space;
};

static size_t place_of(const struct index *x, const struct filter *f)
{
	uint64_t hash;

	memcpy(&hash, f->cookie + sizeof(f->cookie) - sizeof(hash), sizeof(hash));
	return hash & (x->space - 1);
}

static int index_make(struct index *x, const struct filter *const *before, size_t m)
{
	for (x->space = 16; x->space < 2 * m;)
		x->space *= 2;
	x->first = calloc(x->space, sizeof(*x->first));
	x->next = calloc(m + 1, sizeof(*x->next));
	if (!x->first || !x->next)
		return -ENOMEM;
	for (size_t k = m; k-- > 0;) {
		uint32_t *first = &x->first[place_of(x, before[k])];

		x->next[k] = *first;
		*first = (uint32_t)k + 1;
	}
	return 0;
}

static void index_clear(struct index *x)
{
	free(x->first);
	free(x->next);
}

/* What is there as it is wanted. Returns how many are not. */
static size_t find_unchanged(const struct index *x, const struct place_item *items, size_t n,
			     const struct filter *const *before, same_order order,
			     const struct filter **ret, bool *taken)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		struct candidate w = { items[i].filter, i };

		for (uint32_t k = ret[i] ? 0 : x->first[place_of(x, w.filter)]; k;
		     k = x->next[k - 1]) {
			struct candidate b = { before[k - 1], k - 1 };

			if (taken[k - 1] || order(&w, &b) != 0)
				continue;
			ret[i] = b.filter;
			taken[k - 1] = true;
			break;
		}
		left += !ret[i];
	}
	return left;
}

/* Those that have no pair yet. */
static int collect_rest(const struct place_item *items, size_t n,
			const struct filter *const *before, size_t m,
			const struct filter *const *ret, const bool *taken,
			struct candidates *wanted, struct candidates *there)
{
	wanted->list = calloc(n + 1, sizeof(*wanted->list));
	there->list = calloc(m + 1, sizeof(*there->list));
	if (!wanted->list || !there->list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (!ret[i])
			wanted->list[wanted->count++] = (struct candidate){ items[i].filter, i };
	for (size_t k = 0; k < m; k++)
		if (!taken[k])
			there->list[there->count++] = (struct candidate){ before[k], k };
	return 0;
}

int same_find(const struct place_item *items, size_t n, const struct filter *const *before,
	      size_t m, const struct filter **ret)
{
	_cleanup_(index_clear) struct index x = { 0 };
	_cleanup_free_ bool *taken = calloc(m + 1, sizeof(*taken));
	struct candidates wanted = { 0 }, there = { 0 };
	int r = 0;

	memset(ret, 0, n * sizeof(*ret));
	if (m == 0)
		return 0;
	if (!taken || index_make(&x, before, m) < 0)
		return -ENOMEM;
	if (find_unchanged(&x, items, n, before, by_content_and_name, ret, taken) > 0 &&
	    find_unchanged(&x, items, n, before, by_content, ret, taken) > 0) {
		r = collect_rest(items, n, before, m, ret, taken, &wanted, &there);
		/* Before the name: in a pref that is shared, the key another has can't be taken. */
		if (r == 0)
			pair_up(&wanted, &there, by_match, ret, taken);
		if (r == 0)
			pair_up(&wanted, &there, by_name_and_form, ret, taken);
	}
	free(wanted.list);
	free(there.list);
	return r;
}
