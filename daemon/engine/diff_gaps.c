// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Filters that must go before their successors come: because one pref can't hold both, or hardware
 * can't. A copy in a free pref next to it stands meanwhile: in front of it or behind it are the
 * same filters as in front of and behind the original, so all that happens is that frames are
 * decided as before for a little longer. Where no copy can stand, the plan says that there is a
 * gap.
 */
#include "daemon/engine/diff_order.h"

#include <errno.h>

/* Looks for successors that are not at hand. Behind so many, one is taken for granted. */
#define LOOKS_MOST 10000000

struct gaps {
	struct order *order;
	struct diff_walk *diff;
	enum replace way; /* of the block */
	uint16_t held;	  /* the last pref whose filters have copies ... */
	uint32_t chain;	  /* ... in that chain ... */
	uint16_t beside;  /* ... and where; 0: nowhere */
	size_t looks;
};

static bool same_match(const struct filter *a, const struct filter *b)
{
	return a->protocol == b->protocol && match_compare(filter_match(a), filter_match(b)) == 0;
}

static bool may_meet(const struct filter *a, const struct filter *b)
{
	if (a->protocol != b->protocol && a->protocol != ETHERTYPE_ALL &&
	    b->protocol != ETHERTYPE_ALL)
		return false;
	return match_overlap(filter_match(a), filter_match(b));
}

/* ---- what hardware does not take beside the old one ---- */

static int compare_match(const struct filter *a, const struct filter *b)
{
	int c = CMP(a->chain, b->chain);

	if (!c)
		c = CMP(a->protocol, b->protocol);
	return c ? c : match_compare(filter_match(a), filter_match(b));
}

static int by_match(const void *pa, const void *pb)
{
	const struct pending *a = *(const struct pending *const *)pa;
	const struct pending *b = *(const struct pending *const *)pb;

	return compare_match(a->found, b->found);
}

static bool is_taken(const struct pending *p)
{
	return p->op == KERNEL_REMOVE && p->phase == PHASE_TAKE && p->found->owner == OWNER_OURS;
}

static bool needs_gap(const struct gaps *g, const struct pending *p)
{
	return p->op == KERNEL_ADD && p->phase == PHASE_PUT &&
	       ways_of(g->diff->in->ways, p->wanted, g->way, true) == REPLACE_GAP;
}

static struct pending *old_of(struct pending **list, size_t n, const struct filter *f)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare_match(list[mid]->found, f) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && compare_match(list[low]->found, f) == 0 ? list[low] : NULL;
}

/* The old ones go right in front of the new ones. */
static int clear_equals(struct gaps *g)
{
	_cleanup_free_ struct pending **taken = NULL;
	struct order *o = g->order;
	size_t n = 0;

	if (g->way != REPLACE_GAP && (!g->diff->in->ways || g->diff->in->ways->count == 0))
		return 0;
	taken = calloc(o->count + 1, sizeof(struct pending *));
	if (!taken)
		return -ENOMEM;
	for (size_t i = 0; i < o->count; i++)
		if (is_taken(&o->list[i]))
			taken[n++] = &o->list[i];
	qsort(taken, n, sizeof(struct pending *), by_match);
	for (size_t i = 0; i < o->count && n > 0; i++) {
		struct pending *p = &o->list[i], *old;

		old = needs_gap(g, p) ? old_of(taken, n, p->wanted) : NULL;
		if (!old || old->phase != PHASE_TAKE)
			continue;
		/* The same in another pref is not refused, as far as is known. */
		if (filter_same_actions(old->found, p->wanted) &&
		    !ways_alike(g->diff->in->ways, p->wanted))
			continue;
		old->phase = PHASE_PUT;
		old->number = p->number - 1;
		old->next = p->wanted;
	}
	return 0;
}

/* ---- successors ---- */

/*
 * One that comes later and decides frames that the old one decides now; or NULL, then they are
 * decided as they shall be as soon as it is gone.
 */
static const struct filter *successor(struct gaps *g, size_t i)
{
	const struct order *o = g->order;
	const struct pending *old = &o->list[i];
	const struct filter *any = NULL;

	for (size_t k = i + 1; k < o->count + i; k++) {
		const struct pending *p = &o->list[k % o->count];

		if (p->op != KERNEL_ADD || p->phase != PHASE_PUT || p->chain != old->chain ||
		    p->number < old->number)
			continue;
		any = p->wanted;
		if (g->looks++ >= LOOKS_MOST || may_meet(old->found, p->wanted))
			return any;
	}
	return NULL;
}

/* ---- copies ---- */

static bool is_used(const struct state *s, const struct filter *f, uint16_t pref)
{
	const struct filter key = {
		.obj.kind = KIND_FILTER, .block = f->block, .chain = f->chain, .pref = pref
	};
	size_t i = s ? state_lower(s, &key) : 0;
	const struct filter *at;

	if (!s || i >= state_count(s, KIND_FILTER))
		return false;
	at = state_at(s, KIND_FILTER, i);
	return at->block == f->block && at->chain == f->chain && at->pref == pref;
}

static bool is_free(const struct gaps *g, const struct filter *f, uint32_t pref)
{
	if (pref < 1 || pref > UINT16_MAX || (pref == g->beside && f->chain == g->chain))
		return false;
	return !is_used(g->diff->in->found, f, (uint16_t)pref) &&
	       !is_used(g->diff->in->filters, f, (uint16_t)pref);
}

