// SPDX-License-Identifier: GPL-2.0-or-later
/* What the answers say of sample_snapshot(), and that they are the shapes of the interface text. */
#include "tests/unit/check.h"

#include <stdio.h>

#include <cjson/cJSON.h>

#include "daemon/service/tally.h"
#include "tests/unit/service/answer.h"
#include "tests/unit/service/fake.h"
#include "tests/unit/service/shape.h"

static void test_status(void **state)
{
	cJSON *p = ask("Status", NULL);
	const cJSON *alerts = at(p, "alerts");

	is_number(p, "generation", 7);
	is_text(p, "last_outcome", "done");
	is_number(p, "last_apply_ms", 1700000000123.0);
	is_text(p, "last_error", NULL);
	is_text(p, "kernel", "6.1.0-test");
	is_number(p, "ports", 4);
	is_number(p, "ports_waiting", 1);
	is_number(p, "blocks", 1);
	is_number(p, "bypass_on", 0);
	is_number(p, "rules", 3);
	is_number(p, "filters", 3);
	is_number(p, "in_hw", 2);
	is_number(p, "missing", 1);
	is_number(p, "foreign_filters", 1);
	assert_int_equal(cJSON_GetArraySize(alerts), 1);
	is_text(alerts->child, "id", "bypass-off");
	cJSON_Delete(p);
}

static void test_ports(void **state)
{
	cJSON *p = ask("Ports", NULL);
	const cJSON *ports = at(p, "ports"), *port;

	assert_int_equal(cJSON_GetArraySize(ports), 5);
	port = named(ports, "name", "lan1");
	is_text(port, "state", "as wanted");
	is_text(port, "conduit", "eth0");
	is_text(port, "switch", "73776400");
	is_number(port, "port_number", 1);
	is_number(port, "ingress_block", 10);
	port = named(ports, "name", "lan2");
	is_text(port, "state", "differs"); /* its MTU, and no block is bound */
	is_number(port, "wanted_mtu", 1500);
	is_number(port, "mtu", 1400);
	port = named(ports, "name", "lan9");
	is_text(port, "state", "waiting");
	assert_true(cJSON_IsNull(at(port, "up")));
	port = named(ports, "name", "eth0"); /* nobody named it, but it is the conduit */
	is_text(port, "state", "found");
	is_text(port, "tagger", "rtl8_4");
	is_text(port, "conduit", NULL);
	assert_true(cJSON_IsNull(at(port, "tc_offload")));
	port = named(ports, "name", "eth0.10");
	is_text(port, "kind", "vlan");
	is_text(port, "link", "eth0");
	is_number(port, "vlan", 10);
	cJSON_Delete(p);
}

static void test_blocks(void **state)
{
	cJSON *p = ask("Blocks", NULL);
	const cJSON *block = at(p, "blocks")->child, *bindings = at(block, "bindings");

	is_text(block, "name", "edge");
	is_text(block, "offload", "required");
	is_text(block, "bypass", "off");
	is_number(block, "filters", 3);
	is_number(block, "foreign_filters", 1);
	is_number(block, "missing", 1);
	assert_int_equal(cJSON_GetArraySize(bindings), 3);
	is_text(named(bindings, "port", "lan1"), "state", "bound");
	is_text(named(bindings, "port", "lan2"), "state", "missing");
	is_text(named(bindings, "port", "lan9"), "state", "waiting");
	cJSON_Delete(p);
}

/* What is sent to a device that is not there waits for it. */
static void test_rule_waits(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = sample_snapshot();
	static const char *const devs[] = { "lan1", "lan9" };
	static const enum rule_state wanted[] = { RULE_MISSING, RULE_WAITING };

	for (size_t i = 0; i < ARRAY_SIZE(devs); i++) {
		struct action out = { .kind = ACTION_REDIRECT };
		struct match none = { 0 };
		struct filter *f;

		memcpy(out.dev, devs[i], strlen(devs[i]));
		f = filter_new(match_view(&none), &out, 1);
		assert_non_null(f);
		f->block = 10;
		assert_int_equal(rule_state(s, (const struct filter *[]){ f }, 1, 0), wanted[i]);
		object_unref(f);
	}
}

