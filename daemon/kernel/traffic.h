/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * traffic: the state and the counters of one device, by its number, in one answer of the kernel. It
 * has a socket of its own and needs no `struct kernel`. The answer may take as long as the kernel
 * holds rtnl.
 */
#ifndef SWD_KERNEL_TRAFFIC_H
#define SWD_KERNEL_TRAFFIC_H

#include <net/if.h>
#include <stdint.h>

#include "config/base/util.h"

struct traffic;

struct traffic_reading {
	char name[IFNAMSIZ]; /* what it is called now */
	uint16_t type;	     /* ARPHRD_ */
	uint8_t mac[6];	     /* zero if it has none of that size */
	uint32_t mtu;
	bool up, carrier;
	/* As the device counts: some drivers ask their hardware no more than once a second. */
	uint64_t rx_packets, tx_packets, tx_errors, tx_dropped;
};

int traffic_open(struct traffic **ret); /* in the current network namespace; 0 or -errno */
void traffic_close(struct traffic *t);
DEFINE_CLEANUP(struct traffic *, traffic_close);

/* 0; -ENODEV: there is no such device; -errno: it is not known. */
int traffic_read(struct traffic *t, uint32_t ifindex, struct traffic_reading *ret);

#endif
