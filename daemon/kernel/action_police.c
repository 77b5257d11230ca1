// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * police: frames over the rate are dropped, the others go on. The kernel wants a table of transmit
 * times that it has not used since 3.8 but for its key, and keeps the burst as time: see settle.h.
 */
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/pkt_sched.h>

#include "daemon/kernel/actions.h"
#include "daemon/kernel/settle.h"

#define TICK_NS 64 /* PSCHED_SHIFT of include/net/pkt_sched.h, the same since 2.6.31 */
#define TABLE_CELLS 256
#define CELL_LOG 8 /* 256 cells of 256 bytes: any frame */
#define MTU_ANY UINT32_MAX

static const struct nla_policy police_policy[TCA_POLICE_MAX + 1] = {
	[TCA_POLICE_TBF] = { .type = NLA_UNSPEC, .minlen = offsetof(struct tc_police, refcnt) },
	[TCA_POLICE_RESULT] = { .type = NLA_U32 },
	[TCA_POLICE_RATE64] = { .type = NLA_U64 },
};

int police_ticks(uint64_t rate_bytes, uint32_t burst, uint32_t *ret_ticks)
{
	unsigned __int128 ns, ticks;

	if (rate_bytes == 0)
		return -EINVAL;
	ns = (unsigned __int128)burst * 1000000000u;
	ticks = (ns + (unsigned __int128)rate_bytes * TICK_NS - 1) /
		((unsigned __int128)rate_bytes * TICK_NS);
	if (ticks > UINT32_MAX)
		return -ERANGE;
	*ret_ticks = (uint32_t)ticks;
	return 0;
}

int police_bytes(uint64_t rate_bytes, uint32_t ticks, uint32_t *ret_burst)
{
	unsigned __int128 bytes = (unsigned __int128)ticks * TICK_NS * rate_bytes / 1000000000u;

	if (bytes > UINT32_MAX)
		return -ERANGE;
	*ret_burst = (uint32_t)bytes;
	return 0;
}

int action_settle(struct action *a, uint16_t outer)
{
	uint64_t rate;
	uint32_t ticks, burst;
	int r;

	/* A push always has both, and the kernel tells both (net/sched/act_vlan.c). */
	if (a->kind == ACTION_VLAN_PUSH) {
		if (a->vlan.ethertype == 0)
			a->vlan.ethertype = ETH_P_8021Q;
		a->vlan.has_prio = 1;
	}
	if (a->kind == ACTION_VLAN_MODIFY && a->vlan.ethertype == 0)
		a->vlan.ethertype = outer == ETH_P_8021AD ? ETH_P_8021AD : ETH_P_8021Q;
	if (a->kind != ACTION_POLICE)
		return 0;
	rate = a->police.rate_bit / 8;
	if (rate == 0)
		return -EINVAL;
	r = police_ticks(rate, a->police.burst, &ticks);
	if (r == 0)
		r = police_bytes(rate, ticks, &burst);
	if (r < 0)
		return r;
	a->police.rate_bit = rate * 8;
	a->police.burst = burst;
	return 0;
}

/* The time a frame of each size takes: what tc sends too, so that tables are shared in the kernel.
 */
static void fill_table(uint64_t rate, uint32_t table[TABLE_CELLS])
{
	for (uint32_t i = 0; i < TABLE_CELLS; i++)
		if (police_ticks(rate, (i + 1) << CELL_LOG, &table[i]) < 0)
			table[i] = UINT32_MAX;
}

static int police_put(struct nl_msg *m, const struct action *a, const struct codec_names *names)
{
	uint64_t rate = a->police.rate_bit / 8;
	struct tc_police p = {
		.action = TC_ACT_SHOT,
		.mtu = a->police.mtu ? a->police.mtu : MTU_ANY,
		.rate = {
			.cell_log = CELL_LOG,
			/* Said, so that the kernel need not guess it from the table. */
			.linklayer = TC_LINKLAYER_ETHERNET,
			.rate = rate > UINT32_MAX ? UINT32_MAX : (uint32_t)rate,
		},
	};
	uint32_t table[TABLE_CELLS];
	int r = police_ticks(rate, a->police.burst, &p.burst);

	if (r < 0)
		return r;
	fill_table(rate, table);
	if (attr_put(m, TCA_POLICE_TBF, sizeof(p), &p) < 0 ||
	    attr_put(m, TCA_POLICE_RATE, sizeof(table), table) < 0 ||
	    attr_put_u32(m, TCA_POLICE_RESULT, TC_ACT_PIPE) < 0)
		return -EMSGSIZE;
	if (rate > UINT32_MAX)
		return codec_fit(attr_put(m, TCA_POLICE_RATE64, sizeof(rate), &rate));
	return 0;
}

static int police_parse(const struct nlattr *options, const struct codec_names *names,
			struct action *ret)
{
	struct nlattr *tb[TCA_POLICE_MAX + 1];
	struct tc_police p = { 0 };
	uint64_t rate;
	int r = codec_attrs(tb, TCA_POLICE_MAX, options, police_policy);

	if (r < 0)
		return r;
	if (!tb[TCA_POLICE_TBF])
		return -EBADMSG;
	memcpy(&p, nla_data(tb[TCA_POLICE_TBF]),
	       MIN(sizeof(p), (size_t)nla_len(tb[TCA_POLICE_TBF])));
	if (p.action != TC_ACT_SHOT || p.peakrate.rate || p.rate.rate == 0 || p.rate.overhead ||
	    tb[TCA_POLICE_PKTRATE64] || tb[TCA_POLICE_AVRATE] || !tb[TCA_POLICE_RESULT] ||
	    nla_get_u32(tb[TCA_POLICE_RESULT]) != TC_ACT_PIPE)
		return -ENOMSG;
	rate = p.rate.rate;
	if (tb[TCA_POLICE_RATE64])
		memcpy(&rate, nla_data(tb[TCA_POLICE_RATE64]), sizeof(rate));
	if (rate > UINT64_MAX / 8 || police_bytes(rate, p.burst, &ret->police.burst) < 0)
		return -ENOMSG;
	ret->kind = ACTION_POLICE;
	ret->police.rate_bit = rate * 8;
	ret->police.mtu = p.mtu == MTU_ANY ? 0 : p.mtu;
	return 0;
}

const struct action_codec action_police = { "police", TCA_POLICE_TM, TCA_POLICE_TBF, police_put,
					    police_parse };