/* A matchall filter has no count, so that nothing is said of it. */
static void test_rule_is_held_by_some(void **state)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = sample_snapshot();
	static const enum rule_state wanted[] = { RULE_IN_HARDWARE, RULE_PARTLY, RULE_IN_HARDWARE };
	const struct filter *f = state_at(s->filters, KIND_FILTER, 0);

	for (uint32_t count = 0; count < ARRAY_SIZE(wanted); count++) {
		struct filter *held = filter_copy(state_find(s->found, f));

		held->in_hw_count = count;
		assert_int_equal(state_put(s->found, held), 0);
		assert_int_equal(rule_state(s, &f, 1, 2), wanted[count]);
	}
}

static void test_rules(void **state)
{
	cJSON *p = ask("Rules", "{\"block\":\"edge\"}");
	const cJSON *rules = at(p, "rules"), *rule = rules->child, *filter;

	assert_int_equal(cJSON_GetArraySize(rules), 3);
	is_text(rule, "name", "no-bogons");
	is_text(rule, "place", "swd.yaml:20");
	is_text(rule, "state", "in hardware");
	is_text(at(rule, "match"), "dst", "192.0.2.0/24");
	assert_true(cJSON_IsNull(at(rule, "ethertype")));
	is_text(named(rules, "name", "no-tests"), "ethertype", "ip");
	is_text(at(rule, "actions")->child, "text", "drop");
	filter = at(rule, "filters")->child;
	is_number(filter, "pref", 10);
	is_number(filter, "in_hw_count", 2);
	is_text(filter, "protocol", "ip");
	is_text(filter, "type", "flower");
	assert_true(cJSON_IsTrue(at(filter, "skip_sw")));
	assert_true(cJSON_IsTrue(at(filter, "in_hw")));
	is_text(named(rules, "name", "not-there"), "state", "missing");
	assert_true(cJSON_IsNull(at(named(rules, "name", "not-there"), "last_used_ms")));
	assert_int_equal(cJSON_GetArraySize(at(p, "others")), 1);
	is_text(at(p, "others")->child, "owner", "foreign");
	is_text(at(p, "others")->child, "type", "matchall");
	assert_true(at(p, "counters_age_ms")->valuedouble < 1000);
	cJSON_Delete(p);
}

static void test_counters_are_exact(void **state)
{
	int fd = client_connect(&fake);
	char *answer = client_ask(fd, "{\"method\":\"io.swd.Switch.Rules\"}");

	assert_non_null(strstr(answer, "\"packets\":9007199254740993,"));
	assert_non_null(strstr(answer, "\"bytes\":18014398509481987,"));
	free(answer);
	close(fd);
}

/* The engine is held by the kernel: Rules answers all the same, with the age of what it knows. */
static void test_rules_without_engine(void **state)
{
	cJSON *p;

	atomic_store(&fake.hold, true);
	p = ask("Rules", NULL);
	assert_true(at(p, "counters_age_ms")->valuedouble >= 3000);
	assert_int_equal(cJSON_GetArraySize(at(p, "rules")), 3);
	cJSON_Delete(p);
	/* However often one asks, one job is under way. */
	for (int i = 0; i < 5; i++)
		cJSON_Delete(ask("Rules", NULL));
	assert_int_equal(atomic_load(&fake.counter_jobs), 1);
	/* Who asks while it runs gets a reading that began after the question. */
	{
		int fd = client_connect(&fake);
		char *answer;

		client_say(fd, "{\"method\":\"io.swd.Switch.Rules\"}");
		usleep(20000);
		atomic_store(&fake.hold, false);
		answer = client_hear(fd);
		assert_non_null(answer);
		assert_int_equal(atomic_load(&fake.counter_jobs), 2);
		free(answer);
		close(fd);
	}
}

static void test_rules_in_pieces(void **state)
{
	enum {
		MORE = 5000
	};
	int fd, pieces = 0, rules = 0, others = 0;
	char *answer;

	fake_publish(&fake, sample_snapshot_rules(MORE));
	fd = client_connect(&fake);
	answer = client_ask(fd, "{\"method\":\"io.swd.Switch.Rules\"}");
	assert_non_null(strstr(answer, "org.varlink.service.ExpectedMore"));
	free(answer);
	client_say(fd, "{\"method\":\"io.swd.Switch.Rules\",\"more\":true}");
	for (bool more = true; more; pieces++) {
		cJSON *reply, *p;

		answer = client_hear(fd);
		assert_non_null(answer);
		assert_true(strlen(answer) < 128 << 10);
		reply = cJSON_Parse(answer);
		p = cJSON_GetObjectItem(reply, "parameters");
		shape_check("Rules", p);
		for (const cJSON *r = at(p, "rules")->child; r; r = r->next) {
			is_number(r, "position", rules);
			rules++;
		}
		others += cJSON_GetArraySize(at(p, "others"));
		more = cJSON_IsTrue(cJSON_GetObjectItem(reply, "continues"));
		cJSON_Delete(reply);
		free(answer);
	}
	assert_int_equal(rules, MORE + 3);
	assert_int_equal(others, 1);
	assert_true(pieces > 10);
	close(fd);
}

