// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/service/samples.h"

#include "daemon/engine/snapshot.h"

#define KEEP 16
#define WINDOW_NS 15000000000ULL
#define STEP_NS \
	900000000ULL /* closer ones replace the newest, so that KEEP reaches over WINDOW_NS */

struct sample {
	uint64_t at_ns, packets;
};

struct series {
	uint32_t block;
	uint64_t number; /* of the last snapshot that had the block */
	size_t count;
	struct sample list[KEEP]; /* rising in time */
};

struct samples {
	struct series *series;
	size_t count, space;
};

struct samples *samples_new(void)
{
	return calloc(1, sizeof(struct samples));
}

void samples_free(struct samples *s)
{
	if (!s)
		return;
	free(s->series);
	free(s);
}

static struct series *find(const struct samples *s, uint32_t block)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->series[i].block == block)
			return &s->series[i];
	}
	return NULL;
}

static void add(struct series *r, uint64_t at_ns, uint64_t packets)
{
	struct sample *last = r->count ? &r->list[r->count - 1] : NULL;

	/* The clock was set back, or the block was made anew: what was before can't be compared. */
	if (last && (at_ns < last->at_ns || packets < last->packets))
		r->count = 0;
	if (r->count >= 2 && at_ns - r->list[r->count - 2].at_ns < STEP_NS)
		r->count--;
	if (r->count == KEEP) {
		memmove(r->list, r->list + 1, (KEEP - 1) * sizeof(r->list[0]));
		r->count--;
	}
	r->list[r->count++] = (struct sample){ at_ns, packets };
}

void samples_add(struct samples *s, const struct snapshot *snapshot)
{
	size_t kept = 0;

	for (size_t i = 0; i < snapshot->bypass_count; i++) {
		const struct bypass_report *b = &snapshot->bypass[i];
		struct series *r;

		if (b->evidence != BYPASS_BY_READBACK)
			continue;
		r = find(s, b->block);
		if (!r) {
			if (grow(&s->series, &s->space, s->count, sizeof(*s->series)) < 0)
				continue;
			r = &s->series[s->count++];
			*r = (struct series){ .block = b->block };
		}
		r->number = snapshot->number;
		add(r, snapshot->made_ns, b->reading.packets);
	}
	for (size_t i = 0; i < s->count; i++) {
		if (s->series[i].number == snapshot->number)
			s->series[kept++] = s->series[i];
	}
	s->count = kept;
}

bool samples_delta(const struct samples *s, uint32_t block, uint64_t *ret_packets, uint64_t *ret_ms)
{
	const struct series *r = find(s, block);
	const struct sample *first, *last;

	if (!r || r->count < 2)
		return false;
	last = &r->list[r->count - 1];
	first = r->list;
	while (last->at_ns - first->at_ns > WINDOW_NS)
		first++;
	if (first == last)
		return false;
	*ret_packets = last->packets - first->packets;
	*ret_ms = (last->at_ns - first->at_ns) / 1000000;
	return true;
}
