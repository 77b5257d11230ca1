/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * teardown: swd takes back all that it made, while no daemon runs: filters, qdiscs, addresses and
 * VLANs of this state folder. What others made stays, and with it what they hang on; settings of
 * ports stay as they are. Runs in the caller's thread.
 */
#ifndef SWD_ENGINE_TEARDOWN_H
#define SWD_ENGINE_TEARDOWN_H

#include "daemon/engine/engine.h"

struct teardown {
	size_t removed;
	size_t ours;	/* what is left of ours */
	size_t foreign; /* what was left because it is not ours */
};

/* "LABEL: why", for each thing that is left, and for what could not be looked at. */
typedef void (*teardown_fn)(const char *line, void *data);

/*
 * 0 if all could be looked at and nothing of ours is left; -EBUSY if something is; -ENODEV if the
 * store can't tell; or -errno: line says what failed. The lock on the state folder is the caller's.
 */
int teardown_run(const struct engine_options *options, teardown_fn line, void *data,
		 struct teardown *ret);

#endif
