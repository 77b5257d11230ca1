// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each turn of the loop does a bounded piece of work for a client: reads once, begins some calls,
 * writes until the socket is full. Who has more waiting is called again, because its socket is
 * watched for writing too.
 */
#include "daemon/service/client.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#include "daemon/service/call.h"
#include "daemon/service/serving.h"
#include "daemon/service/verbs.h"

#define READ_SIZE (64u << 10)
#define CALLS_A_TURN 16
#define KEEP_SPACE (128u << 10) /* an empty buffer larger than this is given back */

static size_t message_max(const struct client *c)
{
	const struct access_rules *rules = &c->service->access;

	if (access_allows(rules, &c->peer, ACCESS_WRITE))
		return MESSAGE_OF_WRITER;
	return access_allows(rules, &c->peer, ACCESS_READ) ? MESSAGE_OF_READER
							   : MESSAGE_OF_STRANGER;
}

static void watch(struct client *c)
{
	bool streams = c->call && c->call->next;
	bool busy = c->call || c->ready;
	int events = 0;

	/* While a call runs we read on, to notice that the client has gone, but not without end. */
	if (!c->eof && (!busy || c->in_end - c->in_start < READ_SIZE))
		events |= LOOP_READ;
	if (c->out_bytes || (c->ready && !c->call) || streams)
		events |= LOOP_WRITE;
	loop_io_set(c->io, events);
}

void client_kill(struct client *c, const char *why)
{
	struct service *s = c->service;
	unsigned int missed;

	if (c->dead)
		return;
	c->dead = true;
	if (why && log_allowed(&s->log_drop, 5, 60, &missed))
		log_warning("client %s (pid %d, uid %u) dropped: %s%s", c->peer.name,
			    (int)c->peer.pid, c->peer.uid, why,
			    missed ? " (and others before)" : "");
	loop_io_set(c->io, 0);

	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->next = s->dead;
	s->dead = c;
	s->client_count--;
}

static void flush(struct client *c)
{
	while (c->out && !c->dead) {
		struct chunk *k = c->out;
		ssize_t n = send(c->fd, k->text + k->sent, k->size - k->sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			if (errno != EAGAIN && errno != EWOULDBLOCK)
				client_kill(c, NULL);
			return;
		}
		k->sent += (size_t)n;
		c->out_bytes -= (size_t)n;
		if (k->sent < k->size)
			continue;
		c->out = k->next;
		if (!c->out)
			c->out_tail = &c->out;
		free(k->text);
		free(k);
	}
}

void client_send(struct client *c, char *text, size_t size)
{
	_cleanup_free_ char *own = text;
	struct chunk *k;

	if (c->dead)
		return;
	k = calloc(1, sizeof(*k));
	if (!k) {
		client_kill(c, "memory is short");
		return;
	}
	k->text = take(own);
	k->size = size;
	*c->out_tail = k;
	c->out_tail = &k->next;
	c->out_bytes += size;
	flush(c);
	if (!c->dead && !c->running)
		watch(c);
}

static void begin_skipping(struct client *c, size_t most)
{
	char why[64];

	snprintf(why, sizeof(why), "longer than %zu bytes", most);
	verbs_refuse_message(c, why);
	c->skipping = true;
}

/* Throws away what is buffered of a message that is too long. True when its end was among it. */
static bool skip(struct client *c)
{
	char *begin = c->in + c->in_start;
	char *end = memchr(begin, 0, c->in_end - c->in_start);

	if (end) {
		c->skipping = false;
		c->in_start = c->in_seen = (size_t)(end + 1 - c->in);
		return true;
	}
	c->skipped += c->in_end - c->in_start;
	c->in_start = c->in_end = c->in_seen = 0;
	return false;
}

/* The next whole message: its size without NUL, or -1. It stays in the buffer until `in_start`
 * moves. */
