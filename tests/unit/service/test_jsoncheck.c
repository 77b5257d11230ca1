// SPDX-License-Identifier: GPL-2.0-or-later
/* Hostile JSON is refused with a reason, and good JSON is not. */
#include "tests/unit/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "config/base/util.h"
#include "daemon/service/jsoncheck.h"

static void good(const char *text)
{
	const char *why = NULL;

	if (json_check(text, strlen(text), &why) != 0)
		fail_msg("%s: %s", text, why);
}

static void bad(const char *text, const char *reason)
{
	const char *why = NULL;

	if (json_check(text, strlen(text), &why) != -EBADMSG)
		fail_msg("%s: was taken", text);
	assert_non_null(why);
	if (!strstr(why, reason))
		fail_msg("%s: said '%s', wanted '%s'", text, why, reason);
}

static void test_good(void **state)
{
	good("{}");
	good("[]");
	good(" { \"a\" : [ 1 , -2 , true , false , null , \"x\" ] }\r\n\t");
	good("{\"a\":{\"b\":{}},\"c\":[[],[[]]]}");
	good("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"");
	good("\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf\"");
	good("9223372036854775807");
	good("-9223372036854775808");
	good("0");
}

static void test_numbers(void **state)
{
	bad("1e999", "not whole");
	bad("1E2", "not whole");
	bad("1.0", "not whole");
	bad("-0", "-0");
	bad("01", "leading zero");
	bad("9223372036854775808", "64 bits");
	bad("-9223372036854775809", "64 bits");
	bad("99999999999999999999999999", "64 bits");
	bad("+1", "not a value");
	bad("-", "not a value");
	bad("0x10", "text behind");
	bad("NaN", "not a value");
	bad("Infinity", "not a value");
}

static void test_strings(void **state)
{
	bad("\"\\u0000\"", "NUL");
	bad("{\"a\\u0000b\":1}", "NUL");
	bad("\"\\uX000\"", "hexadecimal");
	bad("\"\\u12", "cut short");
	bad("\"\\ud800\"", "surrogate");
	bad("\"\\ud800\\u0041\"", "surrogate");
	bad("\"\\udc00\"", "surrogate");
	bad("\"\\x41\"", "escape");
	bad("\"a\nb\"", "control character");
	bad("\"abc", "without end");
	bad("\"abc\\", "without end");
}

static void test_utf8(void **state)
{
	bad("\"\xc0\x80\"", "UTF-8"); /* NUL in two bytes */
	bad("\"\xc1\xbf\"", "UTF-8");
	bad("\"\xe0\x80\x80\"", "UTF-8");
	bad("\"\xed\xa0\x80\"", "UTF-8"); /* a surrogate */
	bad("\"\xf0\x80\x80\x80\"", "UTF-8");
	bad("\"\xf4\x90\x80\x80\"", "UTF-8"); /* above U+10FFFF */
	bad("\"\xf5\x80\x80\x80\"", "UTF-8");
	bad("\"\x80\"", "UTF-8");
	bad("\"\xff\"", "UTF-8");
	bad("\"\xe2\x82\"", "UTF-8");
	bad("\"\xe2\x82", "UTF-8");
	bad("\xef\xbb\xbf{}", "not a value"); /* a byte order mark */
}

static void test_grammar(void **state)
{
	bad("", "missing");
	bad("   ", "missing");
	bad("{", "open bracket");
	bad("[1", "open bracket");
	bad("[1,", "missing");
	bad("[1,]", "not a value");
	bad("[,1]", "not a value");
	bad("[1 2]", "comma");
	bad("{\"a\"}", "colon");
	bad("{\"a\":1,}", "without a name");
	bad("{a:1}", "without a name");
	bad("{1:1}", "without a name");
	bad("{\"a\":}", "not a value");
	bad("{]", "without a name");
	bad("[}", "not a value");
	bad("{}{}", "behind");
	bad("{} x", "behind");
	bad("tru", "not a value");
	bad("// comment\n{}", "not a value");
}

static void test_size_counts(void **state)
{
	const char *why = NULL;

	/* The NUL within the size is part of the text, and wrong. */
	assert_int_equal(json_check("{}\0", 3, &why), -EBADMSG);
	/* What is behind the size is not looked at. */
	assert_int_equal(json_check("{}garbage", 2, &why), 0);
	assert_int_equal(json_check("\"\\ud83d\\ude00\"", 7, &why), -EBADMSG);
}

static void test_limits(void **state)
{
	_cleanup_free_ char *text = malloc(200001);
	char *at = text;

	assert_non_null(text);
	memset(text, '[', 100000);
	text[100000] = 0;
	bad(text, "deep");

	memset(text, '[', JSON_DEPTH_MAX);
	memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	text[2 * JSON_DEPTH_MAX] = 0;
	good(text);
	memset(text, '[', JSON_DEPTH_MAX + 1);
	memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
	text[2 * JSON_DEPTH_MAX + 2] = 0;
	bad(text, "deep");

	*at++ = '[';
	for (int i = 0; i < JSON_VALUES_MAX - 1; i++)
		at += sprintf(at, i ? ",1" : "1");
	strcpy(at, "]");
	good(text);
	strcpy(at, ",1]");
	bad(text, "too many values");

	at = text;
	*at++ = '{';
	for (int i = 0; i < JSON_MEMBERS_MAX; i++)
		at += sprintf(at, "%s\"m%d\":1", i ? "," : "", i);
	strcpy(at, "}");
	good(text);
	strcpy(at, ",\"x\":1}");
	bad(text, "too many members");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_strings), cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_grammar), cmocka_unit_test(test_size_counts),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
