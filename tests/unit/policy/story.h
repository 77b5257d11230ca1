/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * story: one block, 10, and what happens to its filters: in the kernel (found) and as it is heard
 * of (b). For the tests of the bypass.
 */
#ifndef SWD_TESTS_STORY_H
#define SWD_TESTS_STORY_H

#include "daemon/policy/bypass.h"
#include "tests/unit/policy/make.h"

/* Flags as the kernel shows them. */
#define SKIP_SW (TCA_CLS_FLAGS_SKIP_SW | TCA_CLS_FLAGS_IN_HW)
#define DEAD TCA_CLS_FLAGS_SKIP_SW
#define SOFTWARE TCA_CLS_FLAGS_NOT_IN_HW

struct story {
	struct bypass *b;
	struct state *found, *wanted;
	struct config *config;
	struct bypass_words words;
	struct bypass_report report;
};

void story_begin(struct story *s, enum bypass_ability ability);
void story_end(struct story *s);

/* A filter with the action pass, and with our cookie if it is ours. */
struct filter *story_filter(uint32_t chain, uint16_t pref, uint16_t protocol, uint32_t handle,
			    uint32_t flags, const char *classifier, bool ours);
/* The kernel takes a filter (and s its reference), and its event is heard. */
void story_put(struct story *s, struct filter *f);
/* The same for a flower of protocol ip in chain 0. */
void story_flower(struct story *s, uint16_t pref, uint32_t handle, uint32_t flags, bool ours);
/* Gone from chain 0; handle 0: the whole pref. */
void story_gone(struct story *s, uint16_t pref, uint16_t protocol, uint32_t handle);

void story_judge(struct story *s);
/* Judges, and fails unless the state and its evidence are these. */
void story_state(struct story *s, enum bypass_state state, enum bypass_evidence evidence);
/* Fails unless the i-th culprit of the last judgement has these words. */
void story_culprit(struct story *s, size_t i, const char *text, const char *mend);
size_t story_heal(struct story *s, struct bypass_proto *ret, size_t most);

#endif
