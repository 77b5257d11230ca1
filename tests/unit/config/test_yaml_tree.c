// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the tree keeps of a text: places, original words, quotes; and what it refuses.
 */
#include <errno.h>
#include <stdio.h>

#include "tests/unit/check.h"

#include "config/yaml/tree.h"

struct parsed {
	struct arena *arena;
	struct diags *diags;
	const struct node *root;
	int result;
};

static struct parsed parse(const char *text)
{
	struct parsed p = { .arena = arena_new(), .diags = diags_new("t.yaml") };

	assert_non_null(p.arena);
	assert_non_null(p.diags);
	p.result = tree_parse(text, strlen(text), p.arena, p.diags, &p.root);
	return p;
}

static void drop(struct parsed *p)
{
	arena_free(p->arena);
	diags_free(p->diags);
}

static void assert_refused(const char *text, const char *line)
{
	struct parsed p = parse(text);
	_cleanup_free_ char *got = NULL;

	assert_int_equal(p.result, -EINVAL);
	assert_true(diags_errors(p.diags) > 0);
	got = diag_line(p.diags, diags_at(p.diags, 0));
	assert_string_equal(got, line);
	drop(&p);
}

static void test_places(void **state)
{
	struct parsed p = parse("a: 1\nb:\n  - x\n  - { c: ü, d: y }\n");
	const struct node *b = node_get(p.root, "b"), *map = node_item(b, 1);

	assert_int_equal(p.result, 0);
	assert_int_equal(p.root->line, 1);
	assert_int_equal(p.root->column, 1);
	assert_int_equal(p.root->count, 2);
	assert_int_equal(node_get(p.root, "a")->line, 1);
	assert_int_equal(node_get(p.root, "a")->column, 4);
	assert_int_equal(b->kind, NODE_LIST);
	assert_int_equal(b->count, 2);
	assert_int_equal(node_item(b, 0)->line, 3);
	assert_int_equal(node_item(b, 0)->column, 5);
	assert_null(node_item(b, 2));
	/* Columns are characters: the two bytes of the umlaut count once. */
	assert_int_equal(node_get(map, "d")->column, 16);
	assert_null(node_get(map, "e"));
	assert_null(node_get(b, "c"));
	drop(&p);
}

static void test_words_stay(void **state)
{
	static const char *const words[] = { "no",  "22:22", "010",	   "1e3", "~",
					     "off", "0x1f",  "2001-01-01", ".inf" };
	char text[64];

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		struct parsed p;

		snprintf(text, sizeof(text), "a: %s\nb: '%s'\n", words[i], words[i]);
		p = parse(text);
		assert_int_equal(p.result, 0);
		assert_string_equal(node_get(p.root, "a")->text, words[i]);
		assert_int_equal(node_get(p.root, "a")->plain, 1);
		assert_string_equal(node_get(p.root, "b")->text, words[i]);
		assert_int_equal(node_get(p.root, "b")->plain, 0);
		drop(&p);
	}
}

static void test_empty(void **state)
{
	struct parsed p = parse("a:\nb: ~\nc: null\nd: ''\ne: {}\nf: 'null'\n");

	assert_int_equal(p.result, 0);
	assert_true(node_is_empty(node_get(p.root, "a")));
	assert_true(node_is_empty(node_get(p.root, "b")));
	assert_true(node_is_empty(node_get(p.root, "c")));
	assert_false(node_is_empty(node_get(p.root, "d")));
	assert_false(node_is_empty(node_get(p.root, "e")));
	assert_false(node_is_empty(node_get(p.root, "f")));
	drop(&p);
}

static void test_refused(void **state)
{
	assert_refused("a: &x 1\n",
		       "t.yaml:1:4: error: anchor '&x' is not supported, the value must "
		       "be written out where it is needed");
	assert_refused("a: *x\n",
		       "t.yaml:1:4: error: alias '*x' is not supported, the value must be "
		       "written out where it is needed");
	assert_refused("a: !!int 1\n", "t.yaml:1:4: error: tag 'tag:yaml.org,2002:int' is not "
				       "supported, the type of a value follows from its key");
	assert_refused("<<: 1\n",
		       "t.yaml:1:1: error: merge key '<<' is not supported, the keys must "
		       "be written out");
	assert_refused("a: 1\n---\nb: 2\n", "t.yaml:2:1: error: a second document starts here, "
					    "expected one document in a file");
	assert_refused("? [a]\n: 1\n",
		       "t.yaml:1:3: error: a key must be a single word, not a list or a map");
}

/* What was refused stands in the tree as broken, so that the rest can still be judged. */
static void test_goes_on(void **state)
{
	struct parsed p = parse("a: *x\nb: *y\nc: 1\n");

	assert_int_equal(p.result, -EINVAL);
	assert_int_equal(diags_errors(p.diags), 2);
	assert_int_equal(node_get(p.root, "a")->kind, NODE_BROKEN);
	assert_string_equal(node_get(p.root, "c")->text, "1");
	drop(&p);
	p = parse("a: 1\nb: [\n");
	assert_int_equal(p.result, -EINVAL);
	assert_null(p.root);
	drop(&p);
}

static void test_show(void **state)
{
	char to[SHOW_TEXT], long_text[200];

	assert_string_equal(show("plain", to), "plain");
	assert_string_equal(show("a\033[31m\n\x7f", to), "a\\x1b[31m\\x0a\\x7f");
	assert_string_equal(show("\xc2\x9b", to), "\\xc2\\x9b");
	assert_string_equal(show("\xe2\x80\xae", to), "\\xe2\\x80\\xae");
	assert_string_equal(show("\xc3\xbc", to), "\xc3\xbc");
	for (size_t size = 1; size < sizeof(long_text); size++) {
		memset(long_text, 'a', size);
		long_text[size] = 0;
		assert_true(strlen(show(long_text, to)) < SHOW_TEXT);
		memset(long_text, 1, size);
		assert_true(strlen(show(long_text, to)) < SHOW_TEXT);
	}
	/* A character of several bytes is cut off whole, wherever the cut falls. */
	for (size_t pad = 0; pad < 4; pad++) {
		memset(long_text, 'a', pad);
		for (size_t i = 0; i < 40; i++)
			memcpy(long_text + pad + 3 * i, "\xe2\x82\xac", 4);
		show(long_text, to);
		assert_int_equal((strlen(to) - pad - 3) % 3, 0);
		assert_string_equal(to + strlen(to) - 3, "...");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),	cmocka_unit_test(test_words_stay),
		cmocka_unit_test(test_empty),	cmocka_unit_test(test_refused),
		cmocka_unit_test(test_goes_on), cmocka_unit_test(test_show),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
