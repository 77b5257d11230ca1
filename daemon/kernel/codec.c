// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of codecs, and the few steps all of them share. */
#include "daemon/kernel/codec.h"

#include <errno.h>
#include <linux/rtnetlink.h>

const struct codec *codec_of(enum kind kind)
{
	switch (kind) {
	case KIND_PORT:
		return &codec_port;
	case KIND_VLAN:
		return &codec_vlan;
	case KIND_ADDRESS:
		return &codec_address;
	case KIND_QDISC:
		return &codec_qdisc;
	case KIND_FILTER:
		return &codec_filter;
	case KIND_TX: /* by another door: tx.h */
	case KIND_BLOCK:
	case KIND_RULE:
	case KIND_COUNT_:
		break;
	}
	return NULL;
}

const struct codec *codec_of_message(uint16_t nlmsg_type)
{
	switch (nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		return &codec_port;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		return &codec_address;
	case RTM_NEWQDISC:
	case RTM_DELQDISC:
		return &codec_qdisc;
	case RTM_NEWTFILTER:
	case RTM_DELTFILTER:
	case RTM_DELCHAIN:
		return &codec_filter;
	}
	return NULL;
}

/* ---- attributes ---- */

/* The least bytes of a type, where a policy says none: as libnl has them. */
static size_t least(const struct nla_policy *p)
{
	if (p->minlen)
		return p->minlen;
	switch (p->type) {
	case NLA_U8:
	case NLA_STRING:
		return 1;
	case NLA_U16:
		return 2;
	case NLA_U32:
		return 4;
	case NLA_U64:
		return 8;
	}
	return 0;
}

static bool fits(const struct nla_policy *p, const struct nlattr *a)
{
	size_t len = attr_len(a);

	if (len < least(p) || (p->maxlen && len > p->maxlen))
		return false;
	return p->type != NLA_STRING || !((const char *)attr_data(a))[len - 1];
}

/* As nla_parse() of libnl, which takes a dozen calls for each attribute. */
static int read_attrs(struct nlattr **tb, int max, const void *data, size_t left,
		      const struct nla_policy *policy)
{
	memset(tb, 0, ((size_t)max + 1) * sizeof(*tb));
	for (const struct nlattr *a = data; attr_ok(a, left); a = attr_next(a, &left)) {
		unsigned int type = attr_type(a);

		if (type > (unsigned int)max)
			continue;
		if (policy && !fits(&policy[type], a))
			return -EBADMSG;
		tb[type] = (struct nlattr *)(uintptr_t)a;
	}
	return 0;
}

int codec_attrs(struct nlattr **tb, int max, const struct nlattr *nest,
		const struct nla_policy *policy)
{
	return read_attrs(tb, max, attr_data(nest), attr_len(nest), policy);
}

int codec_message(const struct nlmsghdr *h, int header, struct nlattr **tb, int max,
		  const struct nla_policy *policy)
{
	size_t before = NLMSG_HDRLEN + NLMSG_ALIGN((size_t)header);

	if (h->nlmsg_len < NLMSG_HDRLEN + (size_t)header)
		return -EBADMSG;
	return read_attrs(tb, max, (const uint8_t *)h + before,
			  h->nlmsg_len > before ? h->nlmsg_len - before : 0, policy);
}

int codec_begin(struct nl_msg *m, uint16_t type, uint16_t flags, const void *header, size_t size)
{
	if (!nlmsg_put(m, 0, 0, type, 0, flags))
		return -EMSGSIZE;
	return codec_fit(nlmsg_append(m, (void *)(uintptr_t)header, size, NLMSG_ALIGNTO));
}

bool codec_text(const struct nlattr *a, char *to, size_t size)
{
	size_t len;

	to[0] = '\0';
	if (!a || nla_len(a) <= 0)
		return false;
	len = strnlen(nla_data(a), (size_t)nla_len(a));
	if (len >= size)
		return false;
	memcpy(to, nla_data(a), len);
	to[len] = '\0';
	return true;
}
