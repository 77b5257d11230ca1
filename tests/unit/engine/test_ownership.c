// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose is it? What is not provably ours stays, what is ours goes, and everything is named. */
#include "../check.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/engine/audit.h"
#include "daemon/engine/owned.h"
#include "daemon/engine/teardown.h"
#include "daemon/kernel/cookie.h"
#include "fake_world.h"
#include "files.h"
#include "rig.h"

#define RULE_ONE "      - { name: one, match: { dst: 198.51.100.0/24 }, action: %s }\n"
#define RULE_TWO "      - { name: two, match: { dst: 203.0.113.0/24 }, action: drop }\n"
/* A rule's action, or NULL: without it. */
static const char *file_with(const char *action, char to[1024])
{
	char one[128] = "";

	if (action)
		snprintf(one, sizeof(one), RULE_ONE, action);
	snprintf(to, 1024, HEAD VLANS BLOCK "    rules:\n%s" RULE_TWO, one);
	return to;
}

static void start_with(struct rig *r, const char *yaml, enum bypass_ability ability)
{
	rig_begin(r, ability);
	rig_write(r, yaml);
	rig_start(r);
	rig_settle(r);
	assert_int_equal(r->newest->last_outcome, APPLY_DONE);
	fake_reset_counts();
}

/* ---- a filter that another has swapped, and no event told us yet ---- */

static const struct filter *filter_on(const char *dst)
{
	for (size_t i = 0; i < fake_filters(10); i++) {
		const struct filter *f = fake_filter(10, i);
		struct match m = { 0 };

		field_parse("dst", dst, &m, NULL);
		if (match_compare(filter_match(f), match_view(&m)) == 0)
			return f;
	}
	return NULL;
}

static void swap_quietly(const struct filter *ours, bool other_swd)
{
	struct filter *f = filter_copy(ours);

	f->owner = OWNER_FOREIGN;
	f->has_cookie = other_swd;
	if (other_swd)
		cookie_make(f, fake.instance + 1, f->cookie);
	world_put(f);
}

static void swapped_filter_is_not_removed(void **state)
{
	struct rig r;
	char text[1024];
	const struct filter *f;

	start_with(&r, file_with("drop", text), BYPASS_ABILITY_READBACK);
	f = filter_on("198.51.100.0/24");
	assert_non_null(f);
	swap_quietly(f, false);
	rig_write(&r, file_with(NULL, text));
	rig_reload_ok(&r);
	rig_settle(&r);
	f = filter_on("198.51.100.0/24");
	assert_non_null(f);
	assert_int_equal(f->owner, OWNER_FOREIGN);
	assert_non_null(filter_on("203.0.113.0/24"));
	assert_non_null(rig_alert(&r, "foreign"));
	rig_end(&r);
}

static void swapped_filter_is_not_replaced(void **state)
{
	struct rig r;
	char text[1024];
	struct job *job;
	const struct filter *f;

	start_with(&r, file_with("drop", text), BYPASS_ABILITY_READBACK);
	swap_quietly(filter_on("198.51.100.0/24"), true);
	rig_write(&r, file_with("trap", text));
	job = rig_reload(&r);
	assert_int_equal(job->outcome, APPLY_REVERTED);
	assert_non_null(strstr(r.newest->last_error, "another"));
	job_free(job);
	rig_settle(&r);
	f = filter_on("198.51.100.0/24");
	assert_int_equal(f->owner, OWNER_FOREIGN);
	assert_int_equal(filter_actions(f)[0].kind, ACTION_DROP);
	rig_end(&r);
}

/* ---- start ---- */

static void start_adopts_replaces_and_removes(void **state)
{
	struct rig r;
	char text[1024];
	const struct filter *theirs;
	struct filter *held;

	start_with(&r, file_with("drop", text), BYPASS_ABILITY_READBACK);
	rig_stop(&r);
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(fake.requests, 0);
	rig_stop(&r);

	/* One rule less, one filter of another swd more. */
	held = object_ref(filter_on("203.0.113.0/24"));
	swap_quietly(held, true);
	rig_write(&r, file_with(NULL, text));
	rig_start(&r);
	rig_settle(&r);
	assert_null(filter_on("198.51.100.0/24"));
	theirs = state_find(fake.world, held);
	assert_int_equal(theirs->owner, OWNER_FOREIGN);
	/* Ours stands beside it, in another pref. */
	assert_int_equal(fake_filters(10), 2);
	object_unref(held);
	rig_end(&r);
}

