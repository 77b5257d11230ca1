// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * VLANs that change their names, tags and links, and blocks that change their devices: what is in
 * the way goes first, and nothing goes that need not.
 */
#include "../check.h"

#include <stdio.h>

#include "fake_world.h"
#include "rig.h"

#define HEAD_TWO "version: 1\nports: { lan1: {}, lan2: {}, eth0: {} }\n"

static void start_with(struct rig *r, const char *yaml)
{
	rig_begin(r, BYPASS_ABILITY_READBACK);
	rig_write(r, yaml);
	rig_start(r);
	rig_settle(r);
	assert_int_equal(fake.refused, 0);
}

/* Reloads another file; it must be done without a refusal, and then be at rest. */
static void then(struct rig *r, const char *yaml)
{
	rig_write(r, yaml);
	rig_reload_ok(r);
	assert_int_equal(fake.refused, 0);
}

static const struct vlan *vlan(const char *name)
{
	return state_vlan(fake.world, name);
}

/* Linux has one VLAN device for a link and an id. */
static void vlan_gets_another_name(void **state)
{
	struct rig r;

	start_with(&r,
		   HEAD_TWO "vlans: { old: { link: eth0, id: 7, addresses: [192.0.2.1/24] } }\n");
	then(&r, HEAD_TWO "vlans: { new: { link: eth0, id: 7, addresses: [192.0.2.1/24] } }\n");
	assert_null(vlan("old"));
	assert_int_equal(vlan("new")->id, 7);
	assert_int_equal(state_count(fake.world, KIND_ADDRESS), 1);
	rig_settle(&r);
	assert_true(r.newest->settled);
	rig_end(&r);
}

static void vlans_change_their_ids(void **state)
{
	struct rig r;

	start_with(&r, HEAD_TWO "vlans: { a: { link: eth0, id: 7 }, b: { link: eth0, id: 8 },"
				" upper: { link: b, id: 1 } }\n");
	then(&r, HEAD_TWO "vlans: { a: { link: eth0, id: 8 }, b: { link: eth0, id: 7 },"
			  " upper: { link: b, id: 1 } }\n");
	assert_int_equal(vlan("a")->id, 8);
	assert_int_equal(vlan("b")->id, 7);
	assert_string_equal(vlan("upper")->link, "b");
	rig_end(&r);
}

/* The new link is made in the same apply: what is there under the name goes all the same. */
static void vlan_moves_to_a_new_link(void **state)
{
	struct rig r;

	start_with(&r, HEAD_TWO "vlans: { z: { link: eth0, id: 7 } }\n");
	then(&r, HEAD_TWO "vlans: { a: { link: eth0, id: 8 }, z: { link: a, id: 7 } }\n");
	assert_string_equal(vlan("z")->link, "a");
	rig_end(&r);
}

/* It does not go on carrying frames of a link that it has no more. */
static void vlan_waits_for_its_new_link(void **state)
{
	struct rig r;

	start_with(&r, HEAD_TWO "vlans: { z: { link: eth0, id: 7 } }\n");
	then(&r, HEAD_TWO "vlans: { z: { link: late0, id: 7 } }\n");
	assert_null(vlan("z"));
	fake_add_port("late0", NULL, -1);
	rig_settle(&r);
	assert_string_equal(vlan("z")->link, "late0");
	rig_end(&r);
}

static void another_s_vlan_in_the_way_is_a_conflict(void **state)
{
	struct vlan *v = object_new(KIND_VLAN, sizeof(*v));
	bool told = false;
	struct job *job;
	struct rig r;

	start_with(&r, HEAD_TWO);
	copy_name(v->name, sizeof(v->name), "theirs");
	copy_name(v->link, sizeof(v->link), "eth0");
	v->id = 7;
	v->protocol = 0x8100;
	world_put(v);
	world_emit(KERNEL_EVENT_NEW, v, false);
	rig_write(&r, HEAD_TWO "vlans: { ours: { link: eth0, id: 7 } }\n");
	job = rig_reload(&r);
	assert_int_not_equal(job->result, 0);
	assert_int_equal(fake.requests, 0);
	for (size_t i = 0; i < diags_count(job->diags); i++)
		told |= strstr(diags_at(job->diags, i)->text, "there as theirs and not swd's") !=
			NULL;
	assert_true(told);
	assert_non_null(vlan("theirs"));
	job_free(job);
	rig_end(&r);
}

