// SPDX-License-Identifier: GPL-2.0-or-later
/* IPv4 and IPv6 addresses of devices. The kernel has no request for a single one, so there is no
 * get. */
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "daemon/kernel/codec.h"

static const struct nla_policy address_policy[IFA_MAX + 1] = {
	[IFA_ADDRESS] = { .type = NLA_UNSPEC, .minlen = 4, .maxlen = 16 },
	[IFA_LOCAL] = { .type = NLA_UNSPEC, .minlen = 4, .maxlen = 16 },
	[IFA_FLAGS] = { .type = NLA_U32 },
};

static int address_parse(const struct nlmsghdr *h, const struct codec_names *names,
			 struct object **ret)
{
	struct nlattr *tb[IFA_MAX + 1], *own;
	struct ifaddrmsg ifa;
	struct address *a;
	const char *dev;
	uint32_t flags;
	size_t size;
	int r = codec_message(h, sizeof(ifa), tb, IFA_MAX, address_policy);

	if (r < 0)
		return r;
	memcpy(&ifa, nlmsg_data(h), sizeof(ifa));
	*ret = NULL;
	if (ifa.ifa_family != AF_INET && ifa.ifa_family != AF_INET6)
		return 0;
	dev = names->name(ifa.ifa_index, names->data);
	if (!dev)
		return 0;
	/* On a link with a peer IFA_ADDRESS is the peer, IFA_LOCAL is ours. */
	own = tb[IFA_LOCAL] ? tb[IFA_LOCAL] : tb[IFA_ADDRESS];
	size = ifa.ifa_family == AF_INET ? 4 : 16;
	if (!own || (size_t)nla_len(own) != size)
		return -EBADMSG;
	a = object_new(KIND_ADDRESS, sizeof(*a));
	if (!a)
		return -ENOMEM;
	COPY_NAME(a->dev, dev);
	a->family = ifa.ifa_family == AF_INET ? 4 : 6;
	a->prefix_len = ifa.ifa_prefixlen;
	a->scope = ifa.ifa_scope;
	flags = tb[IFA_FLAGS] ? nla_get_u32(tb[IFA_FLAGS]) : ifa.ifa_flags;
	a->passing = !(flags & IFA_F_PERMANENT);
	memcpy(a->addr, nla_data(own), size);
	*ret = &a->obj;
	return 0;
}

static int address_put(struct nl_msg *m, enum kernel_op op, const struct object *wanted,
		       const struct object *found, const struct codec_names *names)
{
	const struct address *a = (const struct address *)(op == KERNEL_REMOVE ? found : wanted);
	struct ifaddrmsg ifa = {
		.ifa_family = a->family == 4 ? AF_INET : AF_INET6,
		.ifa_prefixlen = a->prefix_len,
		.ifa_index = names->index(a->dev, names->data),
	};
	size_t size = a->family == 4 ? 4 : 16;
	int r;

	if (op == KERNEL_CHANGE)
		return -EOPNOTSUPP; /* all of an address is its key */
	if (ifa.ifa_index == 0)
		return -ENODEV;
	if (op == KERNEL_REMOVE)
		r = codec_begin(m, RTM_DELADDR, 0, &ifa, sizeof(ifa));
	else
		r = codec_begin(m, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &ifa, sizeof(ifa));
	if (r < 0)
		return r;
	r = codec_fit(nla_put(m, IFA_LOCAL, (int)size, a->addr));
	return r < 0 ? r : codec_fit(nla_put(m, IFA_ADDRESS, (int)size, a->addr));
}

static int address_dump(struct nl_msg *m, uint32_t block)
{
	struct ifaddrmsg ifa = { .ifa_family = AF_UNSPEC };

	return codec_begin(m, RTM_GETADDR, 0, &ifa, sizeof(ifa));
}

const struct codec codec_address = { address_put, address_dump, NULL, address_parse };
