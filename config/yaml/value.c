// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * value: the types of single values. Each reads the original text, so a value means what its key
 * says and never what some YAML reader would guess.
 */
#include <errno.h>
#include <stdio.h>
#include <strings.h>

#include "config/base/jsonw.h"
#include "config/base/units.h"
#include "config/yaml/draft.h"
#include "config/yaml/dump.h"
#include "config/yaml/hint.h"
#include "config/yaml/walk.h"

/* Numbers and booleans are not quoted: "1500" is a text, and a schema for editors would say so too.
 */
static bool read_bare(struct reader *r, const struct node *n, const char *what)
{
	char word[SHOW_TEXT];

	if (!walk_scalar(r, n, what))
		return false;
	if (!n->plain) {
		walk_error(r, n, "expected %s without quotes, found the text '%s'", what,
			   show(n->text, word));
		return false;
	}
	return true;
}

/* ---- bool ---- */

static int bool_read(struct reader *r, const struct key *key, const struct node *n, void *to)
{
	static const char *const yes[] = { "yes", "on", "y", "1", "enabled" };
	static const char *const no[] = { "no", "off", "n", "0", "disabled" };
	struct diag *diag;

	if (!read_bare(r, n, "true or false"))
		return -EINVAL;
	if (streq(n->text, "true") || streq(n->text, "false")) {
		*(bool *)to = n->text[0] == 't';
		return 0;
	}
	diag = walk_expected(r, n, "true or false");
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		if (strcasecmp(n->text, yes[i]) == 0 || strcasecmp(n->text, "true") == 0)
			diag_hint(diag, "write true");
		if (strcasecmp(n->text, no[i]) == 0 || strcasecmp(n->text, "false") == 0)
			diag_hint(diag, "write false");
	}
	return -EINVAL;
}

static void bool_print(struct printer *p, const struct key *key, const void *from)
{
	dump_raw(p, *(const bool *)from ? "true" : "false");
}

static void bool_schema(struct jsonw *w, const struct key *key)
{
	jsonw_key_string(w, "type", "boolean");
}

const struct value_type value_bool = { bool_read, bool_print, bool_schema, sizeof(bool),
				       .bare = true };

/* ---- whole numbers ---- */

static int uint_read(struct reader *r, const struct key *key, const struct node *n, void *to)
{
	char what[80];
	uint64_t v;

	if (n->kind == NODE_SCALAR && n->plain && parse_u64(n->text, key->min, key->max, &v) == 0) {
		*(uint32_t *)to = (uint32_t)v;
		return 0;
	}
	if (key->min == key->max)
		snprintf(what, sizeof(what), "%llu", (unsigned long long)key->min);
	else
		snprintf(what, sizeof(what), "a whole number from %llu to %llu",
			 (unsigned long long)key->min, (unsigned long long)key->max);
	if (read_bare(r, n, what))
		hint_number(walk_expected(r, n, what), n->text);
	return -EINVAL;
}

static void uint_print(struct printer *p, const struct key *key, const void *from)
{
	dump_rawf(p, "%u", *(const uint32_t *)from);
}

static void uint_schema(struct jsonw *w, const struct key *key)
{
	jsonw_key_string(w, "type", "integer");
	jsonw_key_u64(w, "minimum", key->min);
	jsonw_key_u64(w, "maximum", key->max);
}

static int uint_change(struct reader *r, const struct key *key, const struct node *like,
		       const struct node *scalar, void *member)
{
	uint64_t v;

	if (parse_u64(scalar->text, key->min, key->max, &v) < 0)
		return 1;
	*(uint32_t *)member = (uint32_t)v;
	return 0;
}

const struct value_type value_uint = { uint_read,	 uint_print,   uint_schema,
				       sizeof(uint32_t), .bare = true, .change = uint_change };

/* ---- one of some words ---- */

static const char *word_at(size_t i, void *data)
{
	const struct key *key = data;

	return key->min + i <= key->max ? key->word((unsigned int)(key->min + i)) : NULL;
}

