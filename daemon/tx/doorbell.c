// SPDX-License-Identifier: GPL-2.0-or-later
/* A socket option and a file of sysfs: see doorbell.h. */
#include "daemon/tx/doorbell.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/packet_doorbell.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/socket.h>

#include "config/base/units.h"
#include "config/base/util.h"

_Static_assert(DOORBELL_FRAMES_MAX == PACKET_TX_DOORBELL_FRAMES_MAX, "as the kernel has it");

int doorbell_set_socket(int fd, uint32_t frames)
{
	int value = (int)frames;

	if (setsockopt(fd, SOL_PACKET, PACKET_TX_DOORBELL_FRAMES, &value, sizeof(value)) == 0)
		return 0;
	return errno == ENOPROTOOPT ? -EOPNOTSUPP : -errno;
}

/* 0 and a descriptor, or -errno as the header has it. */
static int open_file(const char *dev, int flags, int *ret)
{
	char path[64 + IFNAMSIZ];
	int fd;

	if (!if_nametoindex(dev)) /* so there is no "/" in it either */
		return -ENODEV;
	snprintf(path, sizeof(path), "/sys/class/net/%s/tx_doorbell_frames", dev);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -EOPNOTSUPP : -errno;
	*ret = fd;
	return 0;
}

int doorbell_read(const char *dev, uint32_t *ret)
{
	_cleanup_close_ int fd = -1;
	char text[32];
	uint64_t frames;
	ssize_t n;
	int r = open_file(dev, O_RDONLY, &fd);

	if (r < 0)
		return r;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	r = parse_u64(text, 1, DOORBELL_FRAMES_MAX, &frames);
	if (r < 0)
		return r;
	*ret = (uint32_t)frames;
	return 0;
}

int doorbell_write(const char *dev, uint32_t frames)
{
	_cleanup_close_ int fd = -1;
	char text[16];
	int n = snprintf(text, sizeof(text), "%u\n", frames);
	int r = open_file(dev, O_WRONLY, &fd);

	if (r < 0)
		return r;
	return write(fd, text, (size_t)n) < 0 ? -errno : 0;
}
