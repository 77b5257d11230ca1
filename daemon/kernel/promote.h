/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * promote: other addresses stay when the first one of their prefix goes. Linux takes the
 * secondaries of an IPv4 address away with it, whoever set them, unless the device's
 * promote_secondaries says that the next one takes its place (net/ipv4/devinet.c,
 * __inet_del_ifa()). So that is said for the moment of the removal, by a message of rtnetlink, for
 * /proc/sys is read-only to a service.
 */
#ifndef SWD_KERNEL_PROMOTE_H
#define SWD_KERNEL_PROMOTE_H

#include "config/model/object.h"
#include "daemon/kernel/rtnl.h"

/* True if the address of that device would take others along: IPv4, and the device does not say
 * otherwise. */
bool promote_needed(const struct address *a);
/* Says it, or takes it back. 0, or -errno of the socket or the kernel. */
int promote_set(struct rtnl *s, uint32_t ifindex, bool on);

#endif
