/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * call: one request from its message to its last reply. A verb's function answers at once, or
 * leaves the call open and answers later, or streams. A call ends with call_reply() or
 * call_error(), after which its pointer is gone; or with its client, whenever that goes.
 */
#ifndef SWD_SERVICE_CALL_H
#define SWD_SERVICE_CALL_H

#include "config/base/jsonw.h"
#include "daemon/engine/snapshot.h"
#include "daemon/service/varlink.h"

struct client;
struct service;
struct verb;

struct call {
	struct client *client;
	struct service *service;
	struct varlink_call message;
	const struct verb *verb;
	struct snapshot *snapshot; /* what it is answered from; a reference */

	/* For a stream: called when there is room for another piece. */
	void (*next)(struct call *c);
	bool monitors; /* gets events, until the client goes */
	/* The verb's own, freed with the call. */
	void *work;
	void (*work_free)(void *work);
};

struct call *call_new(struct client *client, struct varlink_call *message, const struct verb *verb);
void call_free(struct call *c);

static inline bool call_is_stream(const struct call *c)
{
	return c->next || c->monitors;
}

/* The last reply; w holds one object and is emptied, NULL: {}. */
void call_reply(struct call *c, struct jsonw *w);
/* A reply behind which others come; only if message.more. */
void call_piece(struct call *c, struct jsonw *w);
/* The call failed. error: a name of the interface text, or of org.varlink.service. */
void call_error(struct call *c, const char *error, struct jsonw *w);
/* The same with one text parameter. */
void call_error_text(struct call *c, const char *error, const char *key, const char *text);
/* Memory was short: nothing can be said, so the connection ends. */
void call_lost(struct call *c);

#endif
