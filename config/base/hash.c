/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/base/hash.h"

#include <errno.h>

#define SPREAD 0x9e3779b97f4a7c15ULL

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *b = bytes;

#pragma GCC unroll 8
	for (size_t i = 0; i < size; i++) {
		hash ^= b[i];
		hash *= 0x100000001b3ULL;
	}
	return hash;
}

/* At most eight bytes as a number, another for each text of that size. */
static uint64_t last_word(const uint8_t *at, size_t size)
{
	uint32_t low = 0, high = 0;

	if (size >= sizeof(low)) {
		memcpy(&low, at, sizeof(low));
		memcpy(&high, at + size - sizeof(high), sizeof(high));
	} else if (size) {
		low = at[0] | (uint32_t)at[size / 2] << 8 | (uint32_t)at[size - 1] << 16;
	}
	return low | (uint64_t)high << 32;
}

uint64_t hash_text(const void *text, size_t size)
{
	const uint8_t *at = text;
	uint64_t hash = HASH_START ^ size, word;

	for (; size > sizeof(word); size -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = (hash ^ word) * SPREAD;
		hash ^= hash >> 29;
	}
	hash = (hash ^ last_word(at, size)) * SPREAD;
	return hash ^ hash >> 29;
}

int hash_any_twice(const struct hash_list *l)
{
	_cleanup_free_ uint32_t *seen = NULL; /* open addressing: index + 1 */
	unsigned int bits = 4;
	size_t last;

	while (1ull << bits < 2 * l->count)
		bits++;
	last = (1ull << bits) - 1;
	seen = calloc(last + 1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	for (size_t i = 0; i < l->count; i++) {
		/* The upper bits of a product come from all of the hash. */
		size_t at = (l->hash(l->list, i) * SPREAD) >> (64 - bits);

		for (; seen[at]; at = (at + 1) & last)
			if (l->same(l->list, seen[at] - 1, i))
				return 1;
		seen[at] = (uint32_t)i + 1;
	}
	return 0;
}
