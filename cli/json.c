// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/json.h"

#include <cjson/cJSON.h>
#include <errno.h>

/* Stands in front of a number's digits; a string from the daemon has it only as an escape. */
#define MARK '\x01'

static bool in_number(char c)
{
	return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* Turns 12 into "\x0112". Worst case: each character a number of one digit, which becomes four. */
static char *mark_numbers(const char *text)
{
	char *marked = malloc(strlen(text) * 4 + 1), *to = marked;
	bool string = false;

	if (!marked)
		return NULL;
	while (*text) {
		if (string) {
			if (*text == '\\' && text[1])
				*to++ = *text++;
			else if (*text == '"')
				string = false;
			*to++ = *text++;
		} else if (*text == '-' || (*text >= '0' && *text <= '9')) {
			*to++ = '"';
			*to++ = MARK;
			while (in_number(*text))
				*to++ = *text++;
			*to++ = '"';
		} else {
			string = *text == '"';
			*to++ = *text++;
		}
	}
	*to = 0;
	return marked;
}

struct cJSON *json_read(const char *text)
{
	_cleanup_free_ char *marked = mark_numbers(text);

	return marked ? cJSON_ParseWithOpts(marked, NULL, true) : NULL;
}

void json_free(struct cJSON *j)
{
	cJSON_Delete(j);
}

const struct cJSON *json_get(const struct cJSON *o, const char *name)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(o, name);

	return m && !cJSON_IsNull(m) ? m : NULL;
}

static bool is_number(const cJSON *m)
{
	return cJSON_IsString(m) && m->valuestring[0] == MARK && in_number(m->valuestring[1]);
}

const char *json_string(const struct cJSON *m)
{
	return cJSON_IsString(m) && !is_number(m) ? m->valuestring : "";
}

const char *json_text(const struct cJSON *o, const char *name)
{
	return json_string(json_get(o, name));
}

const char *json_digits(const struct cJSON *o, const char *name)
{
	const cJSON *m = json_get(o, name);

	return is_number(m) ? m->valuestring + 1 : "";
}

uint64_t json_u64(const struct cJSON *o, const char *name)
{
	const char *digits = json_digits(o, name);

	return digits[0] && digits[0] != '-' ? strtoull(digits, NULL, 10) : 0;
}

bool json_true(const struct cJSON *o, const char *name)
{
	return cJSON_IsTrue(json_get(o, name));
}

const struct cJSON *json_first(const struct cJSON *list)
{
	return list ? list->child : NULL;
}

const struct cJSON *json_next(const struct cJSON *element)
{
	return element->next;
}

size_t json_count(const struct cJSON *list)
{
	size_t n = 0;

	for (const cJSON *e = json_first(list); e; e = e->next)
		n++;
	return n;
}

const char *json_name(const struct cJSON *member)
{
	return member->string ? member->string : "";
}

void json_print_string(const char *text, FILE *to)
{
	fputc('"', to);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(to, "\\%c", *c);
		else if (*c == '\n')
			fputs("\\n", to);
		else if (*c < 0x20 || *c == 0x7f)
			fprintf(to, "\\u%04x", *c);
		else
			fputc(*c, to);
	}
	fputc('"', to);
}

static void line(int depth, FILE *to)
{
	if (depth >= 0)
		fprintf(to, "\n%*s", 2 * depth, "");
}

static void print_list(const cJSON *list, int depth, FILE *to)
{
	bool object = cJSON_IsObject(list);
	int inner = depth < 0 ? -1 : depth + 1;

	fputc(object ? '{' : '[', to);
	for (const cJSON *e = list->child; e; e = e->next) {
		line(inner, to);
		if (object) {
			json_print_string(json_name(e), to);
			fputs(depth < 0 ? ":" : ": ", to);
		}
		json_print(e, inner, to);
		if (e->next)
			fputc(',', to);
	}
	if (list->child)
		line(depth, to);
	fputc(object ? '}' : ']', to);
}

void json_print(const struct cJSON *value, int depth, FILE *to)
{
	if (cJSON_IsObject(value) || cJSON_IsArray(value))
		print_list(value, depth, to);
	else if (is_number(value))
		fputs(value->valuestring + 1, to);
	else if (cJSON_IsString(value))
		json_print_string(value->valuestring, to);
	else if (cJSON_IsBool(value))
		fputs(cJSON_IsTrue(value) ? "true" : "false", to);
	else
		fputs("null", to);
}
