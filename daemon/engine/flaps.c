// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A short list of what changed of late: see flaps.h. Who is quiet leaves it when room is needed.
 */
#include "daemon/engine/flaps.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "config/base/hash.h"

#define S 1000000000ULL

int flaps_init(struct flaps *f, flaps_say_fn say, void *data)
{
	*f = (struct flaps){ .say = say, .data = data };
	f->list = calloc(FLAPS_MAX, sizeof(*f->list));
	return f->list ? 0 : -ENOMEM;
}

void flaps_clear(struct flaps *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i].line);
	free(f->list);
	*f = (struct flaps){ 0 };
}

static bool is_quiet(const struct flap *p, uint64_t now_ns)
{
	return !p->line && now_ns - p->last_ns > FLAPS_QUIET_S * S;
}

static void sweep(struct flaps *f, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->count; i++)
		if (!is_quiet(&f->list[i], now_ns))
			f->list[kept++] = f->list[i];
	f->count = kept;
}

/* The last place is for all that find no other. */
static struct flap *place_of(struct flaps *f, const char *id, const char *about, uint64_t now_ns)
{
	uint64_t hash = hash_bytes(HASH_START, id, strlen(id) + 1);

	hash = hash_bytes(hash, about, strlen(about));
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i].hash == hash)
			return &f->list[i];
	if (f->count == FLAPS_MAX)
		sweep(f, now_ns);
	if (f->count == FLAPS_MAX)
		return &f->list[FLAPS_MAX - 1];
	f->list[f->count] = (struct flap){ .hash = hash };
	return &f->list[f->count++];
}

/* Its last word, and no other for a while. */
static void tell(struct flaps *f, struct flap *p, uint64_t now_ns)
{
	_cleanup_free_ char *line = take(p->line);
	_cleanup_free_ char *whole = NULL;

	p->seconds = p->seconds ? MIN(p->seconds * 2, FLAPS_LONGEST_S) : FLAPS_FIRST_S;
	p->next_ns = now_ns + p->seconds * S;
	if (asprintf(&whole, "%s (it flaps: %u changes so far; told again in %u s)", line,
		     p->changes, p->seconds) < 0)
		whole = NULL;
	f->say(p->level, whole ? whole : line, f->data);
}

void flaps_changed(struct flaps *f, const char *id, const char *about, uint64_t now_ns,
		   enum log_level level, const char *fmt, ...)
{
	struct flap *p = place_of(f, id, about, now_ns);
	_cleanup_free_ char *line = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&line, fmt, ap);
	va_end(ap);
	if (n < 0) {
		line = NULL;
		return;
	}
	if (is_quiet(p, now_ns))
		*p = (struct flap){ .hash = p->hash };
	p->last_ns = now_ns;
	p->level = level;
	if (++p->changes <= FLAPS_FREE) {
		f->say(level, line, f->data);
		return;
	}
	free(p->line);
	p->line = take(line);
	if (now_ns >= p->next_ns)
		tell(f, p, now_ns);
}

static uint64_t due_of(const struct flap *p)
{
	return p->line ? MIN(p->next_ns, p->last_ns + FLAPS_QUIET_S * S) : UINT64_MAX;
}

uint64_t flaps_due(const struct flaps *f)
{
	uint64_t due = UINT64_MAX;

	for (size_t i = 0; i < f->count; i++)
		due = MIN(due, due_of(&f->list[i]));
	return due;
}

void flaps_tick(struct flaps *f, uint64_t now_ns)
{
	for (size_t i = 0; i < f->count; i++)
		if (due_of(&f->list[i]) <= now_ns)
			tell(f, &f->list[i], now_ns);
}
