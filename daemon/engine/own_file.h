/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * own_file: whether the daemon's own file says what is in force. After an apply of another file, a
 * revert, or an edit that was not applied yet it does not, and the next start or reload would take
 * it: who asks how things are should be told.
 */
#ifndef SWD_ENGINE_OWN_FILE_H
#define SWD_ENGINE_OWN_FILE_H

#include <sys/stat.h>

#include "config/base/util.h"

struct engine_owner;

enum own_file_state {
	OWN_FILE_SAME,	/* or nothing is in force that it could differ from */
	OWN_FILE_OTHER, /* a reload would put another text in force */
	OWN_FILE_GONE,	/* it can't be read */
};

struct own_file {
	enum own_file_state state;
	struct stat seen; /* of the file whose hash that is */
	uint64_t hash;
	bool known;
};

/* Looks at the file, and reads it only if it is another than at the last look. */
void own_file_look(struct engine_owner *o);
const char *own_file_name(enum own_file_state s); /* "same", "other", "gone" */

#endif
