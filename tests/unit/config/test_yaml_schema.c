// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables themselves: every row is whole, defaults are what their types take and what the model
 * has, and the schema for editors is what the tables give.
 */
#include <errno.h>
#include <stdio.h>

#include "tests/unit/check.h"

#include "config/base/log.h"
#include "config/yaml/draft.h"
#include "config/yaml/hint.h"
#include "config/yaml/load.h"
#include "config/yaml/walk.h"

static const char *source_root;

static const struct section *const sections[] = {
	&schema_root, &schema_daemon, &schema_port,	   &schema_vlan,   &schema_block,
	&schema_rule, &schema_tx,     &schema_vlan_action, &schema_police, &schema_sample,
};

static void test_rows(void **state)
{
	for (size_t s = 0; s < ARRAY_SIZE(sections); s++) {
		const struct section *section = sections[s];

		assert_true(section->count > 0 && section->count <= 32);
		for (uint32_t i = 0; i < section->count; i++) {
			const struct key *key = &section->keys[i];

			assert_non_null(key->name);
			assert_non_null(key->type);
			assert_non_null(key->doc);
			assert_true(key->offset >= sizeof(struct draft));
			assert_true(key->offset < section->size);
			assert_true(key->doc[strlen(key->doc) - 1] != '.');
			assert_false(key->required && key->def);
			for (uint32_t other = 0; other < i; other++) {
				assert_string_not_equal(key->name, section->keys[other].name);
				assert_int_not_equal(key->offset, section->keys[other].offset);
			}
			if (key->type == &value_map || key->type == &value_map_by_name ||
			    key->type == &value_map_list)
				assert_non_null(key->section);
			if (key->type == &value_name || key->type == &value_names ||
			    key->type == &value_map_by_name)
				assert_non_null(key->check_name);
			if (key->type == &value_word)
				for (uint64_t v = key->min; v <= key->max; v++)
					assert_non_null(key->word((unsigned int)v));
		}
	}
}

static void test_defaults(void **state)
{
	for (size_t s = 0; s < ARRAY_SIZE(sections); s++)
		for (uint32_t i = 0; i < sections[s]->count; i++) {
			const struct key *key = &sections[s]->keys[i];
			struct reader r = { .diags = diags_new("defaults") };
			uint64_t value = 0;

			if (key->def) {
				assert_true(key->type->size > 0);
				assert_int_equal(walk_default(&r, key, &value), 0);
			}
			diags_free(r.diags);
		}
}

/* `daemon: {}` and no daemon section at all are the same settings. */
static void test_daemon_defaults(void **state)
{
	static const char text[] = "version: 1\ndaemon: {}\n";
	struct diags *d = diags_new("t");
	struct config *c, *fresh = config_new("t");

	assert_int_equal(config_load(text, strlen(text), d, &c), 0);
	assert_memory_equal(&c->daemon, &fresh->daemon, sizeof(c->daemon));
	config_unref(c);
	config_unref(fresh);
	diags_free(d);
}

static void test_editor_schema(void **state)
{
	_cleanup_free_ char *path = NULL, *committed = NULL, *made = NULL;
	size_t size;

	assert_true(asprintf(&path, "%s/config/swd.schema.json", source_root) > 0);
	assert_int_equal(config_read_file(path, &committed, &size), 0);
	assert_int_equal(json_schema(&made), 0);
	if (!streq(committed, made))
		print_message("config/swd.schema.json is not what the tables give; "
			      "run: ninja -C BUILD schema\n");
	assert_true(streq(committed, made));
}

/* What the model knows, people can write: no field and no action is left out. */
static void test_editor_schema_is_whole(void **state)
{
	_cleanup_free_ char *made = NULL;
	char quoted[64];
	const char *name;

	assert_int_equal(json_schema(&made), 0);
	for (size_t i = 0; (name = field_name_at(i)); i++) {
		snprintf(quoted, sizeof(quoted), "\"%s\": {", name);
		assert_non_null(strstr(made, quoted));
	}
	for (size_t i = 0; (name = action_name_at(i)); i++) {
		snprintf(quoted, sizeof(quoted), "\"%s\"", name);
		assert_non_null(strstr(made, quoted));
	}
}

/* The text of the man page, as it is read: no escapes. */
static char *man_page(void)
{
	_cleanup_free_ char *path = NULL;
	char *page, *to;
	size_t size;

	assert_true(asprintf(&path, "%s/cli/swd.yaml.5", source_root) > 0);
	assert_int_equal(config_read_file(path, &page, &size), 0);
	to = page;
	for (const char *from = page; *from; from++)
		if (from[0] != '\\' || from[1] != '-')
			*to++ = *from;
	*to = '\0';
	return page;
}

