// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What compile makes of each form of rule, as text: the filters of a block, a line each, in the
 * order of their prefs (which are left out where they do not matter). And what it refuses, word by
 * word.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>
#include <errno.h>

#include "daemon/kernel/cookie.h"
#include "tests/unit/policy/make.h"

static char *filters_text(const struct state *s)
{
	char *text = NULL, match[MATCH_TEXT], actions[ACTIONS_TEXT], protocol[16];
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (size_t i = 0; i < state_count(s, KIND_FILTER); i++) {
		const struct filter *x = state_at(s, KIND_FILTER, i);

		ethertype_print(x->protocol, protocol);
		match_print(filter_match(x), match);
		actions_print(filter_actions(x), x->action_count, actions);
		if (x->chain)
			fprintf(f, "chain %u ", x->chain);
		fprintf(f, "%s %s: %s: %s%s\n", protocol,
			x->type == FILTER_MATCHALL ? "matchall" : "flower", match, actions,
			x->flags == TCA_CLS_FLAGS_SKIP_SW   ? ""
			: x->flags == TCA_CLS_FLAGS_SKIP_HW ? " (skip_hw)"
							    : " (both)");
	}
	fclose(f);
	return text;
}

static void expect(const struct make_rule *rules, size_t n, const char *text)
{
	_cleanup_(config_unrefp) struct config *c = make_config(&make_block, rules, n);
	_cleanup_(state_freep) struct state *s = make_filters(c, NULL);
	_cleanup_free_ char *got = filters_text(s);

	assert_string_equal(got, text);
	for (size_t i = 0; i < state_count(s, KIND_FILTER); i++) {
		const struct filter *f = state_at(s, KIND_FILTER, i);

		assert_int_equal(f->owner, OWNER_OURS);
		assert_true(f->handle >= 1);
		assert_int_not_equal(f->pref, 0);
		assert_true(f->has_cookie && cookie_is_ours(f->cookie, 0));
		assert_non_null(f->rule);
		assert_int_equal(f->obj.origin.line, 20 + f->rule->position);
		assert_true(match_valid(filter_match(f)));
	}
}

#define RULE(...) ((struct make_rule){ .name = "r", __VA_ARGS__ })
#define EXPECT(text, ...) expect(&RULE(__VA_ARGS__), 1, text)

static void refuse(const struct make_rule *rules, size_t n, const char *text)
{
	_cleanup_(config_unrefp) struct config *c = make_config(&make_block, rules, n);
	_cleanup_free_ char *got = make_diags(c);

	assert_string_equal(got, text);
}

#define REFUSE(text, ...) \
	refuse(&RULE(__VA_ARGS__), 1, "swd.yaml:20:9: error: blocks.edge.rules[0]." text "\n")

static void test_families(void **state)
{
	EXPECT("ip flower: dst 192.0.2.0/24: drop\n", .match = "dst=192.0.2.0/24");
	EXPECT("ipv6 flower: src 2001:db8::/32: drop\n", .match = "src=2001:db8::/32");
	EXPECT("ip flower: proto tcp dport 179: trap\n"
	       "ipv6 flower: proto tcp dport 179: trap\n",
	       .match = "proto=tcp dport=179", .actions = "trap");
	EXPECT("ipv6 flower: proto tcp dport 179: drop\n", .match = "proto=tcp dport=179",
	       .ethertype = "ipv6");
	EXPECT("ip flower: proto icmp: drop\n", .match = "proto=icmp");
	EXPECT("ipv6 flower: proto icmpv6 icmp-type 135: drop\n",
	       .match = "proto=icmpv6 icmp-type=135");
	EXPECT("ip flower: proto icmp src 10.0.0.1 icmp-type 8: drop\n",
	       .match = "src=10.0.0.1 icmp-type=8");
	EXPECT("ip flower: proto tcp tcp-flags syn,!ack: drop\n"
	       "ipv6 flower: proto tcp tcp-flags syn,!ack: drop\n",
	       .match = "tcp-flags=syn,!ack");
	EXPECT("arp flower: arp-op request: trap\n", .match = "arp-op=request", .actions = "trap");
	EXPECT("arp flower: any: drop\n", .ethertype = "arp");
	EXPECT("lldp flower: any: trap\n", .ethertype = "0x88cc", .actions = "trap");
	EXPECT("ip flower: ttl 1: trap\nipv6 flower: ttl 1: trap\n", .match = "ttl=1",
	       .actions = "trap");
	EXPECT("ip flower: proto udp dport 1000-2000: drop\n"
	       "ipv6 flower: proto udp dport 1000-2000: drop\n",
	       .match = "proto=udp dport=1000-2000");
}

