/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * swd: the life of the daemon. Options, the lock on its state folder, signals, the two threads, the
 * watchdog, and the end.
 */
#ifndef SWD_SWD_H
#define SWD_SWD_H

/* Returns the exit code: 0 after an orderly end, 1 if it could not start, 2 for wrong usage. */
int swd_main(int argc, char **argv);

#endif
