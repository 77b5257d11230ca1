/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words everyone needs: numbers with units, addresses, JSON, messages with places. */
#include "tests/unit/check.h"

#include <errno.h>

#include "config/base/arena.h"
#include "config/base/diag.h"
#include "config/base/jsonw.h"
#include "config/base/netaddr.h"
#include "config/base/units.h"

static void test_numbers_never_wrap(void **state)
{
	static const struct {
		const char *text;
		int result;
		uint64_t value;
	} vectors[] = {
		{ "0", 0, 0 },
		{ "1", 0, 1 },
		{ "4094", 0, 4094 },
		{ "0x10", 0, 16 },
		{ "4095", -ERANGE, 0 },
		{ "99999999999", -ERANGE, 0 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "0x10000000000000001", -ERANGE, 0 },
		{ "010", -EINVAL, 0 },
		{ "00", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ "10.5", -EINVAL, 0 },
		{ "10 ", -EINVAL, 0 },
		{ " 10", -EINVAL, 0 },
		{ "22:22", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "0x", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		uint64_t value = 77;
		int r = parse_u64(vectors[i].text, 0, 4094, &value);

		if (r != vectors[i].result || value != (r ? 77 : vectors[i].value))
			fail_msg("parse_u64(\"%s\") = %d, %llu", vectors[i].text, r,
				 (unsigned long long)value);
	}
}

static void test_units_both_ways(void **state)
{
	char text[UNITS_TEXT];
	uint64_t value;

	assert_int_equal(parse_duration_ms("250ms", &value), 0);
	assert_int_equal(value, 250);
	assert_int_equal(parse_duration_ms("1.5s", &value), 0);
	assert_int_equal(value, 1500);
	assert_int_equal(parse_duration_ms("1d", &value), 0);
	assert_int_equal(value, 86400000);
	assert_int_equal(parse_duration_ms("60", &value), -EINVAL);
	assert_int_equal(parse_duration_ms("0.3ms", &value), -EINVAL);
	assert_int_equal(parse_duration_ms("300000000000000d", &value), -ERANGE);
	assert_int_equal(parse_rate_bit("2.5gbit", &value), 0);
	assert_int_equal(value, 2500000000);
	assert_int_equal(parse_rate_bit("10mbps", &value), -EINVAL);
	assert_int_equal(parse_size("64k", &value), 0);
	assert_int_equal(value, 65536);

	for (uint64_t v = 1; v < 1u << 30; v = v * 3 + 1) {
		uint64_t back;

		print_duration_ms(v, text);
		assert_int_equal(parse_duration_ms(text, &back), 0);
		assert_int_equal(back, v);
		print_rate_bit(v, text);
		assert_int_equal(parse_rate_bit(text, &back), 0);
		assert_int_equal(back, v);
		print_size(v, text);
		assert_int_equal(parse_size(text, &back), 0);
		assert_int_equal(back, v);
	}
}

static void test_addresses_are_strict(void **state)
{
	static const char *const wrong[] = { "10.1",	    "010.0.0.1", "10.0.0.1/33",
					     "10.0.0.1/-1", "10.0.0.1/", "2001:db8::/129",
					     "2001:db8::g", "",		 "10.0.0.1 ",
					     "10.0.0.1/08", "1.2.3.4.5", "::1/ 64" };
	uint8_t addr[16], len, mac[6];
	char text[NETADDR_TEXT];
	int family;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (ip_prefix_parse(wrong[i], &family, addr, &len) == 0)
			fail_msg("\"%s\" passed for an address", wrong[i]);
	assert_int_equal(ip_prefix_parse("10.0.0.1/33", &family, addr, &len), -ERANGE);

	assert_int_equal(ip_prefix_parse("192.0.2.1/31", &family, addr, &len), 0);
	assert_int_equal(family, 4);
	assert_int_equal(len, 31);
	assert_true(ip_host_bits(4, addr, 31));
	assert_false(ip_host_bits(4, addr, 32));
	assert_int_equal(ip_prefix_parse("2001:db8::1", &family, addr, &len), 0);
	assert_int_equal(len, 128);
	ip_print(6, addr, text);
	assert_string_equal(text, "2001:db8::1");

	assert_int_equal(mac_parse("02:00:00:00:00:09", mac), 0);
	assert_int_equal(mac[5], 9);
	assert_int_equal(mac_parse("02:00:00:00:00:0", mac), -EINVAL);
	assert_int_equal(mac_parse("02:00-00:00:00:09", mac), -EINVAL);
	assert_int_equal(mac_parse("02:00:00:00:00:09:0a", mac), -EINVAL);
}

static void test_masks(void **state)
{
	uint8_t mask[16];

	for (unsigned int len = 0; len <= 32; len++) {
		ip_mask(4, len, mask);
		assert_int_equal(mask_to_len(mask, 4), len);
	}
	for (unsigned int len = 0; len <= 128; len++) {
		ip_mask(6, len, mask);
		assert_int_equal(mask_to_len(mask, 16), len);
	}
	memcpy(mask, "\xff\x00\xff\x00", 4);
	assert_int_equal(mask_to_len(mask, 4), -1);
}

static void test_json_is_exact(void **state)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	_cleanup_free_ char *text = NULL;
	size_t size;

	jsonw_object(w);
	jsonw_key_u64(w, "big", UINT64_MAX);
	jsonw_key_i64(w, "low", INT64_MIN);
	jsonw_key(w, "list");
	jsonw_array(w);
	jsonw_bool(w, true);
	jsonw_null(w);
	jsonw_string(w, "a\"\\\n\x01");
	jsonw_object(w);
	jsonw_object_end(w);
	jsonw_array_end(w);
	jsonw_key_string(w, "cut", "\xff\xc0\x80\xed\xa0\x80z");
	jsonw_key_string(w, "fine", "\xc3\xa9\xf0\x9f\x90\xa7");
	jsonw_object_end(w);
	assert_int_equal(jsonw_take(w, &text, &size), 0);
	assert_string_equal(text,
			    "{\"big\":18446744073709551615,\"low\":-9223372036854775808,"
			    "\"list\":[true,null,\"a\\\"\\\\\\u000a\\u0001\",{}],"
			    "\"cut\":\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
			    "\xef\xbf\xbdz\",\"fine\":\"\xc3\xa9\xf0\x9f\x90\xa7\"}");
	assert_int_equal(size, strlen(text));
}

