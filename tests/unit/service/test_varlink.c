// SPDX-License-Identifier: GPL-2.0-or-later
/* Messages become calls, or a reason; replies are framed and exact. The table and the text agree.
 */
#include "tests/unit/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/service/interface.h"
#include "daemon/service/varlink.h"
#include "daemon/service/verbs.h"

static void bad(const char *text, const char *reason)
{
	struct varlink_call c;
	const char *why = NULL;

	if (varlink_parse(text, strlen(text), &c, &why) != -EBADMSG)
		fail_msg("%s: was taken", text);
	if (!strstr(why, reason))
		fail_msg("%s: said '%s', wanted '%s'", text, why, reason);
}

static void test_call(void **state)
{
	const char *text =
		"{\"method\":\"io.swd.Switch.Rules\",\"parameters\":{\"block\":\"e\\u00e9\"},"
		"\"more\":true}";
	struct varlink_call c;
	const char *why = NULL;

	assert_int_equal(varlink_parse(text, strlen(text), &c, &why), 0);
	assert_string_equal(c.method, "io.swd.Switch.Rules");
	assert_string_equal(varlink_param_string(c.parameters, "block"), "e\xc3\xa9");
	assert_null(varlink_param_string(c.parameters, "other"));
	assert_true(c.more);
	assert_false(c.oneway);
	varlink_call_clear(&c);
	assert_int_equal(varlink_parse("{\"method\":\"a.b\",\"parameters\":null}", 34, &c, &why),
			 0);
	assert_null(c.parameters);
	varlink_call_clear(&c);
}

static void test_bad_calls(void **state)
{
	bad("[]", "object");
	bad("\"x\"", "object");
	bad("{}", "missing");
	bad("{\"method\":1}", "method");
	bad("{\"method\":\"\"}", "method");
	bad("{\"method\":\"a b\"}", "method");
	bad("{\"method\":\"a/../b\"}", "method");
	bad("{\"method\":\"a.b\",\"method\":\"c.d\"}", "twice");
	bad("{\"method\":\"a.b\",\"parameters\":{\"x\":{\"y\":1,\"y\":2}}}", "twice");
	bad("{\"method\":\"a.b\",\"parameters\":{\"y\":1,\"\\u0079\":2}}", "twice");
	bad("{\"method\":\"a.b\",\"parameters\":[]}", "parameters");
	bad("{\"method\":\"a.b\",\"parameters\":\"x\"}", "parameters");
	bad("{\"method\":\"a.b\",\"more\":1}", "true or false");
	bad("{\"method\":\"a.b\",\"More\":true}", "unknown");
	bad("{\"method\":\"a.b\",\"more\":true,\"oneway\":true}", "exclude");
	bad("{\"method\":\"a.b\"}x", "behind");
}

static void test_long_method(void **state)
{
	char text[300] = "{\"method\":\"";

	memset(text + strlen(text), 'a', VARLINK_METHOD_MAX + 1);
	strcat(text, "\"}");
	bad(text, "method");
}

static void test_params(void **state)
{
	const struct varlink_param list[] = {
		{ "text", VARLINK_STRING, false },
		{ "block", VARLINK_STRING, true },
		{ "all", VARLINK_BOOL, true },
		{ NULL },
	};
	const struct {
		const char *json, *bad;
	} cases[] = {
		{ "{\"text\":\"x\"}", NULL },
		{ "{\"text\":\"x\",\"block\":null,\"all\":true}", NULL },
		{ "{}", "text" },
		{ "{\"text\":null}", "text" },
		{ "{\"text\":1}", "text" },
		{ "{\"text\":\"x\",\"all\":\"true\"}", "all" },
		{ "{\"text\":\"x\",\"Block\":\"y\"}", "Block" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[200];
		struct varlink_call c;
		const char *why = NULL, *wrong = NULL;

		snprintf(text, sizeof(text), "{\"method\":\"a.b\",\"parameters\":%s}",
			 cases[i].json);
		assert_int_equal(varlink_parse(text, strlen(text), &c, &why), 0);
		assert_int_equal(varlink_params_check(list, c.parameters, &wrong),
				 cases[i].bad ? -EINVAL : 0);
		if (cases[i].bad)
			assert_string_equal(wrong, cases[i].bad);
		varlink_call_clear(&c);
	}
	{
		const char *wrong = NULL;

		assert_int_equal(varlink_params_check(list, NULL, &wrong), -EINVAL);
		assert_string_equal(wrong, "text");
	}
}

static void test_replies(void **state)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	_cleanup_free_ char *reply = NULL, *error = NULL;
	size_t size;

	jsonw_object(w);
	jsonw_key_u64(w, "packets", UINT64_MAX);
	jsonw_object_end(w);
	assert_int_equal(varlink_reply(w, true, &reply, &size), 0);
	assert_string_equal(
		reply, "{\"parameters\":{\"packets\":18446744073709551615},\"continues\":true}");
	assert_int_equal(size, strlen(reply) + 1);
	assert_int_equal(varlink_error("a.B", NULL, &error, &size), 0);
	assert_string_equal(error, "{\"error\":\"a.B\",\"parameters\":{}}");
}

/* Each verb is a method of the text with the same parameters, and there are no other methods. */
static void test_table_and_text(void **state)
{
	static const char *const types[] = {
		[VARLINK_STRING] = "string",
		[VARLINK_BOOL] = "bool",
		[VARLINK_INT] = "int",
	};
	size_t methods = 0;

	for (const char *at = interface_switch; (at = strstr(at, "\nmethod ")); at++)
		methods++;
	for (const char *at = interface_varlink; (at = strstr(at, "\nmethod ")); at++)
		methods++;
	for (size_t i = 0; verb_at(i); i++) {
		const struct verb *v = verb_at(i);
		const char *dot = strrchr(v->name, '.');
		bool ours = strncmp(v->name, IO_SWD, strlen(IO_SWD)) == 0;
		char line[200];
		int n = snprintf(line, sizeof(line), "\nmethod %s(", dot + 1);

		for (size_t p = 0; v->params[p].name; p++)
			n += snprintf(line + n, sizeof(line) - (size_t)n, "%s%s: %s%s",
				      p ? ", " : "", v->params[p].name,
				      v->params[p].optional ? "?" : "",
				      types[v->params[p].type]);
		snprintf(line + n, sizeof(line) - (size_t)n, ") -> (");
		if (!strstr(ours ? interface_switch : interface_varlink, line))
			fail_msg("not in the interface text: %s", line);
		methods--;
	}
	assert_int_equal(methods, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_call),	    cmocka_unit_test(test_bad_calls),
		cmocka_unit_test(test_long_method), cmocka_unit_test(test_params),
		cmocka_unit_test(test_replies),	    cmocka_unit_test(test_table_and_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
