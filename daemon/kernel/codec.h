/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * codec: how objects are spelled for the kernel. A row for each kind: object to message, message to
 * found object, and the requests for a dump and for one object. A codec sees no socket and never
 * logs; the only thing it asks for is the name or number of a device. Sequence numbers, port ids
 * and NLM_F_ACK are put in by whoever sends.
 *
 * Numbers are read by memcpy and only after their length was checked, so that any bytes may come
 * in.
 */
#ifndef SWD_KERNEL_CODEC_H
#define SWD_KERNEL_CODEC_H

#include <errno.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "config/model/object.h"
#include "daemon/kernel/kernel.h"

/* Names and numbers of devices, and who we are, as kernel.c or a test knows them. */
struct codec_names {
	uint32_t (*index)(const char *name, void *data);   /* 0: there is none */
	const char *(*name)(uint32_t ifindex, void *data); /* NULL: there is none */
	void *data;
	uint32_t instance; /* in the cookies of filters that are ours */
};

#define CODEC_MESSAGE_BYTES 2048 /* enough for all but long lists of police actions */
#define CODEC_MESSAGE_BYTES_MOST 65536

struct codec {
	/*
	 * Writes the whole message, header included. 0; -ENODATA: there is nothing to send (the
	 * device is as wanted, as far as this message goes); -ENODEV: a device it names is not
	 * there; -EMSGSIZE: m is too small; -EINVAL: cannot be said exactly, or would match too
	 * much; -EOPNOTSUPP: not an operation of this kind.
	 */
	int (*put)(struct nl_msg *m, enum kernel_op op, const struct object *wanted,
		   const struct object *found, const struct codec_names *names);
	/* block is for filters alone. 0 or -EMSGSIZE. */
	int (*dump)(struct nl_msg *m, uint32_t block);
	/* NULL: the kernel answers dumps only. Errors as put. */
	int (*get)(struct nl_msg *m, const struct object *key, const struct codec_names *names);
	/*
	 * 0 with a new object (one reference) in *ret, or with NULL if the message is none of ours:
	 * another family, a filter outside shared blocks, a qdisc that is no clsact. -EBADMSG: not
	 * well-formed; -ENOMEM. Messages that say GONE are parsed alike: what they do not tell
	 * stays zero.
	 */
	int (*parse)(const struct nlmsghdr *h, const struct codec_names *names,
		     struct object **ret);
};

/* NULL for kinds the kernel has no object for (blocks, rules). Ports and vlans share parse and
 * dump. */
const struct codec *codec_of(enum kind kind);
/* By the type of a message, NEW or DEL; NULL: nothing we read. */
const struct codec *codec_of_message(uint16_t nlmsg_type);

/* The same for a filter of ours, with its key, type and flags alone. */
int codec_parse_own_filter(const struct nlmsghdr *h, struct object **ret);

/* The dump of one pref of a filter's block: key's block, chain, pref and protocol. */
int codec_dump_pref(struct nl_msg *m, const struct filter *key);

/* ---- for the codecs themselves ---- */

/* What libnl has as functions, in place: a filter has some thirty attributes. */
static inline unsigned int attr_type(const struct nlattr *a)
{
	return a->nla_type & NLA_TYPE_MASK;
}
static inline size_t attr_len(const struct nlattr *a)
{
	return (size_t)a->nla_len - NLA_HDRLEN;
}
static inline const void *attr_data(const struct nlattr *a)
{
	return (const uint8_t *)a + NLA_HDRLEN;
}
/* True if a whole attribute stands there; `left` bytes are. */
static inline bool attr_ok(const struct nlattr *a, size_t left)
{
	return left >= NLA_HDRLEN && a->nla_len >= NLA_HDRLEN && a->nla_len <= left;
}
static inline const struct nlattr *attr_next(const struct nlattr *a, size_t *left)
{
	size_t size = MIN(NLA_ALIGN((size_t)a->nla_len), *left);

	*left -= size;
	return (const void *)((const uint8_t *)a + size);
}

/* Adds an attribute, as nla_put(): 0 or below. */
static inline int attr_put(struct nl_msg *m, uint16_t type, size_t size, const void *data)
{
	struct nlmsghdr *h = nlmsg_hdr(m);
	size_t at = NLMSG_ALIGN(h->nlmsg_len), whole = NLA_HDRLEN + NLA_ALIGN(size);
	struct nlattr head = { .nla_len = (uint16_t)(NLA_HDRLEN + size), .nla_type = type };
	uint8_t *to = (uint8_t *)h + at;

	if (at + whole > nlmsg_get_max_size(m))
		return -1;
	memcpy(to, &head, sizeof(head));
	if (size)
		memcpy(to + NLA_HDRLEN, data, size);
	memset(to + NLA_HDRLEN + size, 0, NLA_ALIGN(size) - size);
	h->nlmsg_len = (uint32_t)(at + whole);
	return 0;
}
static inline int attr_put_u32(struct nl_msg *m, uint16_t type, uint32_t v)
{
	return attr_put(m, type, sizeof(v), &v);
}
static inline int attr_put_u16(struct nl_msg *m, uint16_t type, uint16_t v)
{
	return attr_put(m, type, sizeof(v), &v);
}
static inline int attr_put_text(struct nl_msg *m, uint16_t type, const char *text)
{
	return attr_put(m, type, strlen(text) + 1, text);
}

/* Tables of one level; -EBADMSG if the attributes are not well-formed by the policy. */
int codec_attrs(struct nlattr **tb, int max, const struct nlattr *nest,
		const struct nla_policy *policy);
int codec_message(const struct nlmsghdr *h, int header, struct nlattr **tb, int max,
		  const struct nla_policy *policy);
/* The nla_put and nlmsg functions of libnl say NLE numbers: 0 or -EMSGSIZE. */
static inline int codec_fit(int nle)
{
	return nle < 0 ? -EMSGSIZE : 0;
}
/* A message header and a family header behind it. */
int codec_begin(struct nl_msg *m, uint16_t type, uint16_t flags, const void *header, size_t size);
/* Copies a text attribute into an array; false if it is absent or too long, then it is "". */
bool codec_text(const struct nlattr *a, char *to, size_t size);

extern const struct codec codec_port, codec_vlan, codec_address, codec_qdisc, codec_filter;

#endif
