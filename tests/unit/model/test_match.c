/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields, matches and actions: text to bytes and back, order, masks, overlap. */
#include "tests/unit/check.h"

#include <errno.h>
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/model/action.h"
#include "config/model/form.h"
#include "config/model/match.h"

static const struct {
	const char *name, *text, *printed; /* printed NULL: as text */
} good[] = {
	{ "dst-mac", "02:00:00:00:00:09" },
	{ "dst-mac", "01:00:00:00:00:00/01:00:00:00:00:00" },
	{ "src-mac", "00:00:00:00:00:00" },
	{ "vlan", "0" },
	{ "vlan", "4094" },
	{ "vlan-prio", "7" },
	{ "cvlan", "20" },
	{ "cvlan-prio", "0" },
	{ "proto", "tcp" },
	{ "proto", "6", "tcp" },
	{ "proto", "253" },
	{ "tos", "184/0xfc" },
	{ "ttl", "1" },
	{ "ttl", "0/0xfe" },
	{ "ip-flags", "frag" },
	{ "ip-flags", "!frag,!first-frag" },
	{ "src", "192.0.2.0/24" },
	{ "src", "192.0.2.7" },
	{ "src", "192.0.2.7/32", "192.0.2.7" },
	{ "dst", "10.0.0.1/255.0.0.255" },
	{ "src", "2001:db8::/32" },
	{ "dst", "2001:db8::/32" },
	{ "sport", "1024-65535" },
	{ "dst", "::1/128", "::1" },
	{ "sport", "0" },
	{ "dport", "179" },
	{ "dport", "1000-2000" },
	{ "dport", "4096/0xf000" },
	{ "tcp-flags", "syn,!ack" },
	{ "icmp-type", "8" },
	{ "icmp-code", "0" },
	{ "arp-op", "request" },
	{ "arp-op", "3" },
	{ "arp-sender", "192.0.2.1" },
	{ "arp-target", "192.0.2.0/24" },
	{ "arp-sender-mac", "02:00:00:00:00:01" },
	{ "arp-target-mac", "02:00:00:00:00:01" },
};

static void test_every_field_reads_what_it_prints(void **state)
{
	bool seen[FIELD_COUNT_] = { false };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct match m = { 0 };
		struct match_entry e = { 0 };
		size_t offset = 0;
		char text[FIELD_TEXT];
		int r = field_parse(good[i].name, good[i].text, &m, NULL);

		if (r < 0)
			fail_msg("%s: %s: %d", good[i].name, good[i].text, r);
		assert_true(match_valid(match_view(&m)));
		assert_true(match_next(match_view(&m), &offset, &e));
		field_print(e.field, e.value, e.mask, text);
		assert_string_equal(text, good[i].printed ? good[i].printed : good[i].text);
		seen[e.field] = true;
	}
	for (size_t f = 0; f < FIELD_COUNT_; f++)
		if (!seen[f] && !field_row((enum field)f)->internal)
			fail_msg("no vector for row %zu (%s)", f, field_row((enum field)f)->name);
}

static void test_every_field_says_what_it_is_about(void **state)
{
	for (size_t f = 0; f < FIELD_COUNT_; f++) {
		const struct field_row *row = field_row((enum field)f);

		if (!row->carries || row->carries & ~CARRIES_ANYTHING ||
		    (row->protos && row->carries != CARRIES_IP))
			fail_msg("row %zu (%s): about %x", f, row->name, row->carries);
	}
	assert_int_equal(field_row(FIELD_IPV6_DST)->carries, CARRIES_IPV6);
	assert_true(carries_proto(field_row(FIELD_DPORT)->protos, 132)); /* SCTP */
	assert_false(carries_proto(field_row(FIELD_DPORT)->protos, 0));
}

static void test_bad_fields_change_nothing(void **state)
{
	static const struct {
		const char *name, *text;
		int result;
	} bad[] = {
		{ "vlan", "4095", -ERANGE },	    { "vlan", "-1", -EINVAL },
		{ "vlan", "10 ", -EINVAL },	    { "vlan-prio", "8", -ERANGE },
		{ "proto", "256", -ERANGE },	    { "proto", "tpc", -EINVAL },
		{ "ttl", "0/0", -ERANGE },	    { "ttl", "3/0xfe", -EINVAL },
		{ "src", "192.0.2.1/24", -EINVAL }, { "src", "192.0.2.0/33", -ERANGE },
		{ "src", "0.0.0.0/0", -ERANGE },    { "src", "10.0.0.1/255.0.0.0", -EINVAL },
		{ "arp-sender", "::1", -EINVAL },   { "dport", "65536", -ERANGE },
		{ "dport", "2000-1000", -EINVAL },  { "dport", "5-5", -EINVAL },
		{ "dport", "22:22", -EINVAL },	    { "tcp-flags", "syn,syn", -EINVAL },
		{ "tcp-flags", "", -EINVAL },	    { "tcp-flags", "syn,", -EINVAL },
		{ "dst-mac", "02:00", -EINVAL },    { "no-such", "1", -ENOENT },
		{ "vlan-ethtype", "ip", -ENOENT },
	};
	struct match m = { 0 };

	match_set_u8(&m, FIELD_ICMP_CODE, 5);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct match copy = m;
		int r = field_parse(bad[i].name, bad[i].text, &copy, NULL);

		if (r != bad[i].result)
			fail_msg("%s: \"%s\": %d", bad[i].name, bad[i].text, r);
		assert_memory_equal(&copy, &m, sizeof(m));
	}
	assert_int_equal(field_parse("icmp-code", "6", &m, NULL), -EEXIST);
}

