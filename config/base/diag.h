/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diag: what is wrong, and where. Rooms that read or judge a configuration add diags and go on, so
 * that all errors are reported at once. Only the top decides what to do with them.
 */
#ifndef SWD_BASE_DIAG_H
#define SWD_BASE_DIAG_H

#include <stdint.h>
#include <stdio.h>

#include "config/base/util.h"

/* A place in the configuration file. Line and column count from 1; line 0: no place. */
struct origin {
	uint32_t line;
	uint32_t column;
};

enum diag_level {
	DIAG_WARNING,
	DIAG_ERROR,
};

struct diag {
	enum diag_level level;
	struct origin at;
	char *path; /* "blocks.edge.rules[3].match.dst", or NULL */
	char *text; /* one sentence, no full stop: what is wrong and what was expected */
	char *hint; /* "did you mean 'skip_sw'?", or NULL */
};

/*
 * A name for a file that someone else gave, to stand in front of messages: 1 to DIAG_FILE_MAX
 * bytes of UTF-8 without control characters. diag_file_make() makes one of any path: of one that is
 * too long the end, with dots in front.
 */
#define DIAG_FILE_MAX 127
bool diag_file_valid(const char *name);
/* Likewise: at most so many bytes, or none. */
bool diag_text_valid(const char *text, size_t most);
void diag_file_make(const char *path, char to[DIAG_FILE_MAX + 1]);

struct diags;

/* `file` is how messages name the file; copied. NULL when memory is short. */
struct diags *diags_new(const char *file);
/* One more who holds it; once more than one does, nothing may be added. NULL stays NULL. */
struct diags *diags_ref(struct diags *d);
void diags_free(struct diags *d); /* by each of them */
DEFINE_CLEANUP(struct diags *, diags_free);

/*
 * Adds a message; path may be NULL. Returns it, for diag_hint(), or NULL when memory was short:
 * then diags_errors() counts it all the same, so that an error never passes for success. At most
 * 1,000 are kept; more are counted.
 */
struct diag *diags_add(struct diags *d, enum diag_level level, struct origin at, const char *path,
		       const char *fmt, ...) _printf_(5, 6);
void diag_hint(struct diag *diag, const char *fmt, ...) _printf_(2, 3);

/* Puts all messages of one list behind those of another; what does not fit is but counted. */
void diags_move(struct diags *to, struct diags *from);

size_t diags_errors(const struct diags *d);
size_t diags_count(const struct diags *d); /* kept ones */
const struct diag *diags_at(const struct diags *d, size_t i);
const char *diags_file(const struct diags *d);
/* Orders by place, errors before warnings at the same place; stable. */
void diags_sort(struct diags *d);

/*
 * "swd.yaml:41:7: error: blocks.edge.rules[3].match.dst: text (hint)", one line, no newline.
 * The caller frees it; NULL when memory is short.
 */
char *diag_line(const struct diags *d, const struct diag *diag);
/* All of them, a line each. */
void diags_print(const struct diags *d, FILE *to);

struct jsonw;
/*
 * [{"level": "error", "file": ..., "line": ..., "column": ..., "path", "text", "hint", "message"}],
 * where message is the line as above; [] if d is NULL.
 */
void diags_json(const struct diags *d, struct jsonw *w);

#endif
