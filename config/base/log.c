/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static enum log_level max_level = LOG_LEVEL_INFO;

static const struct {
	const char *name;
	enum log_level level;
} levels[] = {
	{ "error", LOG_LEVEL_ERROR },	{ "warning", LOG_LEVEL_WARNING },
	{ "notice", LOG_LEVEL_NOTICE }, { "info", LOG_LEVEL_INFO },
	{ "debug", LOG_LEVEL_DEBUG },
};

void log_set_level(enum log_level level)
{
	__atomic_store_n(&max_level, level, __ATOMIC_RELAXED);
}

int log_level_parse(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
		if (streq(levels[i].name, name))
			return (int)levels[i].level;
	return -EINVAL;
}

void log_write(enum log_level level, const char *fmt, ...)
{
	int saved = errno;
	char line[1024];
	size_t used = 0;
	va_list args;
	int n;

	if (level > __atomic_load_n(&max_level, __ATOMIC_RELAXED))
		return;
	if (!isatty(STDERR_FILENO))
		used = (size_t)snprintf(line, sizeof(line), "<%d>", (int)level);
	va_start(args, fmt);
	n = vsnprintf(line + used, sizeof(line) - used - 1, fmt, args);
	va_end(args);
	if (n > 0)
		used = MIN(used + (size_t)n, sizeof(line) - 2);
	/* A message is one line, whatever a name in it contains. */
	for (size_t i = 0; i < used; i++)
		memset(line + i, ' ', control_length(line + i));
	line[used++] = '\n';
	if (write(STDERR_FILENO, line, used) < 0) {
		/* Nobody is left to tell. */
	}
	errno = saved;
}

bool log_allowed(struct log_limit *limit, unsigned int burst, unsigned int seconds,
		 unsigned int *missed)
{
	uint64_t now = now_monotonic_ns();

	*missed = 0;
	if (now - limit->since_ns >= (uint64_t)seconds * 1000000000u) {
		*missed = limit->missed;
		*limit = (struct log_limit){ .since_ns = now };
	}
	if (limit->used >= burst) {
		limit->missed++;
		return false;
	}
	limit->used++;
	return true;
}
