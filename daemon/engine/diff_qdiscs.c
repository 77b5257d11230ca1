// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The steps for qdiscs, which bind blocks: see diff.h.
 */
#include "daemon/engine/diff.h"

#include "daemon/engine/owned.h"

static bool is_fresh(const struct diff_walk *w, const char *dev)
{
	return diff_name_in(&w->fresh, dev);
}

/* False where only the kernel can say: offload is off, or the device has no word for it. */
static bool says_offload(const struct diff_walk *w, const char *dev)
{
	const struct port *wanted = state_port(w->in->wanted, dev);
	const struct port *found = state_port(w->in->found, dev);

	if (wanted && wanted->has & PORT_HAS_TC_OFFLOAD)
		return wanted->tc_offload;
	return found && found->facts.offload == 1;
}

static bool wants_hardware(const struct diff_walk *w, uint32_t block)
{
	size_t i = 0, end = 0;

	if (block && w->in->filters)
		state_block_filters(w->in->filters, block, &i, &end);
	for (; i < end; i++) {
		const struct filter *f = state_at(w->in->filters, KIND_FILTER, i);

		if (f->flags & TCA_CLS_FLAGS_SKIP_SW)
			return true;
	}
	return false;
}

/* True if the block holds a filter that all its members took, or had to take. */
static bool is_in_hardware(const struct diff_walk *w, uint32_t block)
{
	const uint32_t both = TCA_CLS_FLAGS_SKIP_SW | TCA_CLS_FLAGS_IN_HW;
	size_t i, end;

	state_block_filters(w->in->found, block, &i, &end);
	for (; i < end; i++) {
		const struct filter *f = state_at(w->in->found, KIND_FILTER, i);

		if ((f->flags & both) == both)
			return true;
	}
	return false;
}

/* True if a foreign qdisc has the place of a wanted one, and keeps it. */
static bool is_kept_out(const struct diff_walk *w, const struct qdisc *wanted)
{
	const struct qdisc *found = state_find(w->in->found, wanted);

	return found && !is_fresh(w, wanted->dev) && !wanted->takeover &&
	       !owned_has(w->in->owned, &found->obj) &&
	       !kind_ops(KIND_QDISC)->satisfied(&wanted->obj, &found->obj);
}

/* True if another member of the block is there that says it can take its filters. */
static bool has_better_member(const struct diff_walk *w, const struct qdisc *q, uint32_t block)
{
	for (size_t i = 0; i < diff_wanted_count(w, KIND_QDISC); i++) {
		const struct qdisc *other = state_at(w->in->wanted, KIND_QDISC, i);

		if (other != q && qdisc_binds(other, block) && diff_dev_there(w, other->dev) &&
		    says_offload(w, other->dev) && !is_kept_out(w, other))
			return true;
	}
	return false;
}

/*
 * A member that can't offload makes Linux refuse each skip_sw filter of the whole block, but is
 * refused itself once filters are in hardware. So one that may be such comes behind the filters
 * that another member takes, and nobody loses them for it.
 */
static bool comes_late(const struct diff_walk *w, const struct qdisc *q)
{
	const uint32_t blocks[] = { q->ingress_block, q->egress_block };
	bool late = false;

	if (says_offload(w, q->dev))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		/* One that nobody else binds has no filters before. */
		if (blocks[i] && !has_better_member(w, q, blocks[i]))
			return false;
		late |= wants_hardware(w, blocks[i]);
	}
	return late;
}

/* One that comes late was there before what it must come behind, and may be what keeps that out. */
static bool came_early(const struct diff_walk *w, const struct qdisc *wanted)
{
	const uint32_t blocks[] = { wanted->ingress_block, wanted->egress_block };

	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++)
		if (wants_hardware(w, blocks[i]) && !is_in_hardware(w, blocks[i]))
			return comes_late(w, wanted);
	return false;
}

static bool takes_over(const struct diff_walk *w, const struct qdisc *found)
{
	const struct qdisc *wanted = w->in->wanted ? state_find(w->in->wanted, found) : NULL;

	return wanted && wanted->takeover;
}

static bool as_wanted(const struct diff_walk *w, const struct qdisc *found)
{
	const struct qdisc *wanted = w->in->wanted ? state_find(w->in->wanted, found) : NULL;

	return wanted && kind_ops(KIND_QDISC)->satisfied(&wanted->obj, &found->obj);
}

/* True if a found qdisc binds what it does all the time. */
static bool stays_bound(const struct diff_walk *w, const struct qdisc *found)
{
	if (!diff_dev_there(w, found->dev) || is_fresh(w, found->dev))
		return false;
	if (as_wanted(w, found))
		return true;
	return !owned_has(w->in->owned, &found->obj) && !takes_over(w, found);
}

/* True if nothing has to go before it: then it comes in front of those that replace others. */
static bool comes_first(const struct diff_walk *w, const struct qdisc *wanted)
{
	return !state_find(w->in->found, wanted) || is_fresh(w, wanted->dev);
}