/* flower takes what a fragment does not show for zeros. */
static void test_fragments_show_no_ports(void **state)
{
	EXPECT("ip flower: proto icmp ip-flags !frag icmp-type 0: drop\n",
	       .match = "proto=icmp icmp-type=0");
	EXPECT("ip flower: proto icmp icmp-type 8 icmp-code 0: drop\n",
	       .match = "proto=icmp icmp-type=8 icmp-code=0");
	EXPECT("ip flower: proto udp ip-flags !frag src 10.0.0.1 dport 0-1023: drop\n",
	       .match = "proto=udp src=10.0.0.1 dport=0-1023");
	EXPECT("ip flower: proto tcp ip-flags !frag,!first-frag src 10.0.0.1 tcp-flags !syn: "
	       "drop\n",
	       .match = "src=10.0.0.1 tcp-flags=!syn ip-flags=!first-frag");
	REFUSE("match: no frame has both: a fragment shows no 'dport'",
	       .match = "proto=udp dport=0 ip-flags=frag");
}

static void test_tagging(void **state)
{
	EXPECT("802.1q flower: vlan 10 vlan-ethtype ip dst 198.51.100.0/24: drop\n",
	       .match = "vlan=10 dst=198.51.100.0/24");
	EXPECT("802.1q flower: vlan 10: drop\n", .match = "vlan=10");
	EXPECT("802.1q flower: vlan 10: drop\n", .match = "vlan=10", .ethertype = "all");
	EXPECT("802.1q flower: vlan-prio 5: drop\n", .match = "vlan-prio=5",
	       .tagging = TAGGING_VLAN);
	EXPECT("802.1q flower: any: drop\n", .ethertype = "802.1q");
	EXPECT("802.1ad flower: vlan 7 vlan-ethtype ip src 10.0.0.1: drop\n",
	       .match = "vlan=7 src=10.0.0.1", .ethertype = "802.1ad");
	EXPECT("802.1q flower: vlan 10 vlan-ethtype ip proto udp: drop\n"
	       "802.1q flower: vlan 10 vlan-ethtype ipv6 proto udp: drop\n",
	       .match = "vlan=10 proto=udp");
	EXPECT("802.1q flower: vlan 100 vlan-ethtype 802.1q cvlan 7: drop\n"
	       "802.1ad flower: vlan 100 vlan-ethtype 802.1q cvlan 7: drop\n",
	       .match = "vlan=100 cvlan=7");
	EXPECT("802.1ad flower: vlan-ethtype 802.1q cvlan 7 cvlan-ethtype ip dst 10.0.0.1: drop\n",
	       .match = "cvlan=7 dst=10.0.0.1", .ethertype = "802.1ad");
	EXPECT("all matchall: any: drop\n", .tagging = TAGGING_ANY);
	EXPECT("all matchall: any: drop\n", .ethertype = "all");
	EXPECT("all flower: src-mac 02:00:00:00:00:01: drop\n",
	       .match = "src-mac=02:00:00:00:00:01", .tagging = TAGGING_ANY);
}

/* A drop on addresses that says any is not escaped by adding a tag, or two. */
static void test_any_form_of_tag(void **state)
{
	EXPECT("ip flower: src 192.0.2.0/24: drop\n"
	       "802.1q flower: vlan-ethtype ip src 192.0.2.0/24: drop\n"
	       "802.1ad flower: vlan-ethtype ip src 192.0.2.0/24: drop\n"
	       "802.1q flower: vlan-ethtype 802.1q cvlan-ethtype ip src 192.0.2.0/24: drop\n"
	       "802.1q flower: vlan-ethtype 802.1ad cvlan-ethtype ip src 192.0.2.0/24: drop\n"
	       "802.1ad flower: vlan-ethtype 802.1q cvlan-ethtype ip src 192.0.2.0/24: drop\n"
	       "802.1ad flower: vlan-ethtype 802.1ad cvlan-ethtype ip src 192.0.2.0/24: drop\n",
	       .match = "src=192.0.2.0/24", .tagging = TAGGING_ANY);
}

