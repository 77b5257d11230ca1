/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bypass: for each block, whether software is skipped, how that is known, and what breaks it. Fed
 * by the engine with what happens to filters; decides nothing by itself but says what would mend
 * it.
 *
 * Linux 6.12 marks a proto (chain, pref, protocol) at its first filter that is not both skip_sw and
 * in_hw, and the mark lives as long as the proto. So there the state is derived from history: what
 * was not seen from the proto's birth is "unknown" until the pref is rebuilt.
 */
#ifndef SWD_POLICY_BYPASS_H
#define SWD_POLICY_BYPASS_H

#include "config/model/state.h"
#include "daemon/kernel/kernel.h"

enum bypass_strategy {
	BYPASS_STRATEGY_NONE,
	BYPASS_STRATEGY_SHORTCUT, /* a first filter of ours ends classification */
	BYPASS_STRATEGY_KERNEL,
};

enum bypass_state {
	BYPASS_OFF,
	BYPASS_ON,
	BYPASS_UNKNOWN,
};

enum bypass_evidence {
	BYPASS_BY_NOTHING,
	BYPASS_BY_READBACK, /* our kernel patch says so */
	BYPASS_BY_HISTORY,  /* derived from a history seen whole */
	BYPASS_BY_FILTERS,  /* the shortcut: it stands in front and all others are skip_sw */
	BYPASS_BY_COUNTERS, /* a counter that moved disproved it */
};

#define BYPASS_MEND 288

/* One thing that breaks it. */
struct bypass_culprit {
	uint32_t chain;
	uint16_t pref, protocol;
	uint32_t handle; /* 0: the pref is marked by a filter that is gone */
	uint8_t owner;	 /* enum owner */
	char text[200];	 /* "pref 1 protocol all matchall handle 0x1, foreign: not skip_sw" */
	char mend[BYPASS_MEND]; /* "tc filter del block 10 pref 1, or foreign: evict in ..." */
};

#define BYPASS_CULPRITS 8 /* the first ones; more are counted */

struct bypass_report {
	uint32_t block;
	enum bypass_strategy strategy;
	enum bypass_state state;
	enum bypass_evidence evidence;
	uint64_t since_ns; /* realtime, of the last change of state */
	/* In the kernel, counted by us, without the shortcut and u32's hash tables: all; those that
	 * software looks at (not skip_sw); those that nobody looks at (skip_sw, and in no
	 * hardware). */
	uint32_t filters, filters_sw, filters_dead;
	uint32_t walked; /* filters of chain 0: what a packet to the CPU walks without bypass */
	struct bypass_reading reading; /* the last one, if evidence is READBACK */
	size_t culprit_count;	       /* all of them */
	struct bypass_culprit culprits[BYPASS_CULPRITS];
};

struct bypass;

/* Which strategy a kernel of that ability gets (and "shortcut" for compile_input). */
enum bypass_strategy bypass_strategy_for(enum bypass_ability ability);

struct bypass *bypass_new(enum bypass_ability ability); /* NULL: memory short */
void bypass_free(struct bypass *b);
DEFINE_CLEANUP(struct bypass *, bypass_free);

/* A block we know to be empty, or just created by us: its history starts now. 0 or -ENOMEM. */
int bypass_block_born(struct bypass *b, uint32_t block);
/*
 * A block whose history we do not know, with a dump of it: marks may be there that nothing shows.
 * Protos that come to be after the dump are known again. 0 or -ENOMEM.
 */
int bypass_block_found(struct bypass *b, uint32_t block, const struct state *found);
/* Events were lost: from now on what is marked is not known, until bypass_block_found(). */
void bypass_all_stale(struct bypass *b);
void bypass_block_gone(struct bypass *b, uint32_t block);

/*
 * What happened to a filter, in the kernel's order: feed these from the events alone, our own
 * included, and not from the answers to requests as well. Gone: handle 0 is the whole proto, pref 0
 * the chain. Of blocks that are not known nothing is kept. 0 or -ENOMEM.
 */
int bypass_filter_new(struct bypass *b, const struct filter *f);
void bypass_filter_gone(struct bypass *b, const struct filter *key);
/* The kernel's own word (ability READBACK). */
int bypass_read(struct bypass *b, const struct bypass_reading *reading);
/*
 * The packet counter of a member's clsact, at a dump behind which all events were heard (now_ns,
 * monotonic). True if it moved between two such dumps while the block was judged on by its history,
 * no filter of it changed, and the last change was a second before the first: Linux 6.12 does not
 * count what is bypassed, but has one counter for both directions. So the caller asks whether the
 * other one has filters, and if not, calls bypass_disproved(): at the second time it is believed.
 * Forgotten at the next change of a filter.
 */
bool bypass_counted(struct bypass *b, uint32_t block, const char *dev, uint64_t packets,
		    uint64_t now_ns);
void bypass_disproved(struct bypass *b, uint32_t block, const char *dev);

/*
 * Counts for judging: a filter is in found from now on (by 1) or no more (by -1). Optional; without
 * it each judgement counts anew.
 */
void bypass_count(struct bypass *b, const struct filter *f, int by);
/* True if filters came or went since the last bypass_read() of the block, as far as is known. */
bool bypass_unread(const struct bypass *b, uint32_t block);
/* How many foreign filters that makes in a block; SIZE_MAX: it was never called. */
size_t bypass_foreign(const struct bypass *b, uint32_t block);

/*
 * Judges one block from its history and the filters found in it. For the words: filters (wanted
 * ones, as compiled, to name rules), block_wanted and file, each may be NULL; version: as long as
 * they are what they are, so that what did not change is not walked again; 0: it always is. 0 or
 * -ENOMEM.
 */
struct bypass_words {
	const struct state *filters;
	const struct block *block_wanted;
	const char *file;
	uint64_t version;
};
int bypass_judge(struct bypass *b, uint32_t block, const struct state *found,
		 const struct bypass_words *words, struct bypass_report *ret);

/*
 * The protos of the block that are marked (or may be) although no filter in them needs software,
 * and that hold filters of ours alone: to be rebuilt in a new pref, make before break
 * (compile_input.avoid). Returns how many were written to ret, at most `most`. Only with ability
 * MARKS; else none.
 */
struct bypass_proto {
	uint32_t chain;
	uint16_t pref, protocol;
};
size_t bypass_to_heal(const struct bypass *b, uint32_t block, const struct state *found,
		      struct bypass_proto *ret, size_t most);
/*
 * A pref next to f's (one more, or one less) that nothing in its chain holds: what is copied there
 * keeps its place among all others. 0: none is free.
 */
uint16_t bypass_free_beside(const struct state *found, const struct filter *f);
/*
 * Whether the block's marks are to be healed in that state. With a history not seen whole they are
 * a suspicion: rebuilding everything for that is only right where the file requires the bypass.
 */
bool bypass_worth_healing(enum bypass_state state, const struct block *block);

/*
 * "up to 51 filters walked for each packet that reaches the CPU"; "" for a block that is bypassed.
 */
#define BYPASS_COST 96
void bypass_cost(const struct bypass_report *r, char to[BYPASS_COST]);

const char *bypass_strategy_name(enum bypass_strategy s);
const char *bypass_state_name(enum bypass_state s);	  /* "on" "off" "unknown" */
const char *bypass_evidence_name(enum bypass_evidence e); /* "read back", ... */

#endif
