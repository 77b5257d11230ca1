// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The command writes to pipes, not to the devices: so it does not believe to be on a terminal, and
 * a tty never changes a byte of what it says. A copy loop carries the bytes on as they come.
 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "job.h"
#include "root.h"

struct copy {
	int from;
	int to;
};

/* A device that may be a tty, which must not touch the bytes. */
static int device_open(const char *path)
{
	struct termios t;
	int fd;

	fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		fd = -errno;
		root_complain("cannot open", path, fd);
		return fd;
	}
	if (tcgetattr(fd, &t) == 0) {
		cfmakeraw(&t);
		tcsetattr(fd, TCSANOW, &t);
	}
	return fd;
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= n;
	}
	return 0;
}

void run_tell(const struct job *job, const char *format, ...)
{
	char line[1024];
	va_list args;
	int fd, n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (n < 0)
		return;
	if ((size_t)n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	fd = device_open(job->ctl);
	if (fd < 0)
		return;
	write_all(fd, line, n);
	tcdrain(fd);
	close(fd);
}

/* Moves what is there. Returns false when nothing will come any more. */
static bool copy_some(struct copy *copy)
{
	char data[16384];
	ssize_t n;

	n = read(copy->from, data, sizeof(data));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n <= 0 || write_all(copy->to, data, n) < 0)
		return false;
	return true;
}

static int exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Reaps everything that has ended. Returns true, with *ret, when PID was among it. */
static bool reap(pid_t pid, int *ret)
{
	bool ended = false;
	int status;
	pid_t p;

	while ((p = waitpid(-1, &status, WNOHANG)) > 0) {
		if (p != pid)
			continue;
		*ret = exit_code(status);
		ended = true;
	}
	return ended;
}

static void __attribute__((noreturn)) become(const struct job *job)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	clearenv();
	for (int i = 0; i < job->env.n; i++)
		putenv((char *)job->env.at[i]);
	if (chdir(job->cwd) < 0) {
		dprintf(2, "lab: %s: %s\n", job->cwd, strerror(errno));
		_exit(126);
	}
	execvp(job->args.at[0], (char *const *)job->args.at);
	dprintf(2, "lab: %s: %s\n", job->args.at[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* Copies until the command has ended and its pipes are empty. A daemon that it left behind may hold
 * them open for ever, so their end is not waited for. */
static int copy_until_end(pid_t pid, int signals, struct copy *copies)
{
	struct pollfd fds[3] = {
		{ .fd = copies[0].from, .events = POLLIN },
		{ .fd = copies[1].from, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
	};
	bool ended = false;
	int code = 0;

	for (;;) {
		struct signalfd_siginfo info;
		int n;

		n = poll(fds, 3, ended ? 0 : -1);
		if (n == 0)
			return code;
		if (n < 0 && errno != EINTR)
			return 126;
		if (n < 0)
			continue;
		for (int i = 0; i < 2; i++) {
			if (fds[i].revents && !copy_some(&copies[i]))
				fds[i].fd = -1;
		}
		if (!fds[2].revents)
			continue;
		if (read(signals, &info, sizeof(info)) < 0 && errno != EAGAIN)
			return 126;
		if (reap(pid, &code))
			ended = true;
	}
}

int run_command(const struct job *job)
{
	int out[2], err[2], null, signals, code;
	struct copy copies[2];
	sigset_t chld;
	pid_t pid;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	signals = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	copies[0].to = device_open(job->out);
	copies[1].to = device_open(job->err);
	if (signals < 0 || null < 0 || copies[0].to < 0 || copies[1].to < 0 ||
	    pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		return 126;
	pid = fork();
	if (pid < 0)
		return 126;
	if (pid == 0) {
		setsid();
		dup2(null, 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		become(job);
	}
	close(out[1]);
	close(err[1]);
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	copies[0].from = out[0];
	copies[1].from = err[0];
	code = copy_until_end(pid, signals, copies);
	tcdrain(copies[0].to);
	tcdrain(copies[1].to);
	return code;
}

int run_shell(const struct job *job)
{
	struct winsize size = { 0 };
	int code = 126, status;
	pid_t pid, p;

	pid = fork();
	if (pid < 0)
		return code;
	if (pid == 0) {
		int fd;

		setsid();
		fd = open(job->out, O_RDWR);
		if (fd < 0)
			_exit(126);
		ioctl(fd, TIOCSCTTY, 1);
		if (job->rows && job->columns) {
			size.ws_row = atoi(job->rows);
			size.ws_col = atoi(job->columns);
			ioctl(fd, TIOCSWINSZ, &size);
		}
		dup2(fd, 0);
		dup2(fd, 1);
		dup2(fd, 2);
		if (fd > 2)
			close(fd);
		become(job);
	}
	while ((p = wait(&status)) > 0 || errno == EINTR) {
		if (p == pid) {
			code = exit_code(status);
			break;
		}
	}
	return code;
}

/* What a loaded module points to from its own data is no leak, but kmemleak does not always see it.
 * A module that is unloaded has given everything back, or it is a leak. Modules that others need go
 * in a later round, and one that something still uses stays. */
static void unload_modules(void)
{
	bool again = true;

	while (again) {
		char line[512], name[64];
		FILE *f = fopen("/proc/modules", "re");

		again = false;
		while (f && !again && fgets(line, sizeof(line), f))
			again = sscanf(line, "%63s", name) == 1 &&
				!syscall(SYS_delete_module, name, O_NONBLOCK);
		if (f)
			fclose(f);
	}
}

void run_scan_leaks(const struct job *job)
{
	static const char path[] = "/sys/kernel/debug/kmemleak";
	char line[512];
	FILE *f;
	int fd;

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	unload_modules();
	/* kmemleak speaks of nothing that is younger than 5 s, and a first scan meets stale
	 * references. */
	for (int i = 0; i < 2; i++) {
		sleep(i ? 1 : 6);
		if (write(fd, "scan", 4) < 0)
			run_tell(job, "leak kmemleak did not scan: %s", strerror(errno));
	}
	close(fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		run_tell(job, "leak %s", line);
	}
	if (f)
		fclose(f);
}
