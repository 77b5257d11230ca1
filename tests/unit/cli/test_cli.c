// SPDX-License-Identifier: GPL-2.0-or-later
/* The client's own small rooms: exact numbers, tables, words; and that every command is in the man
 * page. */
#include "tests/unit/check.h"

#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/json.h"
#include "cli/out_text.h"

static char *printed;
static size_t printed_size;
static FILE *paper;

static FILE *open_paper(void)
{
	paper = open_memstream(&printed, &printed_size);
	assert_non_null(paper);
	return paper;
}

static void on_paper(const char *wanted)
{
	fclose(paper);
	assert_string_equal(printed, wanted);
	free(printed);
}

static void test_numbers_stay(void **state)
{
	static const char text[] =
		"{\"a\":18446744073709551615,\"b\":[-9223372036854775808,0,1.5e3],"
		"\"c\":\"12 \\\" 13\",\"d\":null,\"e\":true,\"f\":\"\\u0001x\"}";
	_cleanup_(json_freep) struct cJSON *j = json_read(text);

	assert_non_null(j);
	assert_true(json_u64(j, "a") == UINT64_MAX);
	assert_string_equal(json_digits(j, "a"), "18446744073709551615");
	assert_string_equal(json_text(j, "a"), "");
	assert_string_equal(json_text(j, "c"), "12 \" 13");
	assert_string_equal(json_digits(j, "c"), "");
	assert_null(json_get(j, "d"));
	assert_null(json_get(j, "nothing"));
	assert_true(json_true(j, "e"));
	assert_true(json_u64(json_get(j, "nothing"), "x") == 0);
	assert_int_equal(json_count(json_get(j, "b")), 3);
	json_print(j, -1, open_paper());
	on_paper(text);
}

static void test_not_json(void **state)
{
	static const char *const texts[] = { "", "{", "{\"a\":}", "[1,", "{} x", "\"abc" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_null(json_read(texts[i]));
}

static void test_table(void **state)
{
	static const char *const heads[] = { "NAME", ">N", "REST", NULL };
	_cleanup_(table_freep) struct table *t = table_new(heads);

	table_cell(t, "l\xc3\xa4n1");
	table_cell(t, "1,000");
	table_cell(t, "short");
	table_cell(t, "b");
	table_cellf(t, "%d", 7);
	table_cell(t, "");
	table_cell(t, "l\x7fne\nf\xc2\x9b"
		      "ed");
	table_cell(t, "1");
	table_cell(t, "a rest that is much too long");
	assert_int_equal(table_rows(t), 3);
	assert_int_equal(table_print(t, 1, 0, open_paper()), 0);
	on_paper(" NAME           N  REST\n"
		 " l\xc3\xa4n1       1,000  short\n"
		 " b              7  -\n"
		 " l?ne?f?ed      1  a rest that is much too long\n");
	assert_int_equal(table_print(t, 0, 30, open_paper()), 0);
	on_paper("NAME           N  REST\n"
		 "l\xc3\xa4n1       1,000  short\n"
		 "b              7  -\n"
		 "l?ne?f?ed      1  a rest th...\n");
}

static void test_words(void **state)
{
	char to[64];

	assert_string_equal(text_number("", to), "");
	assert_string_equal(text_number("7", to), "7");
	assert_string_equal(text_number("999", to), "999");
	assert_string_equal(text_number("1000", to), "1,000");
	assert_string_equal(text_number("18446744073709551615", to), "18,446,744,073,709,551,615");
	assert_string_equal(text_u64(1204331, to), "1,204,331");
	assert_string_equal(text_age(0, to), "0 ms");
	assert_string_equal(text_age(999, to), "999 ms");
	assert_string_equal(text_age(1000, to), "1 s");
	assert_string_equal(text_age(59999, to), "59 s");
	assert_string_equal(text_age(60000, to), "1 min");
	assert_string_equal(text_age(7200000, to), "2 h");
	assert_string_equal(text_age(86400000, to), "1 d");
	assert_string_equal(text_count(1, "rule", to), "1 rule");
	assert_string_equal(text_count(0, "rule", to), "0 rules");
	assert_string_equal(text_count(1234, "rule", to), "1,234 rules");
	assert_string_equal(text_time(0, to), "never");
	setenv("TZ", "UTC", 1);
	assert_string_equal(text_time(1700000000123, to), "2023-11-14 22:13:20");
}

static void test_man_page(void **state)
{
	char page[65536], wanted[64];
	FILE *f = fopen(getenv("SWD_MAN"), "r");
	size_t n;

	assert_non_null(f);
	n = fread(page, 1, sizeof(page) - 1, f);
	fclose(f);
	page[n] = 0;
	for (size_t i = 0; cmd_at(i); i++) {
		if (cmd_at(i)->hidden)
			continue;
		/* ".B status" or ".BR rules ..." or ".BI check ..." behind a ".TP". */
		snprintf(wanted, sizeof(wanted), " %s", cmd_at(i)->name);
		{
			bool found = false;

			for (char *at = page; !found && (at = strstr(at, "\n.TP\n.B")); at++) {
				char *word = strchr(at + 6, ' ');

				found = word && strncmp(word, wanted, strlen(wanted)) == 0 &&
					strchr(" \n", word[strlen(wanted)]);
			}
			if (!found)
				fail_msg("the man page lacks %s", cmd_at(i)->name);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_stay), cmocka_unit_test(test_not_json),
		cmocka_unit_test(test_table),	     cmocka_unit_test(test_words),
		cmocka_unit_test(test_man_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
