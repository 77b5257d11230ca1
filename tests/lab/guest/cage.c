// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The host's side of a guest: runs a command so that it can neither write the host's files, but
 * those named, nor outlive its caller.
 *
 *   cage [--rw DIR]... [--tmpfs DIR]... -- COMMAND...
 *
 * A User-mode Linux is a handful of processes that trace each other, and root in the guest could
 * mount the host's disk writable by itself. So the command gets a mount namespace in which
 * everything is read-only, and a PID namespace that dies as a whole when this program does, and
 * this program dies with its parent. Where the host forbids namespaces (some containers do), a line
 * says so, and only the parent's death is followed.
 *
 * Exit code: the command's; 128 + n after signal n; 125 where it could not be started.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	DIRS_MAX = 64,
	FAILED = 125
};

struct plan {
	const char *rw[DIRS_MAX], *tmpfs[DIRS_MAX];
	int rw_n, tmpfs_n;
	char **command;
};

/* These two are written out because sys/mount.h and linux/mount.h of Debian 12 exclude each other.
 */
int mount(const char *source, const char *target, const char *type, unsigned long flags,
	  const void *data);
enum {
	BIND = 4096,
	PRIVATE_ALL = (1 << 18) | 16384
};

static int fail(const char *what)
{
	int err = errno;

	fprintf(stderr, "cage: %s: %s\n", what, strerror(err));
	return -err;
}

static int set_readonly(const char *path, bool readonly, unsigned int flags)
{
	struct mount_attr attr = { 0 };

	if (readonly)
		attr.attr_set = MOUNT_ATTR_RDONLY;
	else
		attr.attr_clr = MOUNT_ATTR_RDONLY;
	return syscall(SYS_mount_setattr, AT_FDCWD, path, flags, &attr, sizeof(attr)) < 0 ? -errno
											  : 0;
}

/* Afterwards only the named directories can be written. */
static int make_readonly(const struct plan *plan)
{
	if (mount(NULL, "/", NULL, PRIVATE_ALL, NULL) < 0)
		return fail("mount namespace");
	for (int i = 0; i < plan->rw_n; i++) {
		if (mount(plan->rw[i], plan->rw[i], NULL, BIND, NULL) < 0)
			return fail(plan->rw[i]);
	}
	for (int i = 0; i < plan->tmpfs_n; i++) {
		if (mount("cage", plan->tmpfs[i], "tmpfs", 0, "mode=700") < 0)
			return fail(plan->tmpfs[i]);
	}
	if (set_readonly("/", true, AT_RECURSIVE) < 0)
		return fail("read-only root");
	for (int i = 0; i < plan->rw_n; i++) {
		if (set_readonly(plan->rw[i], false, 0) < 0)
			return fail(plan->rw[i]);
	}
	for (int i = 0; i < plan->tmpfs_n; i++) {
		if (set_readonly(plan->tmpfs[i], false, 0) < 0)
			return fail(plan->tmpfs[i]);
	}
	/* The new PID namespace's own view; a container may not let us, and nothing depends on it.
	 */
	mount("proc", "/proc", "proc", 0, NULL);
	return 0;
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		r = -errno;
	close(fd);
	return r;
}

/* Without root, a user namespace in which we stay who we are gives the right to make the others. */
static int enter_namespaces(void)
{
	char uid[64], gid[64];

	if (unshare(CLONE_NEWNS | CLONE_NEWPID) == 0)
		return 0;
	snprintf(uid, sizeof(uid), "%d %d 1", geteuid(), geteuid());
	snprintf(gid, sizeof(gid), "%d %d 1", getegid(), getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) < 0)
		return -errno;
	write_text("/proc/self/setgroups", "deny");
	if (write_text("/proc/self/uid_map", uid) < 0 || write_text("/proc/self/gid_map", gid) < 0)
		return -EPERM;
	return 0;
}

static int exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Reaps whatever ends; returns the exit code of PID. */
static int wait_for(pid_t pid)
{
	int status;
	pid_t p;

	for (;;) {
		p = wait(&status);
		if (p == pid)
			return exit_code(status);
		if (p < 0 && errno != EINTR)
			return FAILED;
	}
}

/* The first process of the namespace: when it ends, the kernel kills all others in it. */
static int run_inside(const struct plan *plan, bool caged)
{
	pid_t pid;

	if (caged && make_readonly(plan) < 0)
		return FAILED;
	pid = fork();
	if (pid < 0) {
		fail("fork");
		return FAILED;
	}
	if (pid == 0) {
		if (!caged)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(plan->command[0], plan->command);
		fail(plan->command[0]);
		_exit(FAILED);
	}
	return wait_for(pid);
}

static int parse(int argc, char **argv, struct plan *plan)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i += 2) {
		if (i + 1 == argc || plan->rw_n == DIRS_MAX || plan->tmpfs_n == DIRS_MAX)
			return -EINVAL;
		if (!strcmp(argv[i], "--rw"))
			plan->rw[plan->rw_n++] = argv[i + 1];
		else if (!strcmp(argv[i], "--tmpfs"))
			plan->tmpfs[plan->tmpfs_n++] = argv[i + 1];
		else
			return -EINVAL;
	}
	if (i + 1 >= argc)
		return -EINVAL;
	plan->command = argv + i + 1;
	return 0;
}

int main(int argc, char **argv)
{
	struct plan plan = { 0 };
	pid_t parent = getppid(), pid;
	int r;

	if (parse(argc, argv, &plan) < 0) {
		fprintf(stderr, "usage: cage [--rw DIR]... [--tmpfs DIR]... -- COMMAND...\n");
		return FAILED;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return FAILED;
	r = enter_namespaces();
	if (r < 0)
		fprintf(stderr,
			"cage: no namespaces here (%s): the host's files are not protected\n",
			strerror(-r));
	pid = fork();
	if (pid < 0) {
		fail("fork");
		return FAILED;
	}
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(run_inside(&plan, r == 0));
	}
	return wait_for(pid);
}
