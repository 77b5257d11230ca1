// SPDX-License-Identifier: GPL-2.0-or-later
/* gact: pass, drop, trap, goto. mirred: redirect and mirror to a device's egress. */
#include <errno.h>
#include <linux/tc_act/tc_gact.h>
#include <linux/tc_act/tc_mirred.h>

#include "daemon/kernel/actions.h"

static const struct nla_policy gact_policy[TCA_GACT_MAX + 1] = {
	[TCA_GACT_PARMS] = { .type = NLA_UNSPEC, .minlen = sizeof(struct tc_gact) },
};

static const struct nla_policy mirred_policy[TCA_MIRRED_MAX + 1] = {
	[TCA_MIRRED_PARMS] = { .type = NLA_UNSPEC, .minlen = sizeof(struct tc_mirred) },
};

static int gact_put(struct nl_msg *m, const struct action *a, const struct codec_names *names)
{
	struct tc_gact p = { 0 };

	switch ((enum action_kind)a->kind) {
	case ACTION_PASS:
		p.action = TC_ACT_OK;
		break;
	case ACTION_DROP:
		p.action = TC_ACT_SHOT;
		break;
	case ACTION_TRAP:
		p.action = TC_ACT_TRAP;
		break;
	case ACTION_GOTO:
		if (a->chain & ~(uint32_t)TC_ACT_EXT_VAL_MASK)
			return -EINVAL;
		p.action = (int)(TC_ACT_GOTO_CHAIN | a->chain);
		break;
	case ACTION_REDIRECT:
	case ACTION_MIRROR:
	case ACTION_VLAN_PUSH:
	case ACTION_VLAN_POP:
	case ACTION_VLAN_MODIFY:
	case ACTION_SET_SRC:
	case ACTION_SET_DST:
	case ACTION_DEC_TTL:
	case ACTION_CSUM:
	case ACTION_POLICE:
	case ACTION_SAMPLE:
	case ACTION_OTHER:
	case ACTION_COUNT_:
		return -EINVAL;
	}
	return codec_fit(attr_put(m, TCA_GACT_PARMS, sizeof(p), &p));
}

static int gact_parse(const struct nlattr *options, const struct codec_names *names,
		      struct action *ret)
{
	struct nlattr *tb[TCA_GACT_MAX + 1];
	struct action_head p;
	int r = codec_attrs(tb, TCA_GACT_MAX, options, gact_policy);

	if (r == 0)
		r = action_head(tb[TCA_GACT_PARMS], sizeof(struct tc_gact), &p);
	if (r < 0)
		return r;
	if (tb[TCA_GACT_PROB])
		return -ENOMSG; /* random: now this action, now another */
	if (TC_ACT_EXT_CMP(p.action, TC_ACT_GOTO_CHAIN)) {
		ret->kind = ACTION_GOTO;
		ret->chain = (uint32_t)p.action & TC_ACT_EXT_VAL_MASK;
		return 0;
	}
	if (p.action == TC_ACT_OK)
		ret->kind = ACTION_PASS;
	else if (p.action == TC_ACT_SHOT)
		ret->kind = ACTION_DROP;
	else if (p.action == TC_ACT_TRAP)
		ret->kind = ACTION_TRAP;
	else
		return -ENOMSG;
	return 0;
}

static int mirred_put(struct nl_msg *m, const struct action *a, const struct codec_names *names)
{
	bool redirect = a->kind == ACTION_REDIRECT;
	struct tc_mirred p = {
		.action = redirect ? TC_ACT_STOLEN : TC_ACT_PIPE,
		.eaction = redirect ? TCA_EGRESS_REDIR : TCA_EGRESS_MIRROR,
		.ifindex = names->index(a->dev, names->data),
	};

	if (p.ifindex == 0)
		return -ENODEV;
	return codec_fit(attr_put(m, TCA_MIRRED_PARMS, sizeof(p), &p));
}

static int mirred_parse(const struct nlattr *options, const struct codec_names *names,
			struct action *ret)
{
	struct nlattr *tb[TCA_MIRRED_MAX + 1];
	struct tc_mirred p;
	const char *dev;
	int r = codec_attrs(tb, TCA_MIRRED_MAX, options, mirred_policy);

	if (r < 0)
		return r;
	if (!tb[TCA_MIRRED_PARMS])
		return -EBADMSG;
	memcpy(&p, nla_data(tb[TCA_MIRRED_PARMS]), sizeof(p));
	if (p.eaction == TCA_EGRESS_REDIR && p.action == TC_ACT_STOLEN)
		ret->kind = ACTION_REDIRECT;
	else if (p.eaction == TCA_EGRESS_MIRROR && p.action == TC_ACT_PIPE)
		ret->kind = ACTION_MIRROR;
	else
		return -ENOMSG;
	/* The device is gone (ifindex 0), or was never ours to see. */
	dev = names->name(p.ifindex, names->data);
	if (!dev)
		return -ENOMSG;
	COPY_NAME(ret->dev, dev);
	return 0;
}

const struct action_codec action_gact = { "gact", TCA_GACT_TM, TCA_GACT_PARMS, gact_put,
					  gact_parse };
const struct action_codec action_mirred = { "mirred", TCA_MIRRED_TM, TCA_MIRRED_PARMS, mirred_put,
					    mirred_parse };
