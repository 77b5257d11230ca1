/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * match: what a rule or filter matches on, as a sorted list of (field, value, mask) packed into
 * bytes. Presence needs no flag, comparing is comparing bytes, an empty match matches everything.
 */
#ifndef SWD_MODEL_MATCH_H
#define SWD_MODEL_MATCH_H

#include <stdint.h>

#include "config/base/util.h"
#include "config/model/fields.h"

#define MATCH_BYTES_MAX 384 /* all fields at once fit; match.c asserts it */

/* A match under construction. Objects keep only the bytes, in their tail. Start with { 0 }. */
struct match {
	uint16_t size;
	uint8_t bytes[MATCH_BYTES_MAX];
};

/* A read-only view of packed bytes. */
struct match_view {
	const uint8_t *bytes;
	uint16_t size;
};

static inline struct match_view match_view(const struct match *m)
{
	return (struct match_view){ m->bytes, m->size };
}

/*
 * Adds or replaces a field. value and mask are field_row(f)->size bytes; mask NULL: all ones. Bits
 * of the value outside the mask are cleared, but for ranges. A mask of zeros removes the field.
 */
void match_set(struct match *m, enum field f, const void *value, const void *mask);
void match_set_u8(struct match *m, enum field f, uint8_t value);
void match_set_u16(struct match *m, enum field f, uint16_t value); /* host order in */
void match_clear(struct match *m, enum field f);

/* False, outputs untouched, if the field is not there. Outputs point into the bytes; may be NULL.
 */
bool match_get(struct match_view v, enum field f, const uint8_t **ret_value,
	       const uint8_t **ret_mask);
bool match_has(struct match_view v, enum field f);
bool match_get_u8(struct match_view v, enum field f, uint8_t *ret);
bool match_get_u16(struct match_view v, enum field f, uint16_t *ret); /* host order out */

struct match_entry {
	enum field field;
	const uint8_t *value, *mask;
};
/* Walks the entries in order: *offset starts at 0; false at the end. */
static inline bool match_next(struct match_view v, size_t *offset, struct match_entry *ret)
{
	const uint8_t *at = v.bytes + *offset;
	size_t size;

	if (*offset >= v.size)
		return false;
	ret->field = (enum field)at[0];
	size = field_row(ret->field)->size;
	ret->value = at + 1;
	ret->mask = at + 1 + size;
	*offset += 1 + 2 * size;
	return true;
}

/* How many tags frames need to match: 0, 1 or 2. */
unsigned int match_tags(struct match_view v);

int match_compare(struct match_view a, struct match_view b); /* total order; 0: the same match */
/* True if both use the same fields with the same masks and neither has a range: then two different
 * matches can't both match one frame. */
bool match_same_mask(struct match_view a, struct match_view b);
/* False only if no frame can match both (conservative: true when in doubt). */
bool match_overlap(struct match_view a, struct match_view b);

/* False if the bytes are not a well-formed match (sorted, whole, known fields). */
bool match_valid(struct match_view v);

#define MATCH_TEXT 1024
/* "dst 192.0.2.0/24 proto tcp dport 179"; "any" for an empty one. */
void match_print(struct match_view v, char to[MATCH_TEXT]);

struct jsonw;
/* {"dst": "192.0.2.0/24", "proto": "tcp"} */
void match_json(struct match_view v, struct jsonw *w);

#endif
