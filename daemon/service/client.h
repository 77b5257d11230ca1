/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * client: one connection: bytes in, cut at NUL into messages; messages out, as fast as the other
 * side reads. Calls are answered one after the other, in order; what comes meanwhile waits in the
 * buffer and then in the kernel, so that a client can't make us keep more than these limits.
 */
#ifndef SWD_SERVICE_CLIENT_H
#define SWD_SERVICE_CLIENT_H

#include "daemon/service/access.h"

struct call;
struct service;

/* Longest message, by what the peer may do. What is longer is skipped up to its NUL and answered
 * with an error; after SKIP_MAX bytes of that the connection ends. */
#define MESSAGE_OF_STRANGER (4u << 10)
#define MESSAGE_OF_READER (1u << 20)
#define MESSAGE_OF_WRITER (96u << 20) /* a file of CONFIG_TEXT_MAX, escaped */
#define SKIP_MAX (64u << 20)

#define QUEUE_SOFT (256u << 10) /* above it no new answer or piece is begun */
#define QUEUE_EVENTS (1u << 20) /* a monitor that lets this pile up is dropped */

struct chunk {
	struct chunk *next;
	char *text; /* owned */
	size_t size, sent;
};

struct client {
	struct service *service;
	int fd;
	struct loop_io *io;
	struct peer peer;

	char *in; /* [in_start, in_end) is unread, without NUL up to in_seen */
	size_t in_start, in_end, in_seen, in_space;
	size_t skipped;
	bool skipping; /* the rest of a message that was too long */

	struct chunk *out, **out_tail;
	size_t out_bytes;

	struct call *call;   /* being answered now, or NULL */
	bool running, ready; /* in client_run(); a whole message waits */
	bool eof, dead;
	struct client *next, **link;
};

/* Takes over fd when it succeeds. The client is in the service's list. 0 or -errno. */
int client_new(struct service *s, int fd, const struct peer *peer, struct client **ret);
void client_free(struct client *c);

/* Queues a finished message, text is taken over, and sends what the other side takes. */
void client_send(struct client *c, char *text, size_t size);
/* Ends it at the next service_settle(); logged, rate-limited, if why is not NULL. */
void client_kill(struct client *c, const char *why);
/* A call ended, or has more to say: goes on with what waits. */
void client_run(struct client *c);

#endif