static ssize_t next_message(struct client *c)
{
	size_t most;
	char *end;

	if (c->skipping && !skip(c)) {
		if (c->skipped > SKIP_MAX)
			client_kill(c, "it sends a message without end");
		return -1;
	}
	end = memchr(c->in + c->in_seen, 0, c->in_end - c->in_seen);
	c->in_seen = end ? (size_t)(end - c->in) : c->in_end;
	most = message_max(c);
	if (c->in_seen - c->in_start > most) {
		begin_skipping(c, most);
		if (skip(c))
			return next_message(c);
		c->skipped = 0; /* what was within the limit doesn't count */
		return -1;
	}
	return end ? (ssize_t)(c->in_seen - c->in_start) : -1;
}

static void compact(struct client *c)
{
	if (c->in_start == c->in_end) {
		c->in_start = c->in_end = c->in_seen = 0;
		if (c->in_space > KEEP_SPACE) {
			free(c->in);
			c->in = NULL;
			c->in_space = 0;
		}
	}
}

void client_run(struct client *c)
{
	unsigned int calls = 0;

	if (c->running || c->dead)
		return;
	c->running = true;
	c->ready = false;
	while (!c->dead && !c->call) {
		const char *text;
		ssize_t size = c->in_start < c->in_end ? next_message(c) : -1;

		if (size < 0 || c->dead)
			break;
		if (calls++ == CALLS_A_TURN || c->out_bytes > QUEUE_SOFT) {
			c->ready = true;
			break;
		}
		text = c->in + c->in_start;
		c->in_start = c->in_seen = c->in_start + (size_t)size + 1;
		verbs_receive(c, text, (size_t)size);
	}
	c->running = false;
	if (c->dead)
		return;
	compact(c);
	/* Someone who sent all and closed that direction still gets the answers; but to a stream it
	 * means that nobody listens. */
	if (c->eof && (c->call ? call_is_stream(c->call) : !c->ready && !c->out_bytes)) {
		client_kill(c, NULL);
		return;
	}
	watch(c);
}

static int make_room(struct client *c)
{
	size_t space = MAX(c->in_space, (size_t)READ_SIZE);
	char *in;

	if (c->in_start > 0) {
		memmove(c->in, c->in + c->in_start, c->in_end - c->in_start);
		c->in_end -= c->in_start;
		c->in_seen -= c->in_start;
		c->in_start = 0;
	}
	while (space - c->in_end < READ_SIZE)
		space *= 2;
	if (space == c->in_space)
		return 0;
	in = realloc(c->in, space);
	if (!in)
		return -ENOMEM;
	c->in = in;
	c->in_space = space;
	return 0;
}

static void receive(struct client *c)
{
	ssize_t n;

	if (make_room(c) < 0) {
		client_kill(c, "memory is short");
		return;
	}
	n = recv(c->fd, c->in + c->in_end, READ_SIZE, MSG_DONTWAIT);
	if (n > 0)
		c->in_end += (size_t)n;
	else if (n == 0)
		c->eof = true;
	else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
		client_kill(c, NULL);
}

static void on_io(int fd, int events, void *data)
{
	struct client *c = data;
	struct service *s = c->service;

	if (events & LOOP_WRITE) {
		flush(c);
		if (!c->dead && c->call && c->call->next && c->out_bytes <= QUEUE_SOFT)
			c->call->next(c->call);
	}
	if ((events & LOOP_READ) && !c->dead && !c->eof)
		receive(c);
	client_run(c);
	service_settle(s);
}

int client_new(struct service *s, int fd, const struct peer *peer, struct client **ret)
{
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->service = s;
	c->io = loop_io_new(s->loop, fd, LOOP_READ, on_io, c);
	if (!c->io) {
		free(c);
		return -ENOMEM;
	}
	c->fd = fd;
	c->peer = *peer;
	c->out_tail = &c->out;

	c->next = s->clients;
	c->link = &s->clients;
	if (c->next)
		c->next->link = &c->next;
	s->clients = c;
	s->client_count++;
	*ret = c;
	return 0;
}

void client_free(struct client *c)
{
	if (!c)
		return;
	call_free(c->call);
	while (c->out) {
		struct chunk *k = c->out;

		c->out = k->next;
		free(k->text);
		free(k);
	}
	loop_io_free(c->io);
	close(c->fd);
	peer_clear(&c->peer);
	free(c->in);
	free(c);
}
