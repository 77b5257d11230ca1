// SPDX-License-Identifier: GPL-2.0-or-later
#include "fake_tune.h"

#include <stdio.h>

#define SLICES 3

struct fake_tune fake_tune;

struct tune {
	uint32_t done;
	struct tune_result result;
};

static struct tune one;

int tune_open(const char *dev, const struct tune_options *options, struct tune **ret)
{
	COPY_NAME(fake_tune.dev, dev);
	fake_tune.forced = options->despite_traffic;
	fake_tune.runs++;
	if (fake_tune.error)
		return fake_tune.error;
	one = (struct tune){ .result.verdict = TUNE_RUNNING };
	*ret = &one;
	return 0;
}

void tune_free(struct tune *t)
{
}

int tune_step(struct tune *t)
{
	struct tune_result *r = &t->result;

	fake_tune.slices++;
	if (++t->done == 2 && fake_tune.between)
		fake_tune.between();
	if (t->done < SLICES)
		return 1;
	r->verdict = fake_tune.verdict;
	if (r->verdict != TUNE_CHOSEN) {
		snprintf(r->words, sizeof(r->words), "others use it");
		return 0;
	}
	r->frames = fake_tune.frames;
	r->noisy = fake_tune.noisy;
	snprintf(r->words, sizeof(r->words), "%u frames to a doorbell", r->frames);
	r->samples.rows = 2;
	r->samples.frames[0] = 1;
	r->samples.frames[1] = r->frames;
	r->choice = (struct choice){ .frames = r->frames,
				     .doorbell_ps = 53000,
				     .frame_ps = 587000,
				     .noise_ps = 1000,
				     .median_ps = { 640000, 593625 } };
	return 0;
}

void tune_progress(const struct tune *t, struct tune_progress *ret)
{
	*ret = (struct tune_progress){ t->done, SLICES, t->done ? 1u << t->done : 0 };
}

const struct tune_result *tune_result(const struct tune *t)
{
	return &t->result;
}