static void test_bypass(void **state)
{
	cJSON *p = ask("Bypass", NULL);
	const cJSON *b = at(p, "blocks")->child, *culprit;
	struct snapshot *s;

	is_text(p, "ability", "read-back");
	is_text(b, "block", "edge");
	is_text(b, "strategy", "kernel");
	is_text(b, "state", "off");
	is_number(b, "since_ms", 1700000000000.0);
	is_number(b, "cost", 3);
	is_number(b, "in_hw", 2);
	is_number(b, "packets", 1000);
	assert_true(cJSON_IsNull(at(b, "recent_packets")));
	culprit = at(b, "culprits")->child;
	is_number(culprit, "pref", 1);
	is_text(culprit, "protocol", "all");
	is_text(culprit, "owner", "foreign");
	is_text(culprit, "mend", "tc filter del block 10 pref 1");
	cJSON_Delete(p);

	s = sample_snapshot();
	s->made_ns += 2000000000ULL;
	s->bypass[0].state = BYPASS_ON;
	s->bypass[0].culprit_count = 0;
	s->bypass[0].reading.packets = 5000;
	fake_publish(&fake, s);
	p = ask("Bypass", "{\"block\":\"edge\"}");
	b = at(p, "blocks")->child;
	is_text(b, "state", "on");
	is_number(b, "cost", 0);
	is_number(b, "recent_packets", 4000);
	assert_in_range((int)at(b, "recent_ms")->valuedouble, 2000, 4000);
	cJSON_Delete(p);
}

/* The engine's part of an answer is not the snapshot's: what it says comes through whole. */
static void test_audit(void **state)
{
	cJSON *p = ask("Audit", "{\"block\":\"edge\"}");
	const cJSON *f = at(p, "findings")->child;

	is_number(p, "count", 3);
	is_text(f, "kind", "foreign");
	is_text(f, "block", "edge");
	is_text(f, "rule", NULL);
	is_text(f, "text", "block 10 chain 0 pref 1 protocol all matchall handle 0x1, not_in_hw");
	is_text(f, "risk",
		"breaks the bypass: up to 3 filters walked for each packet that reaches the "
		"CPU");
	assert_true(cJSON_IsTrue(at(f, "breaks")));
	is_text(at(f, "filter"), "type", "matchall");
	f = f->next;
	is_text(f, "kind", "partly");
	is_text(f, "rule", "no-tests");
	f = f->next;
	is_text(f, "kind", "missing");
	is_text(f, "place", "swd.yaml:22");
	assert_true(cJSON_IsNull(at(f, "filter")));
	cJSON_Delete(p);
}

static void test_on_trial(void **state)
{
	struct snapshot *s;
	cJSON *p = ask("Status", NULL);

	assert_true(cJSON_IsNull(at(p, "deadline")));
	cJSON_Delete(p);
	p = ask("Apply", "{\"text\":\"good\",\"why\":\"ticket 42\"}");
	assert_true(cJSON_IsNull(at(p, "deadline")));
	assert_int_equal(fake.confirm_ms, 0);
	assert_string_equal(fake.why, "ticket 42");
	cJSON_Delete(p);
	p = ask("Apply", "{\"confirm_ms\":60000}");
	is_number(at(p, "deadline"), "generation", 8);
	is_number(at(p, "deadline"), "back_to", 7);
	is_number(at(p, "deadline"), "confirm_ms", 60000);
	assert_in_range((int)at(at(p, "deadline"), "left_ms")->valuedouble, 50000, 60000);
	assert_int_equal(fake.confirm_ms, 60000);
	cJSON_Delete(p);
	p = ask("Revert", "{\"generation\":5,\"confirm_ms\":1000,\"why\":\"\"}");
	is_number(p, "generation", 8);
	assert_int_equal(fake.target, 5);
	cJSON_Delete(p);
	p = ask("Revert", NULL);
	assert_true(cJSON_IsNull(at(p, "deadline")));
	assert_int_equal(fake.target, 0);
	cJSON_Delete(p);
	atomic_store(&fake.armed, true);
	p = ask("Confirm", NULL);
	is_number(p, "generation", 8);
	cJSON_Delete(p);

	s = sample_snapshot();
	s->armed = (struct armed){ 8, 7, 60000, clock_boot_ns() + 30500000000ULL };
	fake_publish(&fake, s);
	p = ask("Status", NULL);
	assert_in_range((int)at(at(p, "deadline"), "left_ms")->valuedouble, 25000, 30500);
	cJSON_Delete(p);
	/* The deadline has passed, and the engine is busy elsewhere. */
	s = sample_snapshot();
	s->armed = (struct armed){ 8, 7, 60000, 1 };
	fake_publish(&fake, s);
	p = ask("Status", NULL);
	is_number(at(p, "deadline"), "left_ms", 0);
	cJSON_Delete(p);
}

