// SPDX-License-Identifier: GPL-2.0-or-later
/* What the examples say can be said in filters: a file that check finds good is not refused for its
 * rules. */
#include "tests/unit/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/yaml/load.h"
#include "make.h"

static const char *source_root;

static void test_examples(void **state)
{
	static const char *const names[] = { "demo", "edge", "stick", "switch" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *path = NULL, *text = NULL, *said = NULL;
		struct diags *d = diags_new(names[i]);
		struct config *c = NULL;
		size_t size;

		assert_true(asprintf(&path, "%s/config/examples/%s.yaml", source_root, names[i]) >
			    0);
		assert_int_equal(config_read_file(path, &text, &size), 0);
		assert_int_equal(config_load(text, size, d, &c), 0);
		said = make_diags(c);
		assert_string_equal(said, "");
		config_unref(c);
		diags_free(d);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_examples) };

	source_root = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