/* ---- audit ---- */

static const struct audit_finding *finding(const struct audit *a, enum audit_kind kind)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->list[i].kind == kind)
			return &a->list[i];
	return NULL;
}

static void look(struct rig *r, struct audit *a)
{
	const struct state *wanted = r->newest->config->wanted;

	audit_clear(a);
	for (size_t i = 0; i < state_count(wanted, KIND_BLOCK); i++)
		assert_int_equal(audit_block(r->newest, state_at(wanted, KIND_BLOCK, i), a), 0);
	assert_int_equal(audit_leftovers(r->newest, a), 0);
	for (size_t i = 0; i < a->count; i++) {
		assert_true(a->list[i].text[0] != '\0');
		assert_true(a->list[i].mend[0] != '\0');
	}
}

static void refresh(struct rig *r)
{
	job_free(rig_job(r, JOB_COUNTERS, 0));
}

static void changed_flags(const char *dst, uint32_t clear, uint32_t count)
{
	struct filter *f = filter_copy(filter_on(dst));

	f->flags &= ~clear;
	f->in_hw_count = count;
	world_put(f);
}

static void audit_of_a_clean_box_finds_nothing(void **state)
{
	struct rig r;
	struct audit a = { 0 };

	start_with(&r, FILE_ONE, BYPASS_ABILITY_READBACK);
	look(&r, &a);
	assert_int_equal(a.count, 0);
	audit_clear(&a);
	rig_end(&r);
}

static void audit_names_foreign_filters(void **state)
{
	struct rig r;
	struct audit a = { 0 };
	const struct audit_finding *n;
	char text[1024];

	start_with(&r, file_with("drop", text), BYPASS_ABILITY_READBACK);
	fake_add_filter(10, 60000, NULL, 0);
	rig_settle(&r);
	refresh(&r);
	look(&r, &a);
	assert_int_equal(a.count, 1);
	n = finding(&a, AUDIT_FOREIGN);
	assert_non_null(n);
	assert_true(n->breaks);
	assert_non_null(strstr(n->text, "pref 60000 protocol all matchall handle 0x1, no flags"));
	assert_non_null(strstr(n->risk, "breaks the bypass"));
	assert_non_null(strstr(n->mend, "tc filter del block 10 pref 60000, or foreign: evict in "
					"swd.yaml:"));
	/* Another swd's, where a rule of ours belongs. */
	fake_del_pref(10, 60000);
	swap_quietly(filter_on("198.51.100.0/24"), true);
	refresh(&r);
	look(&r, &a);
	n = finding(&a, AUDIT_OTHER_SWD);
	assert_non_null(n);
	assert_false(n->breaks);
	assert_non_null(strstr(n->text, "of the swd with mark 0x"));
	assert_string_equal(n->risk, "rule one can't be put in");
	assert_string_equal(n->place, "swd.yaml:15");
	n = finding(&a, AUDIT_MISSING);
	assert_string_equal(n->rule->name, "one");
	audit_clear(&a);
	rig_end(&r);
}

static void audit_says_what_hardware_lacks_and_no_more(void **state)
{
	struct rig r;
	struct audit a = { 0 };
	const struct audit_finding *n;
	char text[1024];

	start_with(&r, file_with("drop", text), BYPASS_ABILITY_READBACK);
	/* Two members and one callback: it may be one for both ports. */
	changed_flags("198.51.100.0/24", 0, 1);
	changed_flags("203.0.113.0/24", 0, 1);
	refresh(&r);
	look(&r, &a);
	assert_null(finding(&a, AUDIT_PARTLY));
	changed_flags("203.0.113.0/24", 0, 2);
	refresh(&r);
	look(&r, &a);
	n = finding(&a, AUDIT_PARTLY);
	assert_non_null(n);
	assert_string_equal(n->rule->name, "one");
	assert_non_null(strstr(n->text, "held by 1 of at least 2"));
	changed_flags("203.0.113.0/24", TCA_CLS_FLAGS_IN_HW, 0);
	refresh(&r);
	look(&r, &a);
	assert_null(finding(&a, AUDIT_PARTLY));
	n = finding(&a, AUDIT_DEAD);
	assert_non_null(n);
	assert_string_equal(n->rule->name, "two");
	assert_string_equal(n->risk, "nobody looks at it");
	audit_clear(&a);
	rig_end(&r);
}

