// SPDX-License-Identifier: GPL-2.0-or-later
/* A file that check finds good is not refused for its rules: the examples, and many rules. */
#include "tests/unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/yaml/load.h"
#include "make.h"

static const char *source_root;

static void test_examples(void **state)
{
	static const char *const names[] = { "demo", "edge", "stick", "switch" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *path = NULL, *text = NULL, *said = NULL;
		struct diags *d = diags_new(names[i]);
		struct config *c = NULL;
		size_t size;

		assert_true(asprintf(&path, "%s/config/examples/%s.yaml", source_root, names[i]) >
			    0);
		assert_int_equal(config_read_file(path, &text, &size), 0);
		assert_int_equal(config_load(text, size, d, &c), 0);
		said = make_diags(c);
		assert_string_equal(said, "");
		config_unref(c);
		diags_free(d);
	}
}

/* clang-format off */
static const char *const heads[] = {
	"", "    tagging: none\n", "    offload: preferred\n", "    offload: off\n",
};
static const char *const matches[] = {
	"{}", "{ vlan: 5 }", "{ vlan: 5, cvlan: 6 }", "{ cvlan: 6 }", "{ vlan-prio: 3 }",
	"{ vlan-prio: 3, cvlan-prio: 2 }", "{ src: 10.0.0.0/8 }", "{ vlan: 5, src: 10.0.0.0/8 }",
	"{ ethertype: all }", "{ ethertype: all, src: 10.0.0.0/8 }",
	"{ ethertype: all, proto: tcp }", "{ ethertype: all, vlan: 5 }", "{ ethertype: 802.1q }",
	"{ ethertype: 802.1ad }", "{ ethertype: 802.1q, vlan: 5 }",
	"{ ethertype: 802.1ad, vlan: 5 }", "{ ethertype: arp }", "{ ethertype: lldp }",
	"{ ethertype: 0x88cc, vlan: 5 }", "{ ethertype: ipv6, ttl: 1, vlan: 5 }",
	"{ dst-mac: 02:00:00:00:00:01 }", "{ ttl: 1 }", "{ arp-op: reply, vlan: 5 }",
	"{ proto: 17, dport: 5 }", "{ ip-flags: frag }", "{ ip-flags: frag, proto: tcp, dport: 5 }",
	"{ ip-flags: \"frag,!first-frag\", proto: tcp, dport: 5 }",
	"{ ip-flags: frag, proto: tcp, tcp-flags: syn }",
	"{ proto: icmp, src: \"2001:db8::/32\" }", "{ proto: icmpv6, ethertype: ip }",
	"{ proto: icmp, icmp-type: 8, ip-flags: frag }", "{ tagging: none, src: 10.0.0.0/8 }",
	"{ tagging: any, proto: tcp }",
};
static const char *const actions[] = {
	"drop", "trap", "{ mirror: lan2 }", "[ dec-ttl, redirect: lan2 ]",
	"[ vlan-pop, redirect: lan2 ]", "[ vlan-modify: 7, redirect: lan2 ]",
	"[ vlan-push: 7, redirect: lan2 ]", "[ vlan-pop, vlan-pop, redirect: lan2 ]",
	"[ vlan-pop, dec-ttl, redirect: lan2 ]", "[ vlan-push: 7, dec-ttl, redirect: lan2 ]",
	"[ set-dst: 02:00:00:00:00:01, redirect: lan2 ]",
	"{ police: { rate: 8bit, burst: 1 } }", "{ police: { rate: 10mbit, burst: 300m } }",
	"{ sample: { rate: 4294967295, group: 4294967295 } }",
};
/* clang-format on */

/* Compiles what is good; true if it was. */
static bool agree(const char *head, const char *match, const char *action)
{
	_cleanup_free_ char *text = NULL, *said = NULL;
	struct diags *d = diags_new("agree");
	struct config *c = NULL;
	bool good;

	assert_true(asprintf(&text,
			     "version: 1\nports: { lan1: {}, lan2: {} }\nblocks:\n  edge:\n"
			     "    id: 10\n    bind: [lan1]\n%s    rules:\n"
			     "      - { name: a, match: %s, action: %s }\n",
			     head, match, action) > 0);
	good = config_load(text, strlen(text), d, &c) == 0;
	if (good) {
		said = make_diags(c);
		if (*said)
			fail_msg("check finds good what is refused:\n%s%s", text, said);
	}
	config_unref(c);
	diags_free(d);
	return good;
}

static void test_agreement(void **state)
{
	size_t good = 0, all = 0;

	for (size_t h = 0; h < ARRAY_SIZE(heads); h++)
		for (size_t m = 0; m < ARRAY_SIZE(matches); m++)
			for (size_t a = 0; a < ARRAY_SIZE(actions); a++, all++)
				good += agree(heads[h], matches[m], actions[a]);
	/* A check that refuses everything would agree as well. */
	assert_true(good > all / 3);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_examples),
					    cmocka_unit_test(test_agreement) };

	source_root = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
