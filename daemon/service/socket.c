// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/service/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/*
 * Everyone may connect and then be told by a Varlink error what they may not do (access.c); limits
 * per user in service.c keep that cheap.
 */
#define SOCKET_MODE 0666
#define BACKLOG 256

static int make_folder(const char *path)
{
	_cleanup_free_ char *folder = strdup(path);
	char *slash;

	if (!folder)
		return -ENOMEM;
	slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return 0;
	*slash = 0;
	if (mkdir(folder, 0755) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

static int take_lock(const char *path, int *ret)
{
	char name[sizeof(((struct sockaddr_un *)0)->sun_path) + 8];
	_cleanup_close_ int fd = -1;

	strcpy(name, path); /* the caller has compared the length */
	strcat(name, ".lock");
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
	*ret = fd;
	fd = -1;
	return 0;
}

/* What is at the path may go only if it is a socket that nobody listens on. */
static int clear_path(const struct sockaddr_un *addr)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (lstat(addr->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0)
		return -EADDRINUSE;
	/* EAGAIN: its backlog is full; it is stopped or busy, and alive. EPROTOTYPE: of another
	 * type. */
	if (errno != ECONNREFUSED)
		return errno == EAGAIN || errno == EPROTOTYPE ? -EADDRINUSE : -errno;
	return unlink(addr->sun_path) < 0 && errno != ENOENT ? -errno : 0;
}

int socket_claim(const char *path, struct socket_place *ret, const char **ret_what)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -1, lock = -1;
	_cleanup_free_ char *copy = NULL;
	struct stat st;
	int err;

	*ret_what = "the path is too long for a socket";
	if (!copy_name(addr.sun_path, sizeof(addr.sun_path), path) || !path[0])
		return -ENAMETOOLONG;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;

	*ret_what = "its folder can't be made";
	err = make_folder(path);
	if (err < 0)
		return err;
	err = take_lock(path, &lock);
	*ret_what = err == -EADDRINUSE ? "another swd owns it" : "its lock file can't be had";
	if (err < 0)
		return err;
	err = clear_path(&addr);
	*ret_what = err == -EADDRINUSE ? "someone else listens on it"
		    : err == -ENOTSOCK ? "what is at that path is no socket, and stays"
				       : "what is at that path can't be cleared away";
	if (err < 0)
		return err;

	*ret_what = "the socket can't be made";
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* bind() gives the inode this mode; umask, which belongs to all threads, is left alone. */
	if (fchmod(fd, 0600) < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	/* Not before listen() does anyone get through. */
	if (chmod(path, SOCKET_MODE) < 0 || lstat(path, &st) < 0 || listen(fd, BACKLOG) < 0) {
		err = -errno;
		unlink(path);
		return err;
	}

	*ret = (struct socket_place){
		.fd = fd,
		.lock_fd = lock,
		.dev = st.st_dev,
		.ino = st.st_ino,
	};
	ret->path = take(copy);
	fd = lock = -1;
	return 0;
}

void socket_release(struct socket_place *s)
{
	struct stat st;

	if (!s->path)
		return;
	if (lstat(s->path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_dev == s->dev &&
	    st.st_ino == s->ino)
		unlink(s->path);
	close(s->fd);
	close(s->lock_fd);
	free(s->path);
	*s = (struct socket_place){ .fd = -1, .lock_fd = -1 };
}
