// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The life of a snapshot and how it is asked: see snapshot.h. publish.c makes them.
 */
#include "daemon/engine/snapshot.h"

struct snapshot *snapshot_ref(struct snapshot *s)
{
	if (s)
		__atomic_add_fetch(&s->refs, 1, __ATOMIC_RELAXED);
	return s;
}

void snapshot_unref(struct snapshot *s)
{
	if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	config_unref(s->config);
	state_free(s->filters);
	state_free(s->found);
	state_free(s->owned);
	free(s->bypass);
	free(s->measured.list);
	turns_clear(&s->turns);
	free(s->alerts);
	free(s);
}

const struct bypass_report *snapshot_bypass(const struct snapshot *s, uint32_t block)
{
	for (size_t i = 0; i < s->bypass_count; i++)
		if (s->bypass[i].block == block)
			return &s->bypass[i];
	return NULL;
}

const char *apply_outcome_name(enum apply_outcome o)
{
	switch (o) {
	case APPLY_NONE:
		return "none";
	case APPLY_DONE:
		return "done";
	case APPLY_REFUSED:
		return "refused";
	case APPLY_REVERTED:
		return "reverted";
	case APPLY_FAILED:
		return "failed";
	}
	return "?";
}
