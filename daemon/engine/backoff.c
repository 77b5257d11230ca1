// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A bounded table of objects that have to wait: see backoff.h. When it is full, those that nobody
 * waits for are dropped, and what then finds no room is simply tried.
 */
#include "daemon/engine/backoff.h"

#include <errno.h>

#include "daemon/kernel/cookie.h"

#define MS 1000000ULL

int backoff_init(struct backoff *b)
{
	*b = (struct backoff){ .slots = calloc(BACKOFF_SLOTS, sizeof(*b->slots)) };
	return b->slots ? 0 : -ENOMEM;
}

void backoff_clear(struct backoff *b)
{
	free(b->slots);
	*b = (struct backoff){ 0 };
}

void backoff_forget(struct backoff *b)
{
	memset(b->slots, 0, BACKOFF_SLOTS * sizeof(*b->slots));
	b->used = 0;
}

static uint64_t hash_of(const struct object *o)
{
	char label[OBJECT_LABEL];
	uint64_t h;

	object_label(o, label);
	h = hash_bytes(HASH_START, label, strlen(label));
	return h ? h : 1;
}

static struct backoff_slot *find(struct backoff *b, uint64_t hash)
{
	for (size_t i = 0; i < BACKOFF_SLOTS; i++) {
		struct backoff_slot *s = &b->slots[(hash + i) % BACKOFF_SLOTS];

		if (s->hash == hash || !s->hash)
			return s;
	}
	return NULL;
}

/* Keeps who still waits or was repaired of late. */
static void sweep(struct backoff *b, uint64_t now_ns)
{
	_cleanup_free_ struct backoff_slot *old = malloc(BACKOFF_SLOTS * sizeof(*old));

	if (!old)
		return;
	memcpy(old, b->slots, BACKOFF_SLOTS * sizeof(*old));
	backoff_forget(b);
	for (size_t i = 0; i < BACKOFF_SLOTS; i++) {
		if (!old[i].hash || (old[i].next_ns <= now_ns &&
				     now_ns - old[i].window_ns > BACKOFF_WINDOW_MS * MS))
			continue;
		*find(b, old[i].hash) = old[i];
		b->used++;
	}
}

static struct backoff_slot *take_slot(struct backoff *b, const struct object *o, uint64_t now_ns)
{
	uint64_t hash = hash_of(o);
	struct backoff_slot *s = find(b, hash);

	if (s && s->hash)
		return s;
	if (b->used >= BACKOFF_SLOTS / 4 * 3) {
		sweep(b, now_ns);
		if (b->used >= BACKOFF_SLOTS / 4 * 3)
			return NULL;
		s = find(b, hash);
	}
	*s = (struct backoff_slot){ .hash = hash, .window_ns = now_ns };
	b->used++;
	return s;
}

static uint64_t wait_ns(uint32_t times)
{
	uint64_t ms = BACKOFF_MOST_MS;

	if (times < 16)
		ms = MIN(ms, (uint64_t)BACKOFF_FIRST_MS << times);
	return ms * MS;
}

void backoff_pardon(struct backoff *b, const struct object *o)
{
	struct backoff_slot *s = b->used ? find(b, hash_of(o)) : NULL;

	if (s && s->hash && s->refusals)
		s->next_ns = s->refusals = 0;
}

uint64_t backoff_until(struct backoff *b, const struct object *o, uint64_t now_ns)
{
	struct backoff_slot *s = b->used ? find(b, hash_of(o)) : NULL;

	return s && s->hash && s->next_ns > now_ns ? s->next_ns : 0;
}

uint64_t backoff_repaired(struct backoff *b, const struct object *o, uint64_t now_ns,
			  uint32_t *ret_times)
{
	struct backoff_slot *s = take_slot(b, o, now_ns);

	*ret_times = 1;
	if (!s)
		return 0;
	s->refusals = 0;
	/* Who was quiet for a window after its wait starts afresh. */
	if (now_ns - s->window_ns > BACKOFF_WINDOW_MS * MS &&
	    now_ns > s->next_ns + BACKOFF_WINDOW_MS * MS) {
		s->window_ns = now_ns;
		s->repairs = 0;
	}
	*ret_times = ++s->repairs;
	if (s->repairs <= BACKOFF_FREE)
		return 0;
	s->next_ns = now_ns + wait_ns(s->repairs - BACKOFF_FREE - 1);
	return s->next_ns;
}

uint64_t backoff_refused(struct backoff *b, const struct object *o, uint64_t now_ns)
{
	struct backoff_slot *s = take_slot(b, o, now_ns);

	if (!s)
		return 0;
	s->next_ns = now_ns + wait_ns(s->refusals++);
	return s->next_ns;
}
