// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sentences about findings: see audit_words.h.
 */
#include "daemon/engine/audit_words.h"

#include <stdarg.h>
#include <stdio.h>

#include "daemon/kernel/cookie.h"
#include "daemon/policy/bypass_marks.h"
#include "daemon/policy/bypass_words.h"

const char *audit_kind_name(enum audit_kind k)
{
	switch (k) {
	case AUDIT_FOREIGN:
		return "foreign";
	case AUDIT_OTHER_SWD:
		return "other swd";
	case AUDIT_LEFTOVER:
		return "leftover";
	case AUDIT_DEAD:
		return "dead";
	case AUDIT_PARTLY:
		return "partly";
	case AUDIT_MISSING:
		return "missing";
	case AUDIT_NO_OFFLOAD:
		return "no offload";
	case AUDIT_BINDING:
		return "binding";
	case AUDIT_QDISC:
		return "qdisc";
	case AUDIT_MARK:
		return "mark";
	}
	return "?";
}

/* For members of a finding; what is too long is cut. */
#define SAY(to, ...) snprintf(to, sizeof(to), __VA_ARGS__)

static void set_place(struct audit_finding *n, const struct snapshot *s, const struct object *o)
{
	if (s->config && o && o->origin.line)
		SAY(n->place, "%s:%u", s->config->file, o->origin.line);
}

/* "swd.yaml:12", or "the file". */
static void print_place(const struct snapshot *s, const struct object *o, char to[AUDIT_PLACE])
{
	if (s->config && o && o->origin.line)
		snprintf(to, AUDIT_PLACE, "%s:%u", s->config->file, o->origin.line);
	else
		snprintf(to, AUDIT_PLACE, "the file");
}

/* "skip_sw in_hw"; "no flags" where there is none. */
static void print_flags(const struct filter *f, char to[64])
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = {
		{ TCA_CLS_FLAGS_SKIP_HW, " skip_hw" },
		{ TCA_CLS_FLAGS_SKIP_SW, " skip_sw" },
		{ TCA_CLS_FLAGS_IN_HW, " in_hw" },
		{ TCA_CLS_FLAGS_NOT_IN_HW, " not_in_hw" },
	};
	char text[64] = "";
	int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (f->flags & names[i].flag)
			n += snprintf(text + n, sizeof(text) - (size_t)n, "%s", names[i].name);
	snprintf(to, 64, "%s", n ? text + 1 : "no flags");
}

static void foreign_risk(struct audit_finding *n, const struct snapshot *s,
			 const struct filter *kept_out)
{
	const struct bypass_report *report = snapshot_bypass(s, n->block->id);
	char cost[BYPASS_COST] = "";

	if (report)
		bypass_cost(report, cost);
	if (kept_out && kept_out->rule)
		SAY(n->risk, "rule %s can't be put in%s", kept_out->rule->name,
		    n->breaks ? "; breaks the bypass" : "");
	else if (n->breaks)
		SAY(n->risk, "breaks the bypass%s%s", cost[0] ? ": " : "", cost);
	else if (filter_is_dead(n->filter))
		SAY(n->risk, "skip_sw and in no hardware: nobody looks at it");
	else
		SAY(n->risk, "decides about packets, and the file says nothing of it");
}

void audit_words_foreign(struct audit_finding *n, const struct snapshot *s,
			 const struct filter *kept_out, bool alone)
{
	struct bypass_words words = {
		.block_wanted = n->block,
		.file = s->config->file,
	};
	char label[OBJECT_LABEL], flags[64], whose[48] = "";
	uint32_t instance;

	object_label(&n->filter->obj, label);
	print_flags(n->filter, flags);
	if (n->kind == AUDIT_OTHER_SWD && cookie_instance(n->filter->cookie, &instance))
		SAY(whose, ", of the swd with mark 0x%08x", instance);
	SAY(n->text, "%s, %s%s%s", label, flags, whose,
	    n->filter->action_count || n->filter->type == FILTER_OTHER
		    ? ""
		    : ", no action and so no counter");
	if (kept_out && kept_out->rule)
		set_place(n, s, &kept_out->rule->obj);
	foreign_risk(n, s, kept_out);
	bypass_words_mend(n->filter, alone, &words, n->mend);
	if (n->kind == AUDIT_OTHER_SWD && n->block->foreign != FOREIGN_EVICT) {
		size_t used = strlen(n->mend);

		snprintf(n->mend + used, sizeof(n->mend) - used,
			 ", or swd --teardown with that swd's --state");
	}
}

