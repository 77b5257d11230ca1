// SPDX-License-Identifier: GPL-2.0-or-later
/* What others break comes back, what is theirs stays, and nobody is fought for ever. */
#include "../check.h"

#include <errno.h>

#include <stdio.h>

#include "files.h"
#include "rig.h"

#define EVICT "    foreign: evict\n"

static void start_with(struct rig *r, const char *yaml)
{
	rig_begin(r, BYPASS_ABILITY_READBACK);
	rig_write(r, yaml);
	rig_start(r);
	rig_settle(r);
	assert_int_equal(r->newest->last_outcome, APPLY_DONE);
	fake_reset_counts();
}

/* Breaks nothing itself: lets it settle and compares. */
static void comes_back(struct rig *r, const char *before)
{
	char *after;

	rig_settle(r);
	after = fake_text();
	assert_same_kernel(before, after);
	assert_true(r->newest->settled);
	free(after);
}

static void deleted_filter_comes_back(void **state)
{
	struct rig r;
	char *before;

	start_with(&r, FILE_ONE);
	before = fake_text();
	fake_del_filter(10, 1);
	comes_back(&r, before);
	assert_int_equal(fake.requests, 1);
	assert_true(rig_has_event(&r, "repaired"));
	assert_int_equal(r.newest->repairs, 1);
	fake_del_pref(10, fake_filter(10, 0)->pref);
	comes_back(&r, before);
	free(before);
	rig_end(&r);
}

static void all_filters_of_a_block_come_back(void **state)
{
	struct rig r;
	char *before;

	start_with(&r, FILE_ONE);
	before = fake_text();
	while (fake_filters(10))
		fake_del_filter(10, 0);
	comes_back(&r, before);
	free(before);
	rig_end(&r);
}

static void deleted_clsact_is_bound_again(void **state)
{
	struct rig r;
	char *before;

	start_with(&r, FILE_ONE);
	before = fake_text();
	fake_del_qdisc("lan1");
	comes_back(&r, before);
	assert_int_equal(fake.requests, 1);
	/* Both: with the last one all filters go, and nothing says so. */
	fake_del_qdisc("lan1");
	fake_del_qdisc("lan2");
	assert_int_equal(fake_filters(10), 0);
	comes_back(&r, before);
	free(before);
	rig_end(&r);
}

static void port_goes_and_comes(void **state)
{
	struct rig r;
	char *before;

	start_with(&r, FILE_ONE);
	before = fake_text();
	fake_del_port("lan1");
	rig_settle(&r);
	assert_non_null(rig_alert(&r, "port-waiting"));
	assert_non_null(strstr(rig_alert(&r, "port-waiting")->text, "lan1"));
	assert_null(state_port(r.newest->found, "lan1"));
	fake_add_port("lan1", "cpu0", 1);
	comes_back(&r, before);
	assert_null(rig_alert(&r, "port-waiting"));
	/* Both ports of the block at once, and at once back. */
	fake_del_port("lan1");
	fake_del_port("lan2");
	fake_add_port("lan2", "cpu0", 0);
	fake_add_port("lan1", "cpu0", 1);
	before = without(before, "port lan2");
	rig_settle(&r);
	char *after = without(fake_text(), "port lan2");
	assert_same_kernel(before, after);
	assert_true(state_port(fake.world, "lan2")->up);
	free(after);
	free(before);
	rig_end(&r);
}

static void port_is_renamed_and_back(void **state)
{
	struct rig r;
	char *before;

	start_with(&r, FILE_ONE);
	before = fake_text();
	fake_rename_port("lan2", "up2");
	rig_settle(&r);
	assert_non_null(rig_alert(&r, "port-waiting"));
	fake_rename_port("up2", "lan2");
	comes_back(&r, before);
	free(before);
	rig_end(&r);
}

static void late_ports_are_configured_on_arrival(void **state)
{
	struct rig r;

	rig_begin(&r, BYPASS_ABILITY_READBACK);
	fake_del_port("lan1");
	fake_del_port("lan2");
	rig_write(&r, FILE_ONE);
	rig_start(&r);
	assert_int_equal(r.newest->last_outcome, APPLY_DONE);
	assert_false(r.ready);
	assert_int_equal(fake.refused, 0);
	assert_int_equal(state_count(fake.world, KIND_FILTER), 0);
	fake_add_port("lan1", "cpu0", 1);
	fake_add_port("lan2", "cpu0", 1);
	rig_settle(&r);
	assert_true(fake_filters(10) >= 3);
	assert_true(r.ready);
	assert_int_equal(fake.refused, 0);
	rig_end(&r);
}