static void audit_sees_qdiscs_and_leftovers(void **state)
{
	struct rig r;
	struct audit a = { 0 };
	const struct audit_finding *n;

	start_with(&r, FILE_ONE, BYPASS_ABILITY_READBACK);
	fake_add_qdisc("eth0", "clsact", 10);
	rig_settle(&r);
	refresh(&r);
	look(&r, &a);
	n = finding(&a, AUDIT_BINDING);
	assert_non_null(n);
	assert_non_null(strstr(n->text, "eth0 binds block 10"));
	fake_del_qdisc("lan1");
	fake_add_qdisc("lan1", "ingress", 0);
	rig_settle(&r);
	refresh(&r);
	look(&r, &a);
	n = finding(&a, AUDIT_QDISC);
	assert_non_null(n);
	assert_non_null(strstr(n->text, "lan1 has a ingress qdisc of others"));
	/* Nothing is wanted of the block, but a foreign filter keeps our qdisc. */
	fake_add_filter(10, 60000, "10.0.0.1", TCA_CLS_FLAGS_SKIP_SW);
	fake_del_qdisc("eth0");
	rig_settle(&r);
	rig_write(&r, HEAD VLANS);
	rig_reload_ok(&r);
	rig_settle(&r);
	refresh(&r);
	look(&r, &a);
	n = finding(&a, AUDIT_LEFTOVER);
	assert_non_null(n);
	assert_null(n->block);
	assert_non_null(strstr(n->text, "lan2"));
	audit_clear(&a);
	rig_end(&r);
}

static void audit_lists_so_many_and_counts_the_rest(void **state)
{
	struct rig r;
	struct audit a = { 0 };

	start_with(&r, FILE_ONE, BYPASS_ABILITY_READBACK);
	for (uint16_t i = 0; i < AUDIT_MOST + 50; i++)
		fake_add_filter(10, (uint16_t)(50000 + i), NULL, 0);
	rig_settle(&r);
	refresh(&r);
	look(&r, &a);
	assert_int_equal(a.count, AUDIT_MOST);
	assert_int_equal(a.hidden, 50);
	audit_clear(&a);
	rig_end(&r);
}

/* ---- teardown ---- */

static char told[4096];

static void hear(const char *line, void *data)
{
	strncat(told, line, sizeof(told) - strlen(told) - 2);
	strcat(told, "\n");
}

static int tear_down(struct rig *r, struct teardown *ret)
{
	struct engine_options options = { .config_path = r->config, .state_dir = r->state };

	told[0] = '\0';
	return teardown_run(&options, hear, NULL, ret);
}

static void teardown_leaves_none_of_ours(void **state)
{
	struct rig r;
	struct teardown t;

	start_with(&r, FILE_ONE, BYPASS_ABILITY_READBACK);
	rig_stop(&r);
	fake_add_address("eth0", "192.0.2.78/24");
	assert_int_equal(tear_down(&r, &t), 0);
	assert_int_equal(t.ours, 0);
	assert_true(t.removed >= 6);
	assert_int_equal(state_count(fake.world, KIND_FILTER), 0);
	assert_int_equal(state_count(fake.world, KIND_QDISC), 0);
	assert_int_equal(state_count(fake.world, KIND_VLAN), 0);
	assert_int_equal(state_count(fake.world, KIND_ADDRESS), 1);
	assert_string_equal(told, "");
	/* Twice is once; and a start brings all back. */
	assert_int_equal(tear_down(&r, &t), 0);
	assert_int_equal(t.removed, 0);
	rig_start(&r);
	rig_settle(&r);
	assert_true(fake_filters(10) >= 3);
	rig_end(&r);
}