static void test_actions(void **state)
{
	EXPECT("802.1q flower: vlan 10 vlan-ethtype ip dst 198.51.100.0/24: vlan-modify 20, "
	       "set-dst 02:00:00:00:00:09, dec-ttl, csum 0x1, redirect lan2\n",
	       .match = "vlan=10 dst=198.51.100.0/24",
	       .actions = "vlan-modify=20 set-dst=02:00:00:00:00:09 dec-ttl redirect=lan2");
	EXPECT("ip flower: any: dec-ttl, csum 0x1, redirect lan2\n"
	       "ipv6 flower: any: dec-ttl, redirect lan2\n",
	       .actions = "dec-ttl redirect=lan2");
	EXPECT("ip flower: dst 10.0.0.1: vlan-push 5 prio 0, vlan-modify 6, vlan-pop, pass\n",
	       .match = "dst=10.0.0.1", .actions = "vlan-push=5 vlan-modify=6 vlan-pop pass");
	EXPECT("ip flower: dst 10.0.0.1: drop (skip_hw)\n", .match = "dst=10.0.0.1",
	       .offload = OFFLOAD_OFF);
	EXPECT("ip flower: dst 10.0.0.1: drop (both)\n", .match = "dst=10.0.0.1",
	       .offload = OFFLOAD_PREFERRED);
}

/* What the kernel says back is compared byte by byte: the form it has must be the form we want. */
static void test_actions_are_settled(void **state)
{
	struct make_rule rule = RULE(.match = "vlan=10 proto=tcp",
				     .actions = "vlan-modify=20 dec-ttl vlan-push=3 pass");
	_cleanup_(config_unrefp) struct config *c = make_config(&make_block, &rule, 1);
	_cleanup_(state_freep) struct state *s = make_filters(c, NULL);
	const struct action *a;

	assert_int_equal(state_count(s, KIND_FILTER), 2);
	a = filter_actions(state_at(s, KIND_FILTER, 0));
	assert_int_equal(a[0].vlan.ethertype, 0x8100);
	assert_int_equal(a[1].kind, ACTION_DEC_TTL);
	assert_int_equal(a[1].ttl.family_v6, 0);
	assert_int_equal(a[2].kind, ACTION_CSUM);
	assert_int_equal(a[3].vlan.ethertype, 0x8100);
	a = filter_actions(state_at(s, KIND_FILTER, 1));
	assert_int_equal(a[1].ttl.family_v6, 1);
	assert_int_equal(a[2].kind, ACTION_VLAN_PUSH);
}

static void test_modify_keeps_the_tags_ethertype(void **state)
{
	struct make_rule rule = RULE(.match = "cvlan=10", .actions = "vlan-modify=20 pass");
	_cleanup_(config_unrefp) struct config *c = make_config(&make_block, &rule, 1);
	_cleanup_(state_freep) struct state *s = make_filters(c, NULL);

	for (size_t i = 0; i < 2; i++) {
		const struct filter *f = state_at(s, KIND_FILTER, i);

		assert_int_equal(filter_actions(f)[0].vlan.ethertype, f->protocol);
	}
}

static void test_refused_matches(void **state)
{
	REFUSE("match: 'dport' needs 'proto: tcp', 'udp' or 'sctp'", .match = "dport=53");
	REFUSE("match: 'sport' needs 'proto: tcp', 'udp' or 'sctp'",
	       .match = "proto=gre sport=53-60");
	REFUSE("match: 'icmp-type' needs 'proto: icmp' or 'proto: icmpv6'", .match = "icmp-type=8");
	REFUSE("match: 'icmp-type' needs 'proto: icmp' here",
	       .match = "src=10.0.0.1 proto=icmpv6 icmp-type=8");
	REFUSE("match: 'tcp-flags' needs 'proto: tcp'", .match = "proto=udp tcp-flags=syn");
	REFUSE("match: no frame has both: 'src' and 'dst' exclude each other",
	       .match = "src=10.0.0.1 dst=2001:db8::1");
	REFUSE("match: no frame has both: 'ethertype: ip' and 'dst' exclude each other",
	       .match = "dst=2001:db8::1", .ethertype = "ip");
	REFUSE("match: no frame has both: 'proto' and 'arp-op' exclude each other",
	       .match = "proto=tcp arp-op=request");
	/* RARP has the fields of ARP, but the kernel looks into ARP's two operations alone. */
	REFUSE("match: no frame has both: 'ethertype: 0x8035' and 'arp-op' exclude each other",
	       .match = "arp-op=request", .ethertype = "0x8035");
	REFUSE("match: 'dst' is not in every frame: say no 'ethertype: all'",
	       .match = "dst=10.0.0.1", .ethertype = "all");
	REFUSE("match: no filter can say 'every frame without a tag': say what is in it (add an "
	       "ethertype or a field of IP or ARP, or say 'tagging: any')",
	       .match = "src-mac=02:00:00:00:00:01");
	REFUSE("match: 'tagging: vlan' needs a match that says which VLAN (add 'vlan: ID', or say "
	       "'tagging: none' or 'any' here)",
	       .match = "dst=10.0.0.1", .tagging = TAGGING_VLAN);
	REFUSE("match.tagging: the rule matches on a tag, and says 'tagging: none'",
	       .match = "vlan=10", .tagging = TAGGING_NONE);
	REFUSE("match.tagging: the rule matches on a tag, and says 'tagging: any', which includes "
	       "frames without one",
	       .match = "vlan=10", .tagging = TAGGING_ANY);
}