static void changed_port_is_put_right(void **state)
{
	struct rig r;
	char *before;

	start_with(&r, FILE_ONE);
	before = fake_text();
	fake_set_up("lan1", false);
	comes_back(&r, before);
	free(before);
	rig_end(&r);
}

static void foreign_filter_stays_and_is_told_once(void **state)
{
	struct rig r;
	char *before;

	start_with(&r, FILE_ONE);
	fake_add_filter(10, 1, NULL, 0);
	before = fake_text();
	comes_back(&r, before);
	assert_int_equal(fake.requests, 0);
	assert_non_null(rig_alert(&r, "foreign"));
	r.event_count = 0;
	fake_set_up("eth0", true); /* something else happens */
	rig_settle(&r);
	assert_false(rig_has_event(&r, "alert"));
	/* Our own reload works around it. */
	rig_write(&r, FILE_TWO);
	rig_reload_ok(&r);
	rig_settle(&r);
	assert_int_equal(fake_filter(10, 0)->owner, OWNER_FOREIGN);
	free(before);
	rig_end(&r);
}

static void foreign_filter_is_evicted(void **state)
{
	struct rig r;
	char *before;

	start_with(&r, HEAD BLOCK EVICT RULES);
	before = fake_text();
	fake_add_filter(10, 1, NULL, 0);
	comes_back(&r, before);
	assert_true(rig_has_event(&r, "evict"));
	free(before);
	rig_end(&r);
}

static void foreign_qdisc_is_a_conflict(void **state)
{
	struct rig r;
	struct job *job;
	char *before, *after;

	start_with(&r, "version: 1\nports: { lan1: { up: true } }\n");
	fake_add_qdisc("lan1", "clsact", 0);
	rig_settle(&r);
	before = fake_text();
	rig_write(&r, FILE_ONE);
	job = rig_reload(&r);
	assert_int_equal(job->outcome, APPLY_REFUSED);
	assert_int_equal(fake.requests, 0);
	assert_non_null(strstr(diags_at(job->diags, 0)->text, "takeover"));
	job_free(job);
	after = fake_text();
	assert_same_kernel(before, after);
	free(after);
	free(before);
	rig_write(&r, HEAD BLOCK "    takeover: true\n" RULES);
	rig_reload_ok(&r);
	assert_true(fake_log_find("- clsact on lan1", 0) < fake_log_find("+ clsact on lan1", 0));
	rig_end(&r);
}

static void foreign_vlan_and_address_stay(void **state)
{
	struct rig r;

	start_with(&r, FILE_ONE);
	fake_add_address("core.100", "192.0.2.99/24");
	rig_settle(&r);
	rig_write(&r, HEAD VLANS);
	rig_reload_ok(&r);
	rig_settle(&r);
	assert_int_equal(state_count(fake.world, KIND_ADDRESS), 2);
	/* A qdisc with a foreign filter in its block stays as well. */
	rig_end(&r);
	start_with(&r, FILE_ONE);
	fake_add_filter(10, 9, "203.0.113.0/24", TCA_CLS_FLAGS_SKIP_SW);
	rig_settle(&r);
	rig_write(&r, HEAD VLANS);
	rig_reload_ok(&r);
	rig_settle(&r);
	assert_int_equal(fake_filters(10), 1);
	assert_int_equal(state_count(fake.world, KIND_QDISC), 2);
	assert_non_null(rig_alert(&r, "conflict"));
	rig_end(&r);
}

static void lost_events_become_one_look_at_everything(void **state)
{
	struct rig r;
	char *before;

	start_with(&r, FILE_ONE);
	before = fake_text();
	fake_del_filter(10, 0);
	fake_del_qdisc("lan2");
	fake.lose_events = true;
	comes_back(&r, before);
	assert_true(rig_has_event(&r, "lost"));
	free(before);
	rig_end(&r);
}

static void a_dump_that_misses_one_deletes_nothing(void **state)
{
	struct rig r;
	char *before;

	start_with(&r, FILE_ONE);
	before = fake_text();
	fake.dump_misses_one = true;
	fake.lose_events = true;
	comes_back(&r, before);
	assert_int_equal(fake.requests, 0);
	free(before);
	rig_end(&r);
}

