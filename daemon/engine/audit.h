/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * audit: what is in the kernel and should not be, or is not where it should be: filters, qdiscs and
 * bindings of others, leftovers of ours, rules that no hardware or not all of it holds. A pure look
 * at a snapshot; each finding says what it costs and what would mend it.
 */
#ifndef SWD_ENGINE_AUDIT_H
#define SWD_ENGINE_AUDIT_H

#include "daemon/engine/snapshot.h"

enum audit_kind {
	AUDIT_FOREIGN,	  /* a filter of others */
	AUDIT_OTHER_SWD,  /* a filter of a swd with another state folder */
	AUDIT_LEFTOVER,	  /* ours, and the file does not say it */
	AUDIT_DEAD,	  /* a rule that is skip_sw and in no hardware */
	AUDIT_PARTLY,	  /* a rule that fewer devices hold than another of its block */
	AUDIT_MISSING,	  /* a rule that is not there, or not as the file says */
	AUDIT_NO_OFFLOAD, /* a member whose offload is off */
	AUDIT_BINDING,	  /* a device that binds the block, and the file does not say so */
	AUDIT_QDISC,	  /* another's qdisc in the place of ours */
	AUDIT_MARK,	  /* what is left of a filter that is gone, and breaks the bypass */
};
const char *audit_kind_name(enum audit_kind k); /* "foreign", "other swd", ... */

#define AUDIT_PLACE (DIAG_FILE_MAX + 12)

struct audit_finding {
	enum audit_kind kind;
	const struct block *block;   /* NULL: it is in no block of the file */
	const struct rule *rule;     /* NULL: it is about none */
	const struct filter *filter; /* as found; NULL: it is about none, or about a rule's */
	uint32_t filters;	     /* how many filters it is about */
	bool breaks;		     /* it breaks the bypass of its block */
	char place[AUDIT_PLACE];     /* "swd.yaml:41", or "" */
	char text[320], risk[160], mend[288];
};

/* Kept findings of one block; what does not fit is counted. */
#define AUDIT_MOST 200

/* Starts as { 0 }. Blocks, rules and filters are the snapshot's. */
struct audit {
	struct audit_finding *list;
	size_t count, space;
	size_t hidden; /* found, and not kept */
};
void audit_clear(struct audit *a);

/* Adds what is found in one wanted block. 0 or -ENOMEM. */
int audit_block(const struct snapshot *s, const struct block *block, struct audit *a);
/* Adds our leftovers that are in no wanted block. 0 or -ENOMEM. */
int audit_leftovers(const struct snapshot *s, struct audit *a);

#endif
