// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The set of clients: who gets in, who goes, and what they all see when something is new.
 */
#include "daemon/service/service.h"

#include <errno.h>
#include <sys/socket.h>

#include "daemon/service/client.h"
#include "daemon/service/counters.h"
#include "daemon/service/errand.h"
#include "daemon/service/samples.h"
#include "daemon/service/serving.h"
#include "daemon/service/verbs.h"

#define ACCEPTS_A_TURN 64
#define ACCEPT_PAUSE_MS 100 /* after we ran out of descriptors */

void service_settle(struct service *s)
{
	while (s->dead) {
		struct client *c = s->dead;

		s->dead = c->next;
		client_free(c);
	}
}

/* How many connections that user has, and how many it may have. */
static bool crowded(const struct service *s, const struct peer *p)
{
	size_t most, n = 0;

	if (s->client_count >= CLIENTS_MAX)
		return true;
	if (p->uid == 0)
		return false;
	most = access_allows(&s->access, p, ACCESS_READ) ? CLIENTS_OF_READER : CLIENTS_OF_STRANGER;
	for (const struct client *c = s->clients; c; c = c->next)
		n += c->peer.uid == p->uid;
	return n >= most;
}

static void admit(struct service *s, int fd)
{
	struct peer peer = { 0 };
	struct client *client;
	unsigned int missed;
	int err;

	err = peer_read(fd, &peer);
	if (err == 0 && crowded(s, &peer)) {
		if (log_allowed(&s->log_full, 5, 60, &missed))
			log_warning("too many connections: uid %u (%s, pid %d) turned away%s",
				    peer.uid, peer.name, (int)peer.pid,
				    missed ? " (and others before)" : "");
		err = -EUSERS;
	}
	if (err == 0)
		err = client_new(s, fd, &peer, &client);
	if (err < 0) {
		peer_clear(&peer);
		close(fd);
	}
}

static void on_listen(int fd, int events, void *data)
{
	struct service *s = data;
	unsigned int missed;

	for (int i = 0; i < ACCEPTS_A_TURN; i++) {
		int new_fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (new_fd >= 0) {
			admit(s, new_fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
			/* The connection stays in the backlog, and would wake us without end. */
			if (log_allowed(&s->log_full, 5, 60, &missed))
				log_warning("can't take another connection: %s", strerror(errno));
			loop_io_set(s->listen_io, 0);
			loop_timer_start(s->accept_timer, ACCEPT_PAUSE_MS, 0);
		}
		if (errno != EINTR && errno != ECONNABORTED)
			break;
	}
	service_settle(s);
}

static void on_accept_timer(void *data)
{
	struct service *s = data;

	loop_io_set(s->listen_io, LOOP_READ);
}

int service_open(struct loop *loop, const struct service_options *options, struct service **ret)
{
	_cleanup_(service_stopp) struct service *s = calloc(1, sizeof(*s));
	const char *what = "memory is short";
	int err;

	if (!s)
		return -ENOMEM;
	s->loop = loop;
	s->place = (struct socket_place){ .fd = -1, .lock_fd = -1 };
	s->counters_wait_ms = options->counters_wait_ms ? options->counters_wait_ms : 500;
	s->reader_group = strdup(options->reader_group ? options->reader_group : "swd");
	s->counters = counters_new(s);
	s->samples = samples_new();
	if (!s->reader_group || !s->counters || !s->samples)
		return -ENOMEM;
	err = socket_claim(options->socket_path, &s->place, &what);
	if (err < 0) {
		log_error("%s: %s: %s", options->socket_path, what, strerror(-err));
		return err;
	}
	*ret = take(s);
	return 0;
}

int service_start(struct service *s, struct engine *engine)
{
	_cleanup_(snapshot_unrefp) struct snapshot *first = engine_snapshot(engine);
	const char *unknown;

	s->engine = engine;
	access_resolve(s->reader_group, NULL, &s->access, &unknown);
	if (unknown)
		log_info("there is no group %s: only root may read", unknown);
	service_snapshot(s, first);

	s->accept_timer = loop_timer_new(s->loop, on_accept_timer, s);
	s->listen_io = loop_io_new(s->loop, s->place.fd, LOOP_READ, on_listen, s);
	return s->accept_timer && s->listen_io ? 0 : -ENOMEM;
}

void service_stop(struct service *s)
{
	if (!s)
		return;
	while (s->clients)
		client_kill(s->clients, NULL);
	service_settle(s);
	errand_detach(s);
	counters_free(s->counters);
	samples_free(s->samples);
	loop_io_free(s->listen_io);
	loop_timer_free(s->accept_timer);
	socket_release(&s->place);
	config_unref(s->access_config);
	snapshot_unref(s->snapshot);
	free(s->reader_group);
	free(s);
}

void service_snapshot(struct service *s, struct snapshot *snapshot)
{
	const char *unknown;

	snapshot_ref(snapshot);
	snapshot_unref(s->snapshot);
	s->snapshot = snapshot;
	samples_add(s->samples, snapshot);

	if (snapshot->config && snapshot->config != s->access_config) {
		config_unref(s->access_config);
		s->access_config = config_ref(snapshot->config);
		access_resolve(s->reader_group, s->access_config, &s->access, &unknown);
		if (unknown && !streq(unknown, s->reader_group))
			log_warning("daemon.writers: there is no group %s", unknown);
	}
}

void service_event(struct service *s, const struct engine_event *e)
{
	monitor_event(s, e);
	service_settle(s);
}
