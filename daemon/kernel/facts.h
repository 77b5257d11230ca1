/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * facts: what netlink does not tell of a device: its driver and hw-tc-offload (ethtool), and for
 * DSA the tagger, the switch in its tree, and the number of the port (sysfs, phys_port_name). A
 * fact that is not there yet stays empty and is looked for again the next time.
 */
#ifndef SWD_KERNEL_FACTS_H
#define SWD_KERNEL_FACTS_H

#include "config/model/object.h"

struct facts;

int facts_new(struct facts **ret); /* 0 or -errno */
void facts_free(struct facts *f);
DEFINE_CLEANUP(struct facts *, facts_free);

/* The socket for questions by name: any datagram socket of our namespace. */
int facts_fd(const struct facts *f);
/* Completes a port or vlan that nobody shares yet. */
void facts_fill(struct facts *f, struct object *link);
/* What was remembered of a device is void: it went away. */
void facts_forget(struct facts *f, uint32_t ifindex);

/* hw-tc-offload on or off, and read back. 0; -EOPNOTSUPP: the device has none or keeps it; -errno.
 */
int facts_set_offload(struct facts *f, const char *name, bool on);

/* "p3" or "p3s1" -> 3; -1: not of this form. */
int32_t port_name_number(const char *port_name);

#endif
