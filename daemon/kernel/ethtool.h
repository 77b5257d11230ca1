/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ethtool: the few questions swd asks by SIOCETHTOOL, which every kernel answers: the driver, and
 * whether the device offloads tc ("hw-tc-offload").
 */
#ifndef SWD_KERNEL_ETHTOOL_H
#define SWD_KERNEL_ETHTOOL_H

#include <stdint.h>

#include "config/base/util.h"

/* Where the kernel keeps the bit: the same for all devices, asked for once. Start with { 0 }. */
struct ethtool_offload_bit {
	bool known;
	uint32_t blocks, bit;
};

int ethtool_driver(int fd, const char *name, char ret[32]); /* 0 or -errno */
/* 1: on, 0: off, -1: the device cannot, or did not answer. */
int ethtool_offload(int fd, struct ethtool_offload_bit *bit, const char *name);
int ethtool_set_offload(int fd, struct ethtool_offload_bit *bit, const char *name, bool on);

#endif
