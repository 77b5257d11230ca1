// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Monitor: events as they happen, to everyone who listens. Someone who does not read what he asked
 * for is dropped, rather than kept in memory.
 */
#include "daemon/service/client.h"
#include "daemon/service/serving.h"
#include "daemon/service/verbs.h"
#include "daemon/service/write.h"

static void send_event(struct call *c, const char *type, uint64_t at_ns, const char *about,
		       const char *text)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();

	if (!w) {
		call_lost(c);
		return;
	}
	jsonw_object(w);
	jsonw_key(w, "event");
	jsonw_object(w);
	jsonw_key_string(w, "type", type);
	write_ms(w, "at_ms", at_ns);
	jsonw_key_string(w, "about", about);
	jsonw_key_string(w, "text", text);
	jsonw_object_end(w);
	jsonw_object_end(w);
	call_piece(c, w);
}

/* The first event says that from now on nothing is missed. */
void verb_monitor(struct call *c)
{
	const struct snapshot *s = c->snapshot;
	char text[96];

	c->monitors = true;
	snprintf(text, sizeof(text), "generation %llu, %s", (unsigned long long)s->generation,
		 s->settled ? "settled" : "not settled");
	send_event(c, "listening", now_realtime_ns(), "swd", text);
}

void monitor_event(struct service *s, const struct engine_event *e)
{
	struct client *next;

	for (struct client *client = s->clients; client; client = next) {
		next = client->next;
		if (!client->call || !client->call->monitors)
			continue;
		if (client->out_bytes > QUEUE_EVENTS)
			client_kill(client, "it does not read its events");
		else
			send_event(client->call, engine_event_name(e->type), e->at_ns, e->about,
				   e->text);
	}
}
