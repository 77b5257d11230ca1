/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rtnl_send: what rtnl.c lends to exchange.c and dump.c, and to nobody else. */
#ifndef SWD_KERNEL_RTNL_SEND_H
#define SWD_KERNEL_RTNL_SEND_H

#include "daemon/kernel/rtnl.h"

/* One sendmsg() of n messages as they are. 0 or -errno; after an error none was delivered. */
int rtnl_send(struct rtnl *s, struct nl_msg *const *msgs, size_t n);
/* A fresh socket under a new port id: whatever was on its way on the old one is gone. */
int rtnl_reopen(struct rtnl *s);

#endif
