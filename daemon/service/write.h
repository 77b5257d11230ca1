/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * write: the types of the interface text (interface.c) as JSON, for the verbs. What is not there is
 * null, or, in an Action only, left out.
 */
#ifndef SWD_SERVICE_WRITE_H
#define SWD_SERVICE_WRITE_H

#include "config/base/diag.h"
#include "config/base/jsonw.h"
#include "config/model/config.h"
#include "daemon/engine/snapshot.h"

/* Nanoseconds since 1970 as the interface's milliseconds. */
void write_ms(struct jsonw *w, const char *key, uint64_t ns);
void write_null(struct jsonw *w, const char *key);
/* null if it is "". */
void write_text(struct jsonw *w, const char *key, const char *text);

void write_actions(struct jsonw *w, const struct action *list, size_t n); /* []Action */
/* One Filter. wanted or found may be NULL, not both. */
void write_filter(struct jsonw *w, const struct filter *wanted, const struct filter *found);
/* "diags": []Diag; d may be NULL. */
void write_diags(struct jsonw *w, const struct diags *d);
/* "ability" and "ability_how" of the kernel. */
void write_ability(struct jsonw *w, const struct snapshot *s);
void write_alert(struct jsonw *w, const struct alert *a);

#endif
