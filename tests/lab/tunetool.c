// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tunetool: tune of daemon/tx by hand.
 *
 *   tunetool DEV ROUNDS BURST QUIET_MS DESPITE_TRAFFIC   (0: as tune has it)
 *
 * What came of it is a line of JSON, with the number of slices and the longest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/tx/tune.h"

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

int main(int argc, char **argv)
{
	_cleanup_(tune_freep) struct tune *t = NULL;
	struct tune_options o = { 0 };
	unsigned int slices = 0;
	uint64_t longest = 0;
	int r;

	if (argc != 6)
		return 2;
	o.rounds = (uint32_t)atoi(argv[2]);
	o.burst = (uint32_t)atoi(argv[3]);
	o.quiet_ms = (uint32_t)atoi(argv[4]);
	o.despite_traffic = atoi(argv[5]);
	r = tune_open(argv[1], &o, &t);
	if (r < 0) {
		printf("{\"result\": %d, \"words\": \"%s\"}\n", r, strerror(-r));
		return 1;
	}
	for (int more = 1; more; slices++) {
		uint64_t start = now_monotonic_ns();

		more = tune_step(t);
		longest = MAX(longest, now_monotonic_ns() - start);
	}
	tell(tune_result(t), slices, longest);
	return 0;
}
