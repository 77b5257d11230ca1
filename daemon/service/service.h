/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * service: the Varlink service io.swd.Switch on a local socket (https://varlink.org). It answers
 * from the newest snapshot and hands work to the engine as jobs; it never waits. All calls are for
 * the loop thread.
 *
 * Birth: service_open() before the engine starts, so that a second daemon stops before it touches
 * the kernel; service_start() when there is an engine to ask. Clients that come between the two
 * wait in the socket's backlog.
 */
#ifndef SWD_SERVICE_SERVICE_H
#define SWD_SERVICE_SERVICE_H

#include "daemon/engine/engine.h"
#include "daemon/loop.h"

struct service;

struct service_options {
	const char *socket_path;   /* an absolute path; its folder is made if only the last part is
				      missing */
	const char *reader_group;  /* who may read, beside root and the writers; NULL: "swd" */
	uint32_t counters_wait_ms; /* how long Rules waits for fresh counters; 0: 500 */
};

/*
 * Claims the socket path: takes "PATH.lock", clears away a dead daemon's socket, binds and listens.
 * 0, or -errno after it has logged why: -EADDRINUSE (a living owner), -ENOTSOCK (something else is
 * at the path and stays there), ...
 */
int service_open(struct loop *loop, const struct service_options *options, struct service **ret);
/* From now on clients are answered. 0 or -errno. */
int service_start(struct service *s, struct engine *engine);
/*
 * Drops all clients, removes our socket and frees. NULL is fine. Before or after engine_stop():
 * jobs that are still with the engine may end later.
 */
void service_stop(struct service *s);
DEFINE_CLEANUP(struct service *, service_stop);

/* For the engine's listener. */
void service_snapshot(struct service *s,
		      struct snapshot *snapshot); /* takes a reference of its own */
void service_event(struct service *s, const struct engine_event *e);

#endif
