/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * config: what a file says, whole: the wanted state (ports, vlans, addresses, blocks, qdiscs,
 * rules) and swd's own settings. Made by config/yaml, shared by reference count, never changed
 * after loading.
 */
#ifndef SWD_MODEL_CONFIG_H
#define SWD_MODEL_CONFIG_H

#include "config/model/state.h"

#define GROUP_NAME_MAX 33
#define WRITERS_MAX 8
#define HISTORY_DEFAULT 50
#define HISTORY_MAX 10000

/* The `daemon:` section. Times in milliseconds. */
struct daemon_settings {
	uint32_t settle_ms;    /* how long after a repair the next one waits; default 5 */
	uint32_t audit_ms;     /* a dump of everything at least so often; default 60,000 */
	uint32_t port_wait_ms; /* READY waits at most this long for configured ports; default 10,000
				*/
	uint32_t history;      /* generations that are kept; default 50 */
	uint8_t log_level;     /* enum log_level; default info */
	uint8_t writer_count;
	char writers[WRITERS_MAX][GROUP_NAME_MAX]; /* groups that may change things, beside root */
};

struct config {
	uint32_t refs; /* atomic */
	struct daemon_settings daemon;
	struct state *wanted; /* no filters: compile makes those */
	char *file;	      /* name for messages */
};

struct config *config_new(const char *file);	    /* with defaults; NULL: memory short */
struct config *config_copy(const struct config *c); /* that nobody shares; NULL likewise */
struct config *config_ref(struct config *c);
void config_unref(struct config *c);
DEFINE_CLEANUP(struct config *, config_unref);

#endif
