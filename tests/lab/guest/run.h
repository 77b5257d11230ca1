/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a job's command and tells the lab how it ended. */
#ifndef LAB_RUN_H
#define LAB_RUN_H

struct job;

/* Runs the command with its output passed to the job's devices. Returns its exit code, 128 + n
 * where signal n ended it, 126 or 127 where it could not be started. Other children are reaped on
 * the way. */
int run_command(const struct job *job);

/* Runs the command as the session on the job's terminal. Returns as run_command(). */
int run_shell(const struct job *job);

/* One line for the lab, printf style, without its newline. */
void run_tell(const struct job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Unloads all modules that nothing uses and has kmemleak look for what is no longer referenced, and
 * tells each line of its report. A kernel without kmemleak keeps its modules and tells nothing. */
void run_scan_leaks(const struct job *job);

#endif
