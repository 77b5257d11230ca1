// SPDX-License-Identifier: GPL-2.0-or-later
/* Medians of what was measured, and what they say: see choose.h. */
#include "daemon/tx/choose.h"

#include "config/base/util.h"

static int by_size(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return CMP(*x, *y);
}

/* list is put in order. */
static int64_t quantile(int64_t *list, size_t count, size_t quarter)
{
	size_t at = (count - 1) * quarter, low = at / 4;

	qsort(list, count, sizeof(*list), by_size);
	if (low + 1 == count)
		return list[low];
	return list[low] + (list[low + 1] - list[low]) * (int64_t)(at % 4) / 4;
}

static int64_t spread(int64_t *list, size_t count)
{
	int64_t upper = quantile(list, count, 3);

	return upper - quantile(list, count, 1);
}

/* The mean of a round, without the ends: of seven rows the two fastest and the two slowest. */
static int64_t level_of(const struct samples *s, size_t round)
{
	int64_t list[CHOOSE_ROWS], sum = 0;
	size_t ends = (s->rows + 1) / 4, count = s->rows - 2 * ends;

	for (size_t row = 0; row < s->rows; row++)
		list[row] = (int64_t)s->ps[row][round];
	qsort(list, s->rows, sizeof(*list), by_size);
	for (size_t i = ends; i < ends + count; i++)
		sum += list[i];
	return MAX(sum / (int64_t)count, 1);
}

/* Brings all rounds to the level of the median round. */
static void level(struct samples *s)
{
	int64_t of_round[CHOOSE_ROUNDS], sorted[CHOOSE_ROUNDS], all;

	for (size_t i = 0; i < s->rounds; i++)
		of_round[i] = sorted[i] = level_of(s, i);
	all = quantile(sorted, s->rounds, 2);
	for (size_t i = 0; i < s->rounds; i++)
		for (size_t row = 0; row < s->rows; row++)
			s->ps[row][i] = (uint64_t)((double)s->ps[row][i] * (double)all /
						   (double)of_round[i]);
}

static uint64_t hundred_roots(size_t n)
{
	uint64_t root = 0;

	while ((root + 1) * (root + 1) <= n * 10000)
		root++;
	return root;
}

/*
 * By how much the median of the differences may be off: three times its standard error. That is
 * 1.253 standard deviations over the root of their number, and a standard deviation is 1.483 times
 * the median of how far they are from their own: half of them may be nonsense. The list is spoilt.
 */
static uint64_t noise_of(int64_t *list, size_t count, int64_t median)
{
	for (size_t i = 0; i < count; i++)
		list[i] = list[i] < median ? median - list[i] : list[i] - median;
	return (uint64_t)quantile(list, count, 2) * 557 / hundred_roots(count);
}

/* The straight line through median over 1 / frames; the best in the sense of least squares. */
static void fit(const struct samples *s, struct choice *c)
{
	double x = 0, y = 0, xx = 0, xy = 0, n = (double)s->rows, slope, at_zero;

	for (size_t i = 0; i < s->rows; i++) {
		double share = 1.0 / s->frames[i], cost = (double)c->median_ps[i];

		x += share;
		y += cost;
		xx += share * share;
		xy += share * cost;
	}
	slope = s->rows > 1 ? (n * xy - x * y) / (n * xx - x * x) : 0;
	at_zero = (y - slope * x) / n;
	c->doorbell_ps = slope > 0 ? (uint64_t)slope : 0;
	c->frame_ps = at_zero > 0 ? (uint64_t)at_zero : 0;
}

/* How far a row is behind another, and the noise of that. */
static int64_t behind(const struct samples *s, size_t row, size_t other, uint64_t *ret_noise)
{
	int64_t difference[CHOOSE_ROUNDS], median;

	for (size_t i = 0; i < s->rounds; i++)
		difference[i] = (int64_t)(s->ps[row][i] - s->ps[other][i]);
	median = quantile(difference, s->rounds, 2);
	*ret_noise = noise_of(difference, s->rounds, median);
	return median;
}

void choose(const struct samples *measured, struct choice *ret)
{
	struct samples levelled = *measured;
	const struct samples *s = &levelled;
	struct choice c = { 0 };
	size_t fastest = 0;

	level(&levelled);
	for (size_t row = 0; row < s->rows; row++) {
		int64_t list[CHOOSE_ROUNDS];

		for (size_t i = 0; i < s->rounds; i++)
			list[i] = (int64_t)s->ps[row][i];
		c.median_ps[row] = (uint64_t)quantile(list, s->rounds, 2);
		c.spread_ps[row] = (uint64_t)spread(list, s->rounds);
		if (c.median_ps[row] < c.median_ps[fastest])
			fastest = row;
	}
	c.fastest = s->frames[fastest];
	for (size_t row = 0; row < s->rows; row++) {
		uint64_t noise;
		int64_t by = behind(s, row, fastest, &noise);

		noise = MAX(noise, c.median_ps[fastest] / CHOOSE_LEAST);
		if (by > (int64_t)noise)
			continue;
		c.frames = s->frames[row];
		c.behind_ps = by > 0 ? (uint64_t)by : 0;
		c.noise_ps = noise;
		break;
	}
	fit(s, &c);
	*ret = c;
}
