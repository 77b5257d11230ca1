// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * value_unit: the types of numbers with units: times, rates and sizes.
 */
#include <errno.h>
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/base/units.h"
#include "config/yaml/draft.h"
#include "config/yaml/dump.h"
#include "config/yaml/hint.h"
#include "config/yaml/walk.h"

/* ---- a duration ---- */

static int duration_read(struct reader *r, const struct key *key, const struct node *n, void *to)
{
	char what[128], min[UNITS_TEXT], max[UNITS_TEXT];
	uint64_t ms;

	print_duration_ms(key->min, min);
	print_duration_ms(key->max, max);
	snprintf(what, sizeof(what), "a time from %s to %s, with its unit (ms, s, m, h or d)", min,
		 max);
	if (!walk_scalar(r, n, what))
		return -EINVAL;
	if (parse_duration_ms(n->text, &ms) < 0 || ms < key->min || ms > key->max) {
		walk_expected(r, n, what);
		return -EINVAL;
	}
	*(uint32_t *)to = (uint32_t)ms;
	return 0;
}

static void duration_print(struct printer *p, const struct key *key, const void *from)
{
	char text[UNITS_TEXT];

	print_duration_ms(*(const uint32_t *)from, text);
	dump_raw(p, text);
}

static void duration_schema(struct jsonw *w, const struct key *key)
{
	jsonw_key_string(w, "type", "string");
	jsonw_key_string(w, "pattern", "^[0-9]+(ms|s|m|h|d)$");
}

const struct value_type value_duration = { duration_read, duration_print, duration_schema,
					   sizeof(uint32_t) };

/* ---- a rate ---- */

static bool rate_fits(const char *text, const void *data)
{
	uint64_t scratch;

	return parse_rate_bit(text, &scratch) == 0;
}

static int rate_read(struct reader *r, const struct key *key, const struct node *n, void *to)
{
	char what[128], min[UNITS_TEXT], max[UNITS_TEXT];
	uint64_t rate;

	print_rate_bit(key->min, min);
	print_rate_bit(key->max, max);
	snprintf(what, sizeof(what),
		 "a rate from %s to %s, with its unit (bit, kbit, mbit or gbit)", min, max);
	if (!walk_scalar(r, n, what))
		return -EINVAL;
	if (parse_rate_bit(n->text, &rate) < 0 || rate < key->min || rate > key->max) {
		struct diag *diag = walk_expected(r, n, what);

		if (parse_rate_bit(n->text, &rate) < 0)
			hint_lower(diag, n->text, rate_fits, NULL);
		return -EINVAL;
	}
	if (rate % 8) { /* the kernel keeps whole bytes a second */
		walk_expected(r, n, "a rate that is whole bytes a second, a multiple of 8bit");
		return -EINVAL;
	}
	*(uint64_t *)to = rate;
	return 0;
}

static void rate_print(struct printer *p, const struct key *key, const void *from)
{
	char text[UNITS_TEXT];

	print_rate_bit(*(const uint64_t *)from, text);
	dump_raw(p, text);
}

static void rate_schema(struct jsonw *w, const struct key *key)
{
	jsonw_key_string(w, "type", "string");
	jsonw_key_string(w, "pattern", "^[0-9]+(\\.[0-9]+)?[kmgt]?bit$");
}

const struct value_type value_rate = { rate_read, rate_print, rate_schema, sizeof(uint64_t) };

/* ---- a size ---- */

static int size_read(struct reader *r, const struct key *key, const struct node *n, void *to)
{
	char what[128];
	uint64_t size;

	snprintf(what, sizeof(what), "a size from %llu to %llu bytes, like 1500 or 64k",
		 (unsigned long long)key->min, (unsigned long long)key->max);
	if (!walk_scalar(r, n, what))
		return -EINVAL;
	if (parse_size(n->text, &size) < 0 || size < key->min || size > key->max) {
		hint_number(walk_expected(r, n, what), n->text);
		return -EINVAL;
	}
	*(uint32_t *)to = (uint32_t)size;
	return 0;
}

static void size_print(struct printer *p, const struct key *key, const void *from)
{
	char text[UNITS_TEXT];

	print_size(*(const uint32_t *)from, text);
	dump_raw(p, text);
}

static void size_schema(struct jsonw *w, const struct key *key)
{
	jsonw_key(w, "type");
	jsonw_raw(w, "[\"integer\",\"string\"]");
	jsonw_key_string(w, "pattern", "^[0-9]+[kmg]?$");
}

const struct value_type value_size = { size_read, size_print, size_schema, sizeof(uint32_t) };
