/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * settle: makes an action say what the kernel will say back, for whoever compares. A policer's
 * burst is kept as time (in ticks of 64 ns), and its rate as bytes per second; a pushed tag has a
 * priority, said or not.
 */
#ifndef SWD_KERNEL_SETTLE_H
#define SWD_KERNEL_SETTLE_H

#include <linux/if_ether.h>

#include "config/model/action.h"

/*
 * outer: the ethertype of the outer tag of frames the filter matches (0x8100 or 0x88a8, anything
 * else counts as 0x8100), which a vlan-modify that says none keeps; the kernel always sets one. A
 * rate goes down to whole bytes, a burst up to whole ticks: settling twice changes nothing. 0;
 * -EINVAL for a rate under one byte per second; -ERANGE for a burst of more than 274 s.
 */
int action_settle(struct action *a, uint16_t outer);

/* Bytes at a rate to ticks of 64 ns, rounded up, and back, rounded down. -ERANGE. */
int police_ticks(uint64_t rate_bytes, uint32_t burst, uint32_t *ret_ticks);
int police_bytes(uint64_t rate_bytes, uint32_t ticks, uint32_t *ret_burst);

#endif
