/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * choose: which number of frames to a doorbell is the right one, from what was measured: the
 * smallest that is not slower than the fastest, beyond what chance makes of it. For a larger number
 * costs something that no rate shows: more frames go at once, or not at all.
 *
 * Numbers were tried in turn, round after round, so what slows the machine down for a while is in
 * all samples of a round, and is taken out: each round is scaled to the median of all. Two numbers
 * are compared by the differences within the rounds; the noise is what the median of these may be
 * off by.
 */
#ifndef SWD_TX_CHOOSE_H
#define SWD_TX_CHOOSE_H

#include <stddef.h>
#include <stdint.h>

#define CHOOSE_ROWS 8
#define CHOOSE_ROUNDS 64

/* A difference of less than that is none: one part in so many of the fastest. */
#define CHOOSE_LEAST 50

struct samples {
	size_t rows;				 /* 1 to CHOOSE_ROWS */
	size_t rounds;				 /* 1 to CHOOSE_ROUNDS */
	uint32_t frames[CHOOSE_ROWS];		 /* to a doorbell; ascending, not 0 */
	uint64_t ps[CHOOSE_ROWS][CHOOSE_ROUNDS]; /* of time a frame, picoseconds */
};

struct choice {
	uint32_t frames;    /* the right number */
	uint32_t fastest;   /* the one with the least median */
	uint64_t behind_ps; /* how much slower the right one was, 0 if it is the fastest */
	uint64_t noise_ps;  /* and how much would have counted as nothing */
	uint64_t median_ps[CHOOSE_ROWS]; /* of time a frame, for each number */
	uint64_t spread_ps[CHOOSE_ROWS]; /* from the lower to the upper quartile */
	/*
	 * What fits the medians best if a frame costs frame_ps, and a doorbell doorbell_ps beside.
	 * All that is spent once for several frames passes for the doorbell. 0: there is none.
	 */
	uint64_t doorbell_ps, frame_ps;
};

void choose(const struct samples *measured, struct choice *ret);

#endif
