// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Short of memory: every allocation of our own code fails once, in turn. Then loading and dumping
 * say -ENOMEM, leave nothing behind (the sanitizers look), and never take a file for a smaller one.
 */
#include <errno.h>
#include <stdio.h>

#include "tests/unit/check.h"

#include "config/base/fault.h"
#include "config/yaml/dump.h"
#include "config/yaml/load.h"

static const char good[] =
	"version: 1\n"
	"daemon: { writers: [a, b] }\n"
	"ports: { lan1: { up: true, addresses: [192.0.2.1/24, 192.0.2.2/24] }, lan2: {} }\n"
	"vlans: { v: { link: lan1, id: 5, addresses: ['2001:db8::1/64'] } }\n"
	"blocks:\n  edge:\n    id: 10\n"
	"    bind: [lan1, lan2]\n    bind-egress: [lan1]\n    rules:\n"
	"      - name: a\n        match: { vlan: 5, dst: 192.0.2.0/24 }\n"
	"        action: [ { police: { rate: 1mbit, burst: 4k } },\n"
	"                  { vlan-push: { id: 3, prio: 1 } }, { goto: 4 } ]\n"
	"      - { name: b, match: {}, action: { sample: { rate: 5, group: 1 } }, chain: 4 }\n"
	"  other: { id: 11, bind: [lan3], rules: [] }\n";

static const char bad[] =
	"version: 1\nports: { lan1: { up: yes, mtuu: 1 }, lan1: {} }\n"
	"blocks: { b: { id: 1, bind: [x, x], rules: [ { name: a, match: {}, action: [] } ] } }\n";

static void start_failing(size_t after)
{
	*fault = (struct fault){
		.armed = 1,
		.how = FAULT_FAIL,
		.point = FAULT_MEMORY,
		.first = (uint32_t)after + 1,
		.last = (uint32_t)after + 1,
		.error = ENOMEM,
	};
}

static void stop_failing(void)
{
	fault->armed = 0;
}

static bool failed(void)
{
	return fault->counts[FAULT_MEMORY] >= fault->first;
}

/* A failure that changes nothing of the result (sorting no messages) may pass; a smaller config
 * not. */
static void load_failing(const char *text_in)
{
	_cleanup_free_ char *whole = NULL;
	size_t n = 0, size, told = 0;

	do {
		struct diags *d = diags_new("t");
		struct config *c = NULL;
		int r;

		start_failing(n++);
		r = config_load(text_in, strlen(text_in), d, &c);
		stop_failing();
		assert_true(r == 0 || (failed() && r == -ENOMEM));
		assert_int_equal(diags_errors(d), 0);
		assert_int_equal(r == 0, c != NULL);
		if (c) {
			_cleanup_free_ char *text = NULL;

			assert_int_equal(config_dump(c, &text, &size), 0);
			if (!whole)
				whole = strdup(text);
			assert_string_equal(text, whole);
		}
		told += r == -ENOMEM;
		config_unref(c);
		diags_free(d);
	} while (failed());
	print_message("%zu allocations failed in turn, %zu times it was told\n", n - 1, told);
	assert_true(told > 20 && told + 1 >= n - 1);
}

static void test_load(void **state)
{
	load_failing(good);
}

/* So many rules that are alike, now and then not, that memory for nodes is asked for again. */
static void test_load_alike(void **state)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	fputs("version: 1\nblocks:\n  b:\n    id: 1\n    bind: [p]\n    rules:\n", to);
	for (unsigned int i = 0; i < 1000; i++)
		fprintf(to, "      - { name: r%u, match: { dst: 10.0.%u.%u }, action: %s }\n", i,
			i / 256, i % 256, i % 100 < 90 ? "drop" : "{ redirect: q }");
	fclose(to);
	load_failing(text);
}

static void test_refuse(void **state)
{
	size_t n = 0;

	do {
		struct diags *d = diags_new("t");
		struct config *c = NULL;
		int r;

		start_failing(n);
		r = config_load(bad, strlen(bad), d, &c);
		stop_failing();
		assert_true(r == -EINVAL || (failed() && r == -ENOMEM));
		assert_null(c);
		diags_free(d);
		n++;
	} while (failed());
	assert_true(n > 5);
}

static void test_dump(void **state)
{
	struct diags *d = diags_new("t");
	struct config *c = NULL;
	size_t n = 0;

	assert_int_equal(config_load(good, strlen(good), d, &c), 0);
	do {
		_cleanup_free_ char *text = NULL;
		size_t size;
		int r;

		start_failing(n);
		r = config_dump(c, &text, &size);
		stop_failing();
		assert_int_equal(r, failed() ? -ENOMEM : 0);
		assert_int_equal(r == 0, text != NULL);
		n++;
	} while (failed());
	assert_true(n > 1);
	config_unref(c);
	diags_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_load_alike),
		cmocka_unit_test(test_refuse),
		cmocka_unit_test(test_dump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
