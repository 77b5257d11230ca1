/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_names: devices for codecs under test: "dev7" has number 7, and so on up to 99. */
#ifndef SWD_TESTS_NAMES_H
#define SWD_TESTS_NAMES_H

#include <stdio.h>

#include "daemon/kernel/codec.h"

static inline uint32_t test_index(const char *name, void *data)
{
	return strncmp(name, "dev", 3) == 0 ? (uint32_t)atoi(name + 3) : 0;
}

static inline const char *test_name(uint32_t ifindex, void *data)
{
	static char name[IFNAMSIZ];

	snprintf(name, sizeof(name), "dev%u", ifindex);
	return ifindex > 0 && ifindex < 100 ? name : NULL;
}

static const struct codec_names test_names = { test_index, test_name, NULL, 1 };

#endif
