// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The mark on our filters: see cookie.h. The policy room writes it into what it compiles, the
 * filter codec reads it back and says whose a found filter is.
 */
#include "daemon/kernel/cookie.h"

static const uint8_t cookie_magic[4] = { 's', 'w', 'd', '1' };

uint64_t cookie_begin(const struct filter *f)
{
	uint8_t head[3] = { f->type,
			    (uint8_t)(f->flags & (TCA_CLS_FLAGS_SKIP_HW | TCA_CLS_FLAGS_SKIP_SW)),
			    f->action_count };
	uint64_t hash = hash_bytes(HASH_START, head, sizeof(head));

	return hash_bytes(hash, filter_actions(f), f->action_count * sizeof(struct action));
}

void cookie_end(const struct filter *f, uint64_t begun, uint32_t instance, uint8_t ret[COOKIE_SIZE])
{
	struct match_view match = filter_match(f);
	uint64_t hash = htobe64(hash_bytes(begun, match.bytes, match.size));

	instance = htobe32(instance);
	memcpy(ret, cookie_magic, sizeof(cookie_magic));
	memcpy(ret + 4, &instance, sizeof(instance));
	memcpy(ret + 8, &hash, sizeof(hash));
}

void cookie_make(const struct filter *f, uint32_t instance, uint8_t ret[COOKIE_SIZE])
{
	cookie_end(f, cookie_begin(f), instance, ret);
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
