// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Has one direction of a device's clsact any filters? Those of a block that is not shared are told
 * by device and parent alone, and swd keeps none of them: so this is asked when it matters.
 */
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "daemon/kernel/room.h"

struct asking {
	uint32_t ifindex;
	bool egress, any;
};

static int put_dump(struct nl_msg *m, void *data)
{
	const struct asking *a = data;
	struct tcmsg tcm = {
		.tcm_family = AF_UNSPEC,
		.tcm_ifindex = (int)a->ifindex,
		.tcm_parent =
			TC_H_MAKE(TC_H_CLSACT, a->egress ? TC_H_MIN_EGRESS : TC_H_MIN_INGRESS),
	};

	return codec_begin(m, RTM_GETTFILTER, 0, &tcm, sizeof(tcm));
}

static void restart(void *data)
{
	((struct asking *)data)->any = false;
}

static int part(const struct nlmsghdr *h, void *data)
{
	if (h->nlmsg_type == RTM_NEWTFILTER)
		((struct asking *)data)->any = true;
	return 0;
}

int kernel_direction_filters(struct kernel *k, const char *dev, bool egress, bool *ret_any)
{
	_cleanup_(nl_msg_freep) struct nl_msg *m = NULL;
	struct asking a = { .egress = egress };
	int r;

	devices_doubt(k->devices);
	a.ifindex = k->names.index(dev, k->names.data);
	if (!a.ifindex)
		return -ENODEV;
	r = kernel_message(k, put_dump, &a, &m);
	if (r == 0)
		r = rtnl_dump(k->query, m, restart, part, &a);
	if (r == 0)
		*ret_any = a.any;
	return r;
}
