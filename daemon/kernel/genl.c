// SPDX-License-Identifier: GPL-2.0-or-later
/* The generic netlink family of our kernel patch: see genl.h. */
#include "daemon/kernel/genl.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/tc_bypass.h>

#include "daemon/kernel/room.h"

#define BUFFER (1024 * 1024)

struct bypass_genl {
	struct rtnl *request, *events;
	uint16_t family;
	uint32_t group;
};

static const struct nla_policy family_policy[CTRL_ATTR_MAX + 1] = {
	[CTRL_ATTR_FAMILY_ID] = { .type = NLA_U16 },
	[CTRL_ATTR_MCAST_GROUPS] = { .type = NLA_NESTED },
};

static const struct nla_policy group_policy[CTRL_ATTR_MCAST_GRP_MAX + 1] = {
	[CTRL_ATTR_MCAST_GRP_NAME] = { .type = NLA_STRING },
	[CTRL_ATTR_MCAST_GRP_ID] = { .type = NLA_U32 },
};

static const struct nla_policy bypass_policy[TC_BYPASS_A_MAX + 1] = {
	[TC_BYPASS_A_BLOCK] = { .type = NLA_U32 },
	[TC_BYPASS_A_IFINDEX] = { .type = NLA_U32 },
	[TC_BYPASS_A_PARENT] = { .type = NLA_U32 },
	[TC_BYPASS_A_MEMBERS] = { .type = NLA_U32 },
	[TC_BYPASS_A_FILTERS] = { .type = NLA_U32 },
	[TC_BYPASS_A_SW_FILTERS] = { .type = NLA_U32 },
	[TC_BYPASS_A_DEAD_FILTERS] = { .type = NLA_U32 },
	[TC_BYPASS_A_BYPASSED] = { .type = NLA_U8 },
	[TC_BYPASS_A_PACKETS] = { .type = NLA_U64 },
};

/* ---- asking ---- */

static int begin(struct nl_msg *m, uint16_t family, uint8_t command, uint8_t version)
{
	struct genlmsghdr g = { .cmd = command, .version = version };

	return codec_begin(m, family, 0, &g, sizeof(g));
}

/* Sends one request and reads its answer. 0 or -errno. */
static int ask(struct rtnl *s, struct nl_msg *m, rtnl_answer_fn fn, void *data)
{
	struct rtnl_call call = { .msg = m };
	int r = rtnl_exchange(s, &call, 1, fn, data);

	free(call.words);
	if (r < 0)
		return r;
	return call.answered ? call.error : -ETIMEDOUT;
}

static void read_groups(const struct nlattr *nest, struct bypass_genl *g)
{
	const struct nlattr *a = nla_data(nest);
	int left = nla_len(nest);

	for (; nla_ok(a, left); a = nla_next(a, &left)) {
		struct nlattr *tb[CTRL_ATTR_MCAST_GRP_MAX + 1];
		char name[16];

		if (codec_attrs(tb, CTRL_ATTR_MCAST_GRP_MAX, a, group_policy) < 0)
			return;
		if (tb[CTRL_ATTR_MCAST_GRP_ID] &&
		    codec_text(tb[CTRL_ATTR_MCAST_GRP_NAME], name, sizeof(name)) &&
		    streq(name, TC_BYPASS_GENL_MCGRP_CHANGES))
			g->group = nla_get_u32(tb[CTRL_ATTR_MCAST_GRP_ID]);
	}
}

static void family_answer(struct rtnl_call *call, const struct nlmsghdr *h, void *data)
{
	struct nlattr *tb[CTRL_ATTR_MAX + 1];
	struct bypass_genl *g = data;

	if (codec_message(h, GENL_HDRLEN, tb, CTRL_ATTR_MAX, family_policy) < 0)
		return;
	if (tb[CTRL_ATTR_FAMILY_ID])
		g->family = nla_get_u16(tb[CTRL_ATTR_FAMILY_ID]);
	if (tb[CTRL_ATTR_MCAST_GROUPS])
		read_groups(tb[CTRL_ATTR_MCAST_GROUPS], g);
}

