// SPDX-License-Identifier: GPL-2.0-or-later
/* Calls and looks into answers, for tests: see answer.h. */
#include "tests/unit/check.h"

#include "tests/unit/service/answer.h"

#include <stdio.h>

#include "tests/unit/service/fake.h"
#include "tests/unit/service/shape.h"

cJSON *ask(const char *method, const char *parameters)
{
	char message[200];
	int fd = client_connect(&fake);
	char *answer;
	cJSON *reply, *p;

	snprintf(message, sizeof(message), "{\"method\":\"io.swd.Switch.%s\",\"parameters\":%s}",
		 method, parameters ? parameters : "{}");
	answer = client_ask(fd, message);
	reply = cJSON_Parse(answer);
	assert_non_null(reply);
	p = cJSON_DetachItemFromObject(reply, "parameters");
	if (!p || cJSON_GetObjectItem(reply, "error"))
		fail_msg("%s: %s", method, answer);
	shape_check(method, p);
	cJSON_Delete(reply);
	free(answer);
	close(fd);
	return p;
}

const cJSON *at(const cJSON *o, const char *name)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(o, name);

	if (!m)
		fail_msg("no member %s", name);
	return m;
}

void is_text(const cJSON *o, const char *name, const char *wanted)
{
	const cJSON *m = at(o, name);

	if (!wanted) {
		assert_true(cJSON_IsNull(m));
		return;
	}
	assert_true(cJSON_IsString(m));
	assert_string_equal(m->valuestring, wanted);
}

void is_number(const cJSON *o, const char *name, double wanted)
{
	const cJSON *m = at(o, name);

	assert_true(cJSON_IsNumber(m));
	if (m->valuedouble != wanted)
		fail_msg("%s is %f, wanted %f", name, m->valuedouble, wanted);
}

const cJSON *named(const cJSON *list, const char *key, const char *name)
{
	const cJSON *m;

	cJSON_ArrayForEach(m, list)
	{
		if (strcmp(at(m, key)->valuestring, name) == 0)
			return m;
	}
	fail_msg("no %s %s", key, name);
	return NULL;
}