static void test_one_name_one_row(void **state)
{
	struct match m = { 0 };

	assert_int_equal(field_parse("src", "192.0.2.0/24", &m, NULL), 0);
	assert_int_equal(field_parse("src", "2001:db8::/32", &m, NULL), -EEXIST);
	assert_int_equal(field_parse("sport", "5", &m, NULL), 0);
	assert_int_equal(field_parse("sport", "1-2", &m, NULL), -EEXIST);
}

static void test_order_of_setting_does_not_show(void **state)
{
	struct match a = { 0 }, b = { 0 };
	const uint8_t noise[4] = { 10, 1, 2, 3 }, mask[4] = { 0xff, 0xff, 0, 0 };
	const uint8_t clean[4] = { 10, 1, 0, 0 };
	uint16_t port;

	match_set_u16(&a, FIELD_DPORT, 179);
	match_set(&a, FIELD_IPV4_DST, noise, mask);
	match_set_u8(&a, FIELD_IP_PROTO, 6);
	match_set_u8(&b, FIELD_IP_PROTO, 17);
	match_set(&b, FIELD_IPV4_DST, clean, mask);
	match_set_u16(&b, FIELD_DPORT, 179);
	match_set_u8(&b, FIELD_IP_PROTO, 6);
	assert_int_equal(match_compare(match_view(&a), match_view(&b)), 0);
	assert_true(match_get_u16(match_view(&a), FIELD_DPORT, &port));
	assert_int_equal(port, 179);
	match_clear(&b, FIELD_DPORT);
	assert_int_not_equal(match_compare(match_view(&a), match_view(&b)), 0);
	assert_false(match_has(match_view(&b), FIELD_DPORT));
}

static bool overlap(const char *name, const char *a, const char *b)
{
	struct match x = { 0 }, y = { 0 };

	assert_int_equal(field_parse(name, a, &x, NULL), 0);
	assert_int_equal(field_parse(name, b, &y, NULL), 0);
	assert_int_equal(match_overlap(match_view(&x), match_view(&y)),
			 match_overlap(match_view(&y), match_view(&x)));
	return match_overlap(match_view(&x), match_view(&y));
}

static void test_overlap_and_masks(void **state)
{
	struct match x = { 0 }, y = { 0 };

	assert_false(overlap("dst", "10.0.0.0/8", "11.0.0.0/8"));
	assert_true(overlap("dst", "10.0.0.0/8", "10.1.0.0/16"));
	assert_true(overlap("dst", "10.0.0.0/8", "2001:db8::/32")); /* conservative */
	assert_false(overlap("dport", "1000-2000", "2001-3000"));
	assert_true(overlap("dport", "1000-2000", "2000-3000"));
	assert_false(overlap("dport", "1000-2000", "999"));
	assert_true(overlap("dport", "1000-2000", "1500"));

	assert_int_equal(field_parse("dst", "10.0.0.0/8", &x, NULL), 0);
	assert_int_equal(field_parse("dst", "11.0.0.0/8", &y, NULL), 0);
	assert_true(match_same_mask(match_view(&x), match_view(&y)));
	assert_int_equal(field_parse("dport", "1-2", &x, NULL), 0);
	assert_int_equal(field_parse("dport", "1-2", &y, NULL), 0);
	assert_false(match_same_mask(match_view(&x), match_view(&y)));
}

static void test_a_form_holds_masks_and_what_is_not_free(void **state)
{
	static const uint8_t net[4] = { 255, 255, 255, 0 }, wide[4] = { 255, 255, 0, 0 };
	static const uint8_t here[4] = { 10, 1, 2, 0 }, there[4] = { 10, 3, 4, 0 };
	struct match a = { 0 }, b = { 0 };
	struct form form;

	match_set(&a, FIELD_IPV4_DST, here, net);
	match_set_u8(&a, FIELD_IP_PROTO, 6);
	form_make(match_view(&a), 1u << FIELD_IPV4_DST, &form);
	assert_true(form_fits(&form, match_view(&a)));

	match_set(&b, FIELD_IPV4_DST, there, net);
	assert_false(form_fits(&form, match_view(&b))); /* a field less */
	match_set_u8(&b, FIELD_IP_PROTO, 6);
	assert_true(form_fits(&form, match_view(&b)));
	match_set_u8(&b, FIELD_IP_PROTO, 17);
	assert_false(form_fits(&form, match_view(&b)));
	match_set_u8(&b, FIELD_IP_PROTO, 6);
	match_set(&b, FIELD_IPV4_DST, there, wide);
	assert_false(form_fits(&form, match_view(&b)));
	match_clear(&b, FIELD_IPV4_DST);
	match_set(&b, FIELD_IPV4_SRC, there, net);
	assert_false(form_fits(&form, match_view(&b)));
}