static void teardown_names_what_it_left(void **state)
{
	struct rig r;
	struct teardown t;

	rig_begin(&r, BYPASS_ABILITY_READBACK);
	fake_add_qdisc("lan1", "clsact", 10);
	rig_write(&r, FILE_ONE);
	rig_start(&r);
	rig_settle(&r);
	fake_add_filter(10, 60000, "10.0.0.1", TCA_CLS_FLAGS_SKIP_SW);
	rig_stop(&r);
	/* lan1's was there before swd: so lan2's can go, and the filter stays. */
	assert_int_equal(tear_down(&r, &t), 0);
	assert_int_equal(t.foreign, 2);
	assert_int_equal(fake_filters(10), 1);
	assert_non_null(strstr(told, "pref 60000 protocol ip flower handle 0x1: not swd's"));
	assert_non_null(strstr(told, "lan1"));
	assert_null(strstr(told, "lan2"));

	rig_start(&r);
	rig_settle(&r);
	rig_stop(&r);
	fake_del_qdisc("lan1");
	fake_add_address("core.100", "192.0.2.77/24");
	/* Now only ours holds them. */
	assert_int_equal(tear_down(&r, &t), -EBUSY);
	assert_int_equal(t.ours, 2);
	assert_int_equal(fake_filters(10), 1);
	assert_non_null(strstr(told, "stays, since it holds a foreign filter"));
	assert_non_null(strstr(told, "vlan core.100: stays, since it holds a foreign address"));
	rig_end(&r);
}

static void teardown_ends_a_trial(void **state)
{
	struct rig r;
	struct teardown t;

	start_with(&r, FILE_ONE, BYPASS_ABILITY_READBACK);
	job_free(rig_apply(&r, FILE_TWO, 3600000));
	assert_int_equal(r.newest->armed.generation, 2);
	rig_stop(&r);
	assert_int_equal(tear_down(&r, &t), 0);
	assert_int_equal(t.ours, 0);
	rig_start(&r);
	assert_int_equal(r.newest->armed.generation, 0);
	assert_int_equal(r.newest->generation, 1);
	rig_end(&r);
}

/* Filters go by their mark; what else is ours only the store knows. */
static void teardown_without_a_store_is_not_sure(void **state)
{
	struct rig r;
	struct teardown t;

	start_with(&r, FILE_ONE, BYPASS_ABILITY_READBACK);
	rig_stop(&r);
	rig_sql(&r, "PRAGMA user_version = 99");
	assert_int_equal(tear_down(&r, &t), -ENODEV);
	assert_non_null(strstr(told, "the store can't be read"));
	assert_int_equal(fake_filters(10), 0);
	assert_int_equal(state_count(fake.world, KIND_QDISC), 2);
	rig_end(&r);
}

/* ---- a counter against a history ---- */

static void count_packets(const char *dev, uint64_t packets)
{
	struct qdisc key = { .obj.kind = KIND_QDISC }, *q = object_new(KIND_QDISC, sizeof(*q));
	const struct qdisc *was;

	copy_name(key.dev, sizeof(key.dev), dev);
	was = state_find(fake.world, &key);
	assert_non_null(was);
	memcpy(q->dev, was->dev, sizeof(q->dev));
	memcpy(q->type, was->type, sizeof(q->type));
	q->ingress_block = was->ingress_block;
	q->packets = packets;
	world_put(q);
}

static const struct bypass_report *counted(struct rig *r, uint64_t packets)
{
	count_packets("lan1", packets);
	refresh(r);
	return snapshot_bypass(r->newest, 10);
}

