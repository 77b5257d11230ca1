/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * out_json: --json. What the daemon answers goes out as it is; its shape is the interface text's.
 * Long lists that come in pieces leave as one.
 */
#ifndef SWD_CLI_OUT_JSON_H
#define SWD_CLI_OUT_JSON_H

#include "config/base/util.h"

struct cJSON;

/* One value and a line feed. */
void out_json(const struct cJSON *value);

/* An object with lists: begin, then elements of one list after the other, then plain members, then
 * end. */
struct out_lists {
	const char *open; /* the list that is open, or NULL */
	bool member, element;
};
void out_lists_begin(struct out_lists *o);
/* Adds all elements of a list; the first call of a name opens it. */
void out_lists_add(struct out_lists *o, const char *name, const struct cJSON *elements);
void out_lists_member(struct out_lists *o, const char *name, const struct cJSON *value);
void out_lists_end(struct out_lists *o);

#endif
