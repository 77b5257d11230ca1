// SPDX-License-Identifier: GPL-2.0-or-later
/* The generic netlink family of our kernel patch: see genl.h. */
#include "daemon/kernel/genl.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/tc_bypass.h>

#include "daemon/kernel/family.h"
#include "daemon/kernel/room.h"

struct bypass_genl {
	struct family family;
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

int bypass_genl_open(struct bypass_genl **ret)
{
	_cleanup_(bypass_genl_closep) struct bypass_genl *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return -ENOMEM;
	r = family_open(TC_BYPASS_GENL_NAME, TC_BYPASS_GENL_MCGRP_CHANGES, TC_BYPASS_GENL_VERSION,
			&g->family);
	if (r < 0)
		return r;
	*ret = take(g);
	return 0;
}

void bypass_genl_close(struct bypass_genl *g)
{
	if (!g)
		return;
	family_close(&g->family);
	free(g);
}

int bypass_genl_fd(const struct bypass_genl *g)
{
	return g->family.events->fd;
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
	int r = family_ask(&g->family, m, reading_answer, &w, NULL);

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

	if (!m || family_begin(&g->family, m, TC_BYPASS_CMD_GET) < 0 ||
	    nla_put_u32(m, TC_BYPASS_A_BLOCK, block) < 0)
		return -ENOMEM;
	return read_block(g, m, ret);
}

int bypass_genl_read_place(struct bypass_genl *g, uint32_t ifindex, uint32_t parent,
			   struct bypass_reading *ret)
{
	_cleanup_(nl_msg_freep) struct nl_msg *m = nlmsg_alloc();

	if (!m || family_begin(&g->family, m, TC_BYPASS_CMD_GET) < 0 ||
	    nla_put_u32(m, TC_BYPASS_A_IFINDEX, ifindex) < 0 ||
	    nla_put_u32(m, TC_BYPASS_A_PARENT, parent) < 0)
		return -ENOMEM;
	return read_block(g, m, ret);
}

struct listener {
	bypass_genl_fn fn;
	void *data;
};

static void on_event(const struct nlmsghdr *h, void *data)
{
	const struct listener *l = data;
	struct bypass_reading reading;

	if (!h)
		l->fn(NULL, l->data);
	else if (bypass_genl_parse(h, &reading) == 0)
		l->fn(&reading, l->data);
}

int bypass_genl_event(struct bypass_genl *g, bypass_genl_fn fn, void *data)
{
	struct listener l = { fn, data };

	return family_event(&g->family, on_event, &l);
}
