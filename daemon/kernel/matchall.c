// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * matchall's options, and of the classifiers that swd never writes what must be known of them:
 * their flags (do they need software?) and their actions. matchall does not tell an in_hw_count.
 */
#include <errno.h>

#include "daemon/kernel/classifier.h"

static const struct nla_policy matchall_policy[TCA_MATCHALL_MAX + 1] = {
	[TCA_MATCHALL_CLASSID] = { .type = NLA_U32 },
	[TCA_MATCHALL_ACT] = { .type = NLA_NESTED },
	[TCA_MATCHALL_FLAGS] = { .type = NLA_U32 },
};

int matchall_put(struct nl_msg *m, const struct filter *f)
{
	uint32_t flags = f->flags & CLASSIFIER_FLAGS_ASKED;

	if (filter_match(f).size != 0)
		return -EINVAL;
	return flags ? codec_fit(attr_put_u32(m, TCA_MATCHALL_FLAGS, flags)) : 0;
}

int matchall_parse(const struct nlattr *options, struct classified *ret)
{
	struct nlattr *tb[TCA_MATCHALL_MAX + 1];
	int r = codec_attrs(tb, TCA_MATCHALL_MAX, options, matchall_policy);

	if (r < 0)
		return r;
	*ret = (struct classified){
		.flags = tb[TCA_MATCHALL_FLAGS] ? nla_get_u32(tb[TCA_MATCHALL_FLAGS]) : 0,
		.actions = tb[TCA_MATCHALL_ACT],
		.strange = tb[TCA_MATCHALL_CLASSID] != NULL,
	};
	return 0;
}

#define OTHER_ATTRS 32

/* Where the others keep flags and actions (linux/pkt_cls.h); 0: they have none. */
static const struct {
	const char *kind;
	uint8_t flags, actions;
} others[] = {
	{ "u32", TCA_U32_FLAGS, TCA_U32_ACT }, { "bpf", TCA_BPF_FLAGS_GEN, TCA_BPF_ACT },
	{ "basic", 0, TCA_BASIC_ACT },	       { "fw", 0, TCA_FW_ACT },
	{ "flow", 0, TCA_FLOW_ACT },	       { "route", 0, TCA_ROUTE4_ACT },
	{ "cgroup", 0, TCA_CGROUP_ACT },
};

int classifier_other_parse(const char *kind, const struct nlattr *options, struct classified *ret)
{
	struct nlattr *tb[OTHER_ATTRS + 1];
	int r = codec_attrs(tb, OTHER_ATTRS, options, NULL);

	if (r < 0)
		return r;
	*ret = (struct classified){ .strange = true };
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct nlattr *flags = others[i].flags ? tb[others[i].flags] : NULL;

		if (!streq(others[i].kind, kind))
			continue;
		if (flags && nla_len(flags) >= (int)sizeof(uint32_t))
			ret->flags = nla_get_u32(flags);
		ret->actions = tb[others[i].actions];
	}
	return 0;
}