/* How many items of the page have that name, and whether one of them tells the default. */
static size_t man_items(const char *page, const char *name, const char *def, bool *ret_told)
{
	char head[64], value[64];
	size_t n = 0;

	snprintf(head, sizeof(head), "\n.B %s\n", name);
	snprintf(value, sizeof(value), " %s.", def ? def : "");
	for (const char *at = page; (at = strstr(at, head)); at++, n++) {
		const char *end = strstr(at, "\n.TP"), *told = strstr(at, value);

		*ret_told |= def && told && (!end || told < end);
	}
	return n;
}

static void test_man_page(void **state)
{
	_cleanup_free_ char *page = man_page();
	bool told = false;
	const char *name;

	for (size_t s = 0; s < ARRAY_SIZE(sections); s++)
		for (uint32_t i = 0; i < sections[s]->count; i++) {
			const struct key *key = &sections[s]->keys[i];
			size_t wanted = 0;

			/* What an action takes is told with the action. */
			for (size_t t = 0; t < ARRAY_SIZE(sections) - 3; t++)
				for (uint32_t k = 0; k < sections[t]->count; k++)
					wanted += streq(sections[t]->keys[k].name, key->name);
			told = !key->def;
			if (man_items(page, key->name, key->def, &told) < wanted)
				fail_msg("the man page lacks %s of %s", key->name,
					 sections[s]->what);
			if (!told && s < ARRAY_SIZE(sections) - 3)
				fail_msg("the man page lacks the default of %s", key->name);
		}
	for (size_t i = 0; (name = field_name_at(i)); i++)
		if (!man_items(page, name, NULL, &told))
			fail_msg("the man page lacks %s", name);
	for (size_t i = 0; (name = action_name_at(i)); i++)
		if (!man_items(page, name, NULL, &told))
			fail_msg("the man page lacks %s", name);
}

static void test_man_page_example(void **state)
{
	_cleanup_free_ char *page = man_page();
	const char *text = strstr(page, ".EX\n") + 4, *end = strstr(text, ".EE\n");
	struct diags *d = diags_new("swd.yaml.5");
	struct config *c = NULL;

	assert_int_equal(config_load(text, (size_t)(end - text), d, &c), 0);
	assert_int_equal(diags_count(d), 0);
	config_unref(c);
	diags_free(d);
}

static const char *const fruit[] = { "apple", "pref", "src", "dst-mac", "offload" };

static const char *fruit_at(size_t i, void *data)
{
	return i < ARRAY_SIZE(fruit) ? fruit[i] : NULL;
}

static void test_hints(void **state)
{
	assert_string_equal(hint_word("aple", fruit_at, NULL), "apple");
	assert_string_equal(hint_word("APPLE", fruit_at, NULL), "apple");
	assert_string_equal(hint_word("scr", fruit_at, NULL), "src");
	assert_string_equal(hint_word("dst_mac", fruit_at, NULL), "dst-mac");
	assert_string_equal(hint_word("priority", fruit_at, NULL), "pref");
	assert_string_equal(hint_word("skip_sw", fruit_at, NULL), "offload");
	assert_null(hint_word("xylophone", fruit_at, NULL));
	assert_null(hint_word("", fruit_at, NULL));
}

static void test_names(void **state)
{
	assert_null(check_device_name("lan1.100"));
	assert_null(check_device_name("fifteen-bytes-x"));
	assert_non_null(check_device_name("sixteen-bytes-xx"));
	assert_non_null(check_device_name(""));
	assert_non_null(check_device_name("."));
	assert_non_null(check_device_name(".."));
	assert_non_null(check_device_name("a/b"));
	assert_non_null(check_device_name("a b"));
	assert_non_null(check_device_name("a:b"));
	assert_non_null(check_device_name("a%d"));
	assert_non_null(check_device_name("a\n"));
	assert_null(check_block_name("edge.1_2-3"));
	assert_non_null(check_block_name("edge:1"));
	assert_null(check_rule_name("edge:1"));
	assert_non_null(check_rule_name("edge 1"));
	assert_non_null(check_group_name("-x"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_daemon_defaults),
		cmocka_unit_test(test_editor_schema),
		cmocka_unit_test(test_editor_schema_is_whole),
		cmocka_unit_test(test_man_page),
		cmocka_unit_test(test_man_page_example),
		cmocka_unit_test(test_hints),
		cmocka_unit_test(test_names),
	};

	source_root = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
