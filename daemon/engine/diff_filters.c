// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The steps for filters: see diff.h. Each block is walked chain by chain and pref by pref; what is
 * found different becomes a pending step, and only then is an order made, so that a block without a
 * change costs a walk and no memory.
 */
#include "daemon/engine/diff.h"

#include <errno.h>

#include "daemon/engine/diff_order.h"
#include "daemon/policy/bypass_marks.h"

struct block_walk {
	struct diff_walk *diff;
	const struct block *block; /* NULL: not wanted */
	enum cover {
		COVER_NOT_KNOWN,
		COVER_MAY, /* the shortcut may stand */
		COVER_MAY_NOT,
	} cover;
	enum replace way; /* REPLACE_AUTO: not looked up */
	struct order order;
};

static const struct filter *wanted_at(const struct diff_walk *w, size_t i)
{
	return state_at(w->in->filters, KIND_FILTER, i);
}

static const struct filter *found_at(const struct diff_walk *w, size_t i)
{
	return state_at(w->in->found, KIND_FILTER, i);
}

static int pend(struct block_walk *b, enum phase phase, enum kernel_op op, enum step_reason reason,
		const struct filter *wanted, const struct filter *found)
{
	return order_add(&b->order, phase, op, reason, wanted, found);
}

static bool evicts(const struct block_walk *b)
{
	return b->block && b->block->foreign == FOREIGN_EVICT;
}

static enum step_reason reason_to_add(const struct block_walk *b)
{
	return b->diff->in->heal ? STEP_HEAL : STEP_MISSING;
}

static enum step_reason reason_to_remove(const struct filter *found)
{
	return found->owner == OWNER_OURS ? STEP_LEFTOVER : STEP_EVICT;
}

static bool may_remove(const struct block_walk *b, const struct filter *found)
{
	return found->owner == OWNER_OURS || evicts(b);
}

/*
 * Linux replaces a flower filter under its handle if the mask stays; a matchall filter never
 * (EEXIST from mall_change(), 6.1 and 6.12).
 */
static bool can_change(const struct filter *wanted, const struct filter *found)
{
	return wanted->type == FILTER_FLOWER && found->type == FILTER_FLOWER &&
	       (match_same_mask(filter_match(wanted), filter_match(found)) ||
		match_compare(filter_match(wanted), filter_match(found)) == 0);
}

static enum replace way_of_block(struct block_walk *b)
{
	const struct diff_input *in = b->diff->in;

	if (b->way == REPLACE_AUTO && b->block)
		b->way = ways_of_block(in->ways, b->block, in->wanted, in->found);
	return b->way;
}

static bool changes_in_place(struct block_walk *b, const struct filter *wanted,
			     const struct filter *found)
{
	bool same = match_compare(filter_match(wanted), filter_match(found)) == 0;

	return can_change(wanted, found) &&
	       ways_of(b->diff->in->ways, wanted, way_of_block(b), same) == REPLACE_IN_PLACE;
}

/* The device an action needs and that is not there, or NULL. */
static const char *missing_dev(const struct diff_walk *w, const struct filter *f)
{
	for (size_t i = 0; i < f->action_count; i++) {
		const struct action *a = &filter_actions(f)[i];

		if ((a->kind == ACTION_REDIRECT || a->kind == ACTION_MIRROR) &&
		    !diff_dev_there(w, a->dev))
			return a->dev;
	}
	return NULL;
}

static bool is_shortcut(const struct filter *f)
{
	return f->role == FILTER_ROLE_SHORTCUT;
}

/*
 * The shortcut ends software classification, so it may stand only while nothing in the block needs
 * it: a foreign filter that stays and is not skip_sw does.
 */
static bool may_cover(struct block_walk *b)
{
	size_t i = 0, end = 0;

	if (b->cover != COVER_NOT_KNOWN)
		return b->cover == COVER_MAY;
	b->cover = COVER_MAY;
	if (!evicts(b) && b->block && diff_block_survives(b->diff, b->block->id))
		state_block_filters(b->diff->in->found, b->block->id, &i, &end);
	for (; i < end && b->cover == COVER_MAY; i++) {
		const struct filter *f = found_at(b->diff, i);

		if (f->owner == OWNER_FOREIGN && filter_needs_software(f))
			b->cover = COVER_MAY_NOT;
	}
	return b->cover == COVER_MAY;
}