static void test_history(void **state)
{
	cJSON *p = ask("History", NULL);
	const cJSON *g = at(p, "generations")->child;

	is_number(p, "current", 7);
	assert_int_equal(cJSON_GetArraySize(at(p, "generations")), 3);
	is_number(g, "id", 8);
	is_text(g, "outcome", "reverted");
	is_text(g, "error", "rule x: kernel: no");
	is_text(g, "why", NULL);
	g = g->next;
	is_number(g, "at_ms", 1700000000123.0);
	is_text(g, "who", "sw-cli pid 5");
	is_number(g, "uid", 1000);
	is_text(g, "why", "ticket \"42\"");
	is_text(g, "error", NULL);
	is_text(g, "file", "new.yaml");
	is_text(g->next, "file", NULL);
	is_number(g, "confirm_ms", 60000);
	assert_true(cJSON_IsNull(at(g, "reverts")));
	is_number(g->next, "reverts", 3);
	assert_true(cJSON_IsNull(at(g->next, "confirm_ms")));
	cJSON_Delete(p);
	p = ask("Generation", "{\"generation\":8}");
	is_number(at(p, "generation"), "id", 8);
	is_text(p, "diff", "+ x: missing\n- y: leftover\n");
	cJSON_Delete(p);
	p = ask("Generation", "{\"generation\":6}");
	is_text(p, "diff", NULL);
	cJSON_Delete(p);
	p = ask("Export", NULL);
	is_number(p, "generation", 7);
	is_text(p, "text", "version: 1 # \xe2\x82\xac\r\n\t\"\\\n");
	cJSON_Delete(p);
}

static void test_history_in_pieces(void **state)
{
	enum {
		MORE = 10000
	};
	int fd = client_connect(&fake), n = 0, pieces = 0;
	char *answer;

	atomic_store(&fake.history, MORE);
	answer = client_ask(fd, "{\"method\":\"io.swd.Switch.History\"}");
	assert_non_null(strstr(answer, "org.varlink.service.ExpectedMore"));
	free(answer);
	client_say(fd, "{\"method\":\"io.swd.Switch.History\",\"more\":true}");
	for (bool more = true; more; pieces++) {
		cJSON *reply, *p;

		answer = client_hear(fd);
		assert_non_null(answer);
		assert_true(strlen(answer) < 128 << 10);
		reply = cJSON_Parse(answer);
		p = cJSON_GetObjectItem(reply, "parameters");
		shape_check("History", p);
		is_number(p, "current", 7);
		for (const cJSON *g = at(p, "generations")->child; g; g = g->next, n++)
			is_number(g, "id", n < 3 ? 8 - n : 100 + n);
		more = cJSON_IsTrue(cJSON_GetObjectItem(reply, "continues"));
		cJSON_Delete(reply);
		free(answer);
	}
	assert_int_equal(n, MORE + 3);
	assert_true(pieces > 10);
	close(fd);
}

/* Before the first good file there is no configuration at all. */
static void test_nothing_yet(void **state)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	static const char *const methods[] = {
		"Status", "Ports", "Tx", "Blocks", "Rules", "Bypass"
	};

	s->refs = 1;
	fake_publish(&fake, s);
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		cJSON_Delete(ask(methods[i], NULL));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sample_start, sample_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_status),
		TEST(test_ports),
		TEST(test_blocks),
		TEST(test_rules),
		TEST(test_rule_waits),
		TEST(test_rule_is_held_by_some),
		TEST(test_counters_are_exact),
		TEST(test_rules_without_engine),
		TEST(test_rules_in_pieces),
		TEST(test_bypass),
		TEST(test_audit),
		TEST(test_on_trial),
		TEST(test_history),
		TEST(test_history_in_pieces),
		TEST(test_nothing_yet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
