/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doorbell: how many frames of a TX_RING share a doorbell, for one socket and for all that use a
 * device. It takes our kernel patch (kmod/uapi/linux/packet_doorbell.h); an untouched kernel rings
 * for each frame.
 */
#ifndef SWD_TX_DOORBELL_H
#define SWD_TX_DOORBELL_H

#include <stdint.h>

#define DOORBELL_FRAMES_MAX 64

/*
 * The socket's own number, from its next send on: 1 to DOORBELL_FRAMES_MAX; 0: the device's. Only
 * with PACKET_QDISC_BYPASS does it change anything. 0; -EOPNOTSUPP: not this kernel; -errno.
 */
int doorbell_set_socket(int fd, uint32_t frames);

/* The device's number; 1 until somebody sets it. 0; -EOPNOTSUPP: not this kernel; -ENODEV; -errno.
 */
int doorbell_read(const char *dev, uint32_t *ret);
/* 1 to DOORBELL_FRAMES_MAX. The same, and -EINVAL or -ERANGE for another number. */
int doorbell_write(const char *dev, uint32_t frames);

#endif
