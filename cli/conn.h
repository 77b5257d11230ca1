/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conn: the other end of the daemon's Varlink socket: one call at a time.
 */
#ifndef SWD_CLI_CONN_H
#define SWD_CLI_CONN_H

#include "cli/cli.h"

struct cJSON;
struct conn;

#define CONN_PATIENCE_MS 10000 /* for answers that need nothing but the daemon */
#define CONN_FOR_EVER (-1)

/* 0 or -errno. */
int conn_open(const char *path, struct conn **ret);
void conn_close(struct conn *c);
DEFINE_CLEANUP(struct conn *, conn_close);

/* Sends a call. parameters: a JSON object as text, or NULL. 0 or -errno. */
int conn_call(struct conn *c, const char *method, const char *parameters, bool more);

struct reply {
	struct cJSON *root;		/* owns the rest */
	const struct cJSON *parameters; /* NULL if there are none */
	const char *error;		/* its full name, or NULL */
	bool continues;
};
void reply_clear(struct reply *r);
#define _cleanup_reply_ _cleanup_(reply_clear)

/*
 * The next reply, after at most wait_ms without a byte. 0; -ETIMEDOUT; -ECONNRESET: the connection
 * ended; -EBADMSG: what came is no reply; or -errno.
 */
int conn_reply(struct conn *c, int wait_ms, struct reply *ret);

/* Waits for something to read, an end or an error too; false: nothing came within wait_ms. */
bool conn_readable(const struct conn *c, int wait_ms);

/*
 * For commands: each says on standard error what went wrong (with --json an error reply goes to
 * standard output as well), and returns CLI_DONE, CLI_FAILED or CLI_NOT_REACHABLE. Opens and calls:
 */
int conn_begin(const struct cli *cli, const char *method, const char *parameters, bool more,
	       struct conn **ret);
/* Takes the next reply. */
int conn_follow(const struct cli *cli, struct conn *c, int wait_ms, struct reply *ret);
/* Both. conn is kept in *ret_conn (may be NULL) for the replies that follow. */
int conn_ask(const struct cli *cli, const char *method, const char *parameters, bool more,
	     int wait_ms, struct conn **ret_conn, struct reply *ret);

#endif
