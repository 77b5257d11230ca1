// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Both states keep filters in the same order, so that counting a block is one walk.
 */
#include "daemon/service/tally.h"

#include "daemon/policy/bypass_marks.h"

bool tally_fits(const struct filter *wanted, const struct filter *found)
{
	return found->owner == OWNER_OURS &&
	       kind_ops(KIND_FILTER)->satisfied(&wanted->obj, &found->obj);
}

static void count_pair(const struct filter *wanted, const struct filter *found, struct tally *t)
{
	if (found) {
		t->found++;
		t->foreign += found->owner == OWNER_FOREIGN;
	}
	/* A shortcut may be left out, for the sake of a foreign filter. */
	if (!wanted || (!found && wanted->role == FILTER_ROLE_SHORTCUT))
		return;
	t->wanted++;
	if (!found || !tally_fits(wanted, found))
		t->missing++;
	else if (found->flags & TCA_CLS_FLAGS_IN_HW)
		t->in_hw++;
}

void tally_block(const struct snapshot *s, uint32_t block, struct tally *t)
{
	int (*compare)(const struct object *, const struct object *) =
		kind_ops(KIND_FILTER)->compare;
	size_t w = 0, w_end = 0, f = 0, f_end = 0;

	if (s->filters)
		state_block_filters(s->filters, block, &w, &w_end);
	if (s->found)
		state_block_filters(s->found, block, &f, &f_end);
	while (w < w_end || f < f_end) {
		const struct filter *wanted =
			w < w_end ? state_at(s->filters, KIND_FILTER, w) : NULL;
		const struct filter *found = f < f_end ? state_at(s->found, KIND_FILTER, f) : NULL;
		int order = !wanted ? 1 : !found ? -1 : compare(&wanted->obj, &found->obj);

		count_pair(order <= 0 ? wanted : NULL, order >= 0 ? found : NULL, t);
		w += order <= 0;
		f += order >= 0;
	}
}

const char *rule_state_name(enum rule_state s)
{
	switch (s) {
	case RULE_IN_HARDWARE:
		return "in hardware";
	case RULE_PARTLY:
		return "partly";
	case RULE_NOT_IN_HARDWARE:
		return "not in hardware";
	case RULE_IN_SOFTWARE:
		return "in software";
	case RULE_MISSING:
		return "missing";
	case RULE_WAITING:
		return "waiting";
	}
	return "?";
}

bool device_there(const struct snapshot *s, const char *name)
{
	return s->found && (state_port(s->found, name) || state_vlan(s->found, name));
}

/* True if it can't be put in yet, for want of a device. */
static bool filter_waits(const struct snapshot *s, const struct filter *f)
{
	for (size_t i = 0; i < f->action_count; i++) {
		const struct action *a = &filter_actions(f)[i];

		if ((a->kind == ACTION_REDIRECT || a->kind == ACTION_MIRROR) &&
		    !device_there(s, a->dev))
			return true;
	}
	return !block_bound(s, f->block);
}

enum rule_state rule_state(const struct snapshot *s, const struct filter *const *wanted, size_t n,
			   uint32_t most)
{
	size_t present = 0, in_hw = 0, software = 0, partly = 0;

	for (size_t i = 0; i < n; i++) {
		const struct filter *found = s->found ? state_find(s->found, wanted[i]) : NULL;

		software += !!(wanted[i]->flags & TCA_CLS_FLAGS_SKIP_HW);
		if (!found || !tally_fits(wanted[i], found))
			continue;
		present++;
		in_hw += !!(found->flags & TCA_CLS_FLAGS_IN_HW);
		partly += filter_is_partly(found, most);
	}
	if (n == 0 || present < n)
		return n && filter_waits(s, wanted[0]) ? RULE_WAITING : RULE_MISSING;
	if (software == n)
		return RULE_IN_SOFTWARE;
	if (in_hw == n && partly == 0)
		return RULE_IN_HARDWARE;
	return in_hw ? RULE_PARTLY : RULE_NOT_IN_HARDWARE;
}

bool block_bound(const struct snapshot *s, uint32_t block)
{
	for (size_t i = 0; s->found && i < state_count(s->found, KIND_QDISC); i++) {
		const struct qdisc *q = state_at(s->found, KIND_QDISC, i);

		if (q->ingress_block == block || q->egress_block == block)
			return true;
	}
	return false;
}

const char *block_name(const struct snapshot *s, uint32_t block)
{
	const struct block *b = s->config ? state_block(s->config->wanted, block) : NULL;

	return b ? b->name : NULL;
}
