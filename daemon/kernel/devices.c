// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of device names: see devices.h. Sorted by number; a router has some hundreds at most.
 */
#include "daemon/kernel/devices.h"

#include <errno.h>
#include <sys/ioctl.h>

struct device {
	uint32_t ifindex;
	uint32_t sure; /* the round in which the kernel confirmed it */
	char name[IFNAMSIZ];
};

struct devices {
	struct device *list;
	size_t count, space;
	uint32_t round;
};

struct devices *devices_new(void)
{
	struct devices *d = calloc(1, sizeof(*d));

	if (d)
		d->round = 1;
	return d;
}

void devices_free(struct devices *d)
{
	if (!d)
		return;
	free(d->list);
	free(d);
}

void devices_clear(struct devices *d)
{
	d->count = 0;
}

/* The first place whose number is not below ifindex. */
static size_t place(const struct devices *d, uint32_t ifindex)
{
	return LOWER_BOUND(d->list, d->count, ifindex, ifindex);
}

static struct device *by_index(const struct devices *d, uint32_t ifindex)
{
	size_t i = place(d, ifindex);

	return i < d->count && d->list[i].ifindex == ifindex ? &d->list[i] : NULL;
}

static struct device *by_name(const struct devices *d, const char *name)
{
	for (size_t i = 0; i < d->count; i++)
		if (streq(d->list[i].name, name))
			return &d->list[i];
	return NULL;
}

void devices_remove(struct devices *d, uint32_t ifindex)
{
	struct device *dev = by_index(d, ifindex);

	if (!dev)
		return;
	d->count--;
	memmove(dev, dev + 1, (size_t)(d->list + d->count - dev) * sizeof(*dev));
}

int devices_set(struct devices *d, uint32_t ifindex, const char *name)
{
	struct device *dev = by_name(d, name);
	size_t i;
	int r;

	if (dev && dev->ifindex == ifindex)
		return 0;
	if (dev)
		devices_remove(d, dev->ifindex);
	dev = by_index(d, ifindex);
	if (!dev) {
		r = grow(&d->list, &d->space, d->count, sizeof(*d->list));
		if (r < 0)
			return r;
		i = place(d, ifindex);
		dev = &d->list[i];
		memmove(dev + 1, dev, (d->count - i) * sizeof(*dev));
		d->count++;
	}
	*dev = (struct device){ .ifindex = ifindex };
	COPY_NAME(dev->name, name);
	return 0;
}

const char *devices_name(const struct devices *d, uint32_t ifindex)
{
	const struct device *dev = by_index(d, ifindex);

	return dev ? dev->name : NULL;
}

uint32_t devices_index(const struct devices *d, const char *name)
{
	const struct device *dev = by_name(d, name);

	return dev ? dev->ifindex : 0;
}

void devices_doubt(struct devices *d)
{
	d->round++;
}

uint32_t devices_index_now(struct devices *d, int fd, const char *name)
{
	struct device *dev = by_name(d, name);
	struct ifreq ifr = { 0 };

	if (dev && dev->sure == d->round)
		return dev->ifindex;
	if (!COPY_NAME(ifr.ifr_name, name) || ioctl(fd, SIOCGIFINDEX, &ifr) < 0)
		return 0;
	if (dev && dev->ifindex == (uint32_t)ifr.ifr_ifindex)
		dev->sure = d->round;
	return (uint32_t)ifr.ifr_ifindex;
}

bool devices_name_now(int fd, uint32_t ifindex, char ret[IFNAMSIZ])
{
	struct ifreq ifr = { .ifr_ifindex = (int)ifindex };

	if (ioctl(fd, SIOCGIFNAME, &ifr) < 0)
		return false;
	return copy_name(ret, IFNAMSIZ, ifr.ifr_name);
}
