/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notify: what we tell systemd, and the only room that knows its library. Without NOTIFY_SOCKET all
 * of this does nothing. The environment is left as it is, so that it survives a re-exec.
 *
 * Rules from sd_notify(3): RELOADING=1 comes with MONOTONIC_USEC, and READY=1 ends it always, also
 * when the new file was refused; STOPPING=1 is said only by who really stops.
 */
#ifndef SWD_SERVICE_NOTIFY_H
#define SWD_SERVICE_NOTIFY_H

#include <stdint.h>

#include "config/base/util.h"

void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void);
/* One line for `systemctl status`. */
void notify_status(const char *fmt, ...) _printf_(1, 2);

/* How often notify_watchdog() is to be called, in milliseconds: half of what systemd waits; 0:
 * never. */
uint32_t notify_watchdog_period_ms(void);
void notify_watchdog(void);
/* Start, reload or stop may take this much longer, from now. */
void notify_extend(uint32_t ms);

#endif