/* True if the block has other bindings from when that one goes on. */
static bool is_bound_without(const struct diff_walk *w, const struct qdisc *q, uint32_t block,
			     bool early)
{
	for (size_t i = 0; i < state_count(w->in->found, KIND_QDISC); i++) {
		const struct qdisc *other = state_at(w->in->found, KIND_QDISC, i);

		if (other != q && qdisc_binds(other, block) && stays_bound(w, other))
			return true;
	}
	for (size_t i = 0; i < diff_wanted_count(w, KIND_QDISC) && !early; i++) {
		const struct qdisc *other = state_at(w->in->wanted, KIND_QDISC, i);

		if (!streq(other->dev, q->dev) && qdisc_binds(other, block) &&
		    comes_first(w, other) && diff_dev_there(w, other->dev) && !comes_late(w, other))
			return true;
	}
	return false;
}

/*
 * The first foreign filter of a block that would go with its last binding, or NULL. early: the
 * binding goes before any comes, else behind those that come first.
 */
static const struct filter *foreign_kept_by(const struct diff_walk *w, const struct qdisc *q,
					    uint32_t block, bool early)
{
	const struct block *wanted = w->in->wanted ? state_block(w->in->wanted, block) : NULL;
	size_t i, end;

	if (!block || (wanted && wanted->foreign == FOREIGN_EVICT))
		return NULL;
	state_block_filters(w->in->found, block, &i, &end);
	for (; i < end; i++) {
		const struct filter *f = state_at(w->in->found, KIND_FILTER, i);

		if (f->owner == OWNER_FOREIGN)
			return is_bound_without(w, q, block, early) ? NULL : f;
	}
	return NULL;
}

static const struct filter *foreign_of(const struct diff_walk *w, const struct qdisc *q, bool early)
{
	const struct filter *f = foreign_kept_by(w, q, q->ingress_block, early);

	return f ? f : foreign_kept_by(w, q, q->egress_block, early);
}

const struct object *diff_foreign_on(const struct diff_walk *w, const char *dev, bool early)
{
	struct qdisc key = { .obj.kind = KIND_QDISC };
	const struct filter *f;
	const struct qdisc *q;

	COPY_NAME(key.dev, dev);
	q = state_find(w->in->found, &key);
	if (!q || takes_over(w, q))
		return NULL;
	if (!owned_has(w->in->owned, &q->obj) && !as_wanted(w, q))
		return &q->obj;
	f = foreign_of(w, q, early);
	return f ? &f->obj : NULL;
}

/* True if a wanted qdisc can be put in: nobody's qdisc is there, or one that may go. */
static bool has_room(const struct diff_walk *w, const struct qdisc *wanted,
		     const struct qdisc *found)
{
	return !found || wanted->takeover ||
	       (owned_has(w->in->owned, &found->obj) && !foreign_of(w, found, false));
}