static void test_malformed_bytes_are_seen(void **state)
{
	static const uint8_t unsorted[] = { FIELD_TTL, 1, 255, FIELD_TOS, 1, 255 };
	static const uint8_t cut[] = { FIELD_TTL, 1 };
	static const uint8_t unknown[] = { FIELD_COUNT_, 1, 255 };

	assert_false(match_valid((struct match_view){ unsorted, sizeof(unsorted) }));
	assert_false(match_valid((struct match_view){ cut, sizeof(cut) }));
	assert_false(match_valid((struct match_view){ unknown, sizeof(unknown) }));
	assert_true(match_valid((struct match_view){ unsorted, 3 }));
}

static void test_all_fields_fit(void **state)
{
	struct match m = { 0 };
	uint8_t ones[16];
	char text[MATCH_TEXT];

	memset(ones, 0xff, sizeof(ones));
	for (int f = FIELD_COUNT_ - 1; f >= 0; f--)
		match_set(&m, (enum field)f, ones, ones);
	assert_true(match_valid(match_view(&m)));
	match_print(match_view(&m), text);
	assert_true(strlen(text) < MATCH_TEXT);
}

static void test_actions_print_and_json(void **state)
{
	struct action list[] = {
		{ .kind = ACTION_VLAN_MODIFY, .vlan = { .id = 20 } },
		{ .kind = ACTION_SET_DST, .mac = { 2, 0, 0, 0, 0, 9 } },
		{ .kind = ACTION_DEC_TTL },
		{ .kind = ACTION_POLICE, .police = { .rate_bit = 10000000, .burst = 65536 } },
		{ .kind = ACTION_REDIRECT, .dev = "lan2" },
	};
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	_cleanup_free_ char *json = NULL;
	char text[ACTIONS_TEXT];

	actions_print(list, ARRAY_SIZE(list), text);
	assert_string_equal(text, "vlan-modify 20, set-dst 02:00:00:00:00:09, dec-ttl, "
				  "police rate 10mbit burst 64k, redirect lan2");
	actions_json(list, ARRAY_SIZE(list), w);
	assert_int_equal(jsonw_take(w, &json, NULL), 0);
	assert_string_equal(json,
			    "[{\"vlan-modify\":20},{\"set-dst\":\"02:00:00:00:00:09\"},"
			    "\"dec-ttl\",{\"police\":{\"rate\":\"10mbit\",\"burst\":\"64k\"}},"
			    "{\"redirect\":\"lan2\"}]");
}

/* "Keep the protocol" and "make it 802.1Q" differ; a push without a word is 802.1Q. */
static void test_vlan_json_loses_nothing(void **state)
{
	struct action list[] = {
		{ .kind = ACTION_VLAN_MODIFY, .vlan = { .id = 20, .ethertype = 0x8100 } },
		{ .kind = ACTION_VLAN_PUSH, .vlan = { .id = 21, .ethertype = 0x8100 } },
		{ .kind = ACTION_VLAN_PUSH, .vlan = { .id = 22, .ethertype = 0x88a8 } },
	};
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	_cleanup_free_ char *json = NULL;

	actions_json(list, ARRAY_SIZE(list), w);
	assert_int_equal(jsonw_take(w, &json, NULL), 0);
	assert_string_equal(json, "[{\"vlan-modify\":{\"id\":20,\"protocol\":\"802.1q\"}},"
				  "{\"vlan-push\":21},"
				  "{\"vlan-push\":{\"id\":22,\"protocol\":\"802.1ad\"}}]");
}

static void test_every_action_has_a_name(void **state)
{
	for (size_t k = 0; k < ACTION_COUNT_; k++)
		assert_non_null(action_name((enum action_kind)k));
	for (size_t i = 0; action_name_at(i); i++) {
		enum action_kind kind;

		assert_int_equal(action_kind_parse(action_name_at(i), &kind), 0);
		assert_string_equal(action_name(kind), action_name_at(i));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_field_reads_what_it_prints),
		cmocka_unit_test(test_every_field_says_what_it_is_about),
		cmocka_unit_test(test_bad_fields_change_nothing),
		cmocka_unit_test(test_one_name_one_row),
		cmocka_unit_test(test_order_of_setting_does_not_show),
		cmocka_unit_test(test_overlap_and_masks),
		cmocka_unit_test(test_a_form_holds_masks_and_what_is_not_free),
		cmocka_unit_test(test_malformed_bytes_are_seen),
		cmocka_unit_test(test_all_fields_fit),
		cmocka_unit_test(test_actions_print_and_json),
		cmocka_unit_test(test_vlan_json_loses_nothing),
		cmocka_unit_test(test_every_action_has_a_name),
	};

	return cmocka_run_group_tests_name("match", tests, NULL, NULL);
}
