/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/base/jsonw.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct jsonw {
	char *text;
	size_t size, space;
	unsigned int depth;
	bool comma;  /* the next value needs one in front */
	bool failed; /* memory was short; nothing more is written */
};

struct jsonw *jsonw_new(void)
{
	return calloc(1, sizeof(struct jsonw));
}

void jsonw_free(struct jsonw *w)
{
	if (!w)
		return;
	free(w->text);
	free(w);
}

/* Room for `size` more bytes and a NUL. */
static bool reserve(struct jsonw *w, size_t size)
{
	size_t space = w->space ? w->space : 256;
	char *text;

	if (w->failed)
		return false;
	if (size < w->space - w->size)
		return true;
	while (space - w->size <= size)
		space *= 2;
	text = realloc(w->text, space);
	if (!text) {
		w->failed = true;
		return false;
	}
	w->text = text;
	w->space = space;
	return true;
}

static void put(struct jsonw *w, const char *bytes, size_t size)
{
	if (!reserve(w, size))
		return;
	memcpy(w->text + w->size, bytes, size);
	w->size += size;
}

static void put_value(struct jsonw *w, const char *bytes, size_t size)
{
	if (w->comma)
		put(w, ",", 1);
	put(w, bytes, size);
	w->comma = true;
}

static void open_bracket(struct jsonw *w, const char *bracket)
{
	put_value(w, bracket, 1);
	w->comma = false;
	w->depth++;
}

static void close_bracket(struct jsonw *w, const char *bracket)
{
	put(w, bracket, 1);
	w->comma = true;
	w->depth--;
}

void jsonw_object(struct jsonw *w)
{
	open_bracket(w, "{");
}

void jsonw_object_end(struct jsonw *w)
{
	close_bracket(w, "}");
}

void jsonw_array(struct jsonw *w)
{
	open_bracket(w, "[");
}

void jsonw_array_end(struct jsonw *w)
{
	close_bracket(w, "]");
}

/* Bytes that stand for themselves in a JSON text, from s on. */
static size_t plain_length(const unsigned char *s)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x80 && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

static void put_string(struct jsonw *w, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	char escape[8];

	put(w, "\"", 1);
	while (*s) {
		size_t n = plain_length(s);

		if (n > 0) {
			put(w, (const char *)s, n);
			s += n;
			continue;
		}
		n = utf8_length((const char *)s);
		if (n == 0) {
			put(w, "\xef\xbf\xbd", 3);
			n = 1;
		} else if (*s == '"' || *s == '\\') {
			escape[0] = '\\';
			escape[1] = (char)*s;
			put(w, escape, 2);
		} else if (*s < 0x20) {
			snprintf(escape, sizeof(escape), "\\u%04x", *s);
			put(w, escape, 6);
		} else {
			put(w, (const char *)s, n);
		}
		s += n;
	}
	put(w, "\"", 1);
}

void jsonw_key(struct jsonw *w, const char *key)
{
	if (w->comma)
		put(w, ",", 1);
	put_string(w, key);
	put(w, ":", 1);
	w->comma = false;
}

void jsonw_string(struct jsonw *w, const char *s)
{
	if (!s) {
		jsonw_null(w);
		return;
	}
	put_value(w, "", 0);
	put_string(w, s);
}

void jsonw_stringf(struct jsonw *w, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0) {
		text = NULL;
		w->failed = true;
		return;
	}
	jsonw_string(w, text);
}

void jsonw_u64(struct jsonw *w, uint64_t v)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRIu64, v);

	put_value(w, digits, (size_t)n);
}

void jsonw_i64(struct jsonw *w, int64_t v)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%" PRId64, v);

	put_value(w, digits, (size_t)n);
}

void jsonw_bool(struct jsonw *w, bool v)
{
	if (v)
		put_value(w, "true", 4);
	else
		put_value(w, "false", 5);
}

void jsonw_null(struct jsonw *w)
{
	put_value(w, "null", 4);
}

void jsonw_raw(struct jsonw *w, const char *json)
{
	put_value(w, json, strlen(json));
}

void jsonw_key_string(struct jsonw *w, const char *key, const char *s)
{
	jsonw_key(w, key);
	jsonw_string(w, s);
}

void jsonw_key_u64(struct jsonw *w, const char *key, uint64_t v)
{
	jsonw_key(w, key);
	jsonw_u64(w, v);
}

void jsonw_key_i64(struct jsonw *w, const char *key, int64_t v)
{
	jsonw_key(w, key);
	jsonw_i64(w, v);
}

void jsonw_key_bool(struct jsonw *w, const char *key, bool v)
{
	jsonw_key(w, key);
	jsonw_bool(w, v);
}

size_t jsonw_size(const struct jsonw *w)
{
	return w->size;
}

int jsonw_take(struct jsonw *w, char **ret, size_t *ret_size)
{
	if (!w->failed && w->depth)
		return -EINVAL;
	if (!reserve(w, 1))
		return -ENOMEM;
	w->text[w->size] = '\0';
	if (ret_size)
		*ret_size = w->size;
	*ret = take(w->text);
	*w = (struct jsonw){ 0 };
	return 0;
}
