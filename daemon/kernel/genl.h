/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * genl: the client of our kernel patch's generic netlink family "tc_bypass"
 * (kmod/uapi/linux/tc_bypass.h): what a block's bypass is, and news of it.
 */
#ifndef SWD_KERNEL_GENL_H
#define SWD_KERNEL_GENL_H

#include "daemon/kernel/kernel.h"

struct bypass_genl;

/* 0; -EOPNOTSUPP: this kernel has no such family; -errno. */
int bypass_genl_open(struct bypass_genl **ret);
void bypass_genl_close(struct bypass_genl *g); /* NULL is fine */
DEFINE_CLEANUP(struct bypass_genl *, bypass_genl_close);
int bypass_genl_fd(const struct bypass_genl *g); /* of the events */

/* A shared block. 0, -ENOENT, -errno. */
int bypass_genl_read(struct bypass_genl *g, uint32_t block, struct bypass_reading *ret);
/* The block that is bound to a place, shared or not. */
int bypass_genl_read_place(struct bypass_genl *g, uint32_t ifindex, uint32_t parent,
			   struct bypass_reading *ret);

/*
 * Reads one datagram and tells each reading in it; NULL: some were lost. A block that is gone reads
 * as not bypassed, with no members and no filters. 0, -EAGAIN: nothing there, -errno.
 */
typedef void (*bypass_genl_fn)(const struct bypass_reading *reading, void *data);
int bypass_genl_event(struct bypass_genl *g, bypass_genl_fn fn, void *data);

struct nlmsghdr;
/* The reading in one message, for the reader above and for tests. 0 or -EBADMSG. */
int bypass_genl_parse(const struct nlmsghdr *h, struct bypass_reading *ret);

#endif
