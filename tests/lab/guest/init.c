// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The first program of a guest of the lab. It builds the root, brings lo up, runs the command of
 * the job, tells how it ended, and powers off. It is linked statically, because the root it moves
 * into may be another Debian than the host.
 *
 * With a job of mode "systemd" it becomes systemd instead, with a unit that calls it again as
 * "init --unit" once multi-user.target is reached.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job.h"
#include "root.h"
#include "run.h"

#define UNIT_DIR "/run/systemd/system"
#define UNIT_INIT "/run/lab/init"
#define UNIT_JOB "/run/lab/job"

static void __attribute__((noreturn)) power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void lo_up(void)
{
	struct ifreq req = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &req) < 0)
		root_complain("cannot bring up", "lo", -errno);
	if (fd >= 0)
		close(fd);
}

/* A guest has next to no interrupts to take randomness from, and whoever asks for some waits for
 * minutes on a loaded host. Guests keep no secrets: call what the kernel has collected enough. */
static void have_random(void)
{
	int bits = 256, fd;

	fd = open("/dev/random", O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, RNDADDTOENTCNT, &bits) < 0)
		root_complain("cannot credit", "/dev/random", -errno);
	if (fd >= 0)
		close(fd);
}

static void __attribute__((noreturn)) run_and_end(const struct job *job)
{
	int code;

	run_tell(job, "up");
	code = strcmp(job->mode, "shell") ? run_command(job) : run_shell(job);
	if (job->leaks)
		run_scan_leaks(job);
	root_leave(job);
	run_tell(job, "exit %d", code);
	power_off();
}

static int file_copy(const char *from, const char *to, mode_t mode)
{
	char data[16384];
	ssize_t n = -1;
	int in, out;

	in = open(from, O_RDONLY | O_CLOEXEC);
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	while (in >= 0 && out >= 0 && (n = read(in, data, sizeof(data))) > 0) {
		if (write(out, data, n) != n) {
			n = -1;
			break;
		}
	}
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return n < 0 ? -EIO : 0;
}

static int file_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return -errno;
	fputs(text, f);
	return fclose(f) ? -EIO : 0;
}

/* The two files that "init --unit" needs must be at hand after the host's tree is out of sight. */
static int stage_unit_files(const char *self, const char *job_path, const char *stage)
{
	char to[256];
	int r;

	if (mkdir(stage, 0755) < 0 && errno != EEXIST)
		return -errno;
	snprintf(to, sizeof(to), "%s/init", stage);
	r = file_copy(self, to, 0755);
	if (r)
		return r;
	snprintf(to, sizeof(to), "%s/job", stage);
	return file_copy(job_path, to, 0600);
}

/* A link to nothing, which masks a unit, or a file of settings, of the tree below. */
static int write_masks(const struct job *job)
{
	char dir[512];

	for (int i = 0; i < job->masks.n; i++) {
		const char *path = job->masks.at[i], *slash = strrchr(path, '/');

		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
		if ((mkdir(dir, 0755) < 0 && errno != EEXIST) ||
		    (symlink("/dev/null", path) < 0 && errno != EEXIST))
			return -errno;
	}
	return 0;
}

static int write_units(const struct job *job)
{
	static const char target[] = "[Unit]\n"
				     "Description=The lab's command and what it needs\n"
				     "Requires=multi-user.target\n"
				     "Wants=lab-command.service\n"
				     "After=multi-user.target\n"
				     "AllowIsolate=yes\n";
	static const char service[] = "[Unit]\n"
				      "Description=The lab's command\n"
				      "After=multi-user.target\n"
				      "[Service]\n"
				      "Type=exec\n"
				      "ExecStart=" UNIT_INIT " --unit\n"
				      "TimeoutStartSec=infinity\n";
	int r;

	if ((mkdir("/run/systemd", 0755) < 0 && errno != EEXIST) ||
	    (mkdir(UNIT_DIR, 0755) < 0 && errno != EEXIST))
		return -errno;
	r = file_write(UNIT_DIR "/lab.target", target);
	if (!r)
		r = file_write(UNIT_DIR "/lab-command.service", service);
	return r ? r : write_masks(job);
}

static int become_systemd(const struct job *job)
{
	char *const argv[] = { "/lib/systemd/systemd", "--unit=lab.target", "--show-status=false",
			       NULL };
	char *const envp[] = { NULL };
	int r;

	r = write_units(job);
	if (r)
		return r;
	execve(argv[0], argv, envp);
	return -errno;
}

/* The value of lab.job= on the kernel's command line, in BUF. */
static int job_path(char *buf, size_t size)
{
	static const char key[] = "lab.job=";
	char line[4096];
	ssize_t n;
	char *at;
	int fd;

	if (mount("proc", "/proc", "proc", 0, NULL) < 0 && errno != EBUSY)
		return -errno;
	fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (n < 0)
		return -EIO;
	line[n] = '\0';
	at = strstr(line, key);
	if (!at)
		return -ENOENT;
	at += strlen(key);
	at[strcspn(at, " \n")] = '\0';
	if (strlen(at) >= size)
		return -ENAMETOOLONG;
	strcpy(buf, at);
	return 0;
}

int main(int argc, char **argv)
{
	char path[2048] = UNIT_JOB;
	struct job job;
	int r = 0;

	if (argc > 1 && !strcmp(argv[1], "--unit")) {
		r = job_read(path, &job);
		if (!r)
			run_and_end(&job);
		root_complain("cannot read", path, r);
		return 1;
	}
	if (mount("dev", "/dev", "devtmpfs", 0, NULL) < 0 && errno != EBUSY)
		r = -errno;
	if (!r)
		have_random();
	if (!r)
		r = job_path(path, sizeof(path));
	if (!r)
		r = job_read(path, &job);
	if (r) {
		root_complain("cannot read the job", path, r);
		power_off();
	}
	if (!strcmp(job.mode, "systemd"))
		r = stage_unit_files(argv[0], path, "/dev/lab");
	if (!r)
		r = root_enter(&job);
	if (r)
		power_off();
	if (sethostname("lab", 3) < 0)
		root_complain("cannot name", "the guest", -errno);
	lo_up();
	if (strcmp(job.mode, "systemd"))
		run_and_end(&job);
	r = stage_unit_files("/dev/lab/init", "/dev/lab/job", "/run/lab");
	if (!r)
		r = become_systemd(&job);
	root_complain("cannot start", "systemd", r);
	power_off();
}
