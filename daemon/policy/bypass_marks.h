/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bypass_marks: what is known of the marks of one block's protos, from what was seen happening to
 * its filters. An exact model of Linux 6.12 (the 2025 form), read in 6.12.117:
 *
 * tcf_proto_create() marks a proto whose classifier has no reoffload (all but bpf, flower, matchall
 * and u32). Each change() of those four marks it unless the new filter is skip_sw and in_hw
 * (tcf_proto_update_usesw()); u32's hash tables pass that by. Nothing takes a mark away, and a bind
 * or unbind that changes in_hw sets none. A proto ends with its last filter, or when it is deleted
 * whole.
 */
#ifndef SWD_POLICY_BYPASS_MARKS_H
#define SWD_POLICY_BYPASS_MARKS_H

#include "config/model/state.h"

enum mark {
	MARK_NONE,  /* seen from its birth, and nothing set it */
	MARK_MAYBE, /* not seen from its birth */
	MARK_SET,
};

struct marks;

/* What a set of filters comes to, in any order: how many, and numbers of their protos added up. */
struct marks_sum {
	uint64_t keys;
	uint32_t count;
};

struct marks *marks_new(void); /* of an empty block; NULL: memory short */
void marks_free(struct marks *m);
DEFINE_CLEANUP(struct marks *, marks_free);

/* Forgets all and starts with what a dump of the block shows. 0 or -ENOMEM. */
int marks_found(struct marks *m, uint32_t block, const struct state *found);
/* Nothing is sure any more, and protos that now seem to come to be may be old ones. */
void marks_stale(struct marks *m);

/* A filter was made or changed. 0 or -ENOMEM. */
int marks_filter_new(struct marks *m, const struct filter *f);
/* A filter went; handle 0: its proto; pref 0: its chain. */
void marks_filter_gone(struct marks *m, const struct filter *key);

/* A proto that was never seen may be marked. */
enum mark marks_get(const struct marks *m, uint32_t chain, uint16_t pref, uint16_t protocol);

/* Adds the filter `by` times (1 or -1). */
void marks_sum_add(struct marks_sum *s, const struct filter *f, int by);
/* Surely without any mark: none is kept, and it was heard of all that is found. A table that is
 * found makes it doubtful. */
bool marks_clean(const struct marks *m, const struct marks_sum *found);

/* ---- what a filter is to the bypass, by its own flags ---- */

/* What dumps list like a filter and matches nothing: u32's hash tables, and a proto's own entry. */
bool filter_is_table(const struct filter *f);
/* Software looks at it: it is not skip_sw, or of a classifier that can't be offloaded. */
bool filter_needs_software(const struct filter *f);
/* skip_sw, and in no hardware: nobody looks at it. */
bool filter_is_dead(const struct filter *f);

/* ---- what is known of how many devices hold a filter ---- */

/* The highest in_hw_count of a block's found filters. */
uint32_t filters_most_in_hw(const struct state *found, uint32_t block);
/*
 * In hardware, and fewer callbacks hold it than hold another of its block. A driver may have one
 * callback for all its ports: of other filters nothing is known. matchall has no count.
 */
bool filter_is_partly(const struct filter *found, uint32_t most);

#endif