static void who_keeps_breaking_makes_us_wait(void **state)
{
	struct rig r;
	size_t repaired = 0;

	start_with(&r, FILE_ONE);
	for (int i = 0; i < 40; i++) {
		if (fake_filters(10) < 3)
			break;
		fake_del_filter(10, 0);
		for (int j = 0; j < 4; j++) {
			owner_readable(r.o);
			usleep(3000);
			owner_tick(r.o);
		}
		repaired += fake_filters(10) >= 3;
	}
	assert_in_range(repaired, BACKOFF_FREE, BACKOFF_FREE + 3);
	assert_non_null(rig_alert(&r, "drift"));
	/* It is back in the end. */
	usleep(250000);
	rig_settle(&r);
	assert_true(fake_filters(10) >= 3);
	rig_end(&r);
}

static void what_is_refused_is_tried_more_and_more_seldom(void **state)
{
	struct rig r;
	uint64_t until = now_monotonic_ns() + 1000000000ULL;

	start_with(&r, FILE_ONE);
	fake_del_filter(10, 0);
	fake.fail_all_from = 1;
	while (now_monotonic_ns() < until) {
		owner_readable(r.o);
		owner_tick(r.o);
		usleep(2000);
	}
	/* 0, 100, 300, 700 ms and perhaps one more. */
	assert_in_range(fake.requests, 3, 5);
	assert_non_null(rig_alert(&r, "refused"));
	assert_false(r.newest->settled);
	fake.fail_all_from = 0;
	rig_reload_ok(&r); /* an apply forgets the waiting */
	assert_true(fake_filters(10) >= 3);
	rig_settle(&r);
	assert_null(rig_alert(&r, "refused"));
	rig_end(&r);
}

static void what_was_refused_is_put_right_by_others(void **state)
{
	struct rig r;

	start_with(&r, FILE_ONE);
	fake_set_up("lan1", false);
	fake.fail_all_from = 1;
	owner_readable(r.o);
	rig_settle(&r);
	assert_non_null(rig_alert(&r, "refused"));
	fake_set_up("lan1", true);
	owner_readable(r.o);
	rig_settle(&r);
	assert_true(r.newest->settled);
	assert_null(rig_alert(&r, "refused"));
	rig_end(&r);
}

static uint64_t took(uint64_t start)
{
	return (now_monotonic_ns() - start) / 1000000;
}

/* Each time events are lost the whole is stale; one look after the storm is enough. */
static void nl_01_a_storm_is_one_look(void **state)
{
	size_t looks = 0;
	uint64_t start;
	struct rig r;

	start_with(&r, FILE_ONE);
	usleep(250000);
	start = now_monotonic_ns();
	for (int i = 0; i < 100; i++) {
		uint64_t before = r.o->full_dump_ns;

		fake.lose_events = true;
		fake_set_up("lan2", i % 2);
		owner_readable(r.o);
		usleep(6000); /* the settle time is over */
		owner_tick(r.o);
		looks += r.o->full_dump_ns != before;
	}
	assert_true(looks >= 1 && looks <= 1 + took(start) / 200);
	rig_settle(&r);
	assert_true(r.newest->settled);
	assert_int_equal(state_port(fake.world, "lan1")->up, 1);
	rig_end(&r);
}

/* What can't be read is not gone: nothing is changed, and it is said. */
static void nl_02_no_stable_state_is_no_empty_one(void **state)
{
	char *before, *now;
	struct job *job;
	struct rig r;

	start_with(&r, FILE_ONE);
	before = fake_text();
	fake_reset_counts();
	fake.dump_error = -EAGAIN;
	usleep(250000);
	fake.lose_events = true;
	fake_set_up("lan2", true);
	for (int i = 0; i < 5; i++) {
		owner_readable(r.o);
		usleep(50000);
		owner_tick(r.o);
	}
	assert_int_equal(fake.requests, 0);
	assert_non_null(strstr(rig_alert(&r, "dump")->text, "changes faster than it can be read"));
	job = rig_reload(&r);
	assert_int_equal(job->outcome, APPLY_REFUSED);
	assert_non_null(strstr(diags_at(job->diags, 0)->text, "changes faster than"));
	job_free(job);
	rig_write(&r, "version: 1\n");
	job = rig_reload(&r);
	assert_int_equal(job->outcome, APPLY_REFUSED);
	job_free(job);
	assert_int_equal(fake.requests, 0);
	rig_write(&r, FILE_ONE);
	fake.dump_error = 0;
	rig_settle(&r);
	assert_null(rig_alert(&r, "dump"));
	now = fake_text();
	assert_same_kernel(before, now);
	free(now);
	free(before);
	rig_end(&r);
}

