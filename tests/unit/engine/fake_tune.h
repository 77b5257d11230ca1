/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stands in for daemon/tx/tune: no test of the engine sends anything. */
#ifndef SWD_TESTS_UNIT_ENGINE_FAKE_TUNE_H
#define SWD_TESTS_UNIT_ENGINE_FAKE_TUNE_H

#include "daemon/tx/tune.h"

struct fake_tune {
	enum tune_verdict verdict; /* what comes out */
	uint32_t frames;
	bool noisy;
	int error;	       /* of tune_open() */
	void (*between)(void); /* in the second slice: what others do meanwhile */

	size_t runs;   /* begun */
	size_t slices; /* done, of all of them */
	bool forced;   /* the last one */
	char dev[16];  /* likewise */
};

extern struct fake_tune fake_tune;

#endif
