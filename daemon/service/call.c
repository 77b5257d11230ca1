// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/service/call.h"

#include "daemon/service/client.h"
#include "daemon/service/serving.h"

struct call *call_new(struct client *client, struct varlink_call *message, const struct verb *verb)
{
	struct call *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->client = client;
	c->service = client->service;
	c->message = *message;
	*message = (struct varlink_call){ 0 };
	c->verb = verb;
	c->snapshot = snapshot_ref(c->service->snapshot);
	client->call = c;
	return c;
}

void call_free(struct call *c)
{
	if (!c)
		return;
	if (c->work_free)
		c->work_free(c->work);
	varlink_call_clear(&c->message);
	snapshot_unref(c->snapshot);
	free(c);
}

static void end(struct call *c)
{
	struct client *client = c->client;

	client->call = NULL;
	call_free(c);
	client_run(client); /* returns at once if the call began in there */
}

void call_lost(struct call *c)
{
	client_kill(c->client, "memory is short");
}

static bool send_reply(struct call *c, struct jsonw *w, bool continues)
{
	char *text;
	size_t size;

	if (c->message.oneway)
		return true;
	if (varlink_reply(w, continues, &text, &size) < 0) {
		call_lost(c);
		return false;
	}
	client_send(c->client, text, size);
	return !c->client->dead;
}

void call_reply(struct call *c, struct jsonw *w)
{
	if (send_reply(c, w, false))
		end(c);
}

void call_piece(struct call *c, struct jsonw *w)
{
	send_reply(c, w, true);
}

void call_error(struct call *c, const char *error, struct jsonw *w)
{
	char *text;
	size_t size;

	if (!c->message.oneway) {
		if (varlink_error(error, w, &text, &size) < 0) {
			call_lost(c);
			return;
		}
		client_send(c->client, text, size);
		if (c->client->dead)
			return;
	}
	end(c);
}

void call_error_text(struct call *c, const char *error, const char *key, const char *text)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();

	if (!w) {
		call_lost(c);
		return;
	}
	jsonw_object(w);
	jsonw_key_string(w, key, text);
	jsonw_object_end(w);
	call_error(c, error, w);
}
