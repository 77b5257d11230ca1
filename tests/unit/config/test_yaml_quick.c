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

#include "config/yaml/dump.h"
#include "config/yaml/load.h"
#include "config/yaml/quick.h"
#include "tests/unit/policy/dice.h"

static const char *source_root;

static size_t alike; /* items that quick kept as what differs */

static bool same_tree(const struct node *a, const struct node *b, struct arena *arena)
{
	if (!a || !b)
		return a == b;
	alike += a->kind == NODE_ALIKE;
	assert_int_equal(node_write_out(a, arena), 0);
	if (a->kind != b->kind || a->line != b->line || a->column != b->column ||
	    a->count != b->count)
		return false;
	if (a->kind == NODE_SCALAR)
		return a->plain == b->plain && streq(a->text, b->text);
	for (a = a->first, b = b->first; a && b; a = a->next, b = b->next)
		if (!same_tree(a, b, arena))
			return false;
	return a == b;
}

/* True if quick took the text; then the library made the same of it. */
static bool compare(const char *text, size_t size)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_(diags_freep) struct diags *d = diags_new("t.yaml");
	const struct node *quick = NULL, *slow = NULL;
	bool same;
	int r;

	assert_non_null(arena);
	assert_non_null(d);
	if (quick_parse(text, size, arena, &quick) != 1)
		return false;
	r = tree_parse_by_library(text, size, arena, d, &slow);
	same = r == 0 && same_tree(quick, slow, arena);
	if (!same)
		print_error("read differently (%d):\n%.*s\n", r, (int)size, text);
	assert_int_equal(r, 0);
	assert_true(same);
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
	"a:\n- { b: c }\n- { b: d }\n- { b: d }\n- { b: \"d\" }\n- [ b, d ]\n- { b: e } # f\n"
	"- { b: { b: e } }\n",
	"a:\n- {b: c, d: [e, f]}\n- {b: gg, d: [e, f]}\n- {b: h, d: [e, ff]}\n"
	"- {b: i, d: [j, f]}\nk:\n  - {b: c, d: [e, f]}\n"
	"  - l:\n    - {b: 'm', d: [e, f]}\n    - {b: 'nn', d: [e, f]}\n",
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
	/* What is like a map above it may be deeper than that, and too deep. */
	used = (size_t)sprintf(flow, "a:\n- {a: %.*s%.*s}\nb:\n  c:\n    d:\n    - {a: ",
			       TREE_DEPTH_MAX - 4, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
			       TREE_DEPTH_MAX - 4, "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
	sprintf(flow + used, "%.*s%.*s}\n", TREE_DEPTH_MAX - 4, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
		TREE_DEPTH_MAX - 4, "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
	assert_false(compare(flow, strlen(flow)));
	*strstr(flow, "b:") = 0;
	assert_true(compare(flow, strlen(flow)));
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
	print_message("%zu items alike; ", alike);
	print_message("%zu files, %zu plain; %zu damaged texts still plain\n", t.files, t.taken,
		      t.damaged_taken);
	assert_true(t.files > 50 && t.taken > 20 && t.damaged_taken > 10000);
}

/* ---- lists as programs make them ---- */

struct column {
	const char *const *values;
	const char *now;
};

/*
 * Lines of a few shapes, in runs, in which some values change and most stay, so that quick keeps
 * only what differs. Returns the text.
 */
static char *make_list(struct dice *d, const char *head, const char *const *shapes, size_t n,
		       struct column columns[4], size_t lines, size_t *ret_size)
{
	size_t shape = 0;
	char *text;
	FILE *to = open_memstream(&text, ret_size);

	assert_non_null(to);
	fputs(head, to);
	for (size_t i = 0; i < 4; i++)
		columns[i].now = columns[i].values[0];
	while (lines--) {
		if (dice_below(d, 6) == 0)
			shape = dice_below(d, n);
		for (size_t i = 0; i < 4; i++) {
			size_t count = 0;

			if (dice_below(d, i < 2 ? 2 : 12))
				continue;
			while (columns[i].values[count])
				count++;
			columns[i].now = columns[i].values[dice_below(d, count)];
		}
		fprintf(to, shapes[shape], columns[0].now, columns[1].now, columns[2].now,
			columns[3].now);
		fputs(dice_below(d, 30) ? "\n" : " # same\n\n", to);
	}
	fclose(to);
	return text;
}

static void test_lists(void **state)
{
	static const char *const shapes[] = {
		"  - { name: %s, match: { dst: %s, src: %s }, action: %s }",
		"  - {name: %s, match: {dst: %s}, action: [%s, { redirect: %s }]}",
		"  - { a: %s, b: \"%s\", c: '%s', d: [%s] }",
		"  - {a: %s,b: %s,  c:  %s ,d: { e: { f: %s } } }",
		"  - { a: [%s, %s, %s, %s, b, c, d, e, f, g, h, i, j, k] }",
		"  - [%s, %s, [%s], { g: %s }]",
		"  - b: [%s, %s]\n    c: { d: %s, e: %s }",
		"  - %s\n  - %s\n  - { %s: %s }",
	};
	static const char *const usual[] = { "a",	    "r1",  "10.0.0.1", "10.0.0.10",
					     "2001:db8::1", "b c", "b  c",     "22:22",
					     "n-1",	    "a1",  "x: y",     NULL };
	static const char *const rare[] = { "128.0.0.0/3", "drop", "d", "\"q\"", "'q'", "~", "",
					    "-",	   "{",	   "]", "a, b",	 "a b", NULL };
	struct column columns[] = { { usual }, { usual }, { rare }, { rare } };
	struct dice d = dice_new("lists");
	size_t taken = 0;

	alike = 0;
	for (size_t i = 0; i < 20000; i++) {
		size_t size;
		_cleanup_free_ char *text = make_list(&d, "a:\n", shapes, ARRAY_SIZE(shapes),
						      columns, 1 + dice_below(&d, 12), &size);

		taken += compare(text, size);
	}
	print_message("%zu lists are plain, with %zu items alike\n", taken, alike);
	assert_true(taken > 1000 && alike > 2000);
}

/* All that loading gives, as a text: messages, and the config with the places of its rules. */
static char *load_told(const char *text, size_t size)
{
	_cleanup_(diags_freep) struct diags *d = diags_new("t.yaml");
	_cleanup_(config_unrefp) struct config *c = NULL;
	_cleanup_free_ char *dump = NULL;
	size_t told_size;
	char *told;
	FILE *to = open_memstream(&told, &told_size);
	int r = config_load(text, size, d, &c);

	assert_non_null(to);
	fprintf(to, "%d\n", r);
	diags_print(d, to);
	if (r == 0) {
		assert_int_equal(config_dump(c, &dump, &size), 0);
		fputs(dump, to);
		for (size_t i = 0; i < state_count(c->wanted, KIND_RULE); i++) {
			const struct rule *rule = state_at(c->wanted, KIND_RULE, i);

			fprintf(to, "%u:%u %s\n", rule->obj.origin.line, rule->obj.origin.column,
				rule->name);
		}
	}
	fclose(to);
	return told;
}

/* Rules, good ones and others, mean the same and are complained of in the same words and places. */
static void test_rules(void **state)
{
	static const char *const shapes[] = {
		"      - { name: %s, match: { dst: %s, src: %s }, action: %s }",
		"      - { name: %s, match: { dst: %s, proto: %s, dport: 5 }, action: [%s] }",
		"      - { name: %s, match: { dst: %s, tagging: %s }, chain: 0, action: %s }",
		"      - {pref: 5, name: %s, match: {dst: %s, cvlan: %s}, action: %s, chain: 4}",
		"      - { name: %s, match: { dst: %s, vlan: %s }, action: %s, offload: off }",
	};
	static const char *const names[] = { "r1", "r2", "r3", "r4",	"r5",  "r6",
					     "r7", "r8", "a",  "b",	"c",   "d",
					     "e",  "f",	 "g",  "\"h\"", "a b", NULL };
	static const char *const dsts[] = { "10.0.0.1",	   "10.0.0.2",	    "10.0.0.0/24",
					    "10.0.1.0/24", "2001:db8::/32", "10.0.0.1/24",
					    "2001:db8::1", "10.1.1.1",	    "10.1.1.2",
					    "10.1.1.3",	   "10.1.1.4",	    "10.1.1.256",
					    NULL };
	static const char *const thirds[] = {
		"128.0.0.0/3", "2001:db8:1::/48", "tcp", "udp", "none", "any", "7", "4095", NULL
	};
	static const char *const actions[] = { "drop",	      "trap",
					       "pass",	      "dropp",
					       "{ goto: 4 }", "vlan-pop",
					       "dec-ttl",     "{ redirect: lan1 }",
					       "redirect",    NULL };
	static const char head[] = "version: 1\nports: { lan1: { up: true } }\nblocks:\n  b:\n"
				   "    id: 10\n    bind: [lan1]\n    rules:\n";
	struct column columns[] = { { names }, { dsts }, { thirds }, { actions } };
	struct dice d = dice_new("rules");
	size_t good = 0;

	for (size_t i = 0; i < 20000; i++) {
		size_t size, lines = 1 + dice_below(&d, dice_below(&d, 2) ? 4 : 12);
		_cleanup_free_ char *text =
			make_list(&d, head, shapes, ARRAY_SIZE(shapes), columns, lines, &size);
		_cleanup_free_ char *quick = load_told(text, size), *slow = NULL, *marked = NULL;

		/* A mark of YAML's at the end makes it the library's. */
		assert_true(asprintf(&marked, "%s...\n", text) > 0);
		slow = load_told(marked, size + 4);
		good += quick[0] == '0';
		if (!streq(quick, slow))
			print_error("%s\nquick: %s\nslow: %s\n", text, quick, slow);
		assert_string_equal(quick, slow);
	}
	print_message("%zu lists of rules are good\n", good);
	assert_true(good > 300);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_plain),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_files_and_damages),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_rules),
	};

	source_root = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
