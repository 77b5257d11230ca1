// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What goes into the engine and comes out of it, as engine.h describes it: apart from engine.c,
 * since tests of who gives jobs have no engine.
 */
#include "daemon/engine/engine.h"

struct job *job_new(enum job_type type)
{
	struct job *job = calloc(1, sizeof(*job));

	if (job)
		job->type = type;
	return job;
}

void job_free(struct job *job)
{
	if (!job)
		return;
	free(job->text);
	diags_free(job->diags);
	free(job->plan_json);
	for (size_t i = 0; i < job->list_count; i++)
		generation_clear(&job->list[i]);
	free(job->list);
	free(job);
}

const char *engine_event_name(enum engine_event_type t)
{
	switch (t) {
	case ENGINE_EVENT_APPLIED:
		return "applied";
	case ENGINE_EVENT_REPAIRED:
		return "repaired";
	case ENGINE_EVENT_BYPASS:
		return "bypass";
	case ENGINE_EVENT_FOREIGN:
		return "foreign";
	case ENGINE_EVENT_PORT:
		return "port";
	case ENGINE_EVENT_LOST:
		return "lost";
	case ENGINE_EVENT_ALERT:
		return "alert";
	case ENGINE_EVENT_ARMED:
		return "armed";
	case ENGINE_EVENT_CONFIRMED:
		return "confirmed";
	case ENGINE_EVENT_REVERTED:
		return "reverted";
	case ENGINE_EVENT_MEASURED:
		return "measured";
	}
	return "?";
}
