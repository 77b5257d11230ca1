// SPDX-License-Identifier: GPL-2.0-or-later
/* What ethtool and sysfs know of a device: see facts.h. */
#include "daemon/kernel/facts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>

#include "daemon/kernel/ethtool.h"

/* A driver's name does not change while the device lives; asking for it takes rtnl each time. */
struct known {
	uint32_t ifindex;
	char driver[32];
};

struct facts {
	int fd;
	struct known *known;
	size_t count, space;
	struct ethtool_offload_bit bit;
};

int facts_new(struct facts **ret)
{
	_cleanup_(facts_freep) struct facts *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (f->fd < 0)
		return -errno;
	*ret = take(f);
	return 0;
}

void facts_free(struct facts *f)
{
	if (!f)
		return;
	if (f->fd > 0)
		close(f->fd);
	free(f->known);
	free(f);
}

int facts_fd(const struct facts *f)
{
	return f->fd;
}

void facts_forget(struct facts *f, uint32_t ifindex)
{
	for (size_t i = 0; i < f->count; i++) {
		if (f->known[i].ifindex != ifindex)
			continue;
		f->known[i] = f->known[--f->count];
		return;
	}
}

static void fill_driver(struct facts *f, const char *name, struct link_facts *ret)
{
	for (size_t i = 0; i < f->count; i++) {
		if (f->known[i].ifindex != ret->ifindex)
			continue;
		COPY_NAME(ret->driver, f->known[i].driver);
		return;
	}
	if (ethtool_driver(f->fd, name, ret->driver) < 0)
		return;
	if (grow(&f->known, &f->space, f->count, sizeof(*f->known)) < 0)
		return;
	f->known[f->count].ifindex = ret->ifindex;
	COPY_NAME(f->known[f->count].driver, ret->driver);
	f->count++;
}

/* ---- sysfs ---- */

static ssize_t read_sysfs(const char *device, const char *file, void *to, size_t size)
{
	_cleanup_close_ int fd = -1;
	char path[128];
	int n = snprintf(path, sizeof(path), "/sys/class/net/%s/%s", device, file);

	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return read(fd, to, size);
}

static void fill_tagger(const char *conduit, char to[16])
{
	char text[16];
	ssize_t n = read_sysfs(conduit, "dsa/tagging", text, sizeof(text) - 1);

	if (n <= 0)
		return;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	copy_name(to, 16, text);
}

/*
 * The place of a switch in its tree is the second cell of its node's "dsa,member"; a switch without
 * the property, or without a device tree, is switch 0 (net/dsa/dsa2.c,
 * dsa_switch_parse_member_of()).
 */
static int32_t switch_index(const char *user_port)
{
	uint8_t cells[8];
	uint32_t index;

	if (read_sysfs(user_port, "device/of_node/dsa,member", cells, sizeof(cells)) !=
	    sizeof(cells))
		return 0;
	memcpy(&index, cells + 4, sizeof(index));
	index = ntohl(index);
	return index > 1024 ? -1 : (int32_t)index;
}

int32_t port_name_number(const char *port_name)
{
	int32_t n = 0;
	const char *s = port_name;

	if (*s++ != 'p' || *s < '0' || *s > '9')
		return -1;
	for (; *s >= '0' && *s <= '9'; s++) {
		n = n * 10 + (*s - '0');
		if (n > 65535)
			return -1;
	}
	return *s == '\0' || *s == 's' ? n : -1;
}

void facts_fill(struct facts *f, struct object *link)
{
	bool vlan = link->kind == KIND_VLAN;
	struct port *p = vlan ? NULL : (struct port *)link;
	struct link_facts *facts = vlan ? &((struct vlan *)link)->facts : &p->facts;
	const char *name = vlan ? ((struct vlan *)link)->name : p->name;

	fill_driver(f, name, facts);
	if (vlan)
		return;
	facts->port_number = port_name_number(facts->port_name);
	if (streq(facts->type, "dsa")) {
		facts->switch_index = switch_index(name);
		if (facts->lower[0])
			fill_tagger(facts->lower, facts->tagger);
	} else {
		fill_tagger(name, facts->tagger);
	}
	facts->offload = (int8_t)ethtool_offload(f->fd, &f->bit, name);
	if (facts->offload < 0)
		return;
	p->has |= PORT_HAS_TC_OFFLOAD;
	p->tc_offload = (uint8_t)facts->offload;
}

int facts_set_offload(struct facts *f, const char *name, bool on)
{
	int now = ethtool_offload(f->fd, &f->bit, name);
	int r;

	if (now < 0)
		return -EOPNOTSUPP;
	if (now == on)
		return 0;
	r = ethtool_set_offload(f->fd, &f->bit, name, on);
	if (r < 0)
		return r;
	return ethtool_offload(f->fd, &f->bit, name) == on ? 0 : -EOPNOTSUPP;
}
