/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bypass_known: what bypass.c has heard of a block. Only for bypass.c and bypass_judge.c.
 */
#ifndef SWD_POLICY_BYPASS_KNOWN_H
#define SWD_POLICY_BYPASS_KNOWN_H

#include "daemon/policy/bypass.h"
#include "daemon/policy/bypass_marks.h"

/* The packet counter of a member's clsact, as first read while the block was judged on. */
struct bypass_counter {
	char dev[IFNAMSIZ];
	uint64_t packets;
	uint64_t changes; /* of the block then: valid while it has no other */
	unsigned int moves;
};

/* What a judgement by history looks at: it is the same as long as these numbers are. */
struct bypass_moment {
	uint64_t heard, found, words; /* words 0: never */
};

struct bypass_known {
	uint32_t block;
	bool heard; /* its history is kept: marks is valid */
	struct marks *marks;
	bool has_reading, disproved;
	struct bypass_reading reading;
	bool judged;
	enum bypass_state state; /* of the last judgement */
	uint64_t since_ns;
	uint64_t changes;	   /* rises with each change of a filter */
	uint64_t changed_ns;	   /* monotonic: of the last one */
	uint64_t version;	   /* rises with all that was heard; see bypass_now() */
	struct bypass_report told; /* at ... */
	struct bypass_moment told_at;
	struct bypass_moment nothing_at; /* there was nothing to heal */
	struct bypass_counter *counters;
	size_t counter_count, counter_space;
};

/* What the filters of a block come to. */
struct bypass_counts {
	uint32_t block;
	uint32_t filters, filters_sw, filters_dead, walked, foreign;
	struct marks_sum sum;
	uint64_t version; /* rises with each of them that comes or goes */
	bool unread;	  /* changed since the kernel's last word on the block */
};

/* Something happened to the block: what a counter disproved may be true now. */
static inline void bypass_known_changed(struct bypass_known *k)
{
	k->disproved = false;
	k->changes++;
	k->version++;
	k->changed_ns = now_monotonic_ns();
}

struct bypass {
	enum bypass_ability ability;
	struct bypass_known *list; /* in order of block */
	size_t count, space;

	bool counting;		      /* counts are kept by bypass_count() */
	bool counts_failed;	      /* memory was short: what was kept is no longer true */
	struct bypass_counts *counts; /* in order of block; without filters there may be none */
	size_t counts_count, counts_space;
};

void bypass_counts_add(struct bypass_counts *c, const struct filter *f, int by);
/* Those of a block; zeros if nothing was counted there. */
struct bypass_counts bypass_counts_of(const struct bypass *b, uint32_t block);

struct bypass_known *bypass_known(const struct bypass *b, uint32_t block);  /* or NULL */
struct bypass_known *bypass_known_or_new(struct bypass *b, uint32_t block); /* NULL: memory short */

#endif
