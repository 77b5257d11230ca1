// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages of ethtool's family for ring and coalescing: see tx.h. In both the header is attribute
 * 1. An answer has a value only where the driver has it, so what is not there the device has not.
 */
#include <errno.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>

#include "daemon/kernel/tx.h"

#define HEADER 1
_Static_assert(ETHTOOL_A_RINGS_HEADER == HEADER && ETHTOOL_A_COALESCE_HEADER == HEADER,
	       "the header comes first");

#define ATTRS_MAX 64
_Static_assert(ETHTOOL_A_RINGS_MAX <= ATTRS_MAX && ETHTOOL_A_COALESCE_MAX <= ATTRS_MAX, "room");

static const struct nla_policy header_policy[ETHTOOL_A_HEADER_MAX + 1] = {
	[ETHTOOL_A_HEADER_DEV_NAME] = { .type = NLA_STRING, .maxlen = IFNAMSIZ },
};

static const struct nla_policy rings_policy[ATTRS_MAX + 1] = {
	[HEADER] = { .type = NLA_NESTED },
	[ETHTOOL_A_RINGS_TX_MAX] = { .type = NLA_U32 },
	[ETHTOOL_A_RINGS_TX] = { .type = NLA_U32 },
};

static const struct nla_policy coalesce_policy[ATTRS_MAX + 1] = {
	[HEADER] = { .type = NLA_NESTED },
	[ETHTOOL_A_COALESCE_TX_USECS] = { .type = NLA_U32 },
	[ETHTOOL_A_COALESCE_TX_MAX_FRAMES] = { .type = NLA_U32 },
	[ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX] = { .type = NLA_U8 },
};

/* The attribute of each value; 0: there is none. */
static const struct row {
	uint8_t part, replies[2];
	const struct nla_policy *policy;
	uint16_t most, values[TX_VALUES];
} rows[] = {
	{ TX_RING,
	  { ETHTOOL_MSG_RINGS_GET_REPLY, ETHTOOL_MSG_RINGS_NTF },
	  rings_policy,
	  ETHTOOL_A_RINGS_TX_MAX,
	  { ETHTOOL_A_RINGS_TX } },
	{ TX_COALESCE,
	  { ETHTOOL_MSG_COALESCE_GET_REPLY, ETHTOOL_MSG_COALESCE_NTF },
	  coalesce_policy,
	  0,
	  { ETHTOOL_A_COALESCE_TX_USECS, ETHTOOL_A_COALESCE_TX_MAX_FRAMES,
	    ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX } },
};

static bool is_byte(const struct row *row, unsigned int i)
{
	return row->policy[row->values[i]].type == NLA_U8;
}

/* ---- writing ---- */

/* Linux takes a nest here only if it says that it is one. */
int tx_put_get(struct nl_msg *m, const char *dev)
{
	struct nlattr *nest = nla_nest_start(m, HEADER | NLA_F_NESTED);

	if (!nest || nla_put_string(m, ETHTOOL_A_HEADER_DEV_NAME, dev) < 0)
		return -EMSGSIZE;
	nla_nest_end(m, nest);
	return 0;
}

static int put_value(struct nl_msg *m, const struct row *row, unsigned int i, uint32_t v)
{
	return codec_fit(is_byte(row, i) ? nla_put_u8(m, row->values[i], (uint8_t)v)
					 : nla_put_u32(m, row->values[i], v));
}

int tx_put_set(struct nl_msg *m, const struct tx *wanted, const struct tx *found)
{
	const struct row *row = wanted->part == TX_RING ? &rows[0] : &rows[1];
	int r = tx_put_get(m, wanted->dev);

	for (unsigned int i = 0; i < TX_VALUES && r == 0; i++)
		if (wanted->has & 1u << i &&
		    (!found || tx_other_queue(wanted, found, i) != TX_SAME))
			r = put_value(m, row, i, wanted->value[i]);
	return r;
}

/* ---- reading ---- */

static const struct row *row_of_reply(uint8_t command)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].replies[0] == command || rows[i].replies[1] == command)
			return &rows[i];
	return NULL;
}

static int read_name(const struct nlattr *nest, char to[IFNAMSIZ])
{
	struct nlattr *tb[ETHTOOL_A_HEADER_MAX + 1];

	if (!nest || codec_attrs(tb, ETHTOOL_A_HEADER_MAX, nest, header_policy) < 0)
		return -EBADMSG;
	return codec_text(tb[ETHTOOL_A_HEADER_DEV_NAME], to, IFNAMSIZ) ? 0 : -EBADMSG;
}

int tx_parse(const struct nlmsghdr *h, struct tx **ret)
{
	struct nlattr *tb[ATTRS_MAX + 1];
	const struct row *row;
	struct genlmsghdr g;
	char dev[IFNAMSIZ];
	struct tx *t;

	*ret = NULL;
	if (h->nlmsg_len < NLMSG_HDRLEN + GENL_HDRLEN)
		return -EBADMSG;
	memcpy(&g, nlmsg_data(h), sizeof(g));
	row = row_of_reply(g.cmd);
	if (!row)
		return 0;
	if (codec_message(h, GENL_HDRLEN, tb, ATTRS_MAX, row->policy) < 0 ||
	    read_name(tb[HEADER], dev) < 0)
		return -EBADMSG;
	t = tx_new(dev, (enum tx_part)row->part, 0);
	if (!t)
		return -ENOMEM;
	for (unsigned int i = 0; i < TX_VALUES; i++) {
		const struct nlattr *a = row->values[i] ? tb[row->values[i]] : NULL;

		if (!a)
			continue;
		t->has |= (uint8_t)(1u << i);
		t->value[i] = is_byte(row, i) ? nla_get_u8(a) : nla_get_u32(a);
	}
	if (row->most && tb[row->most])
		t->most = nla_get_u32(tb[row->most]);
	*ret = t;
	return 0;
}
