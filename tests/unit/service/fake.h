/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake: a service on a real socket, in a thread with a real loop, over an engine made of paper. The
 * test is the client. Where the real engine would ask the kernel, this one does what the test told
 * it to.
 */
#ifndef SWD_TESTS_FAKE_H
#define SWD_TESTS_FAKE_H

#include <pthread.h>
#include <stdatomic.h>

#include "daemon/engine/engine.h"
#include "daemon/service/service.h"

struct fake {
	char folder[64], path[96];
	struct loop *loop;
	struct engine *engine;
	struct service *service;
	struct loop_timer *tick;
	pthread_t thread;
	atomic_bool hold;     /* jobs stay with the engine while this is true */
	atomic_int submitted; /* jobs that came, of any type */
	atomic_int counter_jobs;
	atomic_int unwanted; /* jobs that were done after who asked had gone */
	char who[64];	     /* of the last plan or apply */
	uint32_t confirm_ms; /* of the last apply or revert, and so on */
	uint64_t target;
	char why[GENERATION_WHY_TEXT];
	atomic_bool armed;			 /* a generation waits for its confirmation */
	atomic_bool no_room;			 /* and that can't be written */
	atomic_int history;			 /* generations beside the three */
	_Atomic(void (*)(struct fake *)) errand; /* runs in the loop's thread, then becomes NULL */
	int start_error;
};

/* first: the snapshot to begin with, taken over. Fails the test if the service can't start. */
void fake_start(struct fake *f, struct snapshot *first, const struct service_options *options);
void fake_stop(struct fake *f);
/* Runs fn in the loop's thread and waits for its end. */
void fake_in_loop(struct fake *f, void (*fn)(struct fake *));
/* Gives the service another snapshot; taken over. */
void fake_publish(struct fake *f, struct snapshot *s);

/*
 * A snapshot of a small device: switch ports lan1 and lan2 behind eth0, lan9 that is not there, a
 * VLAN leg eth0.10, block edge (10) with three rules on lan1 and lan2, one of them missing, and a
 * foreign filter.
 */
struct snapshot *sample_snapshot(void);
/* The same with so many more rules in block edge, all in hardware. */
struct snapshot *sample_snapshot_rules(size_t more);
/* Setup and teardown of tests that want a service over sample_snapshot(). */
int sample_start(void **state);
int sample_stop(void **state);
extern struct fake fake; /* one per program: that of sample_start(), or its own */

/* The client's side. All wait at most some seconds, and fail the test if nothing comes. */
int client_connect(const struct fake *f);
void client_say(int fd, const char *message); /* and its NUL */
void client_say_bytes(int fd, const void *bytes, size_t size);
/* The next message, to be freed; NULL: the connection ended. */
char *client_hear(int fd);
/* One call and its reply. */
char *client_ask(int fd, const char *message);

#endif
