// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cJSON reads what json_check() has passed, so it never sees what it gets wrong: depth, NUL
 * escapes, broken UTF-8, numbers that a double can't hold. Replies are written by jsonw, never by
 * cJSON.
 */
#include "daemon/service/varlink.h"

#include <cjson/cJSON.h>
#include <errno.h>

#include "daemon/service/jsoncheck.h"

/* Members of one object are few (JSON_MEMBERS_MAX), so each is compared with each. */
static bool twice(const cJSON *value)
{
	for (const cJSON *a = value->child; a; a = a->next) {
		if (cJSON_IsObject(value)) {
			for (const cJSON *b = a->next; b; b = b->next) {
				if (streq(a->string, b->string))
					return true;
			}
		}
		if (twice(a)) /* as deep as json_check() allows */
			return true;
	}
	return false;
}

static bool method_name(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-");

	return n > 0 && n <= VARLINK_METHOD_MAX && s[n] == 0;
}

static const char *read_member(const cJSON *m, struct varlink_call *c)
{
	bool *flag = NULL;

	if (streq(m->string, "method")) {
		if (!cJSON_IsString(m) || !method_name(m->valuestring))
			return "'method' is not the name of a method";
		c->method = m->valuestring;
		return NULL;
	}
	if (streq(m->string, "parameters")) {
		if (!cJSON_IsObject(m) && !cJSON_IsNull(m))
			return "'parameters' is not an object";
		c->parameters = cJSON_IsObject(m) ? m : NULL;
		return NULL;
	}
	if (streq(m->string, "more"))
		flag = &c->more;
	else if (streq(m->string, "oneway"))
		flag = &c->oneway;
	else if (streq(m->string, "upgrade"))
		flag = &c->upgrade;
	else
		return "an unknown member";
	if (!cJSON_IsBool(m))
		return "'more', 'oneway' and 'upgrade' are true or false";
	*flag = cJSON_IsTrue(m);
	return NULL;
}

int varlink_parse(const char *text, size_t size, struct varlink_call *ret, const char **ret_why)
{
	struct varlink_call c = { 0 };
	const char *why = NULL;
	int err;

	err = json_check(text, size, ret_why);
	if (err < 0)
		return err;
	c.root = cJSON_ParseWithLength(text, size + 1);
	if (!c.root)
		return -ENOMEM;

	if (!cJSON_IsObject(c.root))
		why = "not an object";
	else if (twice(c.root))
		why = "a member that comes twice";
	for (const cJSON *m = c.root->child; m && !why; m = m->next)
		why = read_member(m, &c);
	if (!why && !c.method)
		why = "'method' is missing";
	if (!why && c.more && c.oneway)
		why = "'more' and 'oneway' exclude each other";
	if (why) {
		varlink_call_clear(&c);
		*ret_why = why;
		return -EBADMSG;
	}
	*ret = c;
	return 0;
}

void varlink_call_clear(struct varlink_call *call)
{
	cJSON_Delete(call->root);
	*call = (struct varlink_call){ 0 };
}

static bool type_fits(const cJSON *value, enum varlink_type type)
{
	switch (type) {
	case VARLINK_STRING:
		return cJSON_IsString(value);
	case VARLINK_BOOL:
		return cJSON_IsBool(value);
	case VARLINK_INT:
		/* That it is whole was seen to before it came here. */
		return cJSON_IsNumber(value) && value->valuedouble >= 0 &&
		       value->valuedouble <= 9007199254740992.0;
	}
	return false;
}

int varlink_params_check(const struct varlink_param *list, const struct cJSON *parameters,
			 const char **ret_bad)
{
	for (const cJSON *m = parameters ? parameters->child : NULL; m; m = m->next) {
		const struct varlink_param *p = list;

		while (p->name && !streq(p->name, m->string))
			p++;
		if (!p->name || (!type_fits(m, p->type) && !(p->optional && cJSON_IsNull(m)))) {
			*ret_bad = m->string;
			return -EINVAL;
		}
	}
	for (const struct varlink_param *p = list; p->name; p++) {
		if (!p->optional && !cJSON_GetObjectItemCaseSensitive(parameters, p->name)) {
			*ret_bad = p->name;
			return -EINVAL;
		}
	}
	return 0;
}

const char *varlink_param_string(const struct cJSON *parameters, const char *name)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(parameters, name);

	return cJSON_IsString(m) ? m->valuestring : NULL;
}

bool varlink_param_u64(const struct cJSON *parameters, const char *name, uint64_t *ret)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(parameters, name);

	if (!cJSON_IsNumber(m))
		return false;
	*ret = (uint64_t)m->valuedouble;
	return true;
}

bool varlink_param_bool(const struct cJSON *parameters, const char *name)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(parameters, name));
}

static int message(const char *error, struct jsonw *parameters, bool continues, char **ret,
		   size_t *ret_size)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	_cleanup_free_ char *text = NULL;
	size_t size;
	int err;

	if (!w)
		return -ENOMEM;
	if (parameters) {
		err = jsonw_take(parameters, &text, &size);
		if (err < 0)
			return err;
	}
	jsonw_object(w);
	if (error)
		jsonw_key_string(w, "error", error);
	jsonw_key(w, "parameters");
	jsonw_raw(w, text ? text : "{}");
	if (continues)
		jsonw_key_bool(w, "continues", true);
	jsonw_object_end(w);
	err = jsonw_take(w, ret, &size);
	if (err < 0)
		return err;
	*ret_size = size + 1;
	return 0;
}

int varlink_reply(struct jsonw *parameters, bool continues, char **ret, size_t *ret_size)
{
	return message(NULL, parameters, continues, ret, ret_size);
}

int varlink_error(const char *error, struct jsonw *parameters, char **ret, size_t *ret_size)
{
	return message(error, parameters, false, ret, ret_size);
}
