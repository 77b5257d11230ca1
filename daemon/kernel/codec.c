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

int codec_attrs(struct nlattr **tb, int max, const struct nlattr *nest,
		const struct nla_policy *policy)
{
	/* libnl reads the policy and the attributes only, whatever its prototype says. */
	if (nla_parse(tb, max, nla_data(nest), nla_len(nest),
		      (struct nla_policy *)(uintptr_t)policy) < 0)
		return -EBADMSG;
	return 0;
}

int codec_message(const struct nlmsghdr *h, int header, struct nlattr **tb, int max,
		  const struct nla_policy *policy)
{
	if (nlmsg_parse((struct nlmsghdr *)(uintptr_t)h, header, tb, max,
			(struct nla_policy *)(uintptr_t)policy) < 0)
		return -EBADMSG;
	return 0;
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
