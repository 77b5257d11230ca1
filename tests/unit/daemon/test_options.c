// SPDX-License-Identifier: GPL-2.0-or-later
/* swd's command line: what it sets, when it ends, and that help and man page tell the same options.
 */
#include "tests/unit/check.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/base/log.h"
#include "config/base/util.h"
#include "daemon/options.h"

/* Runs options_parse(); what it prints to standard output or error is in *ret_text. */
static int parse(struct swd_options *o, int fd, char *ret_text, size_t size, const char *word,
		 const char *value)
{
	/* getopt() moves words and writes into none. */
	char *argv[] = { (char[]){ "swd" }, (char *)word, (char *)value, NULL };
	int pipe_fds[2], kept, r;
	ssize_t n;

	assert_int_equal(pipe(pipe_fds), 0);
	fflush(NULL);
	kept = dup(fd);
	assert_int_equal(dup2(pipe_fds[1], fd), fd);
	optind = 0;
	r = options_parse(value ? 3 : word ? 2 : 1, argv, o);
	fflush(NULL);
	dup2(kept, fd);
	close(kept);
	close(pipe_fds[1]);
	n = read(pipe_fds[0], ret_text, size - 1);
	close(pipe_fds[0]);
	assert_true(n >= 0);
	ret_text[n] = 0;
	return r;
}

static void test_values(void **state)
{
	struct swd_options o;
	char text[4096];

	assert_int_equal(parse(&o, 1, text, sizeof(text), NULL, NULL), -1);
	assert_string_equal(o.config, "/etc/swd/swd.yaml");
	assert_int_equal(o.log_level, -1);
	assert_false(o.teardown);
	assert_int_equal(parse(&o, 1, text, sizeof(text), "--teardown", NULL), -1);
	assert_true(o.teardown);
	assert_int_equal(parse(&o, 1, text, sizeof(text), "--config", "x.yaml"), -1);
	assert_string_equal(o.config, "x.yaml");
	assert_int_equal(parse(&o, 1, text, sizeof(text), "--log-level", "debug"), -1);
	assert_int_equal(o.log_level, LOG_LEVEL_DEBUG);
}

static void test_wrong(void **state)
{
	struct swd_options o;
	char text[4096];

	assert_int_equal(parse(&o, 2, text, sizeof(text), "--log-level", "loud"), 2);
	assert_non_null(strstr(text, "'loud'"));
	assert_int_equal(parse(&o, 2, text, sizeof(text), "--bogus", NULL), 2);
	assert_non_null(strstr(text, "swd --help"));
	assert_int_equal(parse(&o, 2, text, sizeof(text), "file.yaml", NULL), 2);
	assert_non_null(strstr(text, "'file.yaml'"));
}

static void test_help(void **state)
{
	static const char *const names[] = { "config",	  "socket",  "state", "teardown",
					     "log-level", "version", "help" };
	struct swd_options o;
	char text[4096], page[32768], *to = page;
	FILE *f = fopen(getenv("SWD_MAN"), "r");

	assert_int_equal(parse(&o, 1, text, sizeof(text), "-V", NULL), 0);
	assert_string_equal(text, "swd " SWD_VERSION "\n");
	assert_int_equal(parse(&o, 1, text, sizeof(text), "-h", NULL), 0);
	assert_non_null(f);
	for (int c = fgetc(f); c != EOF && to < page + sizeof(page) - 1; c = fgetc(f))
		if (c != '\\')
			*to++ = (char)c;
	*to = 0;
	fclose(f);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char word[32];

		snprintf(word, sizeof(word), "--%s", names[i]);
		if (!strstr(text, word) || !strstr(page, word))
			fail_msg("help or man page lacks %s", word);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