static void test_json_wants_its_brackets_closed(void **state)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	char *text = NULL;

	jsonw_array(w);
	assert_int_equal(jsonw_take(w, &text, NULL), -EINVAL);
	assert_null(text);
}

static void test_names_of_files(void **state)
{
	char path[300], name[DIAG_FILE_MAX + 1];

	assert_true(diag_file_valid("new.yaml") && diag_file_valid("n\u00e9w.yaml"));
	assert_false(diag_file_valid("") || diag_file_valid("a\nb") || diag_file_valid("a\x7f"));
	assert_false(diag_file_valid("a\xc2\x9b") || diag_file_valid("a\xff"));
	diag_file_make("/tmp/n\u00e9w.yaml", name);
	assert_string_equal(name, "/tmp/n\u00e9w.yaml");
	diag_file_make("a\tb\xff\xc2\x9b"
		       "c",
		       name);
	assert_string_equal(name, "a?b???c");
	/* Of a long path the end, and no half characters. */
	for (size_t n = DIAG_FILE_MAX - 3; n < 290; n++) {
		memset(path, 'x', n);
		strcpy(path + n, ".yaml");
		memcpy(path + n - 100, "\u00e9\u00e9\u00e9\u00e9", 8);
		assert_int_equal(diag_file_valid(path), n + 5 <= DIAG_FILE_MAX);
		diag_file_make(path, name);
		assert_true(diag_file_valid(name));
		assert_string_equal(name + strlen(name) - 6, "x.yaml");
		assert_true(n + 5 <= DIAG_FILE_MAX || strncmp(name, "...", 3) == 0);
		assert_true(strlen(name) >= DIAG_FILE_MAX - 1);
	}
}

