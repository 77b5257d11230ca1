// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_varlink: any bytes are a call or are refused with a reason; what json_check() passes, cJSON
 * reads whole and to the same meaning; and a text survives the way out and in again. tests/fuzz/run
 * builds and runs it.
 */
#include <errno.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "daemon/service/jsoncheck.h"
#include "daemon/service/varlink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "fuzz_varlink: %s\n", what);
	abort();
}

static void write_value(struct jsonw *w, const cJSON *v)
{
	if (cJSON_IsObject(v) || cJSON_IsArray(v)) {
		bool object = cJSON_IsObject(v);

		object ? jsonw_object(w) : jsonw_array(w);
		for (const cJSON *e = v->child; e; e = e->next) {
			if (object)
				jsonw_key(w, e->string);
			write_value(w, e);
		}
		object ? jsonw_object_end(w) : jsonw_array_end(w);
	} else if (cJSON_IsString(v)) {
		jsonw_string(w, v->valuestring);
	} else if (cJSON_IsNumber(v)) {
		/* A double holds what is below 2^53; the rest is not compared. */
		jsonw_i64(w, v->valuedouble > -9e15 && v->valuedouble < 9e15
				     ? (int64_t)v->valuedouble
				     : 0);
	} else if (cJSON_IsBool(v)) {
		jsonw_bool(w, cJSON_IsTrue(v));
	} else {
		jsonw_null(w);
	}
}

static char *written(const cJSON *v)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	char *text = NULL;
	size_t size;

	check(w, "no memory");
	write_value(w, v);
	check(jsonw_take(w, &text, &size) == 0, "can't be written");
	return text;
}

/* What we let in, we can say, and it means the same when it comes in again. */
static void check_round_trip(const char *text, size_t size)
{
	cJSON *first = cJSON_ParseWithLength(text, size + 1), *second;
	_cleanup_free_ char *one = NULL, *two = NULL;
	const char *why;

	check(first, "passed, and cJSON can't read it");
	one = written(first);
	check(json_check(one, strlen(one), &why) == 0, "our own words are refused");
	second = cJSON_Parse(one);
	check(second, "our own words can't be read");
	two = written(second);
	check(streq(one, two), "it means something else the second time");
	cJSON_Delete(first);
	cJSON_Delete(second);
}

static void check_call(const char *text, size_t size)
{
	static const struct varlink_param params[] = {
		{ "block", VARLINK_STRING, true },
		{ "text", VARLINK_STRING, false },
		{ "all", VARLINK_BOOL, true },
		{ NULL },
	};
	struct varlink_call c;
	const char *why = NULL, *bad = NULL;
	int err = varlink_parse(text, size, &c, &why);

	check(err == 0 || err == -EBADMSG, "another result");
	if (err < 0) {
		check(why && why[0], "refused without a reason");
		return;
	}
	check(c.method && strlen(c.method) <= VARLINK_METHOD_MAX, "a call without a method");
	check(!(c.more && c.oneway), "more and oneway");
	if (varlink_params_check(params, c.parameters, &bad) < 0)
		check(bad, "a wrong parameter without a name");
	else
		check(varlink_param_string(c.parameters, "text"), "a text that is not there");
	varlink_call_clear(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = malloc(size + 1);
	const char *why = NULL;

	/* A copy of just this size, so that a read beyond it is seen. */
	check(text, "no memory");
	memcpy(text, data, size);
	text[size] = 0;
	if (json_check(text, size, &why) == 0) {
		check(!memchr(text, 0, size), "a NUL was passed");
		check_round_trip(text, size);
	} else {
		check(why && why[0], "refused without a reason");
	}
	check_call(text, size);
	return 0;
}
