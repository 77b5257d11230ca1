// SPDX-License-Identifier: GPL-2.0-or-later
/* sample: one of N frames to a psample group. csum: checksums behind an edit. */
#include <errno.h>
#include <linux/tc_act/tc_csum.h>
#include <linux/tc_act/tc_sample.h>

#include "daemon/kernel/actions.h"

static const struct nla_policy sample_policy[TCA_SAMPLE_MAX + 1] = {
	[TCA_SAMPLE_PARMS] = { .type = NLA_UNSPEC, .minlen = sizeof(struct tc_sample) },
	[TCA_SAMPLE_RATE] = { .type = NLA_U32 },
	[TCA_SAMPLE_TRUNC_SIZE] = { .type = NLA_U32 },
	[TCA_SAMPLE_PSAMPLE_GROUP] = { .type = NLA_U32 },
};

static const struct nla_policy csum_policy[TCA_CSUM_MAX + 1] = {
	[TCA_CSUM_PARMS] = { .type = NLA_UNSPEC, .minlen = sizeof(struct tc_csum) },
};

static int sample_put(struct nl_msg *m, const struct action *a, const struct codec_names *names)
{
	struct tc_sample p = { .action = TC_ACT_PIPE };

	if (a->sample.rate == 0)
		return -EINVAL;
	if (attr_put(m, TCA_SAMPLE_PARMS, sizeof(p), &p) < 0 ||
	    attr_put_u32(m, TCA_SAMPLE_RATE, a->sample.rate) < 0 ||
	    attr_put_u32(m, TCA_SAMPLE_PSAMPLE_GROUP, a->sample.group) < 0)
		return -EMSGSIZE;
	if (a->sample.truncate)
		return codec_fit(attr_put_u32(m, TCA_SAMPLE_TRUNC_SIZE, a->sample.truncate));
	return 0;
}

static int sample_parse(const struct nlattr *options, const struct codec_names *names,
			struct action *ret)
{
	struct nlattr *tb[TCA_SAMPLE_MAX + 1];
	struct action_head p;
	int r = codec_attrs(tb, TCA_SAMPLE_MAX, options, sample_policy);

	if (r == 0)
		r = action_head(tb[TCA_SAMPLE_PARMS], sizeof(struct tc_sample), &p);
	if (r < 0)
		return r;
	if (p.action != TC_ACT_PIPE)
		return -ENOMSG;
	if (!tb[TCA_SAMPLE_RATE] || !tb[TCA_SAMPLE_PSAMPLE_GROUP])
		return -EBADMSG;
	ret->kind = ACTION_SAMPLE;
	ret->sample.rate = nla_get_u32(tb[TCA_SAMPLE_RATE]);
	ret->sample.group = nla_get_u32(tb[TCA_SAMPLE_PSAMPLE_GROUP]);
	if (tb[TCA_SAMPLE_TRUNC_SIZE])
		ret->sample.truncate = nla_get_u32(tb[TCA_SAMPLE_TRUNC_SIZE]);
	return 0;
}

static int csum_put(struct nl_msg *m, const struct action *a, const struct codec_names *names)
{
	struct tc_csum p = { .action = TC_ACT_PIPE, .update_flags = a->csum.flags };

	if (a->csum.flags == 0)
		return -EINVAL;
	return codec_fit(attr_put(m, TCA_CSUM_PARMS, sizeof(p), &p));
}

static int csum_parse(const struct nlattr *options, const struct codec_names *names,
		      struct action *ret)
{
	struct nlattr *tb[TCA_CSUM_MAX + 1];
	struct tc_csum p;
	int r = codec_attrs(tb, TCA_CSUM_MAX, options, csum_policy);

	if (r < 0)
		return r;
	if (!tb[TCA_CSUM_PARMS])
		return -EBADMSG;
	memcpy(&p, nla_data(tb[TCA_CSUM_PARMS]), sizeof(p));
	if (p.action != TC_ACT_PIPE)
		return -ENOMSG;
	ret->kind = ACTION_CSUM;
	ret->csum.flags = p.update_flags;
	return 0;
}

const struct action_codec action_sample = { "sample", TCA_SAMPLE_TM, TCA_SAMPLE_PARMS, sample_put,
					    sample_parse };
const struct action_codec action_csum = { "csum", TCA_CSUM_TM, TCA_CSUM_PARMS, csum_put,
					  csum_parse };
