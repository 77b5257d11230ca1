/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The packed form: for each field, in rising order, one byte of enum field, then the value, then
 * the mask, both of the size its row says. Sorted and masked, so equal meanings are equal bytes.
 */
#include "config/model/match.h"

#include <stdio.h>

#include "config/base/jsonw.h"

_Static_assert(FIELD_COUNT_ <= 255, "a field fits a byte");
/* The largest rows are 16 + 16 bytes (two IPv6 addresses); all others have at most 6 + 6. */
_Static_assert(MATCH_BYTES_MAX >= FIELD_COUNT_ * 9 + 2 * 33, "all fields fit");

static size_t entry_size(enum field f)
{
	return 1 + 2u * field_row(f)->size;
}

static bool is_range(enum field f)
{
	return field_row(f)->type == FIELD_TYPE_RANGE;
}

/* Where f is, or where it belongs. True if it is there. */
static bool find(struct match_view v, enum field f, size_t *ret_offset)
{
	size_t offset = 0;

	while (offset < v.size && v.bytes[offset] < f)
		offset += entry_size((enum field)v.bytes[offset]);
	*ret_offset = offset;
	return offset < v.size && v.bytes[offset] == f;
}

void match_clear(struct match *m, enum field f)
{
	size_t at, size = entry_size(f);

	if (!find(match_view(m), f, &at))
		return;
	memmove(m->bytes + at, m->bytes + at + size, m->size - at - size);
	m->size = (uint16_t)(m->size - size);
}

void match_set(struct match *m, enum field f, const void *value, const void *mask)
{
	size_t n = field_row(f)->size, at;
	bool there = find(match_view(m), f, &at);
	uint8_t *entry = m->bytes + at, any = 0;

	if (!there) {
		if (at < m->size)
			memmove(entry + entry_size(f), entry, m->size - at);
		m->size = (uint16_t)(m->size + entry_size(f));
		entry[0] = (uint8_t)f;
	}
	for (size_t i = 0; i < n; i++) {
		uint8_t bits = mask ? ((const uint8_t *)mask)[i] : 0xff;

		any |= bits;
		entry[1 + i] = ((const uint8_t *)value)[i] & (is_range(f) ? 0xff : bits);
		entry[1 + n + i] = bits;
	}
	if (!any)
		match_clear(m, f);
}

void match_set_u8(struct match *m, enum field f, uint8_t value)
{
	match_set(m, f, &value, NULL);
}

void match_set_u16(struct match *m, enum field f, uint16_t value)
{
	uint8_t bytes[2] = { (uint8_t)(value >> 8), (uint8_t)value };

	match_set(m, f, bytes, NULL);
}

bool match_get(struct match_view v, enum field f, const uint8_t **ret_value,
	       const uint8_t **ret_mask)
{
	size_t at;

	if (!find(v, f, &at))
		return false;
	if (ret_value)
		*ret_value = v.bytes + at + 1;
	if (ret_mask)
		*ret_mask = v.bytes + at + 1 + field_row(f)->size;
	return true;
}

bool match_has(struct match_view v, enum field f)
{
	return match_get(v, f, NULL, NULL);
}

bool match_get_u8(struct match_view v, enum field f, uint8_t *ret)
{
	const uint8_t *value;

	if (!match_get(v, f, &value, NULL))
		return false;
	*ret = value[0];
	return true;
}

bool match_get_u16(struct match_view v, enum field f, uint16_t *ret)
{
	const uint8_t *value;

	if (!match_get(v, f, &value, NULL))
		return false;
	*ret = (uint16_t)(value[0] << 8 | value[1]);
	return true;
}

unsigned int match_tags(struct match_view v)
{
	struct match_entry e;
	size_t offset = 0;
	unsigned int tags = 0;

	while (match_next(v, &offset, &e))
		tags = MAX(tags, field_row(e.field)->tags);
	return tags;
}

int match_compare(struct match_view a, struct match_view b)
{
	int order = memcmp(a.bytes, b.bytes, MIN(a.size, b.size));

	return order ? CMP(order, 0) : CMP(a.size, b.size);
}

bool match_same_mask(struct match_view a, struct match_view b)
{
	struct match_entry x, y;
	size_t i = 0, j = 0;

	if (a.size != b.size)
		return false;
	while (match_next(a, &i, &x) && match_next(b, &j, &y))
		if (x.field != y.field || is_range(x.field) ||
		    memcmp(x.mask, y.mask, field_row(x.field)->size) != 0)
			return false;
	return true;
}

/* One port, or the ends of a range, of either side; false if the match does not say. */
static bool port_ends(struct match_view v, enum field one, enum field range, uint16_t *ret_low,
		      uint16_t *ret_high)
{
	const uint8_t *value, *mask;

	if (match_get(v, range, &value, &mask)) {
		*ret_low = (uint16_t)(value[0] << 8 | value[1]);
		*ret_high = (uint16_t)(mask[0] << 8 | mask[1]);
		return true;
	}
	if (match_get(v, one, &value, &mask) && mask[0] == 0xff && mask[1] == 0xff) {
		*ret_low = *ret_high = (uint16_t)(value[0] << 8 | value[1]);
		return true;
	}
	return false;
}

static bool ports_apart(struct match_view a, struct match_view b, enum field one, enum field range)
{
	uint16_t low_a, high_a, low_b, high_b;

	return port_ends(a, one, range, &low_a, &high_a) &&
	       port_ends(b, one, range, &low_b, &high_b) && (high_a < low_b || high_b < low_a);
}

bool match_overlap(struct match_view a, struct match_view b)
{
	struct match_entry x;
	const uint8_t *value, *mask;
	size_t offset = 0;

	while (match_next(a, &offset, &x)) {
		if (is_range(x.field) || !match_get(b, x.field, &value, &mask))
			continue;
		for (size_t i = 0; i < field_row(x.field)->size; i++)
			if ((x.value[i] ^ value[i]) & x.mask[i] & mask[i])
				return false;
	}
	return !ports_apart(a, b, FIELD_SPORT, FIELD_SPORT_RANGE) &&
	       !ports_apart(a, b, FIELD_DPORT, FIELD_DPORT_RANGE);
}

bool match_valid(struct match_view v)
{
	size_t offset = 0;
	int last = -1;

	while (offset < v.size) {
		uint8_t f = v.bytes[offset];

		if (f >= FIELD_COUNT_ || f <= last)
			return false;
		last = f;
		offset += entry_size((enum field)f);
	}
	return offset == v.size;
}

void match_print(struct match_view v, char to[MATCH_TEXT])
{
	struct match_entry e;
	size_t offset = 0, used = 0;
	char text[FIELD_TEXT];

	snprintf(to, MATCH_TEXT, "any");
	while (match_next(v, &offset, &e) && used < MATCH_TEXT) {
		field_print(e.field, e.value, e.mask, text);
		used += (size_t)snprintf(to + used, MATCH_TEXT - used, "%s%s %s", used ? " " : "",
					 field_row(e.field)->name, text);
	}
}

void match_json(struct match_view v, struct jsonw *w)
{
	struct match_entry e;
	size_t offset = 0;
	char text[FIELD_TEXT];

	jsonw_object(w);
	while (match_next(v, &offset, &e)) {
		field_print(e.field, e.value, e.mask, text);
		jsonw_key_string(w, field_row(e.field)->name, text);
	}
	jsonw_object_end(w);
}
