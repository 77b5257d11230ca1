/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the tree that a guest's command sees, and moves into it. */
#ifndef LAB_ROOT_H
#define LAB_ROOT_H

struct job;

/*
 * Afterwards "/" is JOB's root under a copy-on-write overlay, with /proc, /sys, /dev, /run, /tmp,
 * debugfs and cgroup2 mounted, the host's "see" directories copy-on-write at their own paths, its
 * "share" directories writable at theirs, and the modules in place. Returns 0, or -errno after a
 * line in the kernel log that names the step.
 */
int root_enter(const struct job *job);

/* Writes what guest memory still holds for the host's directories. */
void root_leave(const struct job *job);

/* A line for the kernel log, which the lab prints when a guest dies. */
void root_complain(const char *what, const char *path, int err);

#endif
