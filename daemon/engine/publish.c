// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Making snapshots: see publish.h.
 */
#include "daemon/engine/publish.h"

#include <stdio.h>
#include <sys/utsname.h>

#include "daemon/engine/confirm.h"
#include "daemon/engine/judge.h"
#include "daemon/engine/observe.h"

static int copy_states(const struct engine_owner *o, struct snapshot *s)
{
	s->found = state_copy(o->found);
	s->filters = o->filters ? state_copy(o->filters) : NULL;
	s->owned = state_copy(o->owned);
	return s->found && s->owned && (s->filters || !o->filters) ? 0 : -1;
}

static int copy_lists(const struct engine_owner *o, struct snapshot *s)
{
	s->bypass = calloc(o->report_count + 1, sizeof(*s->bypass));
	s->alerts = calloc(o->alerts.count + 1, sizeof(*s->alerts));
	if (!s->bypass || !s->alerts)
		return -1;
	for (size_t i = 0; i < o->measured.count; i++)
		if (measured_put(&s->measured, &o->measured.list[i]) < 0)
			return -1;
	if (turns_copy(&o->turns, &s->turns) < 0)
		return -1;
	if (o->report_count)
		memcpy(s->bypass, o->reports, o->report_count * sizeof(*s->bypass));
	s->bypass_count = o->report_count;
	if (o->alerts.count)
		memcpy(s->alerts, o->alerts.list, o->alerts.count * sizeof(*s->alerts));
	s->alert_count = o->alerts.count;
	return 0;
}

static struct snapshot *make(struct engine_owner *o)
{
	struct snapshot *s = calloc(1, sizeof(*s));
	struct utsname uts;

	if (!s)
		return NULL;
	s->refs = 1;
	if (copy_states(o, s) < 0 || copy_lists(o, s) < 0) {
		snapshot_unref(s);
		return NULL;
	}
	s->number = ++o->snapshot_number;
	s->made_ns = now_realtime_ns();
	s->generation = o->generation;
	s->armed = confirm_armed(o);
	s->last_outcome = o->last_outcome;
	s->last_apply_ns = o->last_apply_ns;
	memcpy(s->last_error, o->last_error, sizeof(s->last_error));
	s->config = config_ref(o->config);
	s->own_file = o->own_file.state;
	snprintf(s->own_path, sizeof(s->own_path), "%s", o->config_path);
	s->counters_ns = o->counters_ns;
	s->ability = o->ability;
	snprintf(s->ability_how, sizeof(s->ability_how), "%s", o->ability_how);
	if (uname(&uts) == 0)
		snprintf(s->kernel_release, sizeof(s->kernel_release), "%s", uts.release);
	kernel_counts(o->kernel, &s->counts);
	s->repairs = o->repairs;
	s->settled = o->settled && !observe_is_stale(o);
	return s;
}

void publish(struct engine_owner *o)
{
	struct snapshot *s;

	o->publish_due = OWNER_NEVER;
	o->published_ns = now_monotonic_ns();
	if (o->judge) {
		o->judge = false;
		judge_blocks(o);
	}
	own_file_look(o);
	o->publish_due = OWNER_NEVER; /* the two above ask for what is made now */
	s = make(o);
	pulse_go(o->pulse);
	if (s)
		o->listener.snapshot(s, o->listener.data);
	else
		o->publish_due = o->published_ns + PUBLISH_GAP_NS * 100;
}