/* Both at one key. */
static int walk_both(struct block_walk *b, const struct filter *wanted, const struct filter *found)
{
	const char *dev;
	char label[OBJECT_LABEL];
	int r;

	if (is_shortcut(wanted) && !may_cover(b))
		return found->owner == OWNER_OURS
			       ? pend(b, PHASE_UNCOVER, KERNEL_REMOVE, STEP_LEFTOVER, NULL, found)
			       : 0;
	if (found->owner != OWNER_OURS && !evicts(b)) {
		object_label(&found->obj, label);
		return plan_conflict(b->diff->plan, &wanted->obj, true,
				     "a foreign filter is in its place: %s", label);
	}
	if (found->owner == OWNER_OURS &&
	    kind_ops(KIND_FILTER)->satisfied(&wanted->obj, &found->obj))
		return 0;
	dev = missing_dev(b->diff, wanted);
	if (dev)
		return plan_wait(b->diff->plan, dev, &wanted->obj);
	if (found->owner == OWNER_OURS && changes_in_place(b, wanted, found))
		return pend(b, PHASE_PUT, KERNEL_CHANGE, STEP_DIFFERENT, wanted, found);
	r = pend(b, PHASE_PUT, KERNEL_REMOVE,
		 found->owner == OWNER_OURS ? STEP_DIFFERENT : STEP_EVICT, NULL, found);
	if (r < 0)
		return r;
	return pend(b, is_shortcut(wanted) ? PHASE_COVER : PHASE_PUT, KERNEL_ADD, STEP_DIFFERENT,
		    wanted, NULL);
}

static int walk_wanted(struct block_walk *b, const struct filter *wanted)
{
	const char *dev;

	if (is_shortcut(wanted))
		return may_cover(b)
			       ? pend(b, PHASE_COVER, KERNEL_ADD, reason_to_add(b), wanted, NULL)
			       : 0;
	dev = missing_dev(b->diff, wanted);
	if (dev)
		return plan_wait(b->diff->plan, dev, &wanted->obj);
	return pend(b, PHASE_PUT, KERNEL_ADD, reason_to_add(b), wanted, NULL);
}

static int walk_found(struct block_walk *b, const struct filter *found)
{
	if (!may_remove(b, found))
		return 0;
	return pend(b, PHASE_TAKE, KERNEL_REMOVE, reason_to_remove(found), NULL, found);
}

/* Both can't be in one pref at a time: another protocol or classifier, or the same key twice. */
static bool excludes(const struct filter *wanted, const struct filter *found)
{
	if (wanted->protocol != found->protocol || wanted->type != found->type ||
	    wanted->type == FILTER_MATCHALL)
		return true;
	return match_compare(filter_match(wanted), filter_match(found)) == 0;
}

static int compare_added(const void *pa, const void *pb)
{
	const struct pending *a = *(const struct pending *const *)pa;
	const struct pending *b = *(const struct pending *const *)pb;
	int c = CMP(a->wanted->protocol, b->wanted->protocol);

	return c ? c : match_compare(filter_match(a->wanted), filter_match(b->wanted));
}

