// SPDX-License-Identifier: GPL-2.0-or-later
/* Walking a snapshot for findings: see audit.h. What is said of each is in audit_words.c. */
#include "daemon/engine/audit_words.h"

#include <errno.h>

#include "daemon/engine/owned.h"
#include "daemon/kernel/cookie.h"
#include "daemon/policy/bypass_marks.h"

void audit_clear(struct audit *a)
{
	free(a->list);
	*a = (struct audit){ 0 };
}

/* One block at work. */
struct walk {
	const struct snapshot *s;
	const struct block *block;
	struct audit *audit;
	size_t first_finding;	/* of this block */
	uint32_t most_in_hw;	/* the highest in_hw_count of the block */
	const struct filter *f; /* the found one at hand */
	bool alone;		/* it has its pref for itself */
};

/* A new finding, or NULL: *ret_r is 0 if it was only counted, or -ENOMEM. */
static struct audit_finding *add(struct walk *w, enum audit_kind kind, int *ret_r)
{
	struct audit *a = w->audit;
	struct audit_finding *n;

	*ret_r = 0;
	if (a->count - w->first_finding >= AUDIT_MOST) {
		a->hidden++;
		return NULL;
	}
	*ret_r = grow(&a->list, &a->space, a->count, sizeof(*a->list));
	if (*ret_r < 0)
		return NULL;
	n = &a->list[a->count++];
	*n = (struct audit_finding){ .kind = kind, .block = w->block };
	return n;
}

/* ---- qdiscs ---- */

static bool binds(const struct qdisc *q, uint32_t block)
{
	return q->ingress_block == block || q->egress_block == block;
}

static int look_at_wanted_qdisc(struct walk *w, const struct qdisc *wanted)
{
	const struct qdisc *found = state_find(w->s->found, wanted);
	struct audit_finding *n;
	int r;

	if (!found || kind_ops(KIND_QDISC)->satisfied(&wanted->obj, &found->obj) ||
	    owned_has(w->s->owned, &found->obj))
		return 0;
	n = add(w, AUDIT_QDISC, &r);
	if (n)
		audit_words_qdisc(n, w->s, found);
	return r;
}

static int look_at_member(struct walk *w, const struct qdisc *found)
{
	const struct qdisc *wanted = state_find(w->s->config->wanted, found);
	const struct port *port = state_port(w->s->found, found->dev);
	struct audit_finding *n;
	int r = 0;

	if (!wanted || !binds(wanted, w->block->id)) {
		n = add(w, AUDIT_BINDING, &r);
		if (n)
			audit_words_binding(n, w->s, found);
	}
	if (r == 0 && port && port->facts.offload == 0 && w->block->offload != OFFLOAD_OFF) {
		n = add(w, AUDIT_NO_OFFLOAD, &r);
		if (n)
			audit_words_no_offload(n, w->s, port);
	}
	return r;
}

