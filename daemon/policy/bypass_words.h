/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bypass_words: what bypass.c found, in words for people: what breaks the bypass and what would
 * mend it.
 */
#ifndef SWD_POLICY_BYPASS_WORDS_H
#define SWD_POLICY_BYPASS_WORDS_H

#include "daemon/policy/bypass.h"

/* A filter that software looks at. alone: it has its pref for itself. */
void bypass_words_filter(const struct filter *f, bool alone, const struct bypass_words *words,
			 struct bypass_culprit *ret);
/* The command that takes a foreign filter away, and what the file could say instead. */
void bypass_words_mend(const struct filter *f, bool alone, const struct bypass_words *words,
		       char to[BYPASS_MEND]);
/* A proto that is marked, or may be, though none of its filters shows why. f: its first filter. */
struct bypass_mark_words {
	bool sure;
	bool ours;   /* it holds filters of ours alone */
	bool healed; /* swd rebuilds what is ours, as things are */
	bool room;   /* a pref beside it is free */
};
void bypass_words_proto(const struct filter *f, const struct bypass_mark_words *mark,
			const struct bypass_words *words, struct bypass_culprit *ret);
/*
 * The shortcut is not there (f NULL), since it would hide a foreign filter from software (hidden,
 * or NULL); or it stands behind f.
 */
void bypass_words_shortcut(const struct filter *f, const struct filter *hidden, uint32_t block,
			   const struct bypass_words *words, struct bypass_culprit *ret);

#endif