/* All filters of one pref have their copies in one: they may share it as they do now. */
static uint16_t beside(struct gaps *g, const struct filter *f)
{
	if (g->held != f->pref || g->chain != f->chain) {
		uint16_t below = is_free(g, f, f->pref - 1u) ? f->pref - 1 : 0;
		uint16_t above = is_free(g, f, f->pref + 1u) ? f->pref + 1 : 0;

		g->held = f->pref;
		g->chain = f->chain;
		g->beside = below ? below : above;
	}
	return g->beside;
}

static struct filter *copy_of(const struct filter *old, const struct filter *successor,
			      uint16_t pref)
{
	struct filter *f = filter_copy(old);

	if (!f)
		return NULL;
	f->pref = pref;
	f->flags &= TCA_CLS_FLAGS_SKIP_HW | TCA_CLS_FLAGS_SKIP_SW;
	if (successor) {
		f->obj.origin = successor->obj.origin;
		f->rule = object_ref(successor->rule);
	}
	return f;
}

static int hold(struct gaps *g, size_t i, const struct filter *successor, uint16_t pref)
{
	struct filter *copy = copy_of(g->order->list[i].found, successor, pref);
	int r = copy ? order_keep(g->order, copy) : -ENOMEM;

	if (r < 0)
		return r;
	g->order->list[i].phase = PHASE_CLEAR;
	r = order_add(g->order, PHASE_HOLD, KERNEL_ADD, STEP_BESIDE, copy, NULL);
	if (r < 0)
		return r;
	r = order_add(g->order, PHASE_TAKE, KERNEL_REMOVE, STEP_BESIDE, NULL, copy);
	/* It goes when the original would go: behind what its frames would fall to. */
	if (r == 0)
		g->order->list[g->order->count - 1].number = g->order->list[i].number;
	return r;
}

/* What has no successor: do its frames meet something behind it, which may be on its way out? */
static bool falls(struct gaps *g, const struct filter *old)
{
	const struct state *found = g->diff->in->found;

	for (size_t i = state_lower(found, old); i < state_count(found, KIND_FILTER); i++) {
		const struct filter *f = state_at(found, KIND_FILTER, i);

		if (f->block != old->block || f->chain != old->chain)
			break;
		if (f != old && (g->looks++ >= LOOKS_MOST || may_meet(old, f)))
			return true;
	}
	return false;
}

static int bridge(struct gaps *g, size_t i)
{
	const struct pending *p = &g->order->list[i];
	const struct filter *old = p->found, *next = p->next;
	uint16_t pref;

	if (!next || !may_meet(old, next))
		next = successor(g, i);
	if (!next && !falls(g, old))
		return 0;
	if (next && same_match(old, next) &&
	    ways_of(g->diff->in->ways, next, g->way, true) == REPLACE_GAP)
		return plan_gap(g->diff->plan, &next->obj,
				"hardware can't hold it beside the old one, which must go first");
	pref = beside(g, old);
	if (!pref)
		return plan_gap(g->diff->plan, next ? &next->obj : &old->obj,
				"pref %u can't hold it beside the old one, and no pref next to it "
				"is free",
				old->pref);
	return hold(g, i, next, pref);
}

/* ---- a full table ---- */

/*
 * Does anything else happen to the frames of an old one that goes first of all? What is to decide
 * them comes later, or what they fall to changes or goes as well. Such a one, or NULL.
 */
static const struct filter *missed_by(struct gaps *g, const struct pending *old)
{
	for (size_t i = 0; i < g->order->count; i++) {
		const struct pending *p = &g->order->list[i];

		if (p == old || p->chain != old->chain ||
		    (p->found && p->found->pref < old->found->pref))
			continue;
		if (g->looks++ >= LOOKS_MOST || (p->wanted && may_meet(old->found, p->wanted)) ||
		    (p->found && may_meet(old->found, p->found)))
			return p->wanted ? p->wanted : p->found;
	}
	return NULL;
}

static int make_room(struct gaps *g, enum ways_room room)
{
	int r = 0;

	for (size_t i = 0; i < g->order->count && r == 0; i++) {
		struct pending *p = &g->order->list[i];
		const struct filter *missed = is_taken(p) ? missed_by(g, p) : NULL;

		if (!is_taken(p) || (missed && room < ROOM_ALL))
			continue;
		p->phase = PHASE_CLEAR;
		if (missed)
			r = plan_gap(g->diff->plan, &missed->obj,
				     "the table is full, and pref %u must go first",
				     p->found->pref);
	}
	return r;
}

int diff_gaps(struct order *o, struct diff_walk *w, enum replace way, uint32_t block)
{
	struct gaps g = { .order = o, .diff = w, .way = way };
	enum ways_room room = ways_room(w->in->ways, block);
	size_t count = o->count;
	int r = clear_equals(&g);

	if (r == 0 && room != ROOM_NONE)
		r = make_room(&g, room);

	for (size_t i = 0; i < count && r == 0; i++) {
		const struct pending *p = &o->list[i];

		if (p->op == KERNEL_REMOVE && p->phase == PHASE_PUT &&
		    p->found->owner == OWNER_OURS)
			r = bridge(&g, i);
	}
	return r;
}