/* *ret_bound: whether a device binds the block. */
static int look_at_qdiscs(struct walk *w, bool *ret_bound)
{
	const struct state *wanted = w->s->config->wanted;
	int r = 0;

	for (size_t i = 0; r == 0 && i < state_count(wanted, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(wanted, KIND_QDISC, i);

		if (binds(q, w->block->id))
			r = look_at_wanted_qdisc(w, q);
	}
	for (size_t i = 0; r == 0 && i < state_count(w->s->found, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(w->s->found, KIND_QDISC, i);

		if (!binds(q, w->block->id))
			continue;
		*ret_bound = true;
		r = look_at_member(w, q);
	}
	return r;
}

/* ---- filters ---- */

/* The wanted filter that can't be there because of a foreign one, or NULL. */
static const struct filter *kept_out(const struct walk *w, const struct filter *f)
{
	const struct filter *same = w->s->filters ? state_find(w->s->filters, f) : NULL, *first;
	const struct filter key = {
		.obj.kind = KIND_FILTER, .block = f->block, .chain = f->chain, .pref = f->pref
	};
	size_t i;

	if (same || !w->s->filters)
		return same;
	i = state_lower(w->s->filters, &key);
	if (i == state_count(w->s->filters, KIND_FILTER))
		return NULL;
	first = state_at(w->s->filters, KIND_FILTER, i);
	if (first->block != f->block || first->chain != f->chain || first->pref != f->pref)
		return NULL;
	return first->protocol != f->protocol || first->type != f->type ||
			       f->type == FILTER_MATCHALL
		       ? first
		       : NULL;
}

static int found_foreign(struct walk *w, const struct filter *f)
{
	const struct bypass_report *report = snapshot_bypass(w->s, w->block->id);
	uint32_t instance;
	bool swd = f->has_cookie && cookie_instance(f->cookie, &instance);
	struct audit_finding *n;
	int r;

	n = add(w, swd ? AUDIT_OTHER_SWD : AUDIT_FOREIGN, &r);
	if (!n)
		return r;
	n->filter = f;
	n->filters = 1;
	n->breaks = filter_needs_software(f) && report &&
		    report->strategy != BYPASS_STRATEGY_NONE && w->block->bypass != BYPASS_WANT_OFF;
	audit_words_foreign(n, w->s, kept_out(w, f), w->alone);
	return 0;
}

static int found_leftover(struct walk *w, const struct filter *f)
{
	struct audit_finding *n;
	int r;

	n = add(w, AUDIT_LEFTOVER, &r);
	if (!n)
		return r;
	n->filter = f;
	n->filters = 1;
	n->breaks = w->block && filter_needs_software(f);
	audit_words_leftover(n, &f->obj);
	return 0;
}

/* One finding a rule and kind, however many of its filters fare so. */
static int found_of_rule(struct walk *w, enum audit_kind kind, const struct filter *wanted,
			 const struct filter *found)
{
	struct audit *a = w->audit;
	struct audit_finding *n;
	int r;

	for (size_t i = a->count; i > w->first_finding; i--) {
		n = &a->list[i - 1];
		if (n->kind == kind && n->rule == wanted->rule) {
			n->filters++;
			return 0;
		}
	}
	n = add(w, kind, &r);
	if (!n)
		return r;
	n->rule = wanted->rule;
	n->filters = 1;
	audit_words_rule(n, w->s, found, w->most_in_hw, w->alone);
	return 0;
}

static int look_at_pair(struct walk *w, const struct filter *wanted, const struct filter *found)
{
	bool fits = wanted && found && found->owner == OWNER_OURS &&
		    kind_ops(KIND_FILTER)->satisfied(&wanted->obj, &found->obj);
	int r = 0;

	if (found && found->owner != OWNER_OURS)
		r = found_foreign(w, found);
	else if (found && !wanted)
		r = found_leftover(w, found);
	/* The shortcut does no rule's work, and steps aside for foreign filters. */
	if (r < 0 || !wanted || !wanted->rule)
		return r;
	if (!fits)
		return found_of_rule(w, AUDIT_MISSING, wanted, NULL);
	if (filter_is_dead(found))
		return found_of_rule(w, AUDIT_DEAD, wanted, found);
	if (filter_is_partly(found, w->most_in_hw))
		return found_of_rule(w, AUDIT_PARTLY, wanted, found);
	return 0;
}

static bool same_pref(const struct state *s, size_t i, size_t first, size_t end, int step)
{
	const struct filter *f = state_at(s, KIND_FILTER, i), *other;

	if ((step < 0 && i == first) || (step > 0 && i + 1 == end))
		return false;
	other = state_at(s, KIND_FILTER, step < 0 ? i - 1 : i + 1);
	return other->chain == f->chain && other->pref == f->pref;
}

static int look_at_filters(struct walk *w)
{
	const struct snapshot *s = w->s;
	size_t wi = 0, we = 0, first, fi, fe;
	int r = 0;

	if (s->filters)
		state_block_filters(s->filters, w->block->id, &wi, &we);
	state_block_filters(s->found, w->block->id, &first, &fe);
	w->most_in_hw = filters_most_in_hw(s->found, w->block->id);
	fi = first;
	while (r == 0 && (wi < we || fi < fe)) {
		const struct filter *wanted =
			wi < we ? state_at(s->filters, KIND_FILTER, wi) : NULL;
		const struct filter *found = fi < fe ? state_at(s->found, KIND_FILTER, fi) : NULL;
		int c = !wanted	 ? 1
			: !found ? -1
				 : kind_ops(KIND_FILTER)->compare(&wanted->obj, &found->obj);

		w->alone = c >= 0 && !same_pref(s->found, fi, first, fe, -1) &&
			   !same_pref(s->found, fi, first, fe, 1);
		r = look_at_pair(w, c <= 0 ? wanted : NULL, c >= 0 ? found : NULL);
		wi += c <= 0;
		fi += c >= 0;
	}
	return r;
}

/* ---- the bypass ---- */

static int look_at_marks(struct walk *w)
{
	const struct bypass_report *report = snapshot_bypass(w->s, w->block->id);
	struct audit_finding *n;
	int r = 0;

	if (!report || report->strategy != BYPASS_STRATEGY_KERNEL || report->state == BYPASS_ON ||
	    w->block->bypass == BYPASS_WANT_OFF)
		return 0;
	for (size_t i = 0; r == 0 && i < MIN(report->culprit_count, (size_t)BYPASS_CULPRITS); i++) {
		const struct bypass_culprit *c = &report->culprits[i];

		if (c->handle != 0 || c->pref == 0)
			continue;
		n = add(w, AUDIT_MARK, &r);
		if (n)
			audit_words_mark(n, report, c);
	}
	if (r == 0 && report->culprit_count == 0 && report->evidence == BYPASS_BY_COUNTERS) {
		n = add(w, AUDIT_MARK, &r);
		if (n)
			audit_words_mark(n, report, NULL);
	}
	return r;
}

/* ---- the doors ---- */

int audit_block(const struct snapshot *s, const struct block *block, struct audit *a)
{
	struct walk w = { .s = s, .block = block, .audit = a, .first_finding = a->count };
	bool bound = false;
	int r;

	if (!s->found || !s->config)
		return 0;
	r = look_at_qdiscs(&w, &bound);
	/* What nobody binds the kernel has not; sw-cli status tells which ports are waited for. */
	if (r == 0 && bound)
		r = look_at_filters(&w);
	if (r == 0)
		r = look_at_marks(&w);
	return r;
}

static int look_at_leftover_filters(struct walk *w)
{
	const struct state *wanted = w->s->config ? w->s->config->wanted : NULL;
	size_t n = state_count(w->s->found, KIND_FILTER);
	int r = 0;

	for (size_t i = 0, end; r == 0 && i < n; i = end) {
		const struct filter *f = state_at(w->s->found, KIND_FILTER, i);

		state_block_filters(w->s->found, f->block, &i, &end);
		if (wanted && state_block(wanted, f->block))
			continue;
		for (; r == 0 && i < end; i++) {
			f = state_at(w->s->found, KIND_FILTER, i);
			if (f->owner == OWNER_OURS)
				r = found_leftover(w, f);
		}
	}
	return r;
}

int audit_leftovers(const struct snapshot *s, struct audit *a)
{
	static const enum kind kinds[] = { KIND_QDISC, KIND_ADDRESS, KIND_VLAN };
	struct walk w = { .s = s, .audit = a, .first_finding = a->count };
	int r = 0;

	if (!s->found)
		return 0;
	r = look_at_leftover_filters(&w);
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		for (size_t i = 0; r == 0 && i < state_count(s->found, kinds[k]); i++) {
			const struct object *o = state_at(s->found, kinds[k], i);
			struct audit_finding *n;

			if (!owned_has(s->owned, o) ||
			    (s->config && state_find(s->config->wanted, o)))
				continue;
			n = add(&w, AUDIT_LEFTOVER, &r);
			if (n)
				audit_words_leftover(n, o);
		}
	}
	return r;
}
