/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * form: what matches have in common that differ in values alone: the fields, their masks, and the
 * values of fields that decide about others. In a long list most rules are of the form of one
 * before them, and what was found out for that one holds for them too.
 */
#ifndef SWD_MODEL_FORM_H
#define SWD_MODEL_FORM_H

#include "config/model/match.h"

struct form {
	uint16_t size;
	/* Of a match of this form, and where it may not differ: bits. */
	uint8_t bytes[MATCH_BYTES_MAX], fixed[MATCH_BYTES_MAX];
};

/* free: fields whose values may differ, a bit for each (1 << enum field). */
void form_make(struct match_view v, uint32_t free, struct form *ret);
bool form_fits(const struct form *f, struct match_view v);

#endif
