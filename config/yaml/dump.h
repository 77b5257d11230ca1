/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dump: a config back to YAML, by the tables it was read with. One form for one meaning: sections
 * in the order of the tables, names sorted, defaults left out. Loading the text gives an equal
 * config.
 */
#ifndef SWD_YAML_DUMP_H
#define SWD_YAML_DUMP_H

#include <stdio.h>

#include "config/base/util.h"
#include "config/model/config.h"

/* The text, ended by NUL; the caller frees it. 0 or -ENOMEM. */
int config_dump(const struct config *c, char **ret, size_t *ret_size);

/* ---- for the types ---- */

struct section;

struct printer {
	FILE *to;
	unsigned int depth; /* of the section that is written, two spaces each */
};

/* As it is. */
void dump_raw(struct printer *p, const char *text);
void dump_rawf(struct printer *p, const char *fmt, ...) _printf_(2, 3);
/* A name: quoted where any YAML reader might take it for something else ("no", "1e3", "10"). */
void dump_text(struct printer *p, const char *text);
/* A value that is typed by its key: quoted only where the text would break the YAML ("a, b"). */
void dump_value(struct printer *p, const char *text);
void dump_indent(struct printer *p);
/* True if dump_section() would write anything. */
bool dump_says(const struct section *s, const void *draft);
/* The keys of a draft, a line each, at the printer's depth; the first may follow a "- ". */
void dump_section(struct printer *p, const struct section *s, const void *draft, bool first_inline);

#endif
