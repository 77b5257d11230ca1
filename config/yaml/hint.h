/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hint: guesses at what somebody meant, for the words in brackets behind a message.
 */
#ifndef SWD_YAML_HINT_H
#define SWD_YAML_HINT_H

#include "config/base/diag.h"

/*
 * The known word that `word` may have been meant as, or NULL: one that resembles it, with two
 * letters swapped, in other case, or what tc calls it ("skip_sw", "prio", "dst_ip").
 */
const char *hint_word(const char *word, const char *(*name)(size_t i, void *data), void *data);

/*
 * "write tcp", if the text would do in lower case: `fits` says what does. True if so. diag may be
 * NULL.
 */
bool hint_lower(struct diag *diag, const char *text,
		bool (*fits)(const char *text, const void *data), const void *data);

/* For a text that should have been a number: what may have been meant. diag may be NULL. */
void hint_number(struct diag *diag, const char *text);

#endif
