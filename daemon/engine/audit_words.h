/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * audit_words: what audit.c found, in words: what it is, what it costs or risks, and what would
 * mend it: a command that can be pasted, or a key of the file. Each fills place, text, risk and
 * mend.
 */
#ifndef SWD_ENGINE_AUDIT_WORDS_H
#define SWD_ENGINE_AUDIT_WORDS_H

#include "daemon/engine/audit.h"

/* n->filter is foreign. kept_out: a wanted filter that can't be there for it, or NULL. alone: it
 * has its pref for itself. */
void audit_words_foreign(struct audit_finding *n, const struct snapshot *s,
			 const struct filter *kept_out, bool alone);
/* Ours, and not wanted: a filter, qdisc, address or VLAN. */
void audit_words_leftover(struct audit_finding *n, const struct object *o);
/* n->rule, of a kind of rules. found: its filter, NULL if that is missing; most: the callbacks that
 * hold another filter of the block. */
void audit_words_rule(struct audit_finding *n, const struct snapshot *s, const struct filter *found,
		      uint32_t most, bool alone);
void audit_words_qdisc(struct audit_finding *n, const struct snapshot *s,
		       const struct qdisc *found);
void audit_words_binding(struct audit_finding *n, const struct snapshot *s,
			 const struct qdisc *found);
void audit_words_no_offload(struct audit_finding *n, const struct snapshot *s,
			    const struct port *port);
/* c NULL: a counter disproved the bypass, and nothing says why. */
void audit_words_mark(struct audit_finding *n, const struct bypass_report *report,
		      const struct bypass_culprit *c);

#endif
