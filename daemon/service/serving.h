/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serving: the service as its own rooms see it. service.c owns it; nothing outside of
 * daemon/service includes this.
 *
 * Nobody is freed under someone's feet: a client that is to go is moved to `dead`, and whoever was
 * called by the loop (a descriptor, a timer, a job's end, an event) calls service_settle() as the
 * last thing.
 */
#ifndef SWD_SERVICE_SERVING_H
#define SWD_SERVICE_SERVING_H

#include "config/base/log.h"
#include "daemon/service/access.h"
#include "daemon/service/service.h"
#include "daemon/service/socket.h"
#include "daemon/service/tally.h"

struct client;
struct counters;
struct errand;
struct samples;

#define CLIENTS_MAX 4096
#define CLIENTS_OF_READER 64  /* of one user who may read or write, but for root */
#define CLIENTS_OF_STRANGER 8 /* of one user who may do neither */
#define CHECKS_MAX 8	      /* jobs for others than writers, waiting at the same time */

struct service {
	struct loop *loop;
	struct engine *engine; /* NULL before service_start() */
	char *reader_group;
	uint32_t counters_wait_ms;

	struct socket_place place;
	struct loop_io *listen_io;
	struct loop_timer *accept_timer; /* listens again after we ran out of descriptors */

	struct snapshot *snapshot;    /* the newest; NULL before service_start() */
	struct config *access_config; /* `access` was made from this one; or NULL */
	struct access_rules access;

	struct client *clients, *dead;
	size_t client_count;
	struct errand *errands; /* jobs under way; see errand.h */

	struct counters *counters;
	struct samples *samples;
	struct tally totals; /* of all blocks, in the snapshot of that number */
	uint64_t totals_of;

	struct log_limit log_access, log_drop, log_full;
};

void service_settle(struct service *s);

#endif