static void test_diags_keep_order_and_count(void **state)
{
	_cleanup_(diags_freep) struct diags *d = diags_new("swd.yaml");
	_cleanup_free_ char *line = NULL;
	struct diag *diag;

	diags_add(d, DIAG_WARNING, (struct origin){ 7, 2 }, NULL, "late");
	diag = diags_add(d, DIAG_ERROR, (struct origin){ 3, 9 }, "ports.lan1.mtu",
			 "%d is too large", 99999);
	diag_hint(diag, "at most %d", 9000);
	diags_add(d, DIAG_ERROR, (struct origin){ 7, 2 }, NULL, "first at its place");
	diags_sort(d);
	line = diag_line(d, diags_at(d, 0));
	assert_string_equal(line, "swd.yaml:3:9: error: ports.lan1.mtu: 99999 is too large "
				  "(at most 9000)");
	assert_string_equal(diags_at(d, 1)->text, "first at its place");
	assert_int_equal(diags_errors(d), 2);

	for (int i = 0; i < 5000; i++)
		diags_add(d, DIAG_ERROR, (struct origin){ 9, 1 }, NULL, "again");
	assert_int_equal(diags_errors(d), 5002);
	assert_int_equal(diags_count(d), 1000);
}

static const char *word_at(size_t i, void *data)
{
	static const char *const words[] = { "ports", "blocks", "vlans", "version" };

	return i < ARRAY_SIZE(words) ? words[i] : NULL;
}

static void test_nearest_word(void **state)
{
	assert_string_equal(nearest_word("prots", word_at, NULL), "ports");
	assert_string_equal(nearest_word("block", word_at, NULL), "blocks");
	assert_string_equal(nearest_word("verison", word_at, NULL), "version");
	assert_null(nearest_word("filters", word_at, NULL));
	assert_null(nearest_word("x", word_at, NULL));
}

static void test_names_are_never_cut(void **state)
{
	char name[8] = "before";

	assert_false(COPY_NAME(name, "12345678"));
	assert_string_equal(name, "");
	assert_true(COPY_NAME(name, "1234567"));
	assert_string_equal(name, "1234567");
}

static void test_lower_bound_is_the_first(void **state)
{
	static const struct {
		char word;
		uint32_t number;
	} list[] = { { 'a', 1 }, { 'b', 4 }, { 'c', 4 }, { 'd', UINT32_MAX } };

	assert_int_equal(LOWER_BOUND(list, 0, number, 4), 0);
	assert_int_equal(LOWER_BOUND(list, 4, number, 1), 0);
	assert_int_equal(LOWER_BOUND(list, 4, number, 4), 1);
	assert_int_equal(LOWER_BOUND(list, 4, number, 5), 3);
	assert_int_equal(LOWER_BOUND(list, 3, number, UINT32_MAX), 3);
}

static void test_arena(void **state)
{
	_cleanup_(arena_freep) struct arena *a = arena_new();

	for (size_t size = 1; size < 200000; size = size * 2 + 1) {
		uint8_t *bytes = arena_alloc(a, size);

		assert_non_null(bytes);
		assert_int_equal((uintptr_t)bytes % _Alignof(max_align_t), 0);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(bytes[i], 0);
		memset(bytes, 0xaa, size);
	}
	assert_string_equal(arena_strndup(a, "abcdef", 3), "abc");
	assert_null(arena_alloc(a, SIZE_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_never_wrap),
		cmocka_unit_test(test_units_both_ways),
		cmocka_unit_test(test_addresses_are_strict),
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_json_is_exact),
		cmocka_unit_test(test_json_wants_its_brackets_closed),
		cmocka_unit_test(test_names_of_files),
		cmocka_unit_test(test_diags_keep_order_and_count),
		cmocka_unit_test(test_nearest_word),
		cmocka_unit_test(test_names_are_never_cut),
		cmocka_unit_test(test_lower_bound_is_the_first),
		cmocka_unit_test(test_arena),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
