/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jsonw: writes JSON into a growing buffer, a value after the other. Nothing is built as a tree, so
 * a hundred thousand rules cost their text and no more; and integers are exact to 64 bits, which a
 * library that keeps every number as a double cannot promise.
 *
 * A failed allocation is remembered, further calls do nothing, and jsonw_take() reports it.
 * In objects each value is preceded by its key: jsonw_key(w, "up"); jsonw_bool(w, true).
 */
#ifndef SWD_BASE_JSONW_H
#define SWD_BASE_JSONW_H

#include <stdint.h>

#include "config/base/util.h"

struct jsonw;

struct jsonw *jsonw_new(void);
void jsonw_free(struct jsonw *w);
DEFINE_CLEANUP(struct jsonw *, jsonw_free);

void jsonw_object(struct jsonw *w); /* { */
void jsonw_object_end(struct jsonw *w);
void jsonw_array(struct jsonw *w); /* [ */
void jsonw_array_end(struct jsonw *w);
void jsonw_key(struct jsonw *w, const char *key);

/* Text is UTF-8; bytes that are not are written as U+FFFD. NULL is written as null. */
void jsonw_string(struct jsonw *w, const char *s);
void jsonw_stringf(struct jsonw *w, const char *fmt, ...) _printf_(2, 3);
void jsonw_u64(struct jsonw *w, uint64_t v);
void jsonw_i64(struct jsonw *w, int64_t v);
void jsonw_bool(struct jsonw *w, bool v);
void jsonw_null(struct jsonw *w);
/* A piece of finished JSON, taken over as it is. */
void jsonw_raw(struct jsonw *w, const char *json);

/* The same with the key in front. */
void jsonw_key_string(struct jsonw *w, const char *key, const char *s);
void jsonw_key_u64(struct jsonw *w, const char *key, uint64_t v);
void jsonw_key_i64(struct jsonw *w, const char *key, int64_t v);
void jsonw_key_bool(struct jsonw *w, const char *key, bool v);

/* Bytes written so far: for cutting long answers into pieces. */
size_t jsonw_size(const struct jsonw *w);
/*
 * The text, ended by NUL; the caller frees it and w is empty again. -ENOMEM if any call failed,
 * -EINVAL if brackets are open.
 */
int jsonw_take(struct jsonw *w, char **ret, size_t *ret_size);

#endif
