/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/base/util.h"

#include <errno.h>
#include <time.h>

bool copy_name(char *to, size_t size, const char *from)
{
	size_t len = strlen(from);

	memset(to, 0, size);
	if (len >= size)
		return false;
	memcpy(to, from, len);
	return true;
}

int grow(void *array, size_t *space, size_t count, size_t size)
{
	void **where = array;
	size_t more;
	void *bigger;

	if (count < *space)
		return 0;
	more = *space ? *space * 2 : 8;
	bigger = reallocarray(*where, more, size);
	if (!bigger)
		return -ENOMEM;
	*where = bigger;
	*space = more;
	return 0;
}

#define WORD_MAX 64

/* Insertions, deletions and changes that turn a into b; a swap of neighbours counts as one. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX + 1];
	size_t *before_last = rows[0], *last = rows[1], *now = rows[2], *turn;
	size_t len_a = strlen(a), len_b = strlen(b);

	if (len_a > WORD_MAX || len_b > WORD_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= len_b; j++)
		last[j] = j;
	for (size_t i = 1; i <= len_a; i++) {
		now[0] = i;
		for (size_t j = 1; j <= len_b; j++) {
			size_t same = a[i - 1] == b[j - 1] ? 0 : 1;

			now[j] = MIN(MIN(last[j] + 1, now[j - 1] + 1), last[j - 1] + same);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = MIN(now[j], before_last[j - 2] + 1);
		}
		turn = before_last;
		before_last = last;
		last = now;
		now = turn;
	}
	return last[len_b];
}

const char *nearest_word(const char *word, const char *(*name)(size_t i, void *data), void *data)
{
	const char *best = NULL, *candidate;
	size_t best_distance = MAX(strlen(word) / 3, 1u) + 1;

	for (size_t i = 0; (candidate = name(i, data)); i++) {
		size_t distance = edit_distance(word, candidate);

		if (distance < best_distance) {
			best = candidate;
			best_distance = distance;
		}
	}
	return best;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t now_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t now_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

size_t utf8_length(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		return (s[1] & 0xc0) == 0x80 ? 2 : 0;
	if (s[0] >= 0xe0 && s[0] <= 0xef) {
		if ((s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80)
			return 0;
		if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f))
			return 0;
		return 3;
	}
	if (s[0] >= 0xf0 && s[0] <= 0xf4) {
		if ((s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80 || (s[3] & 0xc0) != 0x80)
			return 0;
		if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
			return 0;
		return 4;
	}
	return 0;
}

size_t control_length(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	if (s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0)
		return 2;
	return (s[0] && s[0] < ' ') || s[0] == 0x7f;
}
