/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * socket: the listening socket as a thing in the file system: who owns the path, what may be
 * cleared away, and that nobody reaches it before its owner and mode are right.
 *
 * A lock on "PATH.lock" decides who owns the path. Under the lock only a socket whose connect()
 * gives ECONNREFUSED is a dead daemon's; anything else stays and is an error.
 */
#ifndef SWD_SERVICE_SOCKET_H
#define SWD_SERVICE_SOCKET_H

#include <stdint.h>
#include <sys/types.h>

#include "config/base/util.h"

struct socket_place {
	int fd; /* listening, non-blocking */
	int lock_fd;
	char *path;
	dev_t dev; /* which inode is ours, so that only it is removed */
	ino_t ino;
};

/*
 * 0; -EADDRINUSE: a living owner; -ENOTSOCK: something else is there; -ENAMETOOLONG; or -errno.
 * Makes the folder (mode 0755) if only its last part is missing. *ret_what (static words) says what
 * failed.
 */
int socket_claim(const char *path, struct socket_place *ret, const char **ret_what);
/* Closes, and removes the socket if it is still the one we made. The lock file stays: removing it
 * would let two owners lock two files. */
void socket_release(struct socket_place *s);

#endif
