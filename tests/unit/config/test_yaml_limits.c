// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hostile and huge texts: each limit holds, errors beyond count do not fill memory, a text that
 * breaks off anywhere is refused or loaded and nothing else, and many rules load and dump in order.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "tests/unit/check.h"

#include "config/yaml/dump.h"
#include "config/yaml/load.h"
#include "config/yaml/tree.h"

struct text {
	char *at;
	size_t size;
	FILE *to;
};

static void text_start(struct text *t, const char *start)
{
	t->to = open_memstream(&t->at, &t->size);
	assert_non_null(t->to);
	fputs(start, t->to);
}

static int text_load(struct text *t, struct diags *d, struct config **ret)
{
	int r;

	assert_int_equal(fclose(t->to), 0);
	r = config_load(t->at, t->size, d, ret);
	free(t->at);
	return r;
}

static void assert_says(const struct diags *d, const char *words)
{
	_cleanup_free_ char *line = NULL;

	assert_true(diags_count(d) > 0);
	line = diag_line(d, diags_at(d, 0));
	if (!strstr(line, words))
		fail_msg("'%s' is not in: %s", words, line);
}

static void test_size(void **state)
{
	_cleanup_free_ char *text = calloc(1, (size_t)CONFIG_TEXT_MAX + 1);
	struct diags *d = diags_new("t");
	struct config *c;

	assert_int_equal(config_load(text, (size_t)CONFIG_TEXT_MAX + 1, d, &c), -EINVAL);
	assert_says(d, "the file has 67108865 bytes, expected at most 67108864");
	diags_free(d);
}

static void test_nodes(void **state)
{
	struct text t;
	struct diags *d = diags_new("t");
	struct config *c;

	text_start(&t, "version: 1\nports: [");
	for (size_t i = 0; i <= TREE_NODES_MAX; i++)
		fputs("a,", t.to);
	fputs("]\n", t.to);
	assert_int_equal(text_load(&t, d, &c), -EINVAL);
	assert_int_equal(diags_errors(d), 1);
	assert_says(d, "more than 4194304");
	diags_free(d);
}

static void test_depth(void **state)
{
	static const char *const opens[] = { "[", "{a: ", "- ", "? ", "[{a: ", "\"\": - " };

	for (size_t i = 0; i < ARRAY_SIZE(opens); i++) {
		struct text t;
		struct diags *d = diags_new("t");
		struct config *c;

		text_start(&t, "");
		for (size_t n = 0; n < 20000; n++)
			fputs(opens[i], t.to);
		assert_int_equal(text_load(&t, d, &c), -EINVAL);
		assert_true(diags_errors(d) > 0);
		diags_free(d);
	}
}

static void test_many_errors(void **state)
{
	struct text t;
	struct diags *d = diags_new("t");
	struct config *c;

	text_start(&t, "version: 1\n");
	for (size_t i = 0; i < 10000; i++)
		fprintf(t.to, "prts%zu: 1\n", i);
	for (size_t i = 0; i < 10000; i++)
		fprintf(t.to, "prts: 1\n");
	assert_int_equal(text_load(&t, d, &c), -EINVAL);
	assert_int_equal(diags_errors(d), 20000 + 9999);
	assert_true(diags_count(d) <= 1000);
	diags_free(d);
}

static const char sample[] =
	"version: 1\nports: { lan1: { up: true, mtu: 1500 }, \"b\\u00fcro\": {} }\n"
	"vlans:\n  v: { link: lan1, id: 5, addresses: [192.0.2.1/24, '2001:db8::1/64'] }\n"
	"blocks:\n  edge:\n    id: 10\n    bind: [lan1]\n    rules:\n"
	"      - name: a\n        match: { vlan: 5, dst: 192.0.2.0/24, proto: tcp, dport: 1-9 }\n"
	"        action: [ { police: { rate: 1mbit, burst: 4k } }, { vlan-push: { id: 3, prio: 1 "
	"} },\n"
	"                  { set-dst: \"02:00:00:00:00:09\" }, { goto: 4 } ]\n"
	"      - { name: b, match: {}, action: drop, chain: 4, pref: 5, offload: off }\n";

static void load_once(const char *text, size_t size)
{
	struct diags *d = diags_new("t");
	struct config *c = NULL;
	int r = config_load(text, size, d, &c);

	assert_true(r == 0 || r == -EINVAL);
	assert_int_equal(r == 0, diags_errors(d) == 0);
	assert_int_equal(r == 0, c != NULL);
	config_unref(c);
	diags_free(d);
}

/* Cut off after every byte, and with every byte changed, in a buffer of just that size. */
static void test_broken_anywhere(void **state)
{
	static const char others[] = { 0, '\n', ':', '{', '"', '\xff' };
	size_t size = sizeof(sample) - 1;

	for (size_t i = 0; i <= size; i++) {
		char *cut = malloc(i ? i : 1);

		memcpy(cut, sample, i);
		load_once(cut, i);
		free(cut);
	}
	for (size_t i = 0; i < size; i++)
		for (size_t o = 0; o < sizeof(others); o++) {
			char *changed = malloc(size);

			memcpy(changed, sample, size);
			changed[i] = others[o];
			load_once(changed, size);
			free(changed);
		}
	load_once(sample, size);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Names fall while positions rise: the dump is in the file's order, whatever order the state keeps.
 */
static void test_many_rules(void **state)
{
	enum {
		RULES = 4000
	};
	struct text t;
	_cleanup_free_ char *dump = NULL;
	struct diags *d = diags_new("t");
	struct config *c;
	const char *at;
	size_t size;
	double start = seconds();

	text_start(&t, "version: 1\nblocks:\n  b:\n    id: 1\n    bind: [p]\n    rules:\n");
	for (unsigned int i = 0; i < RULES; i++)
		fprintf(t.to,
			"      - { name: r%u, match: { dst: 10.%u.%u.0/24 }, action: drop }\n",
			RULES - i, i / 256, i % 256);
	assert_int_equal(text_load(&t, d, &c), 0);
	assert_int_equal(state_count(c->wanted, KIND_RULE), RULES);
	assert_int_equal(config_dump(c, &dump, &size), 0);
	at = dump;
	for (unsigned int i = 0; i < RULES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "name: r%u\n", RULES - i);
		at = strstr(at, name);
		assert_non_null(at);
	}
	print_message("%d rules loaded and dumped in %.2f s of CPU\n", RULES, seconds() - start);
	config_unref(c);
	diags_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_many_errors),
		cmocka_unit_test(test_broken_anywhere),
		cmocka_unit_test(test_many_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
