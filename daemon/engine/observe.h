/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * observe: keeps found true. The only room that writes it. Dumps are the truth, events are hints:
 * an event that says something is there is taken; one that says a filter is gone makes us ask for
 * it by name; what changes without an event (a last unbind empties a block, binds change in_hw) is
 * marked stale and dumped again. Each filter event also goes to the bypass room, in the kernel's
 * order.
 *
 * observe.c asks, observe_walk.c reads blocks, observe_tx.c how ports send, events.c takes what
 * happens, observe_found.c writes found.
 */
#ifndef SWD_ENGINE_OBSERVE_H
#define SWD_ENGINE_OBSERVE_H

#include "daemon/engine/owner.h"

/* Dumps everything. `first`: nothing was known before. 0 or -errno, then found is as it was. */
int observe_all(struct engine_owner *o, bool first);
/*
 * Dumps again what is stale, and asks for what is doubted. What fails stays stale, and an alert
 * says so. 0 or -errno; -EBUSY: everything was read a moment ago, it will be soon, or at once with
 * observe_now() before.
 */
int observe_refresh(struct engine_owner *o);
void observe_now(struct engine_owner *o);
/* Whether the kernel could be read, for the operator; and why not, in words. */
void observe_tell(struct engine_owner *o, int r);
const char *observe_words(int r);
/* The same without the blocks: links, addresses, qdiscs. */
int observe_devices(struct engine_owner *o);
/* Everything is to be read again; blocks by observe_walk(), whenever nothing else is to be done. */
void observe_audit(struct engine_owner *o);
/*
 * Reads a part of what is to be read of blocks, when o->walk.due has come: some milliseconds' work
 * at most. 1: there is more; 0: that was all; -errno: a block could not be read and stays stale.
 */
int observe_walk(struct engine_owner *o);
/* Reads events without waiting. True if some may be left. */
bool observe_events(struct engine_owner *o);
/* Fresh counters of a block (0: all blocks) and of the qdiscs. between: called between parts. */
int observe_counters(struct engine_owner *o, uint32_t block,
		     void (*between)(struct engine_owner *o));

/* Asks for one object, or with handle 0 for a pref's filters. 0: it is in found now; -ENOENT: it is
 * not there, nor in found; or -errno. */
int observe_ask(struct engine_owner *o, const struct object *key);
/* The outcome of a request, from apply. */
void observe_took(struct engine_owner *o, const struct kernel_request *req);

/* ---- between these files ---- */

bool observe_is_stale(const struct engine_owner *o);
void observe_stale_block(struct engine_owner *o, uint32_t block);
void observe_stale_all(struct engine_owner *o);
/* How many found qdiscs bind the block, `but` not counted. */
size_t observe_members(const struct engine_owner *o, uint32_t block, const struct qdisc *but);
void observe_qdisc_new(struct engine_owner *o, const struct qdisc *q, bool own);
void observe_qdisc_gone(struct engine_owner *o, const struct qdisc *key, bool own);
/* A device is not there any more, and nothing that was on it. */
void observe_dev_gone(struct engine_owner *o, const char *name);
/* Looks at a device again soon if something of it is not there yet; fresh: it was not there. */
void observe_complete(struct engine_owner *o, const struct object *dev, bool fresh);
/* A device as it is now. */
void observe_dev_new(struct engine_owner *o, const struct object *dev);
/* Puts a reference into found; a lack of memory makes everything stale. */
void observe_put(struct engine_owner *o, const struct object *object);
/* The same of a filter that was read: if no event told of it, its history begins here. 0 or
 * -ENOMEM. */
int observe_read(struct engine_owner *o, const struct filter *f);
/* Repair is to look where the filter is, or should be. */
void observe_touch(struct engine_owner *o, const struct filter *f);
/* Takes what has that key out of found. `key` must be held by the caller. */
void observe_drop(struct engine_owner *o, const struct object *key);
/* ---- observe_tx.c ---- */

/* Reads how those devices send that the state names; or, those that are wanted or recorded. 0 or
 * -errno. */
int observe_tx_of(struct engine_owner *o, const struct state *named);
int observe_tx(struct engine_owner *o);
/* A device came; its link may have come up; one went. */
void observe_tx_new(struct engine_owner *o, const char *dev);
void observe_tx_link(struct engine_owner *o, const struct object *before, const struct object *now);
void observe_tx_gone(struct engine_owner *o, const char *dev);

/* ---- observe_walk.c ---- */

/* Each bound block is to be read. */
void observe_walk_all(struct engine_owner *o);
/* All that is stale of blocks, at once; between may be NULL. 0 or -errno. */
int observe_walk_through(struct engine_owner *o, void (*between)(struct engine_owner *o));
/* What is being read of the block is worth nothing. */
void observe_walk_void(struct engine_owner *o, uint32_t block);
/* An event or an answer told of the filter; key with handle 0: of its pref. */
void observe_walk_heard(struct engine_owner *o, const struct object *key);
/* True if what it reads is more than an audit. */
bool observe_walk_doubts(const struct engine_owner *o);
void observe_walk_clear(struct engine_owner *o);

const struct link_facts *observe_facts(const struct object *dev);
const char *observe_dev_name(const struct object *dev);

#endif
