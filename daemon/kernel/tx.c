// SPDX-License-Identifier: GPL-2.0-or-later
/* Which part goes which way: see tx.h. */
#include "daemon/kernel/tx.h"

#include <errno.h>
#include <linux/ethtool_netlink.h>

#include "daemon/kernel/room.h"

#define NET "/sys/class/net"

struct tx_door {
	struct family family; /* id 0: this kernel has no such family */
};

int tx_open(struct tx_door **ret)
{
	_cleanup_(tx_closep) struct tx_door *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	r = family_open(ETHTOOL_GENL_NAME, ETHTOOL_MCGRP_MONITOR_NAME, ETHTOOL_GENL_VERSION,
			&t->family);
	if (r == -EOPNOTSUPP) {
		family_close(&t->family);
		t->family = (struct family){ 0 };
	} else if (r < 0) {
		return r;
	}
	*ret = take(t);
	return 0;
}

void tx_close(struct tx_door *t)
{
	if (!t)
		return;
	family_close(&t->family);
	free(t);
}

int tx_fd(const struct tx_door *t)
{
	return t->family.events ? t->family.events->fd : -1;
}

static bool is_file(enum tx_part part)
{
	return part == TX_FLUSH || part == TX_BQL;
}

/* ---- reading ---- */

static void on_answer(struct rtnl_call *call, const struct nlmsghdr *h, void *data)
{
	struct tx **to = data;

	if (!*to)
		tx_parse(h, to);
}

static int ask(struct tx_door *t, const char *dev, enum tx_part part, struct tx **ret)
{
	_cleanup_(nl_msg_freep) struct nl_msg *m = nlmsg_alloc();
	uint8_t command = part == TX_RING ? ETHTOOL_MSG_RINGS_GET : ETHTOOL_MSG_COALESCE_GET;

	if (!m || family_begin(&t->family, m, command) < 0 || tx_put_get(m, dev) < 0)
		return -ENOMEM;
	return family_ask(&t->family, m, on_answer, ret, NULL);
}

int tx_read(struct tx_door *t, const char *dev, enum tx_part part, struct tx **ret)
{
	_cleanup_object_ struct tx *now = NULL;
	int r = -EOPNOTSUPP;

	if (is_file(part))
		return tx_sysfs_read(NET, dev, part, ret);
	if (t->family.id)
		r = ask(t, dev, part, &now);
	if (r == -ENODEV)
		return -ENOENT;
	/* A driver without a word on it. */
	if (r < 0 && r != -EOPNOTSUPP)
		return r;
	if (!now)
		now = tx_new(dev, part, 0);
	if (!now)
		return -ENOMEM;
	*ret = take(now);
	return 0;
}

/* ---- setting ---- */

int tx_set(struct tx_door *t, const struct tx *wanted, const struct tx *found, char **ret_words)
{
	_cleanup_(nl_msg_freep) struct nl_msg *m = NULL;
	uint8_t command =
		wanted->part == TX_RING ? ETHTOOL_MSG_RINGS_SET : ETHTOOL_MSG_COALESCE_SET;

	if (is_file((enum tx_part)wanted->part))
		return tx_sysfs_set(NET, wanted);
	if (!t->family.id)
		return -EOPNOTSUPP;
	m = nlmsg_alloc();
	if (!m || family_begin(&t->family, m, command) < 0 || tx_put_set(m, wanted, found) < 0)
		return -ENOMEM;
	return family_ask(&t->family, m, NULL, NULL, ret_words);
}

/* ---- news ---- */

struct listener {
	tx_fn fn;
	void *data;
};

static void on_event(const struct nlmsghdr *h, void *data)
{
	const struct listener *l = data;
	_cleanup_object_ struct tx *now = NULL;

	if (!h || tx_parse(h, &now) < 0)
		l->fn(NULL, l->data);
	else if (now)
		l->fn(now, l->data);
}

int tx_event(struct tx_door *t, tx_fn fn, void *data)
{
	struct listener l = { fn, data };

	return t->family.events ? family_event(&t->family, on_event, &l) : -EAGAIN;
}
