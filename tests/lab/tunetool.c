// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tunetool: tune of daemon/tx by hand, and the doorbells of a device.
 *
 *   tunetool tune DEV ROUNDS BURST QUIET_MS DESPITE_TRAFFIC   (0: as tune has it)
 *   tunetool set DEV FRAMES
 *   tunetool get DEV
 *
 * What came of it is a line of JSON; of tune also the longest slice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/tx/doorbell.h"
#include "daemon/tx/tune.h"

static int say(int result, uint32_t frames)
{
	printf("{\"result\": %d, \"words\": \"%s\", \"frames\": %u}\n", result, strerror(-result),
	       frames);
	return result < 0;
}

static void tell(const struct tune_result *r, unsigned int slices, uint64_t longest_ns)
{
	const struct choice *c = &r->choice;

	printf("{\"result\": 0, \"verdict\": \"%s\", \"words\": \"%s\", \"frames\": %u, ",
	       tune_verdict_name(r->verdict), r->words, r->frames);
	printf("\"fastest\": %u, \"doorbell_ns\": %.1f, \"frame_ns\": %.1f, \"noise_ns\": %.1f, ",
	       c->fastest, (double)c->doorbell_ps / 1e3, (double)c->frame_ps / 1e3,
	       (double)c->noise_ps / 1e3);
	printf("\"behind_ns\": %.1f, \"noisy\": %s, \"burst\": %u, \"rounds\": %zu, ",
	       (double)c->behind_ps / 1e3, r->noisy ? "true" : "false", r->burst,
	       r->samples.rounds);
	printf("\"sent\": %llu, \"left\": %llu, \"traffic\": %llu, ", (unsigned long long)r->sent,
	       (unsigned long long)r->left, (unsigned long long)r->traffic);
	printf("\"slices\": %u, \"longest_ms\": %.1f, \"rows\": [", slices,
	       (double)longest_ns / 1e6);
	for (size_t i = 0; i < r->samples.rows; i++)
		printf("%s{\"frames\": %u, \"median_ns\": %.1f, \"spread_ns\": %.1f}",
		       i ? ", " : "", r->samples.frames[i], (double)c->median_ps[i] / 1e3,
		       (double)c->spread_ps[i] / 1e3);
	printf("]}\n");
}

static int tune(char **argv)
{
	struct tune_options o = {
		.rounds = (uint32_t)atoi(argv[3]),
		.burst = (uint32_t)atoi(argv[4]),
		.quiet_ms = (uint32_t)atoi(argv[5]),
		.despite_traffic = atoi(argv[6]),
	};
	_cleanup_(tune_freep) struct tune *t = NULL;
	unsigned int slices = 0;
	uint64_t longest = 0;
	int r = tune_open(argv[2], &o, &t);

	if (r < 0)
		return say(r, 0);
	for (int more = 1; more; slices++) {
		uint64_t start = now_monotonic_ns();

		more = tune_step(t);
		longest = MAX(longest, now_monotonic_ns() - start);
	}
	tell(tune_result(t), slices, longest);
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t frames = 0;
	int r;

	if (argc == 7 && strcmp(argv[1], "tune") == 0)
		return tune(argv);
	if (argc == 4 && strcmp(argv[1], "set") == 0)
		return say(doorbell_write(argv[2], (uint32_t)atoi(argv[3])), 0);
	if (argc == 3 && strcmp(argv[1], "get") == 0) {
		r = doorbell_read(argv[2], &frames);
		return say(r, frames);
	}
	return 2;
}
