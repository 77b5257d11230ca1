// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vlan: push, pop, modify. The id is a number in host order, the protocol stands as in a frame
 * (net/sched/act_vlan.c). The kernel always tells the protocol of a push or modify, so both say it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/tc_act/tc_vlan.h>

#include "daemon/kernel/actions.h"

static const struct nla_policy vlan_policy[TCA_VLAN_MAX + 1] = {
	[TCA_VLAN_PARMS] = { .type = NLA_UNSPEC, .minlen = sizeof(struct tc_vlan) },
	[TCA_VLAN_PUSH_VLAN_ID] = { .type = NLA_U16 },
	[TCA_VLAN_PUSH_VLAN_PROTOCOL] = { .type = NLA_U16 },
	[TCA_VLAN_PUSH_VLAN_PRIORITY] = { .type = NLA_U8 },
};

static int vlan_put(struct nl_msg *m, const struct action *a, const struct codec_names *names)
{
	struct tc_vlan p = { .action = TC_ACT_PIPE };
	uint16_t protocol = a->vlan.ethertype ? a->vlan.ethertype : ETH_P_8021Q;

	if (a->kind == ACTION_VLAN_POP) {
		p.v_action = TCA_VLAN_ACT_POP;
		return codec_fit(attr_put(m, TCA_VLAN_PARMS, sizeof(p), &p));
	}
	if (a->vlan.id > 4095 || a->vlan.prio > 7)
		return -EINVAL;
	p.v_action = a->kind == ACTION_VLAN_PUSH ? TCA_VLAN_ACT_PUSH : TCA_VLAN_ACT_MODIFY;
	if (attr_put(m, TCA_VLAN_PARMS, sizeof(p), &p) < 0 ||
	    attr_put_u16(m, TCA_VLAN_PUSH_VLAN_ID, a->vlan.id) < 0 ||
	    attr_put_u16(m, TCA_VLAN_PUSH_VLAN_PROTOCOL, htons(protocol)) < 0)
		return -EMSGSIZE;
	if (a->vlan.has_prio)
		return codec_fit(nla_put_u8(m, TCA_VLAN_PUSH_VLAN_PRIORITY, a->vlan.prio));
	return 0;
}

static int vlan_parse(const struct nlattr *options, const struct codec_names *names,
		      struct action *ret)
{
	struct nlattr *tb[TCA_VLAN_MAX + 1];
	struct tc_vlan p;
	int r = codec_attrs(tb, TCA_VLAN_MAX, options, vlan_policy);

	if (r < 0)
		return r;
	if (!tb[TCA_VLAN_PARMS])
		return -EBADMSG;
	memcpy(&p, nla_data(tb[TCA_VLAN_PARMS]), sizeof(p));
	if (p.action != TC_ACT_PIPE)
		return -ENOMSG;
	if (p.v_action == TCA_VLAN_ACT_POP) {
		ret->kind = ACTION_VLAN_POP;
		return 0;
	}
	if (p.v_action != TCA_VLAN_ACT_PUSH && p.v_action != TCA_VLAN_ACT_MODIFY)
		return -ENOMSG;
	if (!tb[TCA_VLAN_PUSH_VLAN_ID])
		return -EBADMSG;
	ret->kind = p.v_action == TCA_VLAN_ACT_PUSH ? ACTION_VLAN_PUSH : ACTION_VLAN_MODIFY;
	ret->vlan.id = nla_get_u16(tb[TCA_VLAN_PUSH_VLAN_ID]);
	ret->vlan.ethertype = ETH_P_8021Q;
	if (tb[TCA_VLAN_PUSH_VLAN_PROTOCOL])
		ret->vlan.ethertype = ntohs(nla_get_u16(tb[TCA_VLAN_PUSH_VLAN_PROTOCOL]));
	/* There is no such tag, and to us 0 says that none is named. */
	if (ret->vlan.ethertype == 0)
		return -EBADMSG;
	/* A push without a priority is one with priority 0, and the kernel tells it so. */
	ret->vlan.has_prio = p.v_action == TCA_VLAN_ACT_PUSH;
	if (tb[TCA_VLAN_PUSH_VLAN_PRIORITY]) {
		ret->vlan.has_prio = 1;
		ret->vlan.prio = nla_get_u8(tb[TCA_VLAN_PUSH_VLAN_PRIORITY]);
	}
	return 0;
}

const struct action_codec action_vlan = { "vlan", TCA_VLAN_TM, TCA_VLAN_PARMS, vlan_put,
					  vlan_parse };
