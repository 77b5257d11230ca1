// SPDX-License-Identifier: GPL-2.0-or-later
/* The shape of a ring is one that the kernel takes, for each MTU; its rules are written down here
 * once more, from what packet_set_ring() asks for. */
#include "tests/unit/check.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <stdbool.h>

#include "daemon/tx/geometry.h"

static void holds(uint32_t mtu, uint32_t slots, uint32_t page)
{
	struct geometry g;

	assert_int_equal(geometry_of(mtu, slots, page, &g), 0);
	/* The kernel. */
	assert_int_equal(g.block_size % page, 0);
	assert_true((int)g.block_size > 0);
	assert_int_equal(g.slot_size % TPACKET_ALIGNMENT, 0);
	assert_true(g.slot_size >= TPACKET2_HDRLEN);
	assert_int_equal(g.per_block, g.block_size / g.slot_size);
	assert_true(g.per_block > 0);
	assert_int_equal((uint64_t)g.per_block * g.blocks, g.slots);
	/* What it finds in a slot: a frame of that length, where it looks for it. */
	assert_int_equal(g.frame_at, TPACKET2_HDRLEN - sizeof(struct sockaddr_ll));
	assert_int_equal(g.frame_max, mtu + 14 + 4);
	assert_true(g.frame_max <= g.slot_size - g.frame_at);
	/* Who asked for it. */
	assert_true(g.slots >= slots && g.slots < slots + g.per_block);
	assert_int_equal(g.bytes, (size_t)g.block_size * g.blocks);
	/* Little is lost: an eighth of the blocks and some bytes a slot. */
	assert_true((size_t)g.slots * g.slot_size >= g.bytes / 8 * 7);
	assert_true(g.slot_size - g.frame_at - g.frame_max < 64);
}

static void test_every_mtu(void **state)
{
	for (uint32_t mtu = GEOMETRY_MTU_MIN; mtu <= GEOMETRY_MTU_MAX; mtu++) {
		holds(mtu, 2048, 4096);
		holds(mtu, 1, 4096);
		holds(mtu, GEOMETRY_SLOTS_MAX, 65536);
	}
}

static void test_slots_do_not_touch(void **state)
{
	struct geometry g;
	size_t end = 0;

	assert_int_equal(geometry_of(9000, 2048, 4096, &g), 0);
	for (uint32_t i = 0; i < g.slots; i++) {
		size_t at = geometry_slot(&g, i);

		assert_true(at >= end);
		end = at + g.slot_size;
		assert_int_equal(at / g.block_size, (end - 1) / g.block_size);
	}
	assert_true(end <= g.bytes);
}

static void test_out_of_range(void **state)
{
	struct geometry g = { .slots = 7 };

	assert_int_equal(geometry_of(GEOMETRY_MTU_MIN - 1, 64, 4096, &g), -ERANGE);
	assert_int_equal(geometry_of(GEOMETRY_MTU_MAX + 1, 64, 4096, &g), -ERANGE);
	assert_int_equal(geometry_of(UINT32_MAX, 64, 4096, &g), -ERANGE);
	assert_int_equal(geometry_of(1500, 0, 4096, &g), -ERANGE);
	assert_int_equal(geometry_of(1500, GEOMETRY_SLOTS_MAX + 1, 4096, &g), -ERANGE);
	assert_int_equal(g.slots, 7);
}

static void test_lengths(void **state)
{
	assert_false(geometry_takes(1500, 13, false));
	assert_true(geometry_takes(1500, 14, false));
	assert_true(geometry_takes(1500, 1514, false));
	assert_false(geometry_takes(1500, 1515, false));
	assert_true(geometry_takes(1500, 1518, true));
	assert_false(geometry_takes(1500, 1519, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_mtu),
		cmocka_unit_test(test_slots_do_not_touch),
		cmocka_unit_test(test_out_of_range),
		cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
