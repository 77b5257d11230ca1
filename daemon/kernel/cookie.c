// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The mark on our filters: see cookie.h. The policy room writes it into what it compiles, the
 * filter codec reads it back and says whose a found filter is.
 */
#include "daemon/kernel/cookie.h"

static const uint8_t cookie_magic[4] = { 's', 'w', 'd', '1' };

static void put_be(uint8_t *to, uint64_t v, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = (uint8_t)(v >> (8 * (size - 1 - i)));
}

void cookie_make(const struct filter *f, uint32_t instance, uint8_t ret[COOKIE_SIZE])
{
	uint8_t head[3] = { f->type,
			    (uint8_t)(f->flags & (TCA_CLS_FLAGS_SKIP_HW | TCA_CLS_FLAGS_SKIP_SW)),
			    f->action_count };
	struct match_view match = filter_match(f);
	uint64_t hash = hash_bytes(HASH_START, head, sizeof(head));

	hash = hash_bytes(hash, filter_actions(f), f->action_count * sizeof(struct action));
	hash = hash_bytes(hash, match.bytes, match.size);
	memcpy(ret, cookie_magic, sizeof(cookie_magic));
	put_be(ret + 4, instance, 4);
	put_be(ret + 8, hash, 8);
}

bool cookie_instance(const uint8_t cookie[COOKIE_SIZE], uint32_t *ret)
{
	if (memcmp(cookie, cookie_magic, sizeof(cookie_magic)) != 0)
		return false;
	*ret = 0;
	for (size_t i = 4; i < 8; i++)
		*ret = *ret << 8 | cookie[i];
	return true;
}

bool cookie_is_ours(const uint8_t cookie[COOKIE_SIZE], uint32_t instance)
{
	uint32_t made_by;

	return cookie_instance(cookie, &made_by) && made_by == instance;
}
