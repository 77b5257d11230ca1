/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_generation: every text that was tried, who, when, why, what it changed and how it ended;
 * and the deadline of the one that waits for its confirmation. What one call writes is one
 * transaction. All calls return 0 or -errno; -ENOENT: there is no such generation.
 *
 * Outcomes: trying; armed (in force, until it is confirmed or its deadline passes); done (it was
 * committed); refused, reverted or failed, as enum apply_outcome has it; unconfirmed (taken back);
 * interrupted (swd ended in the middle of it).
 *
 * A text that was taken back, be it unconfirmed or by a revert, is shunned: the file may hold it
 * still, and a start must not take it. It is good again once it is committed again.
 */
#ifndef SWD_ENGINE_STORE_GENERATION_H
#define SWD_ENGINE_STORE_GENERATION_H

#include <sys/types.h>

#include "config/base/diag.h"
#include "daemon/engine/deadline.h"
#include "daemon/engine/snapshot.h"
#include "daemon/engine/store.h"

#define GENERATION_WHO 64
#define GENERATION_WHY 200			  /* bytes that a person may say */
#define GENERATION_WHY_TEXT (GENERATION_WHY + 40) /* with "revert to N: " in front */

struct generation {
	uint64_t id;
	uint64_t at_ns; /* realtime: when it was tried */
	char who[GENERATION_WHO];
	uid_t uid;
	char name[DIAG_FILE_MAX + 1]; /* what messages call the text; "" in old ones */
	char why[GENERATION_WHY_TEXT];
	uint64_t reverts;    /* whose text it is; 0: none's */
	uint32_t confirm_ms; /* it was to be confirmed within; 0: at once */

	char outcome[16];
	char error[512]; /* why it is not in force; "" */
	uint64_t changes;
	bool shunned;

	uint64_t size; /* of the text */
	char *text;    /* owned, ended by NUL; NULL in lists */
	char *diff;    /* owned, a line a step; NULL in lists, or if there is none */
};
void generation_clear(struct generation *g);

/*
 * Notes that a text is being tried; nothing may be changed before this has succeeded. Reads text,
 * size, name, who, uid, why, reverts and confirm_ms. before (may be NULL): what it will change, see
 * before.h.
 */
int store_try(struct store *s, const struct generation *g, const struct state *before,
	      uint64_t *ret_id);

/* How a trial ended. */
struct store_ending {
	enum apply_outcome outcome;
	const struct deadline *deadline; /* DONE, and is to be confirmed by then; or NULL */
	const char *error, *diff;	 /* may be NULL */
	uint64_t changes;
	uint32_t keep; /* generations; what a start or a revert needs is kept as well */
};
int store_end(struct store *s, uint64_t id, const struct store_ending *e);

/* The deadline moves. */
int store_rearm(struct store *s, const struct deadline *d);
/* -ENOENT: nothing is armed. */
int store_deadline(struct store *s, struct deadline *ret);
/* The armed one is committed. */
int store_confirm(struct store *s, uint64_t id, uint32_t keep);
/* The armed one was taken back. */
int store_unconfirmed(struct store *s, uint64_t id, const char *words);
/* At start: what was being tried is not any more. */
int store_interrupted(struct store *s);

/*
 * Records of before.h, in the transaction that is open, if one is. They go when the trial that made
 * them fails or is confirmed, and when they are forgotten.
 */
int store_note_before(struct store *s, uint64_t generation, const struct state *ports);
int store_before(struct store *s, struct state *into);
int store_forget_before(struct store *s);

int store_generation(struct store *s, uint64_t id, struct generation *ret);
/* The newest committed one below `below` (0: of all). */
int store_committed(struct store *s, uint64_t below, struct generation *ret);
/* The newest shunned one with this text, without text and diff. */
int store_shuns(struct store *s, const char *text, size_t size, struct generation *ret);
/* All of them, newest first, without text and diff. The caller frees the list. */
int store_history(struct store *s, struct generation **ret, size_t *ret_n);

#endif
