/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * geometry: the shape of a TX_RING for a device's MTU. The kernel wants slots of a multiple of 16
 * bytes in blocks of whole pages, as many in each block as fit, and none across two blocks; what is
 * left of a block is lost. A slot has the kernel's header (TPACKET_V2), and a whole frame with one
 * VLAN tag behind it.
 */
#ifndef SWD_TX_GEOMETRY_H
#define SWD_TX_GEOMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GEOMETRY_MTU_MIN 68 /* the least that IPv4 takes, and Ethernet devices with it */
#define GEOMETRY_MTU_MAX 16384
#define GEOMETRY_SLOTS_MAX 65536

struct geometry {
	uint32_t frame_max;  /* bytes: the longest frame, with Ethernet header and a tag */
	uint32_t frame_at;   /* where in a slot it begins */
	uint32_t slot_size;  /* bytes */
	uint32_t block_size; /* bytes */
	uint32_t per_block;  /* slots */
	uint32_t blocks;
	uint32_t slots; /* all of them, not less than was asked for */
	size_t bytes;	/* of memory */
};

/*
 * slots: 1 to GEOMETRY_SLOTS_MAX. page: bytes, a power of two. 0; -ERANGE: an MTU or a number of
 * slots that is out of range.
 */
int geometry_of(uint32_t mtu, uint32_t slots, uint32_t page, struct geometry *ret);

/* Where slot i begins, counted from the start of the ring. */
static inline size_t geometry_slot(const struct geometry *g, uint32_t i)
{
	return (size_t)(i / g->per_block) * g->block_size +
	       (size_t)(i % g->per_block) * g->slot_size;
}

/*
 * May a frame of that length, header included, leave a device of that MTU? A tag makes room for
 * itself (tagged: the Ethernet header says 802.1Q), as the kernel sees it.
 */
bool geometry_takes(uint32_t mtu, size_t length, bool tagged);

#endif
