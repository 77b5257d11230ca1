// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What others put where ours is replaced or goes: it stays and is told, or the file is refused. The
 * last binding of a block takes all its filters along, and Linux says nothing.
 */
#include "../check.h"

#include <linux/rtnetlink.h>
#include <stdio.h>

#include "fake_world.h"
#include "rig.h"

#define HEAD_TWO "version: 1\nports: { lan1: {}, lan2: {}, eth0: {} }\n"
#define EDGE "tagging: none, rules: [{ name: a, match: { dst: 198.51.100.1 }, action: drop }] }\n"

static void start_with(struct rig *r, const char *yaml)
{
	rig_begin(r, BYPASS_ABILITY_READBACK);
	rig_write(r, yaml);
	rig_start(r);
	rig_settle(r);
	assert_int_equal(fake.refused, 0);
}

static const struct diag *told(const struct job *job, const char *part)
{
	for (size_t i = 0; i < diags_count(job->diags); i++)
		if (strstr(diags_at(job->diags, i)->text, part))
			return diags_at(job->diags, i);
	return NULL;
}

/* Reloads another file: it is refused with these words, and nothing is sent. */
static void refused(struct rig *r, const char *yaml, const char *words)
{
	_cleanup_free_ char *before = fake_text(), *after = NULL;
	const struct diag *diag;
	struct job *job;

	rig_write(r, yaml);
	job = rig_reload(r);
	assert_int_not_equal(job->result, 0);
	assert_int_equal(fake.requests, 0);
	diag = told(job, words);
	assert_non_null(diag);
	assert_int_equal(diag->level, DIAG_ERROR);
	job_free(job);
	after = fake_text();
	assert_same_kernel(before, after);
}

/* Reloads another file: it is done, with these words (NULL: without any). */
static void done(struct rig *r, const char *yaml, const char *words)
{
	struct job *job;

	rig_write(r, yaml);
	job = rig_reload(r);
	assert_int_equal(job->result, 0);
	assert_int_equal(fake.refused, 0);
	if (words) {
		assert_non_null(told(job, words));
		assert_int_equal(told(job, words)->level, DIAG_WARNING);
	} else {
		assert_int_equal(diags_count(job->diags), 0);
	}
	job_free(job);
	rig_settle(r);
}

/* ---- bindings that are replaced ---- */

static void block_s_new_number_leaves_no_foreign_filter_behind(void **state)
{
	struct rig r;

	start_with(&r, HEAD_TWO "blocks:\n  edge: { id: 10, bind: [lan1], " EDGE);
	fake_add_filter(10, 5, "203.0.113.1", 0);
	rig_settle(&r);
	refused(&r, HEAD_TWO "blocks:\n  edge: { id: 11, bind: [lan1], " EDGE,
		"what it replaces holds a foreign filter: block 10 chain 0 pref 5");
	done(&r, HEAD_TWO "blocks:\n  edge: { id: 11, bind: [lan1], takeover: true, " EDGE, NULL);
	assert_int_equal(fake_filters(10), 0);
	assert_int_equal(fake_filters(11), 1);
	rig_end(&r);
}

/* A start goes on without what can't be done, and does not put filters where no block is. */
static void start_leaves_the_old_binding_with_its_foreign_filter(void **state)
{
	struct rig r;

	start_with(&r, HEAD_TWO "blocks:\n  edge: { id: 10, bind: [lan1], " EDGE);
	fake_add_filter(10, 5, "203.0.113.1", 0);
	rig_settle(&r);
	rig_stop(&r);
	rig_write(&r, HEAD_TWO "blocks:\n  edge: { id: 11, bind: [lan1], " EDGE);
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(fake.refused, 0);
	assert_int_equal(fake_filters(10), 1);
	assert_int_equal(fake_filter(10, 0)->pref, 5);
	assert_int_equal(fake_filters(11), 0);
	fake_del_handle(10, 5, 1);
	rig_settle(&r);
	assert_int_equal(fake.refused, 0);
	assert_int_equal(fake_filters(10), 0);
	assert_int_equal(fake_filters(11), 1);
	rig_end(&r);
}

