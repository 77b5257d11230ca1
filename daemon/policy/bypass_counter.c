// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a counter says against a history: see bypass_counted() in bypass.h. It is believed slowly,
 * since a wrong "off" is as bad as a wrong "on": a filter takes effect a moment before or after its
 * event, and another's filter in the other direction may come and go unseen.
 */
#include "daemon/policy/bypass_known.h"

#include <errno.h>

/* A change of the block must be so old before a reading counts. */
#define STEADY_NS 1000000000ULL
/* How often it must have moved. */
#define MOVES 2

static struct bypass_counter *counter_of(struct bypass_known *k, const char *dev)
{
	for (size_t i = 0; i < k->counter_count; i++)
		if (streq(k->counters[i].dev, dev))
			return &k->counters[i];
	return NULL;
}

static int begin(struct bypass_known *k, const char *dev, uint64_t packets)
{
	struct bypass_counter *c = counter_of(k, dev);
	int r;

	if (!c) {
		r = grow(&k->counters, &k->counter_space, k->counter_count, sizeof(*k->counters));
		if (r < 0)
			return r;
		c = &k->counters[k->counter_count++];
	}
	*c = (struct bypass_counter){ .packets = packets, .changes = k->changes };
	copy_name(c->dev, sizeof(c->dev), dev);
	return 0;
}

bool bypass_counted(struct bypass *b, uint32_t block, const char *dev, uint64_t packets,
		    uint64_t now_ns)
{
	struct bypass_known *k = bypass_known(b, block);
	struct bypass_counter *c;

	if (b->ability != BYPASS_ABILITY_MARKS || !k || !k->heard)
		return false;
	c = counter_of(k, dev);
	if (!k->judged || k->state != BYPASS_ON || now_ns < k->changed_ns + STEADY_NS) {
		if (c)
			c->changes = k->changes - 1; /* no beginning any more */
		return false;
	}
	if (!c || c->changes != k->changes || packets < c->packets) {
		begin(k, dev, packets); /* without memory it is begun next time */
		return false;
	}
	if (packets == c->packets)
		return false;
	c->packets = packets;
	return true;
}

void bypass_disproved(struct bypass *b, uint32_t block, const char *dev)
{
	struct bypass_known *k = bypass_known(b, block);
	struct bypass_counter *c = k ? counter_of(k, dev) : NULL;

	if (c && ++c->moves >= MOVES) {
		k->disproved = true;
		k->version++;
	}
}
