/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * options: swd's command line.
 */
#ifndef SWD_OPTIONS_H
#define SWD_OPTIONS_H

#include <stdbool.h>

struct swd_options {
	const char *config; /* an absolute or relative path */
	const char *socket;
	const char *state;
	bool teardown;
	int log_level; /* enum log_level, or -1: as the file says */
};

/*
 * Fills ret from the command line. Returns -1 if the daemon is to run, or the exit code with which
 * to end at once: 0 after --help or --version, 2 for wrong usage, which it has explained on
 * standard error.
 */
int options_parse(int argc, char **argv, struct swd_options *ret);

#endif
