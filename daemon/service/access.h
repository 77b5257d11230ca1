/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * access: who is at the other end of a connection, and what they may do. The kernel says who
 * (SO_PEERCRED, SO_PEERGROUPS: as of connect()); the file says which groups may write.
 *
 * Everyone may introspect; reads are for root, the reader group and writers; writes for root and
 * writers.
 */
#ifndef SWD_SERVICE_ACCESS_H
#define SWD_SERVICE_ACCESS_H

#include <sys/types.h>

#include "config/model/config.h"

enum access_need {
	ACCESS_NONE, /* introspection */
	ACCESS_READ,
	ACCESS_WRITE,
};

struct peer {
	uid_t uid;
	gid_t gid;
	pid_t pid;
	gid_t *groups; /* supplementary ones; owned */
	size_t group_count;
	char name[17]; /* the program's, from /proc; "" if it can't be read. For logs only: it may
			  lie. */
};

/* Reads who is behind a connected local socket. 0 or -errno. */
int peer_read(int fd, struct peer *ret);
void peer_clear(struct peer *p);

struct access_rules {
	bool has_reader;
	gid_t reader;
	size_t writer_count;
	gid_t writers[WRITERS_MAX];
};

/*
 * Turns names of groups into numbers; asks the system's group database, so it is called when a
 * configuration changes and not when a client asks. config may be NULL. Names that are not there
 * get nobody in; *ret_unknown (may be NULL) is then the first of them, or else NULL.
 */
void access_resolve(const char *reader_group, const struct config *config, struct access_rules *ret,
		    const char **ret_unknown);
bool access_allows(const struct access_rules *rules, const struct peer *p, enum access_need need);

#endif