static int resolve(struct bypass_genl *g)
{
	_cleanup_(nl_msg_freep) struct nl_msg *m = nlmsg_alloc();
	int r;

	if (!m)
		return -ENOMEM;
	r = begin(m, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	if (r == 0)
		r = codec_fit(nla_put_string(m, CTRL_ATTR_FAMILY_NAME, TC_BYPASS_GENL_NAME));
	if (r == 0)
		r = ask(g->request, m, family_answer, g);
	if (r == -ENOENT)
		return -EOPNOTSUPP;
	if (r < 0)
		return r;
	return g->family && g->group ? 0 : -EOPNOTSUPP;
}

int bypass_genl_open(struct bypass_genl **ret)
{
	_cleanup_(bypass_genl_closep) struct bypass_genl *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return -ENOMEM;
	r = rtnl_open(NETLINK_GENERIC, BUFFER, &g->request);
	if (r == 0)
		r = rtnl_open(NETLINK_GENERIC, BUFFER, &g->events);
	/* A kernel without generic netlink at all. */
	if (r == -EPROTONOSUPPORT)
		return -EOPNOTSUPP;
	if (r == 0)
		r = resolve(g);
	if (r == 0)
		r = rtnl_join(g->events, g->group);
	if (r < 0)
		return r;
	*ret = take(g);
	return 0;
}

void bypass_genl_close(struct bypass_genl *g)
{
	if (!g)
		return;
	rtnl_close(g->request);
	rtnl_close(g->events);
	free(g);
}

int bypass_genl_fd(const struct bypass_genl *g)
{
	return g->events->fd;
}

/* ---- readings ---- */

static uint32_t number(const struct nlattr *a)
{
	return a ? nla_get_u32(a) : 0;
}

int bypass_genl_parse(const struct nlmsghdr *h, struct bypass_reading *ret)
{
	struct nlattr *tb[TC_BYPASS_A_MAX + 1];
	struct bypass_reading r = { 0 };
	struct genlmsghdr g;

	if (codec_message(h, GENL_HDRLEN, tb, TC_BYPASS_A_MAX, bypass_policy) < 0)
		return -EBADMSG;
	memcpy(&g, nlmsg_data(h), sizeof(g));
	r.block = number(tb[TC_BYPASS_A_BLOCK]);
	r.ifindex = number(tb[TC_BYPASS_A_IFINDEX]);
	r.parent = number(tb[TC_BYPASS_A_PARENT]);
	if (tb[TC_BYPASS_A_PACKETS])
		memcpy(&r.packets, nla_data(tb[TC_BYPASS_A_PACKETS]), sizeof(r.packets));
	if (g.cmd != TC_BYPASS_CMD_GONE) {
		r.members = number(tb[TC_BYPASS_A_MEMBERS]);
		r.filters = number(tb[TC_BYPASS_A_FILTERS]);
		r.filters_sw = number(tb[TC_BYPASS_A_SW_FILTERS]);
		r.filters_dead = number(tb[TC_BYPASS_A_DEAD_FILTERS]);
		if (tb[TC_BYPASS_A_BYPASSED])
			r.bypassed = nla_get_u8(tb[TC_BYPASS_A_BYPASSED]) != 0;
	}
	*ret = r;
	return 0;
}

struct wanted_reading {
	struct bypass_reading reading;
	bool there;
};

static void reading_answer(struct rtnl_call *call, const struct nlmsghdr *h, void *data)
{
	struct wanted_reading *w = data;

	if (bypass_genl_parse(h, &w->reading) == 0)
		w->there = true;
}

static int read_block(struct bypass_genl *g, struct nl_msg *m, struct bypass_reading *ret)
{
	struct wanted_reading w = { .there = false };
	int r = ask(g->request, m, reading_answer, &w);

	if (r < 0)
		return r;
	if (!w.there)
		return -ENOENT;
	*ret = w.reading;
	return 0;
}

int bypass_genl_read(struct bypass_genl *g, uint32_t block, struct bypass_reading *ret)
{
	_cleanup_(nl_msg_freep) struct nl_msg *m = nlmsg_alloc();

	if (!m || begin(m, g->family, TC_BYPASS_CMD_GET, TC_BYPASS_GENL_VERSION) < 0 ||
	    nla_put_u32(m, TC_BYPASS_A_BLOCK, block) < 0)
		return -ENOMEM;
	return read_block(g, m, ret);
}

int bypass_genl_read_place(struct bypass_genl *g, uint32_t ifindex, uint32_t parent,
			   struct bypass_reading *ret)
{
	_cleanup_(nl_msg_freep) struct nl_msg *m = nlmsg_alloc();

	if (!m || begin(m, g->family, TC_BYPASS_CMD_GET, TC_BYPASS_GENL_VERSION) < 0 ||
	    nla_put_u32(m, TC_BYPASS_A_IFINDEX, ifindex) < 0 ||
	    nla_put_u32(m, TC_BYPASS_A_PARENT, parent) < 0)
		return -ENOMEM;
	return read_block(g, m, ret);
}

int bypass_genl_event(struct bypass_genl *g, bypass_genl_fn fn, void *data)
{
	size_t size;
	int left, r = rtnl_recv(g->events, 0, &size);

	if (r == -ENOBUFS || r == -EMSGSIZE) {
		fn(NULL, data);
		return 0;
	}
	if (r < 0)
		return r;
	left = (int)size;
	for (struct nlmsghdr *h = g->events->buffer; nlmsg_ok(h, left); h = nlmsg_next(h, &left)) {
		struct bypass_reading reading;

		if (h->nlmsg_type == g->family && bypass_genl_parse(h, &reading) == 0)
			fn(&reading, data);
	}
	return 0;
}
