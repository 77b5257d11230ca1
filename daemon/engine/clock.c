// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel's own words for when we are: see clock.h.
 */
#include "daemon/engine/clock.h"

#include <fcntl.h>
#include <time.h>

#include "config/base/util.h"

static void read_boot_id(char to[BOOT_ID])
{
	_cleanup_close_ int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, to, BOOT_ID - 1) : -1;

	to[n > 0 ? n : 0] = '\0';
	to[strcspn(to, "\n")] = '\0';
}

uint64_t clock_boot_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void clock_now(struct moment *ret)
{
	read_boot_id(ret->boot);
	ret->boot_ns = clock_boot_ns();
	ret->wall_ns = now_realtime_ns();
}
