// SPDX-License-Identifier: GPL-2.0-or-later
/* One RTM_GETLINK with statistics: see traffic.h. */
#include "daemon/kernel/traffic.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "daemon/kernel/codec.h"
#include "daemon/kernel/rtnl.h"

#define RCVBUF (128 * 1024)

struct traffic {
	struct rtnl *rtnl;
};

struct answer {
	struct traffic_reading reading;
	int error;
	bool there;
};

static const struct nla_policy policy[IFLA_MAX + 1] = {
	[IFLA_IFNAME] = { .type = NLA_STRING, .maxlen = IFNAMSIZ },
	[IFLA_MTU] = { .type = NLA_U32 },
	[IFLA_CARRIER] = { .type = NLA_U8 },
	/* It grows with the kernel, and its counters never move. */
	[IFLA_STATS64] = { .type = NLA_UNSPEC,
			   .minlen = offsetof(struct rtnl_link_stats64, multicast) },
};

int traffic_open(struct traffic **ret)
{
	struct traffic *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	r = rtnl_open(NETLINK_ROUTE, RCVBUF, &t->rtnl);
	if (r < 0) {
		free(t);
		return r;
	}
	*ret = t;
	return 0;
}

void traffic_close(struct traffic *t)
{
	if (!t)
		return;
	rtnl_close(t->rtnl);
	free(t);
}

static int parse(const struct nlmsghdr *h, struct traffic_reading *ret)
{
	struct nlattr *tb[IFLA_MAX + 1];
	struct rtnl_link_stats64 stats = { 0 };
	struct ifinfomsg ifi;
	int r = codec_message(h, sizeof(ifi), tb, IFLA_MAX, policy);

	if (r < 0)
		return r;
	if (!tb[IFLA_STATS64] || !codec_text(tb[IFLA_IFNAME], ret->name, sizeof(ret->name)))
		return -EBADMSG;
	memcpy(&ifi, nlmsg_data(h), sizeof(ifi));
	memcpy(&stats, nla_data(tb[IFLA_STATS64]),
	       MIN(sizeof(stats), (size_t)nla_len(tb[IFLA_STATS64])));
	ret->type = ifi.ifi_type;
	ret->up = ifi.ifi_flags & IFF_UP;
	ret->carrier = tb[IFLA_CARRIER] && nla_get_u8(tb[IFLA_CARRIER]);
	ret->mtu = tb[IFLA_MTU] ? nla_get_u32(tb[IFLA_MTU]) : 0;
	if (tb[IFLA_ADDRESS] && nla_len(tb[IFLA_ADDRESS]) == sizeof(ret->mac))
		memcpy(ret->mac, nla_data(tb[IFLA_ADDRESS]), sizeof(ret->mac));
	ret->rx_packets = stats.rx_packets;
	ret->tx_packets = stats.tx_packets;
	ret->tx_errors = stats.tx_errors;
	ret->tx_dropped = stats.tx_dropped;
	return 0;
}

static void on_answer(struct rtnl_call *call, const struct nlmsghdr *h, void *data)
{
	struct answer *a = data;

	if (h->nlmsg_type != RTM_NEWLINK || a->there)
		return;
	a->error = parse(h, &a->reading);
	a->there = true;
}

int traffic_read(struct traffic *t, uint32_t ifindex, struct traffic_reading *ret)
{
	struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC, .ifi_index = (int)ifindex };
	struct rtnl_call call = { .msg = nlmsg_alloc_size(CODEC_MESSAGE_BYTES) };
	struct answer a = { 0 };
	int r;

	if (!call.msg)
		return -ENOMEM;
	r = codec_begin(call.msg, RTM_GETLINK, 0, &ifi, sizeof(ifi));
	if (r == 0)
		r = rtnl_exchange(t->rtnl, &call, 1, on_answer, &a);
	nlmsg_free(call.msg);
	free(call.words);
	if (r < 0)
		return r;
	if (!call.answered)
		return -ETIMEDOUT;
	if (call.error < 0)
		return call.error;
	if (!a.there)
		return -EBADMSG;
	if (a.error < 0)
		return a.error;
	*ret = a.reading;
	return 0;
}
