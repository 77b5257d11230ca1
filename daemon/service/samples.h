/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * samples: how many packets took each block's bypass over the last seconds, from the readings that
 * pass by in snapshots. For "1,204,331 packets in 10 s".
 */
#ifndef SWD_SERVICE_SAMPLES_H
#define SWD_SERVICE_SAMPLES_H

#include <stdint.h>

#include "config/base/util.h"

struct samples;
struct snapshot;

struct samples *samples_new(void); /* NULL: memory short */
void samples_free(struct samples *s);
/* Remembers what this snapshot says of blocks whose bypass is read back. Short memory loses a
 * sample. */
void samples_add(struct samples *s, const struct snapshot *snapshot);
/* The growth between the newest sample and the oldest of the last 15 seconds. False: there are no
 * two. */
bool samples_delta(const struct samples *s, uint32_t block, uint64_t *ret_packets,
		   uint64_t *ret_ms);

#endif
