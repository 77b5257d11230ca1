/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan: an ordered list of steps that lead from found to wanted, each with its reason. Made by
 * diff, shown by `sw-cli plan`, carried out by apply: one list, one code.
 */
#ifndef SWD_ENGINE_PLAN_H
#define SWD_ENGINE_PLAN_H

#include "config/model/difference.h"
#include "config/model/object.h"
#include "daemon/kernel/kernel.h"

enum step_reason {
	STEP_MISSING,	/* wanted and not there */
	STEP_DIFFERENT, /* there, and not as wanted */
	STEP_LEFTOVER,	/* ours, and not wanted any more */
	STEP_EVICT,	/* foreign, and the file says evict */
	STEP_HEAL,	/* moved to a new pref so that the kernel forgets its mark */
	STEP_TAKEOVER,	/* a foreign qdisc in the place of ours, and the file allows it */
	STEP_BEFORE,	/* as it was before a generation that was taken back */
	STEP_BESIDE,	/* a copy that stands for one that must go before its successor comes */
};

struct step {
	enum kernel_op op;
	enum step_reason reason;
	struct object *wanted; /* references; NULL where op has none */
	struct object *found;
};

/* What can't be done now, and waits: a port that is not there. */
struct waiting {
	char port[IFNAMSIZ];
	const struct object *for_what; /* not referenced: lives in wanted */
};

/* What can't be done until a person decides: something foreign is in the way. */
struct conflict {
	struct object *object; /* a reference; what can't be as the file says */
	bool blocking;	       /* an apply is refused for it; else it is only told */
	char text[160];	       /* what is in the way, no full stop */
};

/* A rule whose frames no rule decides for a moment, for it can't be helped. */
struct gap {
	struct object *object; /* a reference; what comes only when the old one is gone */
	char text[160];	       /* why, no full stop */
};

struct plan {
	struct step *steps;
	size_t count, space;
	struct waiting *waiting;
	size_t waiting_count, waiting_space;
	struct conflict *conflicts;
	size_t conflict_count, conflict_space;
	struct gap *gaps; /* one for each rule */
	size_t gap_count, gap_space;
};

/* All return 0 or -ENOMEM. A plan starts as { 0 }. */
void plan_clear(struct plan *p);
int plan_add(struct plan *p, enum kernel_op op, enum step_reason reason,
	     const struct object *wanted,
	     const struct object *found); /* takes references of its own */
int plan_wait(struct plan *p, const char *port, const struct object *for_what);
int plan_conflict(struct plan *p, const struct object *object, bool blocking, const char *fmt, ...)
	_printf_(4, 5);

int plan_gap(struct plan *p, const struct object *object, const char *fmt, ...) _printf_(3, 4);

const char *step_reason_name(enum step_reason r); /* "missing", ... */
/*
 * "+ block 10 chain 0 pref 11 protocol ip flower handle 0x1 (rule no-bogons): missing",
 * "~ port lan1: different: mtu 1400 instead of 1500"
 */
#define STEP_TEXT (OBJECT_LABEL + RULE_NAME_MAX + DIFFERENCE_TEXT + 32)
void step_print(const struct step *s, char *to, size_t size);
/* The object of a step: what it wants, or else what it finds. */
const struct object *step_object(const struct step *s);
struct jsonw;
/*
 * {"steps": [{"op", "reason", "kind", "object", "port", "block", "rule", "line",
 *  "text"}],
 *  "waiting": [{"port", "object", "block", "rule"}], "conflicts": [{"object", "line", "text"}],
 *  "gaps": [{"object", "block", "rule", "line", "text"}]}:
 * always these keys, null where there is nothing to say.
 */
void plan_json(const struct plan *p, struct jsonw *w);
/* The same as text, ended by NUL; the caller frees it. */
int plan_json_text(const struct plan *p, char **ret);
/*
 * The steps as step_print() has them, a line each, in at most `most` bytes; what does not fit is
 * counted in a last line. The caller frees it.
 */
int plan_text(const struct plan *p, size_t most, char **ret);

#endif
