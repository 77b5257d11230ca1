// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two readers, one language: what quick reads, the YAML library reads as the same tree, node by
 * node. Held together over every YAML file of the repo, over lines made to be plain or nearly so,
 * and over hundreds of thousands of small damages to all of them.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#include "tests/unit/check.h"

#include "config/yaml/load.h"
#include "config/yaml/quick.h"
#include "tests/unit/policy/dice.h"

static const char *source_root;

static bool same_tree(const struct node *a, const struct node *b)
{
	if (!a || !b)
		return a == b;
	if (a->kind != b->kind || a->line != b->line || a->column != b->column ||
	    a->count != b->count)
		return false;
	if (a->kind == NODE_SCALAR)
		return a->plain == b->plain && streq(a->text, b->text);
	for (a = a->first, b = b->first; a && b; a = a->next, b = b->next)
		if (!same_tree(a, b))
			return false;
	return a == b;
}

/* True if quick took the text; then the library made the same of it. */
static bool compare(const char *text, size_t size)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(diags_freep) struct diags *d = diags_new("t.yaml");
	const struct node *quick = NULL, *slow = NULL;
	int r;

	assert_non_null(arena);
	assert_non_null(d);
	if (quick_parse(text, size, arena, &quick) != 1)
		return false;
	r = tree_parse_by_library(text, size, arena, d, &slow);
	if (r < 0 || !same_tree(quick, slow))
		print_error("read differently (%d):\n%.*s\n", r, (int)size, text);
	assert_int_equal(r, 0);
	assert_true(same_tree(quick, slow));
	return true;
}

static const char *const plain[] = {
	"version: 1\n",
	"a: b",
	"a: b # c\n\n# d\n  # e\nf:  g   \n",
	"a:\n  b:\n    c: d\n  e: f\ng: h\n",
	"a:\n- b\n- c\nd: e\n",
	"a:\n  - b\n",
	"a:\n  - b\n  - c: d\n    e: f\n  -   g: h\n      i: j\nk: l\n",
	"a:\n  - b:\n    - c\n    - d\n    e: f\n  - g\n",
	"a: {}\nb: []\nc: { d: e, f: [g, h], i: { j: k } }\nl: [{ m: n }, o]\n",
	"a: { dst: 192.0.2.0/24, mac: 02:00:00:00:00:01, v6: \"2001:db8::/32\", w: 2001:db8::1 }\n",
	"a: 'b c'\n\"d e\": f\n'g': \"h: { i }\"\nj: \"\"\nk: ''\n",
	"a: 0.0.0.0/0 le 24\nb: x  y - z\n",
	"a: b-c+d@e=f~g\nh: 22:22\ni: no\nj: 010\n",
	"a: # nothing yet\n  b: c\n",
	"rules:\n  - { name: a, match: { dst: 10.0.0.1 }, action: drop }\n"
	"  - { name: b, match: {dst: 10.0.0.2}, action: [ dec-ttl, { redirect: lan2 } ] }   # x\n",
};

/* What is not for quick, and is left to the library whole. */
static const char *const not_plain[] = {
	"",
	"\n",
	"- a\n",
	"a\n",
	"  a: b\n",
	"a:\n",
	"a: b\n c\n",
	"a: |\n  b\n",
	"a: &x b\n",
	"a: *x\n",
	"a: !t b\n",
	"? a\n: b\n",
	"---\na: b\n",
	"a: b\n...\n",
	"a: \"b\n",
	"a: \"\\n\"\n",
	"a: 'b''c'\n",
	"a: {b: c\n",
	"a: {b}\n",
	"a: [b, ]\n",
	"a: {b: c,}\n",
	"a: [b: c]\n",
	"a: {b:c}\n",
	"a:\tb\n",
	"a: b\r\n",
	"a: \xc3\xbc\n",
	"a:\n  - b\n  c: d\n",
	"a: b\n  c: d\n",
	"a: - b\n",
	"a: b: c\n",
	"a: b#c\n",
	"a: \"b\"c\n",
	"a: {b: c}d\n",
	"a:\n  -\n    b\n",
	"<<: a\n",
	"%YAML 1.2\n",
	"a: -5\n",
	"a: b\n- c\n",
};

