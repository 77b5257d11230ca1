// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dump: writes drafts by the tables of schema_*.c.
 */
#include "config/yaml/dump.h"

#include <errno.h>
#include <stdarg.h>
#include <strings.h>

#include "config/yaml/build.h"
#include "config/yaml/draft.h"
#include "config/yaml/walk.h"

static void fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

void dump_raw(struct printer *p, const char *text)
{
	fputs(text, p->to);
}

void dump_rawf(struct printer *p, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(p->to, fmt, args);
	va_end(args);
}

void dump_indent(struct printer *p)
{
	for (unsigned int i = 0; i < p->depth; i++)
		fputs("  ", p->to);
}

static void dump_quoted(struct printer *p, const char *text)
{
	fputc('"', p->to);
	for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(p->to, "\\%c", *s);
		else if (*s < 0x20 || *s == 0x7f)
			fprintf(p->to, "\\x%02x", *s);
		else
			fputc(*s, p->to);
	}
	fputc('"', p->to);
}

/* True if all bytes are letters, digits or of `marks`. */
static bool made_of(const char *text, const char *marks)
{
	for (const char *s = text; *s; s++)
		if (!(*s >= 'a' && *s <= 'z') && !(*s >= 'A' && *s <= 'Z') &&
		    !(*s >= '0' && *s <= '9') && !strchr(marks, *s))
			return false;
	return *text;
}

void dump_text(struct printer *p, const char *text)
{
	static const char *const words[] = { "y",   "n",    "yes",   "no",  "on",
					     "off", "true", "false", "null" };
	bool plain = made_of(text, "._-") && strchr("0123456789.-", text[0]) == NULL;

	for (size_t i = 0; i < ARRAY_SIZE(words) && plain; i++)
		plain = strcasecmp(text, words[i]) != 0;
	if (plain)
		dump_raw(p, text);
	else
		dump_quoted(p, text);
}

void dump_value(struct printer *p, const char *text)
{
	if (made_of(text, "._-/") && text[0] != '-')
		dump_raw(p, text);
	else
		dump_quoted(p, text);
}

/* True if the value is what the default says, so that it need not be written. */
static bool is_default(const struct key *key, const void *value)
{
	uint64_t def = 0;
	struct reader r = { 0 }; /* defaults have no errors to add */

	return key->def && key->type->size && walk_default(&r, key, &def) == 0 &&
	       memcmp(&def, value, key->type->size) == 0;
}

/* True if key i need not be written: it was not said, or says what is so anyway. */
static bool is_silent(const struct section *s, uint32_t i, const void *draft)
{
	const struct key *key = &s->keys[i];
	const void *value = (const char *)draft + key->offset;

	if (!(((const struct draft *)draft)->has & 1u << i) || is_default(key, value))
		return true;
	return key->type == &value_map && !dump_says(key->section, value);
}

bool dump_says(const struct section *s, const void *draft)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (!is_silent(s, i, draft))
			return true;
	return false;
}

void dump_section(struct printer *p, const struct section *s, const void *draft, bool first_inline)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct key *key = &s->keys[i];
		const void *value = (const char *)draft + key->offset;

		if (is_silent(s, i, draft))
			continue;
		if (!first_inline)
			dump_indent(p);
		first_inline = false;
		dump_rawf(p, "%s:", key->name);
		if (!key->type->block)
			dump_raw(p, " ");
		key->type->print(p, key, value);
		if (!key->type->block)
			dump_raw(p, "\n");
	}
}

int config_dump(const struct config *c, char **ret, size_t *ret_size)
{
	_cleanup_(arena_freep) struct arena *arena = arena_new();
	_cleanup_free_ char *text = NULL;
	_cleanup_(fclosep) FILE *to = NULL;
	struct draft_root *root;
	size_t size = 0;
	int r;

	if (!arena)
		return -ENOMEM;
	r = draft_from_config(c, arena, &root);
	if (r < 0)
		return r;
	to = open_memstream(&text, &size);
	if (!to)
		return -ENOMEM;
	dump_section(&(struct printer){ .to = to }, &schema_root, root, false);
	r = ferror(to) ? -ENOMEM : 0;
	if (fclose(take(to)) != 0 || r < 0)
		return -ENOMEM;
	*ret = take(text);
	*ret_size = size;
	return 0;
}
