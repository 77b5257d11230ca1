/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/base/diag.h"

#include <stdarg.h>
#include <stdatomic.h>

#include "config/base/jsonw.h"

#define DIAGS_MAX 1000

struct diags {
	atomic_uint refs;
	char *file;
	struct diag *list;
	size_t count, space;
	size_t errors; /* also those that were not kept */
};

/* Bytes of the character there, or 0 if it is none, or one that would spoil a line. */
static size_t printable(const char *s)
{
	return !*s || control_length(s) ? 0 : utf8_length(s);
}

bool diag_text_valid(const char *text, size_t most)
{
	size_t at = 0;

	for (size_t n = 1; text[at]; at += n) {
		n = printable(text + at);
		if (!n)
			return false;
	}
	return at <= most;
}

bool diag_file_valid(const char *name)
{
	return name[0] && diag_text_valid(name, DIAG_FILE_MAX);
}

void diag_file_make(const char *path, char to[DIAG_FILE_MAX + 1])
{
	size_t size = strlen(path), at = 0;

	if (size > DIAG_FILE_MAX) {
		path += size - (DIAG_FILE_MAX - 3);
		while ((*path & 0xc0) == 0x80)
			path++;
		at = (size_t)(stpcpy(to, "...") - to);
	}
	while (*path) {
		size_t n = printable(path);

		if (n)
			memcpy(to + at, path, n);
		else
			to[at] = '?';
		at += n ? n : 1;
		path += n ? n : 1;
	}
	to[at] = '\0';
}

struct diags *diags_new(const char *file)
{
	struct diags *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->file = strdup(file);
	if (!d->file) {
		free(d);
		return NULL;
	}
	d->refs = 1;
	return d;
}

struct diags *diags_ref(struct diags *d)
{
	if (d)
		atomic_fetch_add(&d->refs, 1);
	return d;
}

void diags_free(struct diags *d)
{
	if (!d || atomic_fetch_sub(&d->refs, 1) > 1)
		return;
	for (size_t i = 0; i < d->count; i++) {
		free(d->list[i].path);
		free(d->list[i].text);
		free(d->list[i].hint);
	}
	free(d->list);
	free(d->file);
	free(d);
}

static char *print_args(const char *fmt, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, args) < 0)
		return NULL;
	return text;
}

struct diag *diags_add(struct diags *d, enum diag_level level, struct origin at, const char *path,
		       const char *fmt, ...)
{
	struct diag *diag;
	va_list args;

	if (level == DIAG_ERROR)
		d->errors++;
	if (d->count >= DIAGS_MAX || grow(&d->list, &d->space, d->count, sizeof(*d->list)) < 0)
		return NULL;
	diag = &d->list[d->count];
	*diag = (struct diag){ .level = level, .at = at };
	va_start(args, fmt);
	diag->text = print_args(fmt, args);
	va_end(args);
	if (!diag->text)
		return NULL;
	diag->path = path ? strdup(path) : NULL;
	d->count++;
	return diag;
}

void diag_hint(struct diag *diag, const char *fmt, ...)
{
	va_list args;

	if (!diag)
		return;
	free(diag->hint);
	va_start(args, fmt);
	diag->hint = print_args(fmt, args);
	va_end(args);
}

void diags_move(struct diags *to, struct diags *from)
{
	to->errors += from->errors;
	for (size_t i = 0; i < from->count; i++) {
		struct diag *diag = &from->list[i];

		if (to->count < DIAGS_MAX &&
		    grow(&to->list, &to->space, to->count, sizeof(*to->list)) == 0) {
			to->list[to->count++] = *diag;
		} else {
			free(diag->path);
			free(diag->text);
			free(diag->hint);
		}
	}
	from->count = from->errors = 0;
}

size_t diags_errors(const struct diags *d)
{
	return d->errors;
}

size_t diags_count(const struct diags *d)
{
	return d->count;
}

const struct diag *diags_at(const struct diags *d, size_t i)
{
	return &d->list[i];
}

const char *diags_file(const struct diags *d)
{
	return d->file;
}

static int by_place(const struct diag *a, const struct diag *b)
{
	if (a->at.line != b->at.line)
		return CMP(a->at.line, b->at.line);
	if (a->at.column != b->at.column)
		return CMP(a->at.column, b->at.column);
	return CMP(b->level, a->level);
}

/* A merge sort, since the order of messages at one place is the order in which they were found. */
static void sort_run(struct diag *list, struct diag *scratch, size_t n)
{
	size_t half = n / 2, left = 0, right = half, out = 0;

	if (n < 2)
		return;
	sort_run(list, scratch, half);
	sort_run(list + half, scratch, n - half);
	memcpy(scratch, list, n * sizeof(*list));
	while (left < half && right < n)
		list[out++] = by_place(&scratch[left], &scratch[right]) <= 0 ? scratch[left++]
									     : scratch[right++];
	while (left < half)
		list[out++] = scratch[left++];
	while (right < n)
		list[out++] = scratch[right++];
}

void diags_sort(struct diags *d)
{
	_cleanup_free_ struct diag *scratch = calloc(d->count + 1, sizeof(*scratch));

	if (scratch)
		sort_run(d->list, scratch, d->count);
}

char *diag_line(const struct diags *d, const struct diag *diag)
{
	char place[32] = "";
	char *line = NULL;

	if (diag->at.line)
		snprintf(place, sizeof(place), ":%u:%u", diag->at.line, diag->at.column);
	if (asprintf(&line, "%s%s: %s: %s%s%s%s%s%s", d->file, place,
		     diag->level == DIAG_ERROR ? "error" : "warning", diag->path ? diag->path : "",
		     diag->path ? ": " : "", diag->text, diag->hint ? " (" : "",
		     diag->hint ? diag->hint : "", diag->hint ? ")" : "") < 0)
		return NULL;
	return line;
}

void diags_print(const struct diags *d, FILE *to)
{
	for (size_t i = 0; i < d->count; i++) {
		_cleanup_free_ char *line = diag_line(d, &d->list[i]);

		fprintf(to, "%s\n", line ? line : "out of memory");
	}
}

void diags_json(const struct diags *d, struct jsonw *w)
{
	jsonw_array(w);
	for (size_t i = 0; d && i < d->count; i++) {
		const struct diag *diag = &d->list[i];
		_cleanup_free_ char *line = diag_line(d, diag);

		jsonw_object(w);
		jsonw_key_string(w, "level", diag->level == DIAG_ERROR ? "error" : "warning");
		jsonw_key_string(w, "file", d->file);
		jsonw_key_u64(w, "line", diag->at.line);
		jsonw_key_u64(w, "column", diag->at.column);
		jsonw_key_string(w, "path", diag->path);
		jsonw_key_string(w, "text", diag->text);
		jsonw_key_string(w, "hint", diag->hint);
		jsonw_key_string(w, "message", line ? line : "");
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
}
