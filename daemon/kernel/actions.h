/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * actions: the list of actions inside a filter's options. actions.c walks the list; a file per
 * group of tc actions knows their parameters. One action of the model is one action of tc, both
 * ways: what swd wrote reads back as the same bytes, and anything else becomes ACTION_OTHER with
 * its tc name and a hash.
 */
#ifndef SWD_KERNEL_ACTIONS_H
#define SWD_KERNEL_ACTIONS_H

#include <linux/pkt_cls.h>

#include "daemon/kernel/codec.h"

/* Adds the nest of attribute `attr` with f's actions and, on the first one, its cookie. As
 * codec.put. */
int actions_put(struct nl_msg *m, uint16_t attr, const struct filter *f,
		const struct codec_names *names);

/* What a list in a message says. */
struct actions_read {
	struct action list[TCA_ACT_MAX_PRIO];
	size_t count;
	bool has_cookie;
	uint8_t cookie[16];
	struct filter_stats stats; /* of the first action: it sees every frame that matched */
};
/* Nothing; the list itself is left as it is. */
static inline void actions_none(struct actions_read *rd)
{
	rd->count = 0;
	rd->has_cookie = false;
	memset(rd->cookie, 0, sizeof(rd->cookie));
	rd->stats = (struct filter_stats){ 0 };
}
/* 0 or -EBADMSG. */
int actions_parse(const struct nlattr *nest, const struct codec_names *names,
		  struct actions_read *ret);

/* ---- a row for each tc action ---- */

struct action_codec {
	const char *name; /* TCA_ACT_KIND */
	int tm_attr;	  /* its struct tcf_t: when it was last used */
	int parms_attr;	  /* its parameters, which struct action_head begins */
	/* Fills the open TCA_ACT_OPTIONS nest. As codec.put. */
	int (*put)(struct nl_msg *m, const struct action *a, const struct codec_names *names);
	/*
	 * 0; -ENOMSG: well-formed, and nothing swd would have written (it becomes ACTION_OTHER);
	 * -EBADMSG. ret is zeroed before.
	 */
	int (*parse)(const struct nlattr *options, const struct codec_names *names,
		     struct action *ret);
};

const struct action_codec *action_codec_of(enum action_kind kind); /* NULL: none */
extern const struct action_codec action_gact, action_mirred, action_vlan, action_pedit, action_csum,
	action_police, action_sample;

/*
 * The five numbers all parameter structs but police's begin with (tc_gen in linux/pkt_cls.h).
 * control is TC_ACT_*; index 0 lets the kernel choose.
 */
struct action_head {
	uint32_t index, capab;
	int32_t action;
	int32_t refcnt, bindcnt;
};
/* Reads the head of a parameter attribute that must have at least `size` bytes. 0 or -EBADMSG. */
int action_head(const struct nlattr *parms, size_t size, struct action_head *ret);
_Static_assert(sizeof(struct action_head) == 20, "as tc_gen");

#endif