static void test_refused_actions(void **state)
{
	REFUSE("action: 'trap' in software would swallow the frame (say 'offload: required' for "
	       "this rule, or 'pass')",
	       .match = "dst=10.0.0.1", .actions = "trap", .offload = OFFLOAD_PREFERRED);
	REFUSE("action: 'vlan-modify' on frames that may have no tag (match on a 'vlan', or use "
	       "'vlan-push')",
	       .match = "dst=10.0.0.1", .actions = "vlan-modify=5 pass");
	REFUSE("action: 'vlan-pop' on frames that may have no tag (match on a 'vlan', or use "
	       "'vlan-push')",
	       .match = "vlan=10", .actions = "vlan-pop vlan-pop pass");
	REFUSE("action: 'dec-ttl' behind two tags is for hardware alone (say 'offload: required', "
	       "or 'tagging: none' or a 'vlan')",
	       .match = "dst=10.0.0.1", .tagging = TAGGING_ANY, .actions = "dec-ttl pass",
	       .offload = OFFLOAD_PREFERRED);
	REFUSE("action: 'dec-ttl' needs IP: say no 'ethertype: all'", .ethertype = "all",
	       .actions = "dec-ttl pass");
	REFUSE("match: no frame has both: 'ethertype: arp' and 'dec-ttl' exclude each other",
	       .ethertype = "arp", .actions = "dec-ttl pass");
}

static void test_all_errors_at_once(void **state)
{
	const struct make_rule rules[] = {
		{ .name = "a", .match = "dport=1" },
		{ .name = "b", .match = "dst=10.0.0.1" },
		{ .name = "c", .match = "vlan=1", .tagging = TAGGING_ANY },
	};

	refuse(rules, 3,
	       "swd.yaml:20:9: error: blocks.edge.rules[0].match: 'dport' needs 'proto: tcp', "
	       "'udp' or 'sctp'\n"
	       "swd.yaml:22:9: error: blocks.edge.rules[2].match.tagging: the rule matches on a "
	       "tag, and says 'tagging: any', which includes frames without one\n");
}

static void test_required_bypass(void **state)
{
	const struct make_rule rules[] = {
		{ .name = "a", .match = "dst=10.0.0.1" },
		{ .name = "b", .match = "dst=10.0.0.2", .offload = OFFLOAD_PREFERRED },
	};
	struct block block = make_block;
	_cleanup_(config_unrefp) struct config *c = NULL;
	_cleanup_free_ char *got = NULL;

	block.bypass = BYPASS_WANT_REQUIRED;
	c = make_config(&block, rules, 2);
	got = make_diags(c);
	assert_string_equal(got,
			    "swd.yaml:21:9: error: blocks.edge.rules[1].offload: a rule that "
			    "software must look at would end the bypass that block edge requires: "
			    "each packet to the CPU would walk the block's filters\n");
}

static void test_chains_in_order(void **state)
{
	const struct make_rule rules[] = {
		{ .name = "a", .match = "dst=10.0.0.1", .chain = 5 },
		{ .name = "b", .match = "proto=tcp", .actions = "goto=5" },
		{ .name = "c", .match = "dst=10.0.0.3", .chain = 5 },
	};

	expect(rules, 3,
	       "ip flower: proto tcp: goto 5\n"
	       "ipv6 flower: proto tcp: goto 5\n"
	       "chain 5 ip flower: dst 10.0.0.1: drop\n"
	       "chain 5 ip flower: dst 10.0.0.3: drop\n");
}

/* The filters of one rule, without their keys. */
static size_t filters_of(const struct state *s, uint32_t position, const struct filter *ret[64])
{
	size_t n = 0;

	for (size_t i = 0; i < state_count(s, KIND_FILTER); i++) {
		const struct filter *f = state_at(s, KIND_FILTER, i);

		if (f->rule && f->rule->position == position)
			ret[n++] = f;
	}
	return n;
}

