/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli: what every command gets, and what it may answer. Results go to standard output, everything
 * else to standard error.
 */
#ifndef SWD_CLI_CLI_H
#define SWD_CLI_CLI_H

#include <stdint.h>
#include <stdio.h>

#include "config/base/util.h"

/* Exit codes; in the man page as well. */
enum cli_exit {
	CLI_DONE = 0,
	CLI_FAILED = 1, /* refused, or failed */
	CLI_USAGE = 2,
	CLI_NOT_REACHABLE = 3, /* no daemon at the socket, or it went away */
	CLI_GAP = 4,	       /* apply, revert: not without --allow-gap */
	CLI_WORK = 10,	       /* plan: there is something to do; audit: something was found */
};

struct cli {
	const char *socket;
	bool json;	     /* --json */
	bool more;	     /* --more, for call */
	bool quiet;	     /* --quiet: nothing that the daemon's log tells as well */
	uint32_t confirm_ms; /* --confirm; 0: not said */
	const char *why;     /* --why, or NULL */
	bool allow_gap;	     /* --allow-gap */
	bool force;	     /* --force, for tx measure */
	int width;	     /* columns of the terminal; 0: not a terminal, lines are not cut */
};

/* "sw-cli: ..." on standard error. */
void cli_complain(const char *fmt, ...) _printf_(1, 2);

#endif
