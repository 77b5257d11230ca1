// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pedit: setting a MAC address, and one off TTL or hop limit. Keys work on 32-bit words of the
 * frame as they lie in memory: new = (old & mask) ^ value to set, and value added to the masked
 * part to add. So masks and values are written as bytes and are right in both byte orders. Taking
 * one off a byte is adding 255 to it; what carries into its neighbours is masked away
 * (net/sched/act_pedit.c).
 */
#include <errno.h>
#include <linux/tc_act/tc_pedit.h>

#include "daemon/kernel/actions.h"

#define KEYS_MOST 2

/* One edit, as we write it and look for it. */
struct edit {
	uint16_t header, command;
	size_t count;
	struct {
		uint32_t offset;
		uint8_t mask[4], value[4]; /* mask: the bits that stay */
	} keys[KEYS_MOST];
};

static const struct nla_policy pedit_policy[TCA_PEDIT_MAX + 1] = {
	[TCA_PEDIT_PARMS_EX] = { .type = NLA_UNSPEC, .minlen = sizeof(struct tc_pedit_sel) },
	[TCA_PEDIT_KEYS_EX] = { .type = NLA_NESTED },
};

static const struct nla_policy key_policy[TCA_PEDIT_KEY_EX_MAX + 1] = {
	[TCA_PEDIT_KEY_EX_HTYPE] = { .type = NLA_U16 },
	[TCA_PEDIT_KEY_EX_CMD] = { .type = NLA_U16 },
};

static struct edit edit_dst(const uint8_t mac[6])
{
	struct edit e = { TCA_PEDIT_KEY_EX_HDR_TYPE_ETH,
			  TCA_PEDIT_KEY_EX_CMD_SET,
			  2,
			  {
				  { 0, { 0, 0, 0, 0 }, { mac[0], mac[1], mac[2], mac[3] } },
				  { 4, { 0, 0, 0xff, 0xff }, { mac[4], mac[5], 0, 0 } },
			  } };
	return e;
}

static struct edit edit_src(const uint8_t mac[6])
{
	struct edit e = { TCA_PEDIT_KEY_EX_HDR_TYPE_ETH,
			  TCA_PEDIT_KEY_EX_CMD_SET,
			  2,
			  {
				  { 4, { 0xff, 0xff, 0, 0 }, { 0, 0, mac[0], mac[1] } },
				  { 8, { 0, 0, 0, 0 }, { mac[2], mac[3], mac[4], mac[5] } },
			  } };
	return e;
}

static struct edit edit_ttl(bool v6)
{
	struct edit v4e = { TCA_PEDIT_KEY_EX_HDR_TYPE_IP4,
			    TCA_PEDIT_KEY_EX_CMD_ADD,
			    1,
			    {
				    { 8, { 0, 0xff, 0xff, 0xff }, { 0xff, 0, 0, 0 } },
			    } };
	struct edit v6e = { TCA_PEDIT_KEY_EX_HDR_TYPE_IP6,
			    TCA_PEDIT_KEY_EX_CMD_ADD,
			    1,
			    {
				    { 4, { 0xff, 0xff, 0xff, 0 }, { 0, 0, 0, 0xff } },
			    } };

	return v6 ? v6e : v4e;
}

static struct edit edit_of(const struct action *a)
{
	if (a->kind == ACTION_SET_DST)
		return edit_dst(a->mac);
	if (a->kind == ACTION_SET_SRC)
		return edit_src(a->mac);
	return edit_ttl(a->ttl.family_v6 != 0);
}

/* ---- writing ---- */

static int put_keys_ex(struct nl_msg *m, const struct edit *e)
{
	struct nlattr *list = nla_nest_start(m, TCA_PEDIT_KEYS_EX);

	if (!list)
		return -EMSGSIZE;
	for (size_t i = 0; i < e->count; i++) {
		struct nlattr *key = nla_nest_start(m, TCA_PEDIT_KEY_EX);

		if (!key || attr_put_u16(m, TCA_PEDIT_KEY_EX_HTYPE, e->header) < 0 ||
		    attr_put_u16(m, TCA_PEDIT_KEY_EX_CMD, e->command) < 0)
			return -EMSGSIZE;
		nla_nest_end(m, key);
	}
	nla_nest_end(m, list);
	return 0;
}

static int pedit_put(struct nl_msg *m, const struct action *a, const struct codec_names *names)
{
	struct edit e = edit_of(a);
	struct tc_pedit_sel sel = { .action = TC_ACT_PIPE, .nkeys = (unsigned char)e.count };
	uint8_t parms[sizeof(sel) + KEYS_MOST * sizeof(struct tc_pedit_key)];
	size_t size = sizeof(sel);

	memcpy(parms, &sel, sizeof(sel));
	for (size_t i = 0; i < e.count; i++) {
		struct tc_pedit_key key = { .off = e.keys[i].offset };

		memcpy(&key.mask, e.keys[i].mask, 4);
		memcpy(&key.val, e.keys[i].value, 4);
		memcpy(parms + size, &key, sizeof(key));
		size += sizeof(key);
	}
	if (attr_put(m, TCA_PEDIT_PARMS_EX, (int)size, parms) < 0)
		return -EMSGSIZE;
	return put_keys_ex(m, &e);
}

