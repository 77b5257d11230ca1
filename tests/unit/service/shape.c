// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A small reader of the Varlink definition language, enough for our own text: named structs,
 * arrays, maps,
 * "?" and the plain types.
 */
#include "tests/unit/check.h"

#include <ctype.h>
#include <stdio.h>
#include <stdbool.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "daemon/service/interface.h"
#include "tests/unit/service/shape.h"

static void check_struct(const char *text, const cJSON *value, const char *what);

static const char *skip_blank(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

static const char *word(const char *at, char to[64])
{
	size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	assert_true(n > 0 && n < 64);
	memcpy(to, at, n);
	to[n] = 0;
	return at + n;
}

/* Checks value (NULL: only reads) against the type at `at`; returns what is behind it. */
static const char *check_type(const char *at, const cJSON *value, const char *what)
{
	char name[64], line[100];
	const char *found, *end;

	if (*at == '?') {
		return check_type(at + 1, value && !cJSON_IsNull(value) ? value : NULL, what);
	}
	if (strncmp(at, "[]", 2) == 0 || strncmp(at, "[string]", 8) == 0) {
		bool map = at[1] == 's';
		const char *element = at + (map ? 8 : 2);

		if (value && (map ? !cJSON_IsObject(value) : !cJSON_IsArray(value)))
			fail_msg("%s is no %s", what, map ? "map" : "array");
		end = check_type(element, NULL, what);
		for (const cJSON *e = value ? value->child : NULL; e; e = e->next)
			check_type(element, e, what);
		return end;
	}
	at = word(at, name);
	if (!value)
		return at;
	if (strcmp(name, "string") == 0) {
		if (!cJSON_IsString(value))
			fail_msg("%s is no string", what);
	} else if (strcmp(name, "int") == 0) {
		if (!cJSON_IsNumber(value))
			fail_msg("%s is no number", what);
	} else if (strcmp(name, "bool") == 0) {
		if (!cJSON_IsBool(value))
			fail_msg("%s is no bool", what);
	} else {
		snprintf(line, sizeof(line), "\ntype %s (", name);
		found = strstr(interface_switch, line);
		if (!found)
			fail_msg("the text has no type %s", name);
		check_struct(found + strlen(line), value, what);
	}
	return at;
}

/* An Action leaves out what does not apply; everywhere else "?" means null. */
static bool may_be_absent(const char *what, const char *type)
{
	return strcmp(what, "actions") == 0 && *type == '?';
}

static void check_struct(const char *text, const cJSON *value, const char *what)
{
	int members = 0, absent = 0;
	char name[64];

	if (!cJSON_IsObject(value))
		fail_msg("%s is no object", what);
	for (const char *at = skip_blank(text); *at != ')';
	     at = skip_blank(*at == ',' ? at + 1 : at)) {
		const cJSON *m;

		at = skip_blank(word(at, name));
		assert_int_equal(*at, ':');
		at = skip_blank(at + 1);
		m = cJSON_GetObjectItemCaseSensitive(value, name);
		if (!m && !may_be_absent(what, at))
			fail_msg("%s has no member %s", what, name);
		if (m && *at != '?' && cJSON_IsNull(m))
			fail_msg("%s.%s is null", what, name);
		absent += !m;
		members++;
		at = skip_blank(check_type(at, m, name));
	}
	if (cJSON_GetArraySize(value) != members - absent)
		fail_msg("%s has members that the text has not", what);
}

void shape_check(const char *method, const struct cJSON *parameters)
{
	char line[100];
	const char *found;

	snprintf(line, sizeof(line), "\nmethod %s(", method);
	found = strstr(interface_switch, line);
	assert_non_null(found);
	found = strstr(found, ") -> (");
	assert_non_null(found);
	check_struct(found + 6, parameters, method);
}
