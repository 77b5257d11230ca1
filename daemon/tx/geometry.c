// SPDX-License-Identifier: GPL-2.0-or-later
/* The shape of a TX_RING: see geometry.h. */
#include "daemon/tx/geometry.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include "config/base/util.h"

#define TAG 4
#define LINE 64	       /* slots begin at cache lines: two CPUs write to neighbours */
#define BLOCK_MIN 8192 /* for small frames a page would do */

static uint32_t round_up(uint32_t n, uint32_t step)
{
	return (n + step - 1) / step * step;
}

/* The smallest block that leaves no more than an eighth of itself unused. A power of two: the
 * kernel takes memory for it in such pieces. */
static uint32_t block_for(uint32_t slot, uint32_t page)
{
	uint32_t block = MAX(page, BLOCK_MIN);

	while (block < slot || block % slot > block / 8)
		block *= 2;
	return block;
}

int geometry_of(uint32_t mtu, uint32_t slots, uint32_t page, struct geometry *ret)
{
	struct geometry g = {
		/* A frame begins where the kernel looks for it unless told otherwise: in the place
		 * of the address behind the header. */
		.frame_at = TPACKET2_HDRLEN - sizeof(struct sockaddr_ll),
		.frame_max = mtu + ETH_HLEN + TAG,
	};

	if (mtu < GEOMETRY_MTU_MIN || mtu > GEOMETRY_MTU_MAX || slots < 1 ||
	    slots > GEOMETRY_SLOTS_MAX)
		return -ERANGE;
	g.slot_size = round_up(g.frame_at + g.frame_max, LINE);
	g.block_size = block_for(g.slot_size, page);
	g.per_block = g.block_size / g.slot_size;
	g.blocks = (slots + g.per_block - 1) / g.per_block;
	g.slots = g.blocks * g.per_block;
	g.bytes = (size_t)g.blocks * g.block_size;
	*ret = g;
	return 0;
}

bool geometry_takes(uint32_t mtu, size_t length, bool tagged)
{
	return length >= ETH_HLEN && length <= (size_t)mtu + ETH_HLEN + (tagged ? TAG : 0);
}
