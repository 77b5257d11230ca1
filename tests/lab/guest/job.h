/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the lab asks of a guest: one file of "key=value" strings, each ended by a NUL byte, written
 * by labkit/job.py on the host and read by init in the guest. A key that may come more than once
 * (arg, env, see, share) keeps the order of the file.
 */
#ifndef LAB_JOB_H
#define LAB_JOB_H

#include <stdbool.h>

enum {
	JOB_LIST_MAX = 512
};

struct job_list {
	const char *at[JOB_LIST_MAX + 1]; /* NULL-terminated */
	int n;
};

/* A host directory that the guest may write. Under UML it is a hostfs mount of that path, under
 * QEMU the 9p mount with that tag. */
struct job {
	const char *mode;     /* "run", "shell" or "systemd" */
	const char *share_fs; /* "hostfs" or "9p" */
	const char
		*root; /* the tree below the overlay, a path of the host; "/" for the host's own */
	const char *cwd;
	const char *modules; /* a directory to show as /lib/modules/<release>, or NULL */
	const char *out;     /* device for the command's standard output (shell: its terminal) */
	const char *err;     /* device for its standard error */
	const char *ctl; /* device for what init itself has to say: "up", "exit N", "leak ..." */
	const char *rows, *columns;
	bool leaks; /* scan with kmemleak before the end */
	struct job_list args, env;
	struct job_list masks; /* paths below /run that become links to nothing, for systemd */
	struct job_list see;   /* directories under /tmp or /run that stay visible */
	struct job_list share; /* directories of the host that the guest may write */
};

/* Reads PATH. The strings of *ret live as long as the process. Returns 0 or -errno; -EINVAL for a
 * file that is not a job, or has more than JOB_LIST_MAX of a kind. */
int job_read(const char *path, struct job *ret);

#endif
