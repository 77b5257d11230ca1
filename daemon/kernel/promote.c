// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/kernel/promote.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/kernel/codec.h"

bool promote_needed(const struct address *a)
{
	_cleanup_close_ int fd = -1;
	char path[96], value = '\0';
	int n = snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%s/promote_secondaries",
			 a->dev);

	if (a->family != 4 || n < 0 || (size_t)n >= sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, &value, 1) == 1 && value == '0';
}

static int put(struct nl_msg *m, uint32_t ifindex, bool on)
{
	struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC, .ifi_index = (int)ifindex };
	int r = codec_begin(m, RTM_SETLINK, 0, &ifi, sizeof(ifi));
	struct nlattr *families = r == 0 ? nla_nest_start(m, IFLA_AF_SPEC) : NULL;
	struct nlattr *inet = families ? nla_nest_start(m, AF_INET) : NULL;
	struct nlattr *conf = inet ? nla_nest_start(m, IFLA_INET_CONF) : NULL;

	if (!conf || nla_put_u32(m, IPV4_DEVCONF_PROMOTE_SECONDARIES, on) < 0)
		return -EMSGSIZE;
	nla_nest_end(m, conf);
	nla_nest_end(m, inet);
	nla_nest_end(m, families);
	return 0;
}

int promote_set(struct rtnl *s, uint32_t ifindex, bool on)
{
	struct rtnl_call call = { .msg = nlmsg_alloc() };
	int r = call.msg ? put(call.msg, ifindex, on) : -ENOMEM;

	if (r == 0)
		r = rtnl_exchange(s, &call, 1, NULL, NULL);
	if (r == 0)
		r = call.error;
	free(call.words);
	nlmsg_free(call.msg);
	return r;
}
