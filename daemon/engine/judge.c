// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The engine's side of the bypass: asks the policy room block by block and tells what changed. See
 * judge.h.
 */
#include "daemon/engine/judge.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/engine/observe.h"

static const struct bypass_report *report_of(const struct engine_owner *o, uint32_t block)
{
	for (size_t i = 0; i < o->report_count; i++)
		if (o->reports[i].block == block)
			return &o->reports[i];
	return NULL;
}

static bool strategy_kernel_reads(const struct engine_owner *o)
{
	return o->ability == BYPASS_ABILITY_READBACK;
}

/* The kernel's own word, where it has one. A block that nobody binds has none. */
static void read_back(struct engine_owner *o, uint32_t block)
{
	struct bypass_reading reading;
	int r;

	/* It tells of changes by itself; a word in time saves a question for each block. */
	if (!strategy_kernel_reads(o) || !bypass_unread(o->bypass, block))
		return;
	pulse_wait(o->pulse);
	r = kernel_read_bypass(o->kernel, block, &reading);
	pulse_go(o->pulse);
	if (r == 0)
		bypass_read(o->bypass, &reading);
}

static size_t foreign_culprits(const struct bypass_report *r)
{
	size_t n = 0;

	for (size_t i = 0; i < MIN(r->culprit_count, (size_t)BYPASS_CULPRITS); i++)
		n += r->culprits[i].owner == OWNER_FOREIGN;
	return n;
}

/*
 * A block of software rules has no bypass by its own wish: that is no alarm. It is one if the file
 * requires the bypass, or if someone else took it away.
 */
static bool is_alarming(const struct block *block, const struct bypass_report *r)
{
	if (block->bypass == BYPASS_WANT_OFF || r->strategy == BYPASS_STRATEGY_NONE)
		return false;
	if (r->state != BYPASS_OFF || r->filters == 0)
		return false;
	return block->bypass == BYPASS_WANT_REQUIRED || foreign_culprits(r);
}

static void tell_state(struct engine_owner *o, const struct block *block,
		       const struct bypass_report *now)
{
	const struct bypass_report *before = report_of(o, block->id);
	const char *why = now->culprit_count ? now->culprits[0].text : "";
	char about[64];

	snprintf(about, sizeof(about), "block %s", block->name);
	if (!before || before->state != now->state) {
		owner_event(o, ENGINE_EVENT_BYPASS, about, "bypass %s (%s), %s%s%s",
			    bypass_state_name(now->state), bypass_strategy_name(now->strategy),
			    bypass_evidence_name(now->evidence), why[0] ? ": " : "", why);
		flaps_changed(&o->flaps, "bypass", about, now_monotonic_ns(), LOG_LEVEL_INFO,
			      "%s: bypass %s (%s), %s%s%s", about, bypass_state_name(now->state),
			      bypass_strategy_name(now->strategy),
			      bypass_evidence_name(now->evidence), why[0] ? ": " : "", why);
	}
	if (is_alarming(block, now))
		alert_set(&o->alerts, "bypass-off", about, "the bypass is off: %s",
			  why[0] ? why : "no filter can be named");
}

/* One alert for one thing: what breaks the bypass was told by that. */
static void tell_foreign(struct engine_owner *o, const struct block *block,
			 const struct bypass_report *now)
{
	const struct filter *first = NULL;
	char about[64], label[OBJECT_LABEL];
	size_t i, end, n = 0;

	if (bypass_foreign(o->bypass, block->id) == 0)
		return;
	state_block_filters(o->found, block->id, &i, &end);
	for (; i < end; i++) {
		const struct filter *f = state_at(o->found, KIND_FILTER, i);

		if (f->owner != OWNER_FOREIGN)
			continue;
		if (!first)
			first = f;
		n++;
	}
	if (!first || (is_alarming(block, now) && foreign_culprits(now) == n))
		return;
	object_label(&first->obj, label);
	snprintf(about, sizeof(about), "block %s", block->name);
	alert_set(&o->alerts, "foreign", about, "%zu foreign filter%s, the first: %s", n,
		  n == 1 ? "" : "s", label);
}

/* ---- counters ---- */

/* True if nothing but the block can have moved the counter of its member. */
static bool only_the_block(struct engine_owner *o, const struct qdisc *q, bool egress)
{
	bool any = true;
	int r;

	if (q->ingress_block == q->egress_block)
		return true;
	pulse_wait(o->pulse);
	r = kernel_direction_filters(o->kernel, q->dev, !egress, &any);
	pulse_go(o->pulse);
	return r == 0 && !any;
}

static void weigh(struct engine_owner *o, const struct qdisc *q, uint32_t block, bool egress)
{
	if (!block || !bypass_counted(o->bypass, block, q->dev, q->packets, now_monotonic_ns()))
		return;
	if (only_the_block(o, q, egress))
		bypass_disproved(o->bypass, block, q->dev);
}

/*
 * Counters that were just read, against what the history says. What happened before they were read
 * must be known first; if it is more than can be read now, the next reading does it.
 */
static void weigh_counters(struct engine_owner *o)
{
	if (!o->qdiscs_read || o->ability != BYPASS_ABILITY_MARKS)
		return;
	o->qdiscs_read = false;
	if (observe_events(o))
		return;
	for (size_t i = 0; i < state_count(o->found, KIND_QDISC); i++) {
		_cleanup_object_ struct qdisc *q = object_ref(state_at(o->found, KIND_QDISC, i));

		weigh(o, q, q->ingress_block, false);
		if (q->egress_block != q->ingress_block)
			weigh(o, q, q->egress_block, true);
	}
}

static void judge_all(struct engine_owner *o)
{
	const struct state *wanted = o->config ? o->config->wanted : NULL;
	size_t n = wanted ? state_count(wanted, KIND_BLOCK) : 0;
	struct bypass_report *reports = calloc(n + 1, sizeof(*reports));

	if (!reports)
		return; /* the old ones stand; the next change tries again */
	alerts_begin(&o->alerts, "bypass-off");
	alerts_begin(&o->alerts, "foreign");
	for (size_t i = 0; i < n; i++) {
		const struct block *block = state_at(wanted, KIND_BLOCK, i);
		struct bypass_words words = {
			.filters = o->filters,
			.block_wanted = block,
			.file = o->config->file,
			.version = o->users.version,
		};

		read_back(o, block->id);
		if (bypass_judge(o->bypass, block->id, o->found, &words, &reports[i]) < 0) {
			free(reports);
			return;
		}
		tell_state(o, block, &reports[i]);
		tell_foreign(o, block, &reports[i]);
	}
	alerts_finish(&o->alerts, "bypass-off");
	alerts_finish(&o->alerts, "foreign");
	free(o->reports);
	o->reports = reports;
	o->report_count = n;
}

void judge_blocks(struct engine_owner *o)
{
	weigh_counters(o);
	judge_all(o);
}