static void blocks_that_are_swapped_leave_no_foreign_filter_behind(void **state)
{
	static const char swapped[] = HEAD_TWO "blocks:\n  edge: { id: 10, bind: [lan2], " EDGE
					       "  other: { id: 11, bind: [lan1], " EDGE;
	struct rig r;

	start_with(&r, HEAD_TWO "blocks:\n  edge: { id: 10, bind: [lan1], " EDGE
				"  other: { id: 11, bind: [lan2], " EDGE);
	fake_add_filter(11, 5, "203.0.113.1", 0);
	rig_settle(&r);
	refused(&r, swapped, "what it replaces holds a foreign filter: block 11 chain 0 pref 5");
	fake_del_handle(11, 5, 1);
	rig_settle(&r);
	done(&r, swapped, NULL);
	assert_int_equal(fake_filters(10), 1);
	assert_int_equal(fake_filters(11), 1);
	rig_end(&r);
}

/* Another device binds the block all the time, or from before the old one goes. */
static void foreign_filter_goes_along_with_its_block(void **state)
{
	static const char *const files[][2] = {
		{ "edge: { id: 10, bind: [lan1], ", "edge: { id: 10, bind: [lan2], " },
		{ "edge: { id: 10, bind: [lan1], ", "edge: { id: 10, bind: [eth0], " },
		{ "edge: { id: 10, bind: [lan1, lan2], ", "edge: { id: 10, bind: [lan2], " },
		{ "edge: { id: 10, bind: [lan1], ",
		  "edge: { id: 10, bind: [lan2], " EDGE "  other: { id: 11, bind: [lan1], " },
		{ "edge: { id: 10, bind: [lan1, lan2], ",
		  "edge: { id: 10, bind: [lan2], " EDGE "  other: { id: 11, bind: [lan1], " },
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char yaml[512];
		struct rig r;

		snprintf(yaml, sizeof(yaml), HEAD_TWO "blocks:\n  %s" EDGE, files[i][0]);
		start_with(&r, yaml);
		fake_add_filter(10, 5, "203.0.113.1", TCA_CLS_FLAGS_SKIP_SW);
		rig_settle(&r);
		snprintf(yaml, sizeof(yaml), HEAD_TWO "blocks:\n  %s" EDGE, files[i][1]);
		done(&r, yaml, NULL);
		assert_int_equal(fake_filters(10), 2);
		rig_end(&r);
	}
}

/* ---- devices that go ---- */

static void put_vlan(const char *name, const char *link, uint16_t id)
{
	struct vlan *v = object_new(KIND_VLAN, sizeof(*v));

	copy_name(v->name, sizeof(v->name), name);
	copy_name(v->link, sizeof(v->link), link);
	v->id = id;
	v->protocol = 0x8100;
	world_put(v);
	world_emit(KERNEL_EVENT_NEW, v, false);
}

static void add_clsact(void)
{
	fake_add_qdisc("leg", "clsact", 0);
}

static void add_vlan(void)
{
	put_vlan("theirs", "leg", 5);
}

static void add_upper(void)
{
	fake_add_port("mv0", "leg", -1);
}

static void add_upper_of_upper(void)
{
	fake_add_port("mv0", "top", -1);
}

static void add_address(void)
{
	fake_add_address("leg", "203.0.113.1/24");
}

#define LEGS "vlans: { leg: { link: eth0, id: 7, addresses: [192.0.2.1/24] }, " TOP
#define TOP "top: { link: leg, id: 1 } }\n"

