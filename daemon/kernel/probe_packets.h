/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probe_packets: frames from one end of a veth pair to the other, for probe.c. */
#ifndef SWD_KERNEL_PROBE_PACKETS_H
#define SWD_KERNEL_PROBE_PACKETS_H

#include <stddef.h>

/*
 * Sends n frames out of `from` and waits until `to` has received them all, behind its ingress
 * qdisc. 0; -ETIMEDOUT: they did not all arrive in wait_ms; -errno.
 */
int probe_packets(const char *from, const char *to, size_t n, int wait_ms);

#endif
