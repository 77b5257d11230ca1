// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The answer depends on numbers only: names were turned into them when the configuration changed,
 * so that a slow group database can't delay a client.
 */
#include "daemon/service/access.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <sys/socket.h>

static void read_name(pid_t pid, char ret[17])
{
	char path[32];
	_cleanup_close_ int fd = -1;
	ssize_t n;

	ret[0] = 0;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, ret, 16);
	ret[MAX(n, 0)] = 0;
	for (char *c = ret; *c; c++) {
		if (*c == '\n')
			*c = 0;
		else if (*c < ' ' || *c > '~')
			*c = '?';
		if (!*c)
			break;
	}
}

int peer_read(int fd, struct peer *ret)
{
	struct ucred cred;
	socklen_t size = sizeof(cred);
	_cleanup_free_ gid_t *groups = NULL;
	socklen_t groups_size = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
		return -errno;

	/* The first call fails with ERANGE and tells the size; without groups it succeeds with
	 * none. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &groups_size) < 0) {
		if (errno != ERANGE)
			return -errno;
		groups = malloc(groups_size);
		if (!groups)
			return -ENOMEM;
		if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &groups_size) < 0)
			return -errno;
	}

	*ret = (struct peer){
		.uid = cred.uid,
		.gid = cred.gid,
		.pid = cred.pid,
		.group_count = groups ? groups_size / sizeof(gid_t) : 0,
	};
	ret->groups = take(groups);
	read_name(cred.pid, ret->name);
	return 0;
}

void peer_clear(struct peer *p)
{
	free(p->groups);
	p->groups = NULL;
	p->group_count = 0;
}

static bool group_number(const char *name, gid_t *ret)
{
	char space[16384];
	struct group group, *found = NULL;

	if (getgrnam_r(name, &group, space, sizeof(space), &found) != 0 || !found)
		return false;
	*ret = group.gr_gid;
	return true;
}

void access_resolve(const char *reader_group, const struct config *config, struct access_rules *ret,
		    const char **ret_unknown)
{
	struct access_rules r = { 0 };
	const char *unknown = NULL;

	r.has_reader = group_number(reader_group, &r.reader);
	if (!r.has_reader)
		unknown = reader_group;
	for (size_t i = 0; config && i < config->daemon.writer_count; i++) {
		const char *name = config->daemon.writers[i];

		if (group_number(name, &r.writers[r.writer_count]))
			r.writer_count++;
		else if (!unknown)
			unknown = name;
	}
	*ret = r;
	if (ret_unknown)
		*ret_unknown = unknown;
}

static bool in_group(const struct peer *p, gid_t gid)
{
	if (p->gid == gid)
		return true;
	for (size_t i = 0; i < p->group_count; i++) {
		if (p->groups[i] == gid)
			return true;
	}
	return false;
}

bool access_allows(const struct access_rules *rules, const struct peer *p, enum access_need need)
{
	if (need == ACCESS_NONE || p->uid == 0)
		return true;
	for (size_t i = 0; i < rules->writer_count; i++) {
		if (in_group(p, rules->writers[i]))
			return true;
	}
	return need == ACCESS_READ && rules->has_reader && in_group(p, rules->reader);
}