static bool same_content(const struct filter *a, const struct filter *b)
{
	uint8_t cookie[COOKIE_SIZE];

	cookie_make(a, 0, cookie);
	return a->protocol == b->protocol && a->chain == b->chain && a->flags == b->flags &&
	       a->role == b->role && memcmp(cookie, a->cookie, sizeof(cookie)) == 0 &&
	       kind_ops(KIND_FILTER)->satisfied(&a->obj, &b->obj);
}

static void compare_alone(const struct make_rule *two)
{
	_cleanup_(config_unrefp) struct config *both = make_config(&make_block, two, 2);
	_cleanup_(config_unrefp) struct config *one = make_config(&make_block, two + 1, 1);
	_cleanup_(state_freep) struct state *x = make_filters(both, NULL);
	_cleanup_(state_freep) struct state *y = make_filters(one, NULL);
	const struct filter *beside[64], *alone[64];
	size_t n = filters_of(x, 1, beside), m = filters_of(y, 0, alone), found = 0;

	assert_int_equal(n, m);
	assert_in_range(n, 1, 64);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(beside[i]->obj.origin.line, 21);
		for (size_t k = 0; k < m; k++)
			found += same_content(beside[i], alone[k]);
	}
	assert_int_equal(found, n);
}

/* What stands before it, and how like it that is, changes nothing of a rule. */
static void a_rule_is_what_it_is_alone(void **state)
{
	static const char *const matches[] = {
		"dst=192.0.2.1",
		"dst=198.51.100.7",
		"dst=192.0.2.0/24",
		"src=192.0.2.1",
		"src=10.0.0.0/8 dst=192.0.2.9",
		"src=11.0.0.0/8 dst=192.0.2.8",
		"dst=2001:db8::1",
		"dst=2001:db8::2",
		"proto=tcp dport=0",
		"proto=tcp dport=80",
		"proto=tcp dport=443",
		"proto=udp dport=80",
		"proto=tcp sport=0 dport=80",
		"proto=tcp sport=7 dport=0",
		"proto=tcp dport=0-1023",
		"proto=tcp dport=1-1023",
		"proto=tcp dport=2-1023",
		"proto=icmp icmp-type=0",
		"proto=icmp icmp-type=8",
		"proto=icmpv6 icmp-type=128",
		"tcp-flags=syn",
		"tcp-flags=!syn",
		"ip-flags=frag",
		"ip-flags=!frag",
		"ttl=3",
		"ttl=64",
		"tos=0x10",
		"arp-op=1",
		"arp-op=2",
		"vlan=10 dst=192.0.2.1",
		"vlan=11 dst=192.0.2.1",
		"vlan=10 cvlan=20 dst=192.0.2.1",
		"vlan=10 cvlan=21 dst=192.0.2.2",
		"src-mac=02:00:00:00:00:01 dst=192.0.2.1",
		"src-mac=02:00:00:00:00:02 dst=192.0.2.1",
	};
	static const char *const actions[] = { "drop", "dec-ttl redirect=lan2" };
	const size_t n = ARRAY_SIZE(matches);

	for (size_t i = 0; i < n * n * 8; i++) {
		bool arp = strstr(matches[i % n], "arp") || strstr(matches[i / n % n], "arp");
		bool tag = strstr(matches[i % n], "vlan") || strstr(matches[i / n % n], "vlan");
		size_t more = i / n / n;
		struct make_rule two[2] = {
			{ .name = "a", .match = matches[i % n], .actions = actions[more & 1] },
			{ .name = "b",
			  .match = matches[i / n % n],
			  .actions = actions[more >> 1 & 1] },
		};

		if (more >> 2 && !tag)
			two[0].tagging = two[1].tagging = TAGGING_ANY;
		if (!arp || more == 0)
			compare_alone(two);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_is_what_it_is_alone),
		cmocka_unit_test(test_families),
		cmocka_unit_test(test_fragments_show_no_ports),
		cmocka_unit_test(test_tagging),
		cmocka_unit_test(test_any_form_of_tag),
		cmocka_unit_test(test_actions),
		cmocka_unit_test(test_actions_are_settled),
		cmocka_unit_test(test_modify_keeps_the_tags_ethertype),
		cmocka_unit_test(test_refused_matches),
		cmocka_unit_test(test_refused_actions),
		cmocka_unit_test(test_all_errors_at_once),
		cmocka_unit_test(test_required_bypass),
		cmocka_unit_test(test_chains_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
