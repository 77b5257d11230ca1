/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A kernel of paper: kernel.h over a state in memory, with the rules of Linux that the engine must
 * know (what can't stand beside what, what vanishes without a word), and a k-th request that fails.
 */
#ifndef SWD_TESTS_UNIT_ENGINE_FAKE_KERNEL_H
#define SWD_TESTS_UNIT_ENGINE_FAKE_KERNEL_H

#include "config/model/tx.h"
#include "daemon/kernel/kernel.h"

struct fake {
	struct state *world;
	enum bypass_ability ability;
	uint32_t instance;
	size_t requests; /* carried out or refused since fake_reset_counts() */
	size_t refused;
	size_t fail_at;		 /* this one (from 1) is refused; 0: none */
	size_t fail_all_from;	 /* this one and all that follow */
	size_t unknown_at;	 /* this one is done and its answer lost */
	size_t unknown_not_at;	 /* this one is not done and its answer lost */
	const char *refuse_rule; /* filters of this rule are refused */
	const char *idle_port;	 /* offloads nothing */
	uint32_t ring_step;	 /* a ring's size is rounded up to a multiple; 0: it is not */
	enum action_kind lacks;	 /* hardware does not have this action, but for ACTION_PASS */
	bool no_replace;	 /* hardware: one match twice at one pref is refused ... */
	bool no_equal;		 /* ... at two prefs of a chain, with other actions, too */
	size_t table;		 /* hardware holds so many; 0: any number */
	bool lose_events;	 /* a LOST instead of what happens, once */
	int dump_error;		 /* each dump fails with it; 0: none does */
	int coalesce_error;	 /* and so does each question of coalescing */
	bool other_direction;	 /* of each clsact has filters */
	size_t dumps_fail;	 /* so many to come are interrupted for good */
	bool dump_misses_one;	 /* each filter dump leaves out its first entry */
	size_t part;		 /* filters in a part of a block that is read in parts; 0: all */
	size_t parts;		 /* read since fake_reset_counts() */
	size_t looks;		 /* dumps and questions since fake_reset_counts(), ... */
	size_t looks_before;	 /* ... and those before the last request */
	char log[512][160];	 /* "+ label" */
	size_t log_count;
};
extern struct fake fake;

void fake_begin(enum bypass_ability ability);
void fake_end(void);
void fake_reset_counts(void);

/* What others do; events are queued as Linux would. */
void fake_add_port(const char *name, const char *lower, int offload);
void fake_del_port(const char *name);
void fake_rename_port(const char *from, const char *to);
/* A part of how a device sends, with `value` for all that it has; then one value, set by others. */
void fake_add_tx(const char *dev, enum tx_part part, uint32_t queues, uint8_t has, uint32_t value,
		 uint32_t most);
void fake_set_tx(const char *dev, enum tx_part part, unsigned int i, uint32_t value);
void fake_set_up(const char *name, bool up);
void fake_add_address(const char *dev, const char *text);
void fake_add_qdisc(const char *dev, const char *type, uint32_t ingress_block);
void fake_del_qdisc(const char *dev);
/* A filter without a mark: flower on an IPv4 destination, or matchall for NULL. */
void fake_add_filter(uint32_t block, uint16_t pref, const char *dst, uint32_t flags);
void fake_add_object(struct filter *f); /* takes it over */
void fake_del_handle(uint32_t block, uint16_t pref, uint32_t handle);
/* Deletes the i-th filter of a block, or all of its pref with one event. */
void fake_del_filter(uint32_t block, size_t i);
void fake_del_pref(uint32_t block, uint16_t pref);
void fake_forget_events(void); /* those nobody has read */
size_t fake_filters(uint32_t block);
const struct filter *fake_filter(uint32_t block, size_t i);

/* All that the kernel holds, counters and ifindexes apart, a line each; the caller frees it. */
char *fake_text(void);
bool fake_logged(size_t i, const char *part);	     /* the i-th log line has it */
size_t fake_log_find(const char *part, size_t from); /* SIZE_MAX if there is none */

#endif
