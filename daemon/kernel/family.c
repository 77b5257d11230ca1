// SPDX-License-Identifier: GPL-2.0-or-later
/* The sockets of a generic netlink family: see family.h. */
#include "daemon/kernel/family.h"

#include <errno.h>
#include <linux/genetlink.h>

#include "daemon/kernel/room.h"

#define BUFFER (1024 * 1024)

static const struct nla_policy family_policy[CTRL_ATTR_MAX + 1] = {
	[CTRL_ATTR_FAMILY_ID] = { .type = NLA_U16 },
	[CTRL_ATTR_MCAST_GROUPS] = { .type = NLA_NESTED },
};

static const struct nla_policy group_policy[CTRL_ATTR_MCAST_GRP_MAX + 1] = {
	[CTRL_ATTR_MCAST_GRP_NAME] = { .type = NLA_STRING },
	[CTRL_ATTR_MCAST_GRP_ID] = { .type = NLA_U32 },
};

/* ---- asking ---- */

static int begin(struct nl_msg *m, uint16_t family, uint8_t command, uint8_t version)
{
	struct genlmsghdr g = { .cmd = command, .version = version };

	return codec_begin(m, family, 0, &g, sizeof(g));
}

int family_begin(const struct family *f, struct nl_msg *m, uint8_t command)
{
	return begin(m, f->id, command, f->version);
}

int family_ask(const struct family *f, struct nl_msg *m, rtnl_answer_fn fn, void *data,
	       char **ret_words)
{
	struct rtnl_call call = { .msg = m };
	int r = rtnl_exchange(f->request, &call, 1, fn, data);

	if (ret_words)
		*ret_words = take(call.words);
	free(call.words);
	if (r < 0)
		return r;
	return call.answered ? call.error : -ETIMEDOUT;
}

/* ---- opening ---- */

struct looked_up {
	struct family *f;
	const char *group;
};

static void read_groups(const struct nlattr *nest, const struct looked_up *l)
{
	const struct nlattr *a = nla_data(nest);
	int left = nla_len(nest);

	for (; nla_ok(a, left); a = nla_next(a, &left)) {
		struct nlattr *tb[CTRL_ATTR_MCAST_GRP_MAX + 1];
		char name[GENL_NAMSIZ];

		if (codec_attrs(tb, CTRL_ATTR_MCAST_GRP_MAX, a, group_policy) < 0)
			return;
		if (tb[CTRL_ATTR_MCAST_GRP_ID] &&
		    codec_text(tb[CTRL_ATTR_MCAST_GRP_NAME], name, sizeof(name)) &&
		    streq(name, l->group))
			l->f->group = nla_get_u32(tb[CTRL_ATTR_MCAST_GRP_ID]);
	}
}

static void family_answer(struct rtnl_call *call, const struct nlmsghdr *h, void *data)
{
	struct nlattr *tb[CTRL_ATTR_MAX + 1];
	struct looked_up *l = data;

	if (codec_message(h, GENL_HDRLEN, tb, CTRL_ATTR_MAX, family_policy) < 0)
		return;
	if (tb[CTRL_ATTR_FAMILY_ID])
		l->f->id = nla_get_u16(tb[CTRL_ATTR_FAMILY_ID]);
	if (tb[CTRL_ATTR_MCAST_GROUPS])
		read_groups(tb[CTRL_ATTR_MCAST_GROUPS], l);
}

static int resolve(struct family *f, const char *name, const char *group)
{
	_cleanup_(nl_msg_freep) struct nl_msg *m = nlmsg_alloc();
	struct looked_up l = { f, group };
	int r;

	if (!m)
		return -ENOMEM;
	r = begin(m, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	if (r == 0)
		r = codec_fit(nla_put_string(m, CTRL_ATTR_FAMILY_NAME, name));
	if (r == 0)
		r = family_ask(f, m, family_answer, &l, NULL);
	if (r == -ENOENT)
		return -EOPNOTSUPP;
	if (r < 0)
		return r;
	return f->id && f->group ? 0 : -EOPNOTSUPP;
}

int family_open(const char *name, const char *group, uint8_t version, struct family *ret)
{
	int r = rtnl_open(NETLINK_GENERIC, BUFFER, &ret->request);

	ret->version = version;
	if (r == 0)
		r = rtnl_open(NETLINK_GENERIC, BUFFER, &ret->events);
	/* A kernel without generic netlink at all. */
	if (r == -EPROTONOSUPPORT)
		return -EOPNOTSUPP;
	if (r == 0)
		r = resolve(ret, name, group);
	return r < 0 ? r : rtnl_join(ret->events, ret->group);
}

void family_close(struct family *f)
{
	rtnl_close(take(f->request));
	rtnl_close(take(f->events));
}

/* ---- news ---- */

int family_event(const struct family *f, family_fn fn, void *data)
{
	size_t size;
	int left, r = rtnl_recv(f->events, 0, &size);

	if (r == -ENOBUFS || r == -EMSGSIZE) {
		fn(NULL, data);
		return 0;
	}
	if (r < 0)
		return r;
	left = (int)size;
	for (struct nlmsghdr *h = f->events->buffer; nlmsg_ok(h, left); h = nlmsg_next(h, &left))
		if (h->nlmsg_type == f->id)
			fn(h, data);
	return 0;
}
