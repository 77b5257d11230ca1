// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A failure to reach systemd is no reason to do anything else: nothing here returns an error.
 */
#include "daemon/service/notify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>

void notify_ready(void)
{
	sd_notify(0, "READY=1");
}

void notify_reloading(void)
{
	/* systemd compares the stamp with the moment it sent the signal; without it a
	 * Type=notify-reload unit waits for ever. */
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, now_monotonic_ns() / 1000);
}

void notify_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

void notify_status(const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	/* A line feed would begin another assignment. */
	for (char *c = line; *c; c++) {
		if (*c == '\n')
			*c = ' ';
	}
	sd_notifyf(0, "STATUS=%s", line);
}

uint32_t notify_watchdog_period_ms(void)
{
	uint64_t us = 0;

	if (sd_watchdog_enabled(0, &us) <= 0 || us == 0)
		return 0;
	return (uint32_t)MAX(MIN(us / 2000, (uint64_t)UINT32_MAX), (uint64_t)1);
}

void notify_watchdog(void)
{
	sd_notify(0, "WATCHDOG=1");
}

void notify_extend(uint32_t ms)
{
	sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRIu64, (uint64_t)ms * 1000);
}
