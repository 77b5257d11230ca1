/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json: answers of the daemon as cJSON trees whose numbers are exact. cJSON keeps a number as a
 * double, in which a 64-bit counter does not fit; so numbers are turned into marked strings before
 * it reads them, and back when they are printed.
 */
#ifndef SWD_CLI_JSON_H
#define SWD_CLI_JSON_H

#include <stdint.h>
#include <stdio.h>

#include "config/base/util.h"

struct cJSON;

/* NULL: not JSON, or memory is short. Freed by json_free(). */
struct cJSON *json_read(const char *text);
void json_free(struct cJSON *j);
DEFINE_CLEANUP(struct cJSON *, json_free);

/* A member by name; NULL if it is absent or null. o may be NULL everywhere. */
const struct cJSON *json_get(const struct cJSON *o, const char *name);
/* Its text, or "" if it is absent, null or no string. */
const char *json_text(const struct cJSON *o, const char *name);
/* Its number as it was written, or "". */
const char *json_digits(const struct cJSON *o, const char *name);
/* Its number, 0 if it is absent or none, the nearest if it does not fit. */
uint64_t json_u64(const struct cJSON *o, const char *name);
bool json_true(const struct cJSON *o, const char *name);
/* The first element of an array or object, the one behind another, and how many there are. */
const struct cJSON *json_first(const struct cJSON *list);
const struct cJSON *json_next(const struct cJSON *element);
size_t json_count(const struct cJSON *list);
/* The name of a member, the text of a string element ("" if it is none). */
const char *json_name(const struct cJSON *member);
const char *json_string(const struct cJSON *element);

/* Prints a value as it came: with line breaks, `depth` steps to the right, or on one line (depth
 * -1). */
void json_print(const struct cJSON *value, int depth, FILE *to);
void json_print_string(const char *text, FILE *to);

#endif