/* An addition of the group [first, b->order.count) that excludes the found filter, or NULL. */
static const struct filter *excluded_by(struct pending *const *added, size_t n,
					const struct filter *found)
{
	size_t low = 0, high = n;

	/* All additions of one pref have one protocol and type: the first speaks for all. */
	if (added[0]->wanted->protocol != found->protocol || added[0]->wanted->type != found->type)
		return added[0]->wanted;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = match_compare(filter_match(added[mid]->wanted), filter_match(found));

		if (c == 0 || excludes(added[mid]->wanted, found))
			return added[mid]->wanted;
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/*
 * Looks over what one pref gave: removals that stand in the way of an addition come first. Foreign
 * ones that stay and are in the way are a conflict.
 */
static int settle_pref(struct block_walk *b, size_t first, size_t found_first, size_t found_end)
{
	_cleanup_free_ struct pending **added = NULL;
	size_t n = 0;

	for (size_t i = first; i < b->order.count; i++)
		n += b->order.list[i].op == KERNEL_ADD;
	if (n == 0 || found_first == found_end)
		return 0;
	added = calloc(n, sizeof(struct pending *));
	if (!added)
		return -ENOMEM;
	n = 0;
	for (size_t i = first; i < b->order.count; i++)
		if (b->order.list[i].op == KERNEL_ADD)
			added[n++] = &b->order.list[i];
	qsort(added, n, sizeof(struct pending *), compare_added);

	for (size_t i = first; i < b->order.count; i++) {
		struct pending *p = &b->order.list[i];

		if (p->op != KERNEL_REMOVE || p->phase != PHASE_TAKE)
			continue;
		p->next = excluded_by(added, n, p->found);
		if (p->next) {
			p->phase = PHASE_PUT;
			p->number = 2 * first; /* in front of its pref's additions */
		}
	}
	for (size_t i = found_first; i < found_end; i++) {
		const struct filter *f = found_at(b->diff, i), *wanted;
		char label[OBJECT_LABEL];
		int r;

		if (may_remove(b, f))
			continue;
		wanted = excluded_by(added, n, f);
		if (!wanted)
			continue;
		object_label(&f->obj, label);
		r = plan_conflict(b->diff->plan, &wanted->obj, true,
				  "a foreign filter holds its pref: %s", label);
		if (r < 0)
			return r;
		/* What can't be put in now is not tried. */
		b->order.count = first;
		return 0;
	}
	return 0;
}

static int compare_place(const struct filter *a, const struct filter *b)
{
	int c = CMP(a->chain, b->chain);

	return c ? c : CMP(a->pref, b->pref);
}

/* One pref of one chain: [wi, we) and [fi, fe). */
static int walk_pref(struct block_walk *b, size_t wi, size_t we, size_t fi, size_t fe)
{
	size_t first = b->order.count, found_first = fi;
	int r = 0;

	while (r == 0 && (wi < we || fi < fe)) {
		const struct filter *wanted = wi < we ? wanted_at(b->diff, wi) : NULL;
		const struct filter *found = fi < fe ? found_at(b->diff, fi) : NULL;
		int c = !wanted	 ? 1
			: !found ? -1
				 : kind_ops(KIND_FILTER)->compare(&wanted->obj, &found->obj);

		if (c == 0)
			r = walk_both(b, wanted, found);
		else if (c < 0)
			r = walk_wanted(b, wanted);
		else
			r = walk_found(b, found);
		wi += c <= 0;
		fi += c >= 0;
	}
	return r < 0 ? r : settle_pref(b, first, found_first, fe);
}

static int walk_block(struct block_walk *b, size_t wi, size_t we, size_t fi, size_t fe)
{
	while (wi < we || fi < fe) {
		const struct filter *wanted = wi < we ? wanted_at(b->diff, wi) : NULL;
		const struct filter *found = fi < fe ? found_at(b->diff, fi) : NULL;
		const struct filter *place = !wanted ? found : wanted;
		size_t wn = wi, fn = fi;
		int r;

		if (wanted && found && compare_place(found, wanted) < 0)
			place = found;
		while (wn < we && compare_place(wanted_at(b->diff, wn), place) == 0)
			wn++;
		while (fn < fe && compare_place(found_at(b->diff, fn), place) == 0)
			fn++;
		r = walk_pref(b, wi, wn, fi, fn);
		if (r < 0)
			return r;
		wi = wn;
		fi = fn;
	}
	return 0;
}

static int finish_block(struct block_walk *b, uint32_t id, int r)
{
	if (r == 0 && b->block && b->order.count > 0 && b->diff->in->in_use)
		r = diff_gaps(&b->order, b->diff, way_of_block(b), id);
	if (r == 0)
		r = order_emit(&b->order, b->diff, id);
	order_clear(&b->order);
	return r;
}

static int diff_block(struct diff_walk *w, const struct block *block, uint32_t id)
{
	struct block_walk b = { .diff = w, .block = block };
	size_t wi = 0, we = 0, fi, fe;
	int r;

	if (block && w->in->filters)
		state_block_filters(w->in->filters, id, &wi, &we);
	state_block_filters(w->in->found, id, &fi, &fe);
	if (block && !diff_block_survives(w, id))
		fi = fe; /* the kernel empties it before the first of ours comes */
	r = walk_block(&b, wi, we, fi, fe);
	return finish_block(&b, id, r);
}

/* Where the filters of one pref are. */
static void place_filters(const struct state *s, const struct place *at, size_t *ret_first,
			  size_t *ret_end)
{
	struct filter first = {
		.obj.kind = KIND_FILTER, .block = at->block, .chain = at->chain, .pref = at->pref
	};
	struct filter last = first;

	last.protocol = UINT16_MAX;
	last.handle = UINT32_MAX;
	*ret_first = state_lower(s, &first);
	*ret_end = state_lower(s, &last);
}

/* Some prefs of a block; what else it has is as wanted. */
static int diff_block_places(struct diff_walk *w, const struct block *block,
			     const struct place *first, const struct place *end)
{
	struct block_walk b = { .diff = w, .block = block };
	size_t wi, we, fi, fe;
	int r = 0;

	for (; first < end && r == 0; first++) {
		place_filters(w->in->filters, first, &wi, &we);
		place_filters(w->in->found, first, &fi, &fe);
		r = walk_pref(&b, wi, we, fi, fe);
	}
	return finish_block(&b, block->id, r);
}

/* As much of a wanted block as may be other than wanted. */
static int diff_touched(struct diff_walk *w, const struct block *block)
{
	const struct places *only = w->in->only;
	size_t first, end;

	if (!only || only->all || !w->in->filters || !diff_block_survives(w, block->id))
		return diff_block(w, block, block->id);
	places_of(only, block->id, &first, &end);
	if (first == end)
		return 0;
	if (only->list[first].pref == 0)
		return diff_block(w, block, block->id);
	return diff_block_places(w, block, &only->list[first], &only->list[end]);
}

int diff_filters_wanted(struct diff_walk *w)
{
	if (!w->in->wanted)
		return 0;
	for (size_t i = 0; i < state_count(w->in->wanted, KIND_BLOCK); i++) {
		const struct block *block = state_at(w->in->wanted, KIND_BLOCK, i);
		int r;

		/* Without a binding the kernel has no such block; its ports are waited for. */
		if (!diff_block_bound(w, block->id))
			continue;
		r = diff_touched(w, block);
		if (r < 0)
			return r;
	}
	return 0;
}

int diff_filters_remove(struct diff_walk *w, uint32_t block)
{
	return diff_block(w, NULL, block);
}

/* True if the plan already empties the block. */
static bool already_removed(const struct diff_walk *w, const struct filter *f)
{
	for (size_t i = 0; i < w->plan->count; i++)
		if (w->plan->steps[i].op == KERNEL_REMOVE && w->plan->steps[i].found == &f->obj)
			return true;
	return false;
}

int diff_filters_leftover(struct diff_walk *w)
{
	size_t n = state_count(w->in->found, KIND_FILTER);

	for (size_t i = 0, end; i < n; i = end) {
		const struct filter *f = found_at(w, i);
		const struct filter *ours = NULL;
		int r;

		state_block_filters(w->in->found, f->block, &i, &end);
		if (w->in->wanted && state_block(w->in->wanted, f->block))
			continue;
		for (size_t j = i; j < end && !ours; j++)
			if (found_at(w, j)->owner == OWNER_OURS)
				ours = found_at(w, j);
		if (!ours || already_removed(w, ours))
			continue;
		r = diff_block(w, NULL, f->block);
		if (r < 0)
			return r;
	}
	return 0;
}