static int word_read(struct reader *r, const struct key *key, const struct node *n, void *to)
{
	char what[128] = "", word[SHOW_TEXT];
	const char *near, *one;
	struct diag *diag;
	size_t used = 0;

	for (size_t i = 0; n->kind == NODE_SCALAR && (one = word_at(i, (void *)key)); i++)
		if (streq(n->text, one)) {
			*(uint32_t *)to = (uint32_t)(key->min + i);
			return 0;
		}
	for (size_t i = 0; (one = word_at(i, (void *)key)) && used < sizeof(what); i++)
		used += (size_t)snprintf(what + used, sizeof(what) - used, "%s%s",
					 !i			       ? ""
					 : word_at(i + 1, (void *)key) ? ", "
								       : " or ",
					 one);
	if (!walk_scalar(r, n, what))
		return -EINVAL;
	diag = walk_expected(r, n, what);
	near = hint_word(show(n->text, word), word_at, (void *)key);
	if (diag && near && *n->text)
		diag_hint(diag, "did you mean '%s'?", near);
	return -EINVAL;
}

static void word_print(struct printer *p, const struct key *key, const void *from)
{
	/* "off" is a word here and a boolean to some readers: they get it quoted. */
	dump_text(p, key->word(*(const uint32_t *)from));
}

static void word_schema(struct jsonw *w, const struct key *key)
{
	const char *one;

	jsonw_key(w, "enum");
	jsonw_array(w);
	for (size_t i = 0; (one = word_at(i, (void *)key)); i++)
		jsonw_string(w, one);
	jsonw_array_end(w);
}

const struct value_type value_word = { word_read, word_print, word_schema, sizeof(uint32_t) };

/* ---- a name ---- */

static int name_read(struct reader *r, const struct key *key, const struct node *n, void *to)
{
	const char *wrong;

	if (!walk_scalar(r, n, "a name"))
		return -EINVAL;
	if (n->count == 0 && n->plain) {
		walk_expected(r, n, key->check_name(""));
		return -EINVAL;
	}
	wrong = key->check_name(n->text);
	if (wrong) {
		walk_expected(r, n, wrong);
		return -EINVAL;
	}
	*(const char **)to = n->text;
	return 0;
}

static void name_print(struct printer *p, const struct key *key, const void *from)
{
	dump_text(p, *(const char *const *)from);
}

static void name_schema(struct jsonw *w, const struct key *key)
{
	jsonw_key_string(w, "type", "string");
}

static int name_change(struct reader *r, const struct key *key, const struct node *like,
		       const struct node *scalar, void *member)
{
	if (key->check_name(scalar->text))
		return 1;
	*(const char **)member = scalar->text;
	return 0;
}

const struct value_type value_name = { name_read, name_print, name_schema, .change = name_change };

/* ---- a VLAN protocol ---- */

static int protocol_read(struct reader *r, const struct key *key, const struct node *n, void *to)
{
	static const char what[] = "802.1q or 802.1ad";

	if (!walk_scalar(r, n, what))
		return -EINVAL;
	if (streq(n->text, "802.1q")) {
		*(uint32_t *)to = 0x8100;
	} else if (streq(n->text, "802.1ad")) {
		*(uint32_t *)to = 0x88a8;
	} else {
		struct diag *diag = walk_expected(r, n, what);

		if (streq(n->text, "0x8100") || strcasecmp(n->text, "802.1q") == 0)
			diag_hint(diag, "write 802.1q");
		else if (streq(n->text, "0x88a8") || strcasecmp(n->text, "802.1ad") == 0)
			diag_hint(diag, "write 802.1ad");
		return -EINVAL;
	}
	return 0;
}

static void protocol_print(struct printer *p, const struct key *key, const void *from)
{
	dump_raw(p, *(const uint32_t *)from == 0x88a8 ? "802.1ad" : "802.1q");
}

static void protocol_schema(struct jsonw *w, const struct key *key)
{
	jsonw_key(w, "enum");
	jsonw_array(w);
	jsonw_string(w, "802.1q");
	jsonw_string(w, "802.1ad");
	jsonw_array_end(w);
}

const struct value_type value_protocol = { protocol_read, protocol_print, protocol_schema,
					   sizeof(uint32_t) };
