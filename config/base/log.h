/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log: one line a message to standard error, with the "<N>" priority prefix that the journal
 * understands when standard error is not a terminal. Only the top of a call chain logs; codecs and
 * everything in config/ return errors or add a diag instead.
 */
#ifndef SWD_BASE_LOG_H
#define SWD_BASE_LOG_H

#include "config/base/util.h"

enum log_level { /* the numbers are syslog's */
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_NOTICE = 5,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7,
};

/* Messages above this level are dropped. The start value is info. Set before threads start. */
void log_set_level(enum log_level level);
/* The level of that name ("error" ... "debug"), or -EINVAL. */
int log_level_parse(const char *name);

/* Thread safe: a message is one write(). Longer than 1,000 bytes are cut. errno is kept. */
void log_write(enum log_level level, const char *fmt, ...) _printf_(2, 3);

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...) log_write(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

/*
 * For messages that a burst of events could repeat without end: true if this one may be written.
 * At most `burst` in `seconds`; `missed` gets how many were held back before.
 */
struct log_limit {
	uint64_t since_ns;
	unsigned int used, missed;
};
bool log_allowed(struct log_limit *limit, unsigned int burst, unsigned int seconds,
		 unsigned int *missed);

#endif