static void what_others_put_on_a_vlan_keeps_it(void **state)
{
	static const struct {
		void (*add)(void);
		const char *words;
	} cases[] = {
		{ add_clsact, "holds a foreign qdisc: clsact on leg" },
		{ add_vlan, "holds a foreign device: vlan theirs" },
		{ add_upper, "holds a foreign device: port mv0" },
		{ add_upper_of_upper, "holds a foreign device: port mv0" },
		{ add_address, "holds a foreign address: address 203.0.113.1/24 on leg" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *words = NULL;
		struct job *job;
		struct rig r;

		start_with(&r, HEAD_TWO LEGS);
		cases[i].add();
		rig_settle(&r);
		assert_true(asprintf(&words, "leg would have to go first, and %s", cases[i].words) >
			    0);
		refused(&r, HEAD_TWO "vlans: { leg: { link: eth0, id: 8 }, " TOP, words);
		refused(&r, HEAD_TWO "vlans: { new: { link: eth0, id: 7 } }\n", words);
		refused(&r, HEAD_TWO "vlans: { leg: { link: late0, id: 7 }, " TOP, words);
		done(&r, HEAD_TWO, cases[i].words);
		assert_non_null(state_vlan(fake.world, "leg"));
		job = rig_job(&r, JOB_TEARDOWN, 0);
		assert_non_null(told(job, cases[i].words));
		job_free(job);
		assert_non_null(state_vlan(fake.world, "leg"));
		rig_end(&r);
	}
}

/* What the file itself has on a VLAN, and what the kernel put there, is no reason for it to stay.
 */
static void vlan_goes_with_what_is_not_foreign(void **state)
{
	struct address *a;
	struct rig r;

	start_with(&r, HEAD_TWO LEGS "blocks:\n  edge: { id: 10, bind: [leg, top], " EDGE);
	fake_add_address("leg", "fe80::1/64");
	fake_add_address("leg", "2001:db8::1/64");
	for (size_t i = 0; i < state_count(fake.world, KIND_ADDRESS); i++) {
		a = (struct address *)state_at(fake.world, KIND_ADDRESS, i);
		if (a->family == 6 && a->addr[0] == 0xfe)
			a->scope = RT_SCOPE_LINK;
		else if (a->family == 6)
			a->passing = true;
	}
	rig_settle(&r);
	done(&r, HEAD_TWO, NULL);
	assert_null(state_vlan(fake.world, "leg"));
	assert_null(state_vlan(fake.world, "top"));
	rig_end(&r);
}

/* Its filters are in the block, which goes with the leg unless another binds it. */
static void foreign_filter_keeps_the_leg_that_binds_its_block(void **state)
{
	static const struct {
		const char *before, *after;
		bool refused;
	} cases[] = {
		{ "leg: { link: eth0, id: 7 } }\nblocks:\n  edge: { id: 10, bind: [leg], ",
		  "leg: { link: eth0, id: 8 } }\nblocks:\n  edge: { id: 10, bind: [leg], ", true },
		{ "leg: { link: eth0, id: 7 } }\nblocks:\n  edge: { id: 10, bind: [leg], ",
		  "leg: { link: eth0, id: 8 } }\nblocks:\n"
		  "  edge: { id: 10, bind: [leg, lan1], ",
		  true },
		{ "leg: { link: eth0, id: 7 } }\nblocks:\n"
		  "  edge: { id: 10, bind: [leg, lan1], ",
		  "leg: { link: eth0, id: 8 } }\nblocks:\n"
		  "  edge: { id: 10, bind: [leg, lan1], ",
		  false },
		{ "leg: { link: eth0, id: 7 } }\nblocks:\n  edge: { id: 10, bind: [leg], ",
		  "new: { link: eth0, id: 8 } }\nblocks:\n  edge: { id: 10, bind: [new], ", false },
		{ "leg: { link: eth0, id: 7 } }\nblocks:\n  edge: { id: 10, bind: [leg], ",
		  "new: { link: eth0, id: 7 } }\nblocks:\n  edge: { id: 10, bind: [new], ", true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char yaml[512];
		struct rig r;

		snprintf(yaml, sizeof(yaml), HEAD_TWO "vlans: { %s" EDGE, cases[i].before);
		start_with(&r, yaml);
		fake_add_filter(10, 5, "203.0.113.1", TCA_CLS_FLAGS_SKIP_SW);
		rig_settle(&r);
		snprintf(yaml, sizeof(yaml), HEAD_TWO "vlans: { %s" EDGE, cases[i].after);
		if (cases[i].refused)
			refused(&r, yaml, "leg would have to go first, and holds a foreign filter");
		else
			done(&r, yaml, NULL);
		assert_int_equal(fake_filters(10), 2);
		rig_settle(&r);
		assert_true(cases[i].refused || r.newest->settled);
		rig_end(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(block_s_new_number_leaves_no_foreign_filter_behind),
		cmocka_unit_test(start_leaves_the_old_binding_with_its_foreign_filter),
		cmocka_unit_test(blocks_that_are_swapped_leave_no_foreign_filter_behind),
		cmocka_unit_test(foreign_filter_goes_along_with_its_block),
		cmocka_unit_test(what_others_put_on_a_vlan_keeps_it),
		cmocka_unit_test(vlan_goes_with_what_is_not_foreign),
		cmocka_unit_test(foreign_filter_keeps_the_leg_that_binds_its_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
