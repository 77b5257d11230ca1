// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * json_schema: the tables as JSON Schema (draft 7), which editors use to complete keys and to
 * underline mistakes while a file is written. It knows less than `sw-cli check`: nothing across
 * objects.
 */
#include <errno.h>
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/yaml/schema.h"

static void write_key(struct jsonw *w, const struct key *key)
{
	jsonw_key(w, key->name);
	jsonw_object(w);
	key->type->schema(w, key);
	jsonw_key_string(w, "description", key->doc);
	if (key->def) {
		jsonw_key(w, "default");
		if (key->type->bare)
			jsonw_raw(w, key->def);
		else
			jsonw_string(w, key->def);
	}
	jsonw_object_end(w);
}

void json_schema_section(struct jsonw *w, const struct section *s)
{
	jsonw_key_string(w, "type", "object");
	jsonw_key_bool(w, "additionalProperties", false);
	jsonw_key(w, "required");
	jsonw_array(w);
	for (uint32_t i = 0; i < s->count; i++)
		if (s->keys[i].required)
			jsonw_string(w, s->keys[i].name);
	jsonw_array_end(w);
	jsonw_key(w, "properties");
	jsonw_object(w);
	for (uint32_t i = 0; i < s->count; i++)
		write_key(w, &s->keys[i]);
	jsonw_object_end(w);
}

/* Breaks one line of JSON into an indented text, so that a change of it can be read. */
static int indent(const char *json, char **ret)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	unsigned int depth = 0;
	bool quoted = false;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return -ENOMEM;
	for (const char *s = json; *s; s++) {
		bool opens = !quoted && (*s == '{' || *s == '[');
		bool closes = !quoted && (*s == '}' || *s == ']');
		bool empty = s > json && (s[-1] == '{' || s[-1] == '[');

		if (closes) {
			depth--;
			if (!empty)
				fprintf(to, "\n%*s", (int)depth * 2, "");
		}
		fputc(*s, to);
		if (*s == '"')
			quoted = !quoted;
		else if (quoted && *s == '\\')
			fputc(*++s, to);
		else if (!quoted && *s == ':')
			fputc(' ', to);
		depth += opens;
		if ((opens && s[1] != '}' && s[1] != ']') || (!quoted && *s == ','))
			fprintf(to, "\n%*s", (int)depth * 2, "");
	}
	fputc('\n', to);
	if (fclose(to) != 0)
		return -ENOMEM;
	*ret = take(text);
	return 0;
}

int json_schema(char **ret)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	_cleanup_free_ char *json = NULL;
	size_t size;
	int r;

	if (!w)
		return -ENOMEM;
	jsonw_object(w);
	jsonw_key_string(w, "$schema", "http://json-schema.org/draft-07/schema#");
	jsonw_key_string(w, "title", "swd.yaml");
	jsonw_key_string(w, "description", "What a switch managed by swd should be");
	json_schema_section(w, &schema_root);
	jsonw_object_end(w);
	r = jsonw_take(w, &json, &size);
	if (r < 0)
		return r;
	return indent(json, ret);
}
