// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel starts with the host's tree as a read-only root. Everything else is put together on a
 * tmpfs that hides /sys for a moment: the one directory that every host has and no job ever names.
 */
#include "root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "job.h"

#define STAGE "/sys"
#define ROOT STAGE "/root"

void root_complain(const char *what, const char *path, int err)
{
	char line[PATH_MAX + 128];
	int fd, n;

	n = snprintf(line, sizeof(line), "lab: %s %s: %s\n", what, path, strerror(-err));
	fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, line, n) < 0)
		perror("kmsg");
	close(fd);
}

/* mkdir -p; what exists already is no error. */
static int mkdirs(const char *path)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	for (size_t i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static int mount_at(const char *what, const char *where, const char *type, unsigned long flags,
		    const char *data)
{
	int r;

	r = mkdirs(where);
	if (!r && mount(what, where, type, flags, data) < 0)
		r = -errno;
	if (r)
		root_complain("cannot mount", where, r);
	return r;
}

/* LOWER with a writable layer above it at WHERE; N tells the layers apart. */
static int overlay_at(const char *lower, const char *where, int n)
{
	char upper[64], work[64], data[PATH_MAX + 256];
	int r;

	snprintf(upper, sizeof(upper), STAGE "/layer%d/upper", n);
	snprintf(work, sizeof(work), STAGE "/layer%d/work", n);
	r = mkdirs(upper);
	if (!r)
		r = mkdirs(work);
	if (r) {
		root_complain("cannot make", upper, r);
		return r;
	}
	snprintf(data, sizeof(data), "lowerdir=%s,upperdir=%s,workdir=%s", lower, upper, work);
	return mount_at("overlay", where, "overlay", 0, data);
}

/* What every program expects. Systemd mounts the rest by itself and takes these as they are. */
static int mount_system(void)
{
	static const struct {
		const char *type, *where, *data;
		unsigned long flags;
		bool optional;
	} mounts[] = {
		{ "proc", "/proc", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC, false },
		{ "sysfs", "/sys", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC, false },
		{ "devtmpfs", "/dev", NULL, MS_NOSUID, false },
		{ "devpts", "/dev/pts", "mode=620,ptmxmode=666", MS_NOSUID | MS_NOEXEC, false },
		{ "tmpfs", "/dev/shm", "mode=1777", MS_NOSUID | MS_NODEV, false },
		{ "tmpfs", "/run", "mode=755", MS_NOSUID | MS_NODEV, false },
		{ "tmpfs", "/tmp", "mode=1777", MS_NOSUID | MS_NODEV, false },
		{ "debugfs", "/sys/kernel/debug", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC, false },
		{ "cgroup2", "/sys/fs/cgroup", NULL, MS_NOSUID | MS_NODEV | MS_NOEXEC, false },
		{ "bpf", "/sys/fs/bpf", "mode=700", MS_NOSUID | MS_NODEV | MS_NOEXEC, true },
	};
	static const char *const links[][2] = {
		{ "/proc/self/fd", ROOT "/dev/fd" },
		{ "/proc/self/fd/0", ROOT "/dev/stdin" },
		{ "/proc/self/fd/1", ROOT "/dev/stdout" },
		{ "/proc/self/fd/2", ROOT "/dev/stderr" },
	};
	char where[PATH_MAX];

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		int r;

		snprintf(where, sizeof(where), ROOT "%s", mounts[i].where);
		r = mount_at(mounts[i].type, where, mounts[i].type, mounts[i].flags,
			     mounts[i].data);
		if (r && !mounts[i].optional)
			return r;
	}
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		if (symlink(links[i][0], links[i][1]) < 0 && errno != EEXIST)
			return -errno;
	}
	return 0;
}

/* A host's /lib may be a link into /usr, and following an absolute one would leave the new root. */
static int mount_modules(const char *modules)
{
	struct utsname name;
	struct stat st;
	char where[PATH_MAX];

	if (uname(&name) < 0)
		return -errno;
	snprintf(where, sizeof(where), ROOT "%s/lib/modules/%s",
		 lstat(ROOT "/lib", &st) == 0 && S_ISLNK(st.st_mode) ? "/usr" : "", name.release);
	return mount_at(modules, where, NULL, MS_BIND, NULL);
}

static int mount_host_dirs(const struct job *job)
{
	char where[PATH_MAX], tag[32];
	int r;

	for (int i = 0; i < job->see.n; i++) {
		snprintf(where, sizeof(where), ROOT "%s", job->see.at[i]);
		r = overlay_at(job->see.at[i], where, i + 1);
		if (r)
			return r;
	}
	for (int i = 0; i < job->share.n; i++) {
		snprintf(where, sizeof(where), ROOT "%s", job->share.at[i]);
		if (!strcmp(job->share_fs, "9p")) {
			snprintf(tag, sizeof(tag), "share%d", i);
			r = mount_at(tag, where, "9p", 0,
				     "trans=virtio,version=9p2000.L,msize=262144");
		} else {
			r = mount_at("share", where, "hostfs", 0, job->share.at[i]);
		}
		if (r)
			return r;
	}
	return 0;
}

int root_enter(const struct job *job)
{
	int r;

	r = mount_at("stage", STAGE, "tmpfs", 0, "mode=755");
	if (!r)
		r = overlay_at(job->root, ROOT, 0);
	if (!r)
		r = mount_system();
	if (!r && job->modules)
		r = mount_modules(job->modules);
	if (!r)
		r = mount_host_dirs(job);
	if (r)
		return r;
	if (chdir(ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
	    chdir("/") < 0) {
		r = -errno;
		root_complain("cannot enter", ROOT, r);
	}
	return r;
}

void root_leave(const struct job *job)
{
	sync();
	for (int i = 0; i < job->share.n; i++)
		umount2(job->share.at[i], MNT_DETACH);
}