/* An apply does not wait for the storm to be over, nor is it refused for it. */
static void an_apply_in_a_storm_looks_by_itself(void **state)
{
	struct job *job;
	struct rig r;

	start_with(&r, FILE_ONE);
	fake.lose_events = true;
	fake_set_up("lan2", true);
	owner_readable(r.o);
	owner_tick(r.o);
	fake.lose_events = true;
	fake_set_up("lan2", false);
	rig_write(&r, FILE_TWO);
	job = rig_reload(&r);
	assert_int_equal(job->outcome, APPLY_DONE);
	job_free(job);
	rig_end(&r);
}

#define MANY 60

/* A block of many rules, and an audit of it that has begun: a filter is a part. */
static void start_audit(struct rig *r)
{
	static char yaml[16384];
	size_t used = (size_t)snprintf(yaml, sizeof(yaml), "%s", HEAD BLOCK "    rules:\n");

	for (int i = 0; i < MANY; i++)
		used += (size_t)snprintf(yaml + used, sizeof(yaml) - used,
					 "      - { name: r%d, match: { dst: 10.1.%d.1 }, "
					 "action: drop }\n",
					 i, i);
	start_with(r, yaml);
	assert_int_equal(fake_filters(10), MANY);
	fake.part = 1;
	r->o->audit_due = 0;
	owner_tick(r->o);
	assert_in_range(fake.parts, 1, 3);
}

static void a_breakage_waits_for_no_audit(void **state)
{
	struct rig r;
	char *before;
	size_t parts;

	start_audit(&r);
	before = fake_text();
	usleep(6000); /* the settle time behind what the audit did at once */
	fake_del_filter(10, MANY / 2);
	parts = fake.parts;
	owner_readable(r.o);
	assert_int_equal(fake.requests, 1);
	assert_int_equal(fake.parts, parts);
	comes_back(&r, before);
	assert_true(fake.parts >= MANY); /* the audit came to its end */
	assert_int_equal(fake.requests, 1);
	free(before);
	rig_end(&r);
}

/* What happens while a block is read is newer than the part that was written before. */
static void a_part_brings_nothing_back(void **state)
{
	struct rig r;

	start_audit(&r);
	fake_add_filter(10, 60000, "203.0.113.0/24", TCA_CLS_FLAGS_SKIP_SW);
	while (fake.parts < MANY) {
		owner_readable(r.o);
		owner_tick(r.o);
	}
	/* The part with the foreign one is written, and not read. */
	assert_int_equal(fake.parts, MANY);
	fake_del_handle(10, 60000, 1);
	rig_settle(&r);
	assert_int_equal(fake.parts, MANY + 1);
	assert_int_equal(state_count(r.newest->found, KIND_FILTER), MANY);
	assert_int_equal(fake.requests, 0);
	rig_end(&r);
}

/* An audit finds what no event told of. */
static void an_audit_finds_what_nobody_told(void **state)
{
	struct rig r;
	char *before;

	start_audit(&r);
	rig_settle(&r);
	before = fake_text();
	fake_del_filter(10, 3);
	fake_del_filter(10, 5);
	fake_forget_events();
	rig_settle(&r);
	assert_int_equal(fake_filters(10), MANY - 2);
	r.o->audit_due = 0;
	comes_back(&r, before);
	assert_int_equal(fake.requests, 2);
	free(before);
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deleted_filter_comes_back),
		cmocka_unit_test(all_filters_of_a_block_come_back),
		cmocka_unit_test(deleted_clsact_is_bound_again),
		cmocka_unit_test(port_goes_and_comes),
		cmocka_unit_test(port_is_renamed_and_back),
		cmocka_unit_test(late_ports_are_configured_on_arrival),
		cmocka_unit_test(changed_port_is_put_right),
		cmocka_unit_test(foreign_filter_stays_and_is_told_once),
		cmocka_unit_test(foreign_filter_is_evicted),
		cmocka_unit_test(foreign_qdisc_is_a_conflict),
		cmocka_unit_test(foreign_vlan_and_address_stay),
		cmocka_unit_test(lost_events_become_one_look_at_everything),
		cmocka_unit_test(a_dump_that_misses_one_deletes_nothing),
		cmocka_unit_test(who_keeps_breaking_makes_us_wait),
		cmocka_unit_test(what_is_refused_is_tried_more_and_more_seldom),
		cmocka_unit_test(what_was_refused_is_put_right_by_others),
		cmocka_unit_test(a_breakage_waits_for_no_audit),
		cmocka_unit_test(a_part_brings_nothing_back),
		cmocka_unit_test(an_audit_finds_what_nobody_told),
		cmocka_unit_test(nl_01_a_storm_is_one_look),
		cmocka_unit_test(nl_02_no_stable_state_is_no_empty_one),
		cmocka_unit_test(an_apply_in_a_storm_looks_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