void audit_words_leftover(struct audit_finding *n, const struct object *o)
{
	char label[OBJECT_LABEL], flags[64];

	object_label(o, label);
	if (n->filter) {
		print_flags(n->filter, flags);
		SAY(n->text, "%s, %s", label, flags);
		SAY(n->risk, "still acts on packets%s, and the file says nothing of it",
		    n->breaks ? " and breaks the bypass" : "");
	} else {
		SAY(n->text, "%s", label);
		SAY(n->risk, "swd made it, and the file says nothing of it any more");
	}
	SAY(n->mend, "swd removes it; sw-cli plan says what keeps it from that");
}

/* "tc filter del ...": swd puts it in again, and hardware has its say again. */
static void mend_again(struct audit_finding *n, const struct filter *found, bool alone)
{
	static const struct bypass_words nobody;
	size_t used;

	bypass_words_mend(found, alone, &nobody, n->mend);
	used = strlen(n->mend);
	snprintf(n->mend + used, sizeof(n->mend) - used,
		 ": swd puts it in again, or says why hardware refuses");
}

void audit_words_rule(struct audit_finding *n, const struct snapshot *s, const struct filter *found,
		      uint32_t most, bool alone)
{
	char place[AUDIT_PLACE];

	set_place(n, s, &n->rule->obj);
	print_place(s, &n->rule->obj, place);
	if (!found) {
		SAY(n->text, "rule %s is not in the kernel as the file says", n->rule->name);
		SAY(n->risk, "what it says does not happen, or not for all packets");
		SAY(n->mend, "sw-cli plan says what is in its way; sw-cli apply tries again");
	} else if (n->kind == AUDIT_DEAD) {
		SAY(n->text, "rule %s is skip_sw and in no hardware", n->rule->name);
		SAY(n->risk, "nobody looks at it");
		mend_again(n, found, alone);
	} else {
		SAY(n->text, "rule %s is held by %u of at least %u of the drivers' tables",
		    n->rule->name, found->in_hw_count, most);
		SAY(n->risk, "%s",
		    found->flags & TCA_CLS_FLAGS_SKIP_SW
			    ? "on some ports nobody looks at it"
			    : "on some ports software does it, or nobody if the block is bypassed");
		SAY(n->mend, "offload: required for rule %s in %s: all take it, or none",
		    n->rule->name, place);
		if (found->flags & TCA_CLS_FLAGS_SKIP_SW)
			mend_again(n, found, alone);
	}
}

void audit_words_qdisc(struct audit_finding *n, const struct snapshot *s, const struct qdisc *found)
{
	char place[AUDIT_PLACE];

	set_place(n, s, &n->block->obj);
	print_place(s, &n->block->obj, place);
	SAY(n->text, "%s has a %s qdisc of others, without block %u", found->dev, found->type,
	    n->block->id);
	SAY(n->risk, "no rule of the block is for %s", found->dev);
	SAY(n->mend, "tc qdisc del dev %s %s, or takeover: true in %s; either ends its filters",
	    found->dev, found->type, place);
}

void audit_words_binding(struct audit_finding *n, const struct snapshot *s,
			 const struct qdisc *found)
{
	char place[AUDIT_PLACE];

	set_place(n, s, &n->block->obj);
	print_place(s, &n->block->obj, place);
	SAY(n->text, "%s binds block %u, and the file does not say so", found->dev, n->block->id);
	SAY(n->risk, "the rules are for %s too, and it must be able to hold them", found->dev);
	SAY(n->mend, "tc qdisc del dev %s %s, or bind it in %s", found->dev, found->type, place);
}

void audit_words_no_offload(struct audit_finding *n, const struct snapshot *s,
			    const struct port *port)
{
	const struct port *wanted = state_port(s->config->wanted, port->name);
	char place[AUDIT_PLACE];

	set_place(n, s, wanted ? &wanted->obj : NULL);
	print_place(s, wanted ? &wanted->obj : NULL, place);
	SAY(n->text, "%s is in the block and its hw-tc-offload is off", port->name);
	SAY(n->risk, "its hardware takes none of the rules, and no skip_sw rule can be added");
	SAY(n->mend, "ethtool -K %s hw-tc-offload on, or tc-offload: true for it in %s", port->name,
	    place);
}

void audit_words_mark(struct audit_finding *n, const struct bypass_report *report,
		      const struct bypass_culprit *c)
{
	n->breaks = report->state == BYPASS_OFF;
	SAY(n->text, "%s", c ? c->text : "a counter shows that software classifies, no filter why");
	bypass_cost(report, n->risk);
	SAY(n->mend, "%s",
	    c ? c->mend : "bypass: required, and sw-cli apply after a stop and start of swd");
}
