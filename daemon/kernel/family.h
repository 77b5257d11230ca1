/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * family: what all generic netlink families have in common: their numbers, and one request with its
 * answer.
 */
#ifndef SWD_KERNEL_FAMILY_H
#define SWD_KERNEL_FAMILY_H

#include "daemon/kernel/codec.h"
#include "daemon/kernel/rtnl.h"

struct family {
	struct rtnl *request, *events;
	uint16_t id;
	uint32_t group;
	uint8_t version;
};

/* Opens both sockets and joins the group. 0; -EOPNOTSUPP: the kernel has no such family; -errno. */
int family_open(const char *name, const char *group, uint8_t version, struct family *ret);
/* Closes what family_open() filled, also where it failed or was never called on a { 0 }. */
void family_close(struct family *f);

/* Begins a message of the family. 0 or -EMSGSIZE. */
int family_begin(const struct family *f, struct nl_msg *m, uint8_t command);
/* Sends one request and reads its answer. 0 or -errno; ret_words may be NULL: the kernel's words,
 * the caller's from then on. */
int family_ask(const struct family *f, struct nl_msg *m, rtnl_answer_fn fn, void *data,
	       char **ret_words);

/* What a message of the family says; NULL: some were lost. */
typedef void (*family_fn)(const struct nlmsghdr *h, void *data);
/* Reads one datagram of news. 0, -EAGAIN: nothing there, -errno. */
int family_event(const struct family *f, family_fn fn, void *data);

#endif