/* ---- reading ---- */

static int read_keys_ex(const struct nlattr *list, struct edit *ret)
{
	const struct nlattr *a = nla_data(list);
	int left = nla_len(list);
	size_t i = 0;

	for (; nla_ok(a, left); a = nla_next(a, &left), i++) {
		struct nlattr *tb[TCA_PEDIT_KEY_EX_MAX + 1];
		int r = codec_attrs(tb, TCA_PEDIT_KEY_EX_MAX, a, key_policy);
		uint16_t header, command;

		if (r < 0)
			return r;
		if (!tb[TCA_PEDIT_KEY_EX_HTYPE] || !tb[TCA_PEDIT_KEY_EX_CMD])
			return -EBADMSG;
		header = nla_get_u16(tb[TCA_PEDIT_KEY_EX_HTYPE]);
		command = nla_get_u16(tb[TCA_PEDIT_KEY_EX_CMD]);
		if (i > 0 && (header != ret->header || command != ret->command))
			return -ENOMSG;
		ret->header = header;
		ret->command = command;
	}
	return i == ret->count ? 0 : -ENOMSG;
}

static int read_edit(const struct nlattr *options, struct edit *ret)
{
	struct nlattr *tb[TCA_PEDIT_MAX + 1];
	const uint8_t *at;
	struct tc_pedit_sel sel;
	int r = codec_attrs(tb, TCA_PEDIT_MAX, options, pedit_policy);

	if (r < 0)
		return r;
	if (!tb[TCA_PEDIT_PARMS_EX] || !tb[TCA_PEDIT_KEYS_EX])
		return -ENOMSG; /* the old form without header types */
	at = nla_data(tb[TCA_PEDIT_PARMS_EX]);
	memcpy(&sel, at, sizeof(sel));
	if (sel.action != TC_ACT_PIPE || sel.nkeys == 0 || sel.nkeys > KEYS_MOST)
		return -ENOMSG;
	if ((size_t)nla_len(tb[TCA_PEDIT_PARMS_EX]) <
	    sizeof(sel) + sel.nkeys * sizeof(struct tc_pedit_key))
		return -EBADMSG;
	ret->count = sel.nkeys;
	for (size_t i = 0; i < ret->count; i++) {
		struct tc_pedit_key key;

		memcpy(&key, at + sizeof(sel) + i * sizeof(key), sizeof(key));
		if (key.at || key.offmask || key.shift)
			return -ENOMSG; /* an offset taken from the frame itself */
		ret->keys[i].offset = key.off;
		memcpy(ret->keys[i].mask, &key.mask, 4);
		memcpy(ret->keys[i].value, &key.val, 4);
	}
	return read_keys_ex(tb[TCA_PEDIT_KEYS_EX], ret);
}

static bool edit_equal(const struct edit *a, const struct edit *b)
{
	if (a->header != b->header || a->command != b->command || a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->keys[i].offset != b->keys[i].offset ||
		    memcmp(a->keys[i].mask, b->keys[i].mask, 4) != 0 ||
		    memcmp(a->keys[i].value, b->keys[i].value, 4) != 0)
			return false;
	return true;
}

/* Tries the edits swd writes, with the address that would stand at their place, and compares. */
static int pedit_parse(const struct nlattr *options, const struct codec_names *names,
		       struct action *ret)
{
	struct edit found = { 0 }, ours;
	int r = read_edit(options, &found);

	if (r < 0)
		return r;
	if (found.count == 2) {
		uint8_t dst[6], src[6];

		memcpy(dst, found.keys[0].value, 4);
		memcpy(dst + 4, found.keys[1].value, 2);
		ours = edit_dst(dst);
		if (edit_equal(&found, &ours)) {
			ret->kind = ACTION_SET_DST;
			memcpy(ret->mac, dst, sizeof(dst));
			return 0;
		}
		memcpy(src, found.keys[0].value + 2, 2);
		memcpy(src + 2, found.keys[1].value, 4);
		ours = edit_src(src);
		if (edit_equal(&found, &ours)) {
			ret->kind = ACTION_SET_SRC;
			memcpy(ret->mac, src, sizeof(src));
			return 0;
		}
		return -ENOMSG;
	}
	for (uint32_t v6 = 0; v6 <= 1; v6++) {
		ours = edit_ttl(v6 != 0);
		if (edit_equal(&found, &ours)) {
			ret->kind = ACTION_DEC_TTL;
			ret->ttl.family_v6 = v6;
			return 0;
		}
	}
	return -ENOMSG;
}

const struct action_codec action_pedit = { "pedit", TCA_PEDIT_TM, TCA_PEDIT_PARMS_EX, pedit_put,
					   pedit_parse };
