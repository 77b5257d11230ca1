// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The clsact (or a foreign ingress) qdisc of a device and the blocks it binds. Adding is always
 * with NLM_F_EXCL: "replace" on a live clsact seems to succeed and binds nothing
 * (net/sched/sch_api.c, qdisc_change(): 6.1 and 6.12). Blocks that are not shared are not named in
 * any attribute and read as 0.
 */
#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "daemon/kernel/codec.h"

#define CLSACT_HANDLE TC_H_MAKE(TC_H_CLSACT, 0)

static const struct nla_policy qdisc_policy[TCA_MAX + 1] = {
	[TCA_KIND] = { .type = NLA_STRING },
	[TCA_STATS2] = { .type = NLA_NESTED },
	[TCA_INGRESS_BLOCK] = { .type = NLA_U32 },
	[TCA_EGRESS_BLOCK] = { .type = NLA_U32 },
};

static const struct nla_policy stats_policy[TCA_STATS_MAX + 1] = {
	[TCA_STATS_BASIC] = { .type = NLA_UNSPEC, .minlen = 12 },
	[TCA_STATS_PKT64] = { .type = NLA_U64 },
};

static int read_packets(const struct nlattr *nest, uint64_t *ret)
{
	struct nlattr *tb[TCA_STATS_MAX + 1];
	uint32_t packets = 0;
	int r = codec_attrs(tb, TCA_STATS_MAX, nest, stats_policy);

	if (r < 0)
		return r;
	if (tb[TCA_STATS_BASIC]) {
		memcpy(&packets, (const uint8_t *)nla_data(tb[TCA_STATS_BASIC]) + 8,
		       sizeof(packets));
		*ret = packets;
	}
	/* Only there once the 32 bits have overflowed. */
	if (tb[TCA_STATS_PKT64])
		memcpy(ret, nla_data(tb[TCA_STATS_PKT64]), sizeof(*ret));
	return 0;
}

static int qdisc_parse(const struct nlmsghdr *h, const struct codec_names *names,
		       struct object **ret)
{
	_cleanup_object_ struct qdisc *q = NULL;
	struct nlattr *tb[TCA_MAX + 1];
	struct tcmsg tcm;
	const char *dev;
	int r = codec_message(h, sizeof(tcm), tb, TCA_MAX, qdisc_policy);

	if (r < 0)
		return r;
	memcpy(&tcm, nlmsg_data(h), sizeof(tcm));
	*ret = NULL;
	if (tcm.tcm_parent != TC_H_CLSACT)
		return 0;
	dev = names->name((uint32_t)tcm.tcm_ifindex, names->data);
	if (!dev)
		return 0;
	q = object_new(KIND_QDISC, sizeof(*q));
	if (!q)
		return -ENOMEM;
	COPY_NAME(q->dev, dev);
	if (!codec_text(tb[TCA_KIND], q->type, sizeof(q->type)))
		return -EBADMSG;
	if (tb[TCA_INGRESS_BLOCK])
		q->ingress_block = nla_get_u32(tb[TCA_INGRESS_BLOCK]);
	if (tb[TCA_EGRESS_BLOCK])
		q->egress_block = nla_get_u32(tb[TCA_EGRESS_BLOCK]);
	if (tb[TCA_STATS2]) {
		r = read_packets(tb[TCA_STATS2], &q->packets);
		if (r < 0)
			return r;
	}
	*ret = &take(q)->obj;
	return 0;
}

static int header(struct nl_msg *m, uint16_t type, uint16_t flags, const char *dev,
		  const struct codec_names *names)
{
	struct tcmsg tcm = {
		.tcm_family = AF_UNSPEC,
		.tcm_ifindex = (int)names->index(dev, names->data),
		.tcm_handle = CLSACT_HANDLE,
		.tcm_parent = TC_H_CLSACT,
	};

	if (tcm.tcm_ifindex == 0)
		return -ENODEV;
	return codec_begin(m, type, flags, &tcm, sizeof(tcm));
}

static int qdisc_put(struct nl_msg *m, enum kernel_op op, const struct object *wanted,
		     const struct object *found, const struct codec_names *names)
{
	const struct qdisc *q = (const struct qdisc *)(op == KERNEL_REMOVE ? found : wanted);
	int r = -EINVAL;

	switch (op) {
	case KERNEL_ADD:
		r = header(m, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ECHO, q->dev, names);
		break;
	case KERNEL_REMOVE:
		r = header(m, RTM_DELQDISC, 0, q->dev, names);
		break;
	case KERNEL_CHANGE:
		return -EOPNOTSUPP; /* blocks of a live clsact cannot change */
	}
	if (r < 0)
		return r;
	r = codec_fit(nla_put_string(m, TCA_KIND, q->type));
	if (op == KERNEL_REMOVE)
		return r;
	if (r == 0 && q->ingress_block)
		r = codec_fit(nla_put_u32(m, TCA_INGRESS_BLOCK, q->ingress_block));
	if (r == 0 && q->egress_block)
		r = codec_fit(nla_put_u32(m, TCA_EGRESS_BLOCK, q->egress_block));
	return r;
}

static int qdisc_dump(struct nl_msg *m, uint32_t block)
{
	struct tcmsg tcm = { .tcm_family = AF_UNSPEC };

	return codec_begin(m, RTM_GETQDISC, 0, &tcm, sizeof(tcm));
}

/*
 * No get: Linux 6.1 answers a request for one qdisc with a multicast to everyone, so that who asks
 * because of an event makes the next one (qdisc_notify(), net/sched/sch_api.c).
 */
const struct codec codec_qdisc = { qdisc_put, qdisc_dump, NULL, qdisc_parse };
