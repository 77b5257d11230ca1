// SPDX-License-Identifier: GPL-2.0-or-later
/* What a repair does before its last request: it asks for what it must know, and waits for no disk.
 */
#include "../check.h"

#include <stdio.h>
#include <sys/stat.h>

#include "daemon/engine/wanted.h"
#include "fake_world.h"
#include "files.h"
#include "rig.h"

#define LEG "vlans: { core.100: { link: eth0, id: 100, up: true, addresses: [192.0.2.1/31] } }\n"

static struct rig rig;

static int setup(void **state)
{
	rig_begin(&rig, BYPASS_ABILITY_READBACK);
	rig_write(&rig, HEAD LEG BLOCK RULES);
	rig_start(&rig);
	rig_settle(&rig);
	assert_int_equal(rig.newest->last_outcome, APPLY_DONE);
	return 0;
}

static int teardown(void **state)
{
	rig_end(&rig);
	return 0;
}

/* Each commit makes the store's log longer. */
static off_t log_size(void)
{
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/swd.db-wal", rig.state);
	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static void break_leg(void)
{
	fake_del_port("core.100");
}

/* With the second one the block goes, and all its filters. */
static void break_block(void)
{
	fake_del_qdisc("lan1");
	fake_del_qdisc("lan2");
}

static void break_address(void)
{
	const struct object *a = state_at(fake.world, KIND_ADDRESS, 0);
	_cleanup_object_ struct object *held = object_ref(a);

	world_drop(held);
	world_emit(KERNEL_EVENT_GONE, held, false);
}

/* So many requests, and before the last of them so many looks. */
static void comes_back(void (*breaks)(void), size_t requests, size_t looks)
{
	char *before = fake_text(), *after;

	fake_reset_counts();
	breaks();
	rig_settle(&rig);
	after = fake_text();
	assert_same_kernel(before, after);
	assert_int_equal(fake.requests, requests);
	assert_int_equal(fake.looks_before, looks);
	free(before);
	free(after);
}

static void a_leg_is_asked_for_once_it_is_made(void **state)
{
	comes_back(break_leg, 2, 1);
}

static void a_block_is_bound_by_the_kernels_word(void **state)
{
	/* All qdiscs, since one is gone. */
	comes_back(break_block, 2 + fake_filters(10), 1);
}

static void an_address_is_asked_for_before_it_is_missed(void **state)
{
	comes_back(break_address, 1, 1);
}

static void what_is_recorded_is_not_written_again(void **state)
{
	off_t size = log_size();
	struct job *job;

	comes_back(break_leg, 2, 1);
	comes_back(break_block, 2 + fake_filters(10), 1);
	assert_int_equal(log_size(), size);
	/* It holds the number that the device has now. */
	comes_back(break_address, 1, 1);
	assert_true(log_size() > size);
	size = log_size();
	comes_back(break_address, 1, 1);
	assert_int_equal(log_size(), size);
	/* As little after a start. */
	rig_stop(&rig);
	rig_start(&rig);
	rig_settle(&rig);
	size = log_size();
	comes_back(break_leg, 2, 1);
	assert_int_equal(log_size(), size);
	/* What is not ours any more is recorded when it is again. */
	job = rig_apply(&rig, HEAD BLOCK RULES, 0);
	assert_int_equal(job->outcome, APPLY_DONE);
	job_free(job);
	size = log_size();
	rig_write(&rig, HEAD LEG BLOCK RULES);
	rig_reload_ok(&rig);
	assert_true(log_size() > size);
	assert_int_equal(state_count(rig.o->owned, KIND_VLAN), 1);
	rig_stop(&rig);
	rig_start(&rig);
	assert_int_equal(state_count(rig.o->owned, KIND_VLAN), 1);
}

/* The quickest of some looks for work, with so many VLANs and nothing to do. */
static uint64_t look_ns(int vlans)
{
	_cleanup_free_ char *yaml = NULL;
	uint64_t least = UINT64_MAX;
	size_t size;
	FILE *to = open_memstream(&yaml, &size);

	fprintf(to, HEAD "vlans:\n");
	for (int i = 1; i <= vlans; i++)
		fprintf(to, "  v%d: { link: eth0, id: %d }\n", i, i);
	fprintf(to, BLOCK RULES);
	fclose(to);
	rig_begin(&rig, BYPASS_ABILITY_READBACK);
	rig_write(&rig, yaml);
	rig_start(&rig);
	rig_settle(&rig);
	assert_int_equal(state_count(fake.world, KIND_VLAN), vlans);
	for (int i = 0; i < 20; i++) {
		_cleanup_(plan_clear) struct plan plan = { 0 };
		uint64_t begin = now_monotonic_ns();

		assert_int_equal(wanted_work(rig.o, &plan), 0);
		least = MIN(least, now_monotonic_ns() - begin);
		assert_int_equal(plan.count, 0);
	}
	rig_end(&rig);
	return least;
}

/* Eight times as many cost eight times as much, and not sixty-four times. */
static void a_look_at_many_vlans_takes_its_time_once(void **state)
{
	uint64_t few = look_ns(400), many = look_ns(3200);

	printf("a look at 400 VLANs: %.3f ms, at 3200: %.3f ms\n", (double)few / 1e6,
	       (double)many / 1e6);
	assert_true(many < 24 * few);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_leg_is_asked_for_once_it_is_made),
		TEST(a_block_is_bound_by_the_kernels_word),
		TEST(an_address_is_asked_for_before_it_is_missed),
		TEST(what_is_recorded_is_not_written_again),
		cmocka_unit_test(a_look_at_many_vlans_takes_its_time_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
