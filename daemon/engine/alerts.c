// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The list of alerts: see alerts.h.
 */
#include "daemon/engine/alerts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int alerts_init(struct alerts *a, alert_fn fn, void *data)
{
	*a = (struct alerts){ .fn = fn, .data = data };
	a->list = calloc(ALERTS_MAX, sizeof(*a->list));
	a->marks = calloc(ALERTS_MAX, sizeof(*a->marks));
	if (!a->list || !a->marks) {
		alerts_clear(a);
		return -ENOMEM;
	}
	return 0;
}

void alerts_clear(struct alerts *a)
{
	free(a->list);
	free(a->marks);
	*a = (struct alerts){ 0 };
}

/* Its place, or a->count. What is too long for an alert is known by what it keeps of it. */
static size_t find(const struct alerts *a, const char *id, const char *about)
{
	char cut[sizeof(a->list->about)];
	size_t i;

	snprintf(cut, sizeof(cut), "%s", about);
	for (i = 0; i < a->count; i++)
		if (streq(a->list[i].id, id) && streq(a->list[i].about, cut))
			break;
	return i;
}

static void drop(struct alerts *a, size_t i)
{
	struct alert gone = a->list[i];

	a->count--;
	memmove(&a->list[i], &a->list[i + 1], (a->count - i) * sizeof(*a->list));
	memmove(&a->marks[i], &a->marks[i + 1], (a->count - i) * sizeof(*a->marks));
	a->fn(&gone, false, a->data);
}

void alert_set(struct alerts *a, const char *id, const char *about, const char *fmt, ...)
{
	size_t i = find(a, id, about);
	bool raised = i == a->count;
	struct alert *at;
	va_list ap;

	if (raised && a->count == ALERTS_MAX)
		return;
	at = &a->list[i];
	if (raised) {
		*at = (struct alert){ .since_ns = now_realtime_ns() };
		snprintf(at->id, sizeof(at->id), "%s", id);
		snprintf(at->about, sizeof(at->about), "%s", about);
		a->count++;
	}
	a->marks[i] = (struct alert_mark){ .seen = true, .set_ns = now_monotonic_ns() };
	va_start(ap, fmt);
	vsnprintf(at->text, sizeof(at->text), fmt, ap);
	va_end(ap);
	if (raised)
		a->fn(at, true, a->data);
}

void alert_end(struct alerts *a, const char *id, const char *about)
{
	size_t i = find(a, id, about);

	if (i < a->count)
		drop(a, i);
}

void alerts_expire(struct alerts *a, const char *id, uint64_t before_ns)
{
	for (size_t i = a->count; i-- > 0;)
		if (streq(a->list[i].id, id) && a->marks[i].set_ns < before_ns)
			drop(a, i);
}

void alert_keep(struct alerts *a, const char *id, const char *about)
{
	size_t i = find(a, id, about);

	if (i < a->count)
		a->marks[i].seen = true;
}

void alerts_begin(struct alerts *a, const char *id)
{
	for (size_t i = 0; i < a->count; i++)
		if (streq(a->list[i].id, id))
			a->marks[i].seen = false;
}

void alerts_finish(struct alerts *a, const char *id)
{
	for (size_t i = a->count; i-- > 0;)
		if (streq(a->list[i].id, id) && !a->marks[i].seen)
			drop(a, i);
}
