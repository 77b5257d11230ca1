/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef _UAPI_LINUX_PACKET_DOORBELL_H
#define _UAPI_LINUX_PACKET_DOORBELL_H

/* How many frames of a packet socket's TX_RING go to the driver together, so
 * that only the last of them rings the device's doorbell. For sockets with
 * PACKET_QDISC_BYPASS; without it nothing is collected.
 *
 * No frame is held back for others to come: those that are in the ring when
 * send() looks at it go, as many as there are. If the device does not take one
 * of them, send() fails as it always did, and this frame and all behind it are
 * TP_STATUS_SEND_REQUEST.
 *
 * Each device has a number, /sys/class/net/DEV/tx_doorbell_frames. It is 1 at
 * first: each frame rings for itself.
 */

/**
 * PACKET_TX_DOORBELL_FRAMES - option of SOL_PACKET, an int
 *
 * The socket's own number, from 1 to PACKET_TX_DOORBELL_FRAMES_MAX; 0 (the
 * default) for that of the device. It holds from the next send() on. -ERANGE:
 * another number. -ENOPROTOOPT: this kernel does not collect frames.
 */
#define PACKET_TX_DOORBELL_FRAMES 4096
#define PACKET_TX_DOORBELL_FRAMES_MAX 64

#endif /* _UAPI_LINUX_PACKET_DOORBELL_H */
