/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * out_text: results for people: aligned tables, times, numbers with commas, and the daemon's errors
 * in words.
 */
#ifndef SWD_CLI_OUT_TEXT_H
#define SWD_CLI_OUT_TEXT_H

#include <stdint.h>
#include <stdio.h>

#include "config/base/util.h"

struct cJSON;
struct table;

/*
 * A table; heads is ended by NULL, a '>' in front aligns a column right. Rows are printed when all
 * are there: columns are as wide as their widest cell, two spaces between. Wider lines than `width`
 * are cut in the last column (0: never).
 */
struct table *table_new(const char *const *heads);
void table_free(struct table *t);
DEFINE_CLEANUP(struct table *, table_free);
/* Cells in order; missing memory is remembered. */
void table_cell(struct table *t, const char *text);
void table_cellf(struct table *t, const char *fmt, ...) _printf_(2, 3);
size_t table_rows(const struct table *t);
/* 0 or -ENOMEM. */
int table_print(const struct table *t, int indent, int width, FILE *to);

#define NUMBER_TEXT 32
/* "1,204,331" */
const char *text_number(const char *digits, char to[NUMBER_TEXT]);
const char *text_u64(uint64_t v, char to[NUMBER_TEXT]);
#define TIME_TEXT 32
/* Milliseconds since 1970 as "14:02:11" if that is today, else with the date; "never" for 0. */
const char *text_time(uint64_t ms, char to[TIME_TEXT]);
/* "250 ms", "3 s", "5 min", "2 h", "4 d" */
const char *text_age(uint64_t ms, char to[TIME_TEXT]);
/* Whole seconds, the last one begun: "42s", "10m"; for what is left of a time. */
const char *text_left(uint64_t ms, char to[64]);
/* "1 rule", "2 rules" */
const char *text_count(uint64_t n, const char *noun, char to[64]);

/* An error reply, in words, on standard error. */
void text_error(const char *error, const struct cJSON *parameters);
/* Messages about a file (a []Diag), a line each, on standard error. */
void text_diags(const struct cJSON *diags);

#endif