static void counter_disproves_a_history(void **state)
{
	struct rig r;
	const struct bypass_report *b;
	struct audit a = { 0 };

	start_with(&r, FILE_ONE, BYPASS_ABILITY_MARKS);
	assert_int_equal(counted(&r, 5)->state, BYPASS_ON);
	assert_int_equal(counted(&r, 6)->state, BYPASS_ON); /* too soon after our own changes */
	usleep(1050000);
	fake.other_direction = true;
	for (uint64_t n = 7; n < 12; n++) /* whatever moves it: the other direction may */
		assert_int_equal(counted(&r, n)->state, BYPASS_ON);
	fake.other_direction = false;
	assert_int_equal(counted(&r, 11)->state, BYPASS_ON);
	assert_int_equal(counted(&r, 12)->state, BYPASS_ON); /* once may be chance */
	b = counted(&r, 13);
	assert_int_equal(b->state, BYPASS_OFF);
	assert_int_equal(b->evidence, BYPASS_BY_COUNTERS);
	look(&r, &a);
	assert_non_null(finding(&a, AUDIT_MARK));
	audit_clear(&a);
	/* Forgotten when a filter changes. */
	fake_del_filter(10, 0);
	rig_settle(&r);
	assert_int_equal(counted(&r, 13)->state, BYPASS_ON);
	rig_end(&r);
}

/* ---- devices with other names ---- */

static void record(struct state *s, enum kind kind, const char *name, const char *detail)
{
	struct object *o;

	assert_int_equal(owned_parse(kind, name, detail, &o), 0);
	assert_int_equal(state_add(s, o, NULL), 0);
}

static bool has(const struct state *s, enum kind kind, const char *name, const char *detail)
{
	_cleanup_object_ struct object *o = NULL;

	assert_int_equal(owned_parse(kind, name, detail, &o), 0);
	return owned_has(s, o);
}

/* Two that swap their names, at once; and one that gets the name of a device that is no more. */
static void records_follow_their_devices(void **state)
{
	static const struct owned_rename swap[] = { { "lan1", "lan3" }, { "lan3", "lan1" } };
	static const struct owned_rename move[] = { { "lan3", "lan1" } };
	static const struct owned_rename none[] = { { "lan7", "lan8" } };
	struct state *s = state_new(), *now = NULL;

	record(s, KIND_QDISC, "lan1", "clsact ingress=10 egress=0");
	record(s, KIND_QDISC, "lan3", "clsact ingress=11 egress=0");
	record(s, KIND_ADDRESS, "lan1", "192.0.2.1/24");
	record(s, KIND_VLAN, "lan3.5", "link=lan3 id=5 protocol=0x8100");
	assert_int_equal(owned_renamed(s, none, 1, &now), 0);
	assert_null(now);
	assert_int_equal(owned_renamed(s, swap, 2, &now), 0);
	assert_true(has(now, KIND_QDISC, "lan3", "clsact ingress=10 egress=0"));
	assert_true(has(now, KIND_QDISC, "lan1", "clsact ingress=11 egress=0"));
	assert_true(has(now, KIND_ADDRESS, "lan3", "192.0.2.1/24"));
	assert_false(has(now, KIND_ADDRESS, "lan1", "192.0.2.1/24"));
	assert_true(has(now, KIND_VLAN, "lan3.5", "link=lan1 id=5 protocol=0x8100"));
	assert_int_equal(state_count(now, KIND_QDISC), 2);
	state_free(now);
	assert_int_equal(owned_renamed(s, move, 1, &now), 0);
	assert_true(has(now, KIND_QDISC, "lan1", "clsact ingress=11 egress=0"));
	assert_int_equal(state_count(now, KIND_QDISC), 1);
	assert_true(has(now, KIND_ADDRESS, "lan1", "192.0.2.1/24"));
	state_free(now);
	state_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_follow_their_devices),
		cmocka_unit_test(swapped_filter_is_not_removed),
		cmocka_unit_test(swapped_filter_is_not_replaced),
		cmocka_unit_test(start_adopts_replaces_and_removes),
		cmocka_unit_test(audit_of_a_clean_box_finds_nothing),
		cmocka_unit_test(audit_names_foreign_filters),
		cmocka_unit_test(audit_says_what_hardware_lacks_and_no_more),
		cmocka_unit_test(audit_sees_qdiscs_and_leftovers),
		cmocka_unit_test(audit_lists_so_many_and_counts_the_rest),
		cmocka_unit_test(teardown_leaves_none_of_ours),
		cmocka_unit_test(teardown_names_what_it_left),
		cmocka_unit_test(teardown_ends_a_trial),
		cmocka_unit_test(teardown_without_a_store_is_not_sure),
		cmocka_unit_test(counter_disproves_a_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