static void test_what_is_plain(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		if (!compare(plain[i], strlen(plain[i])))
			print_error("not taken:\n%s\n", plain[i]);
		assert_true(compare(plain[i], strlen(plain[i])));
	}
	for (size_t i = 0; i < ARRAY_SIZE(not_plain); i++) {
		if (compare(not_plain[i], strlen(not_plain[i])))
			print_error("taken:\n%s\n", not_plain[i]);
		assert_false(compare(not_plain[i], strlen(not_plain[i])));
	}
}

/* Deeper and longer than the limits: the library finds the words for it. */
static void test_limits(void **state)
{
	_cleanup_free_ char *deep = calloc(1, 4096), *flow = calloc(1, 4096);
	_cleanup_free_ char *key = calloc(1, 4096);
	size_t used = 0;

	assert_non_null(deep);
	assert_non_null(flow);
	assert_non_null(key);
	for (int i = 0; i <= TREE_DEPTH_MAX; i++)
		used += (size_t)sprintf(deep + used, "%*sa:\n", i, "");
	sprintf(deep + used, "%*sb: c\n", TREE_DEPTH_MAX + 1, "");
	assert_false(compare(deep, strlen(deep)));
	strcpy(flow, "a: ");
	memset(flow + 3, '[', TREE_DEPTH_MAX);
	memset(flow + 3 + TREE_DEPTH_MAX, ']', TREE_DEPTH_MAX);
	assert_false(compare(flow, strlen(flow)));
	memset(key, 'k', 1100);
	strcat(key, ": v\n");
	assert_false(compare(key, strlen(key)));
}

/* ---- files, and damages to them ---- */

static const char damage[] = "abz019 :,-#{}[]'\"\n\n  \t\\|>&*!?%@`~/._=+<";

static size_t damaged(struct dice *d, const char *text, size_t size, int rounds)
{
	_cleanup_free_ char *copy = malloc(size + 64);
	size_t taken = 0;

	assert_non_null(copy);
	for (int i = 0; i < rounds; i++) {
		size_t n = size;

		memcpy(copy, text, size);
		for (size_t times = 1 + dice_below(d, 3); times; times--) {
			size_t at = dice_below(d, n + 1);

			switch (dice_below(d, 3)) {
			case 0:
				memmove(copy + at + 1, copy + at, n++ - at);
				copy[at] = damage[dice_below(d, sizeof(damage) - 1)];
				break;
			case 1:
				if (at < n)
					copy[at] = damage[dice_below(d, sizeof(damage) - 1)];
				break;
			case 2:
				if (at < n)
					memmove(copy + at, copy + at + 1, --n - at);
				break;
			}
		}
		taken += compare(copy, n);
	}
	return taken;
}

struct tally {
	struct dice dice;
	size_t files, taken, damaged_taken;
};

static void each_file(struct tally *t, const char *folder, size_t most)
{
	char path[512];
	DIR *dir;

	snprintf(path, sizeof(path), "%s/%s", source_root, folder);
	dir = opendir(path);
	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		_cleanup_free_ char *text = NULL;
		size_t size;

		snprintf(path, sizeof(path), "%s/%s/%s", source_root, folder, e->d_name);
		if (config_read_file(path, &text, &size) < 0 || size > most)
			continue;
		t->files++;
		t->taken += compare(text, size);
		t->damaged_taken += damaged(&t->dice, text, size, 300);
	}
	closedir(dir);
}

static void test_files_and_damages(void **state)
{
	struct tally t = { .dice = dice_new("damage") };

	each_file(&t, "tests/golden/yaml", 8192);
	each_file(&t, "tests/fuzz/corpus/yaml", 8192);
	each_file(&t, "config/examples", 8192);
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
		t.damaged_taken += damaged(&t.dice, plain[i], strlen(plain[i]), 5000);
	print_message("%zu files, %zu plain; %zu damaged texts still plain\n", t.files, t.taken,
		      t.damaged_taken);
	assert_true(t.files > 50 && t.taken > 20 && t.damaged_taken > 10000);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_plain),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_files_and_damages),
	};

	source_root = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