#define EDGE "tagging: none, rules: [{ name: a, match: { dst: 198.51.100.1 }, action: drop }] }\n"

/* A device that nobody wants stays if it holds a foreign filter, whatever shall have its place. */
static void foreign_filter_outlives_what_is_in_its_device_s_way(void **state)
{
	static const char *const files[][2] = {
		{ "vlans: { leg: { link: eth0, id: 7 } }\n",
		  "vlans: { new: { link: eth0, id: 7 } }\n" },
		{ "vlans: { low: { link: eth0, id: 7 }, leg: { link: low, id: 1 } }\n",
		  "vlans: { low: { link: eth0, id: 8 } }\n" },
		{ "vlans: { low: { link: eth0, id: 7 }, leg: { link: low, id: 1 } }\n",
		  "vlans: { new: { link: eth0, id: 7 } }\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char yaml[512];
		struct job *job;
		struct rig r;

		snprintf(yaml, sizeof(yaml),
			 HEAD_TWO "%sblocks:\n  edge: { id: 10, bind: [leg], " EDGE, files[i][0]);
		start_with(&r, yaml);
		fake_add_filter(10, 5, "203.0.113.1", 0);
		rig_settle(&r);
		snprintf(yaml, sizeof(yaml), HEAD_TWO "%s", files[i][1]);
		rig_write(&r, yaml);
		job = rig_reload(&r);
		assert_int_not_equal(job->result, 0);
		assert_int_equal(fake.requests, 0);
		assert_non_null(vlan("leg"));
		assert_int_equal(fake_filters(10), 2);
		job_free(job);
		rig_end(&r);
	}
}

/* Its old device gets another block meanwhile; the block's filters are not touched. */
static void block_moves_to_another_device(void **state)
{
	static const char *const names[] = { "eth0", "lan2" }; /* one sorts in front of lan1 */

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char yaml[512];
		struct rig r;

		start_with(&r, HEAD_TWO "blocks:\n  edge: { id: 10, bind: [lan1], " EDGE);
		snprintf(yaml, sizeof(yaml),
			 HEAD_TWO "blocks:\n  edge: { id: 10, bind: [%s], " EDGE
				  "  other: { id: 11, bind: [lan1], " EDGE,
			 names[i]);
		then(&r, yaml);
		assert_int_equal(fake_filters(10), 1);
		assert_int_equal(fake_filters(11), 1);
		assert_int_equal(fake_log_find("block 10 chain", 0), SIZE_MAX);
		rig_end(&r);
	}
}

/* A device that is in the file no more goes; what would be on it waits. */
static void bound_device_that_goes_is_waited_for(void **state)
{
	struct rig r;

	start_with(&r, HEAD_TWO "vlans: { leg: { link: eth0, id: 7 } }\n"
				"blocks:\n  edge: { id: 10, bind: [leg], " EDGE);
	then(&r, HEAD_TWO "blocks:\n  edge: { id: 10, bind: [leg], " EDGE);
	assert_null(vlan("leg"));
	assert_int_equal(fake_filters(10), 0);
	rig_settle(&r);
	assert_int_equal(state_count(fake.world, KIND_QDISC), 0);
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vlan_gets_another_name),
		cmocka_unit_test(vlans_change_their_ids),
		cmocka_unit_test(vlan_moves_to_a_new_link),
		cmocka_unit_test(vlan_waits_for_its_new_link),
		cmocka_unit_test(another_s_vlan_in_the_way_is_a_conflict),
		cmocka_unit_test(foreign_filter_outlives_what_is_in_its_device_s_way),
		cmocka_unit_test(block_moves_to_another_device),
		cmocka_unit_test(bound_device_that_goes_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
