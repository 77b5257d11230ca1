/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * answer: one call to the service of fake.h, and looks into what it answers. What is not as it
 * should be fails the test.
 */
#ifndef SWD_TESTS_ANSWER_H
#define SWD_TESTS_ANSWER_H

#include <cjson/cJSON.h>

/* The parameters of the reply, checked against the interface text. parameters: NULL for none. */
cJSON *ask(const char *method, const char *parameters);

const cJSON *at(const cJSON *o, const char *name); /* a member, which may be null */
/* The element whose member `key` is that text. */
const cJSON *named(const cJSON *list, const char *key, const char *name);
void is_text(const cJSON *o, const char *name, const char *wanted); /* NULL: it is null */
void is_number(const cJSON *o, const char *name, double wanted);

#endif