bool diff_block_bound(const struct diff_walk *w, uint32_t block)
{
	for (size_t i = 0; i < diff_wanted_count(w, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(w->in->wanted, KIND_QDISC, i);
		const struct qdisc *found;

		if (!qdisc_binds(q, block) || !diff_dev_there(w, q->dev))
			continue;
		found = is_fresh(w, q->dev) ? NULL : state_find(w->in->found, q);
		if (found && qdisc_binds(found, block))
			return true;
		/* A foreign one that stays in its place binds nothing of ours. */
		if (has_room(w, q, found) && !comes_late(w, q))
			return true;
	}
	return false;
}

/* What a step does to the number of a block's bindings. */
static int step_binds(const struct step *s, uint32_t block)
{
	int n = 0;

	if (step_object(s)->kind != KIND_QDISC)
		return 0;
	if (s->op == KERNEL_REMOVE)
		return -qdisc_binds((const struct qdisc *)s->found, block);
	n += qdisc_binds((const struct qdisc *)s->wanted, block);
	return s->found ? n - qdisc_binds((const struct qdisc *)s->found, block) : n;
}

bool diff_block_survives(const struct diff_walk *w, uint32_t block)
{
	int bindings = 0;

	for (size_t i = 0; i < state_count(w->in->found, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(w->in->found, KIND_QDISC, i);

		/* Ours go by a step, a foreign one with its device. */
		bindings += qdisc_binds(q, block) &&
			    (!is_fresh(w, q->dev) || diff_name_in(&w->rebound, q->dev));
	}
	for (size_t i = 0; i < w->plan->count && bindings > 0; i++)
		bindings += step_binds(&w->plan->steps[i], block);
	return bindings > 0;
}

/* True if the file has a place for the block: its filters are judged there. */
static bool block_wanted(const struct diff_walk *w, uint32_t block)
{
	return w->in->wanted && state_block(w->in->wanted, block);
}

/* True if another binding of the block was replaced before. */
static bool is_drained(const struct diff_walk *w, uint32_t block)
{
	for (size_t i = 0; i < state_count(w->in->found, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(w->in->found, KIND_QDISC, i);

		if (qdisc_binds(q, block) && diff_name_in(&w->rebound, q->dev))
			return true;
	}
	return false;
}

/* The filters of a block whose last binding is replaced must go in time, so that they can be put
 * back: with the first of its bindings, and once, or the undo would put them back twice. */
static int drain_block(struct diff_walk *w, uint32_t block)
{
	if (!block || block_wanted(w, block) || is_drained(w, block))
		return 0;
	return diff_filters_remove(w, block);
}

static int take_qdisc(struct diff_walk *w, const struct qdisc *found, enum step_reason reason)
{
	int r = drain_block(w, found->ingress_block);

	if (r == 0 && found->egress_block != found->ingress_block)
		r = drain_block(w, found->egress_block);
	if (r == 0)
		r = plan_add(w->plan, KERNEL_REMOVE, reason, NULL, &found->obj);
	if (r == 0)
		r = diff_name_add(&w->rebound, found->dev);
	return r;
}

static int replace_qdisc(struct diff_walk *w, const struct qdisc *wanted, const struct qdisc *found,
			 enum step_reason reason)
{
	int r = take_qdisc(w, found, reason);

	return r == 0 ? plan_add(w->plan, KERNEL_ADD, reason, &wanted->obj, NULL) : r;
}

int diff_qdisc_with(struct diff_walk *w, const char *dev)
{
	for (size_t i = 0; i < state_count(w->in->found, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(w->in->found, KIND_QDISC, i);

		if (streq(q->dev, dev) && owned_has(w->in->owned, &q->obj))
			return take_qdisc(w, q, STEP_DIFFERENT);
	}
	return 0;
}

/* Makes room for the filters of others, which it is to come behind. */
static int step_aside(struct diff_walk *w, const struct qdisc *wanted)
{
	const struct qdisc *found = state_find(w->in->found, wanted);

	if (!found || is_fresh(w, wanted->dev) || !owned_has(w->in->owned, &found->obj) ||
	    !as_wanted(w, found) || !came_early(w, wanted) || foreign_of(w, found, false))
		return 0;
	return take_qdisc(w, found, STEP_DIFFERENT);
}

static int diff_qdisc(struct diff_walk *w, const struct qdisc *wanted)
{
	const struct qdisc *found = state_find(w->in->found, wanted);
	const struct filter *foreign;
	char label[OBJECT_LABEL];
	bool ours;

	if (!diff_dev_there(w, wanted->dev))
		return plan_wait(w->plan, wanted->dev, &wanted->obj);
	if (!found || is_fresh(w, wanted->dev) || diff_name_in(&w->rebound, wanted->dev))
		return plan_add(w->plan, KERNEL_ADD, STEP_MISSING, &wanted->obj, NULL);
	if (kind_ops(KIND_QDISC)->satisfied(&wanted->obj, &found->obj))
		return 0;
	ours = owned_has(w->in->owned, &found->obj);
	foreign = ours ? foreign_of(w, found, false) : NULL;
	if (ours && !foreign)
		return replace_qdisc(w, wanted, found, STEP_DIFFERENT);
	if (wanted->takeover)
		return replace_qdisc(w, wanted, found, STEP_TAKEOVER);
	if (foreign) {
		object_label(&foreign->obj, label);
		return plan_conflict(w->plan, &wanted->obj, true,
				     "what it replaces holds a foreign filter: %s; takeover: true "
				     "would let it go",
				     label);
	}
	return plan_conflict(w->plan, &wanted->obj, true,
			     "%s has a %s qdisc that is not swd's; takeover: true would replace it",
			     wanted->dev, found->type);
}

/* Before the filters, or late, behind them. Each time first those that come: a block that moves to
 * another device is never without one. */
static int diff_qdiscs(struct diff_walk *w, bool late)
{
	for (int come = 1; come >= 0; come--) {
		for (size_t i = 0; i < diff_wanted_count(w, KIND_QDISC); i++) {
			const struct qdisc *q = state_at(w->in->wanted, KIND_QDISC, i);
			int r;

			if (comes_first(w, q) != come)
				continue;
			if (comes_late(w, q) == late)
				r = diff_qdisc(w, q);
			else
				r = late ? 0 : step_aside(w, q);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int diff_qdiscs_early(struct diff_walk *w)
{
	return diff_qdiscs(w, false);
}

int diff_qdiscs_late(struct diff_walk *w)
{
	return diff_qdiscs(w, true);
}

int diff_qdiscs_leftover(struct diff_walk *w)
{
	for (size_t i = state_count(w->in->found, KIND_QDISC); i-- > 0;) {
		const struct qdisc *q = state_at(w->in->found, KIND_QDISC, i);
		const struct filter *foreign;
		char label[OBJECT_LABEL];
		int r;

		if (!diff_is_leftover(w, &q->obj) || diff_name_in(&w->gone, q->dev) ||
		    is_fresh(w, q->dev))
			continue;
		foreign = foreign_of(w, q, false);
		if (foreign) {
			object_label(&foreign->obj, label);
			r = plan_conflict(w->plan, &q->obj, false,
					  "stays, since it holds a foreign filter: %s", label);
		} else {
			r = plan_add(w->plan, KERNEL_REMOVE, STEP_LEFTOVER, NULL, &q->obj);
		}
		if (r < 0)
			return r;
	}
	return 0;
}
