// SPDX-License-Identifier: GPL-2.0-or-later
/* The list of actions in a filter: see actions.h. */
#include "daemon/kernel/actions.h"

#include <errno.h>
#include <linux/gen_stats.h>

#include "daemon/kernel/cookie.h"

static const struct action_codec *const codecs[] = {
	&action_gact, &action_mirred, &action_vlan,   &action_pedit,
	&action_csum, &action_police, &action_sample,
};

const struct action_codec *action_codec_of(enum action_kind kind)
{
	switch (kind) {
	case ACTION_PASS:
	case ACTION_DROP:
	case ACTION_TRAP:
	case ACTION_GOTO:
		return &action_gact;
	case ACTION_REDIRECT:
	case ACTION_MIRROR:
		return &action_mirred;
	case ACTION_VLAN_PUSH:
	case ACTION_VLAN_POP:
	case ACTION_VLAN_MODIFY:
		return &action_vlan;
	case ACTION_SET_SRC:
	case ACTION_SET_DST:
	case ACTION_DEC_TTL:
		return &action_pedit;
	case ACTION_CSUM:
		return &action_csum;
	case ACTION_POLICE:
		return &action_police;
	case ACTION_SAMPLE:
		return &action_sample;
	case ACTION_OTHER:
	case ACTION_COUNT_:
		break;
	}
	return NULL;
}

static const struct action_codec *codec_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(codecs); i++)
		if (streq(codecs[i]->name, name))
			return codecs[i];
	return NULL;
}

int action_head(const struct nlattr *parms, size_t size, struct action_head *ret)
{
	if (!parms || (size_t)nla_len(parms) < MAX(size, sizeof(*ret)))
		return -EBADMSG;
	memcpy(ret, nla_data(parms), sizeof(*ret));
	return 0;
}

/* ---- writing ---- */

static int put_one(struct nl_msg *m, int place, const struct action *a, const uint8_t *cookie,
		   const struct codec_names *names)
{
	const struct action_codec *codec = action_codec_of((enum action_kind)a->kind);
	struct nlattr *nest, *options;
	int r;

	if (!codec)
		return -EINVAL;
	nest = nla_nest_start(m, place);
	if (!nest || attr_put_text(m, TCA_ACT_KIND, codec->name) < 0)
		return -EMSGSIZE;
	if (cookie && attr_put(m, TCA_ACT_COOKIE, COOKIE_SIZE, cookie) < 0)
		return -EMSGSIZE;
	options = nla_nest_start(m, TCA_ACT_OPTIONS);
	if (!options)
		return -EMSGSIZE;
	r = codec->put(m, a, names);
	if (r < 0)
		return r;
	nla_nest_end(m, options);
	nla_nest_end(m, nest);
	return 0;
}

int actions_put(struct nl_msg *m, uint16_t attr, const struct filter *f,
		const struct codec_names *names)
{
	const struct action *list = filter_actions(f);
	struct nlattr *nest;
	int r;

	if (f->action_count > TCA_ACT_MAX_PRIO)
		return -E2BIG;
	if (f->action_count == 0)
		return 0;
	nest = nla_nest_start(m, attr);
	if (!nest)
		return -EMSGSIZE;
	for (size_t i = 0; i < f->action_count; i++) {
		const uint8_t *cookie = i == 0 && f->has_cookie ? f->cookie : NULL;

		/* Behind a final action nothing runs: such a list does not mean what it says. */
		if (i + 1 < f->action_count && action_is_final((enum action_kind)list[i].kind))
			return -EINVAL;
		r = put_one(m, (int)i + 1, &list[i], cookie, names);
		if (r < 0)
			return r;
	}
	return nla_nest_end(m, nest) < 0 ? -EMSGSIZE : 0;
}

/* ---- reading ---- */

static const struct nla_policy list_policy[TCA_ACT_MAX_PRIO + 1] = {
	[0 ... TCA_ACT_MAX_PRIO] = { .type = NLA_NESTED },
};

static const struct nla_policy action_policy[TCA_ACT_MAX + 1] = {
	[TCA_ACT_KIND] = { .type = NLA_STRING },
	[TCA_ACT_OPTIONS] = { .type = NLA_NESTED },
	[TCA_ACT_STATS] = { .type = NLA_NESTED },
	[TCA_ACT_COOKIE] = { .type = NLA_UNSPEC },
};

/*
 * A name for parameters we have no word for: stable as long as the action is the same one, so
 * without its reference counts and its times (a 32-byte struct tcf_t, in one of the first
 * attributes of every kind).
 */
static uint64_t hash_options(const struct nlattr *options)
{
	const struct nlattr *a = nla_data(options);
	int left = nla_len(options);
	uint64_t hash = HASH_START;

	for (; nla_ok(a, left); a = nla_next(a, &left)) {
		const uint8_t *data = nla_data(a);
		size_t len = (size_t)nla_len(a), from = 0;
		uint16_t type = (uint16_t)nla_type(a);

		if (type <= 6 && len == sizeof(struct tcf_t))
			continue;
		hash = hash_bytes(hash, &type, sizeof(type));
		if (type <= 3 && len >= sizeof(struct action_head)) {
			hash = hash_bytes(hash, data + 8, 4); /* the control action */
			from = sizeof(struct action_head);
		}
		hash = hash_bytes(hash, data + from, len - from);
	}
	return hash;
}

static void read_other(const char *name, const struct nlattr *options, struct action *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->kind = ACTION_OTHER;
	memcpy(ret->other.name, name, strnlen(name, sizeof(ret->other.name) - 1));
	if (options)
		ret->other.hash = hash_options(options);
}

static uint64_t get_u64(const void *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static void read_basic(const struct nlattr *a, uint64_t *ret_packets, uint64_t *ret_bytes)
{
	uint32_t packets;

	*ret_bytes = get_u64(attr_data(a));
	memcpy(&packets, (const uint8_t *)attr_data(a) + 8, sizeof(packets));
	*ret_packets = packets;
}

/* Walked in order: the 64-bit packet count stands behind the basic part it belongs to, twice alike.
 */
static void read_stats(const struct nlattr *nest, struct filter_stats *ret)
{
	size_t left = attr_len(nest);
	uint64_t *packets = NULL;

	for (const struct nlattr *a = attr_data(nest); attr_ok(a, left); a = attr_next(a, &left)) {
		unsigned int type = attr_type(a);

		if (type == TCA_STATS_BASIC && attr_len(a) >= 12) {
			read_basic(a, &ret->packets, &ret->bytes);
			packets = &ret->packets;
		} else if (type == TCA_STATS_BASIC_HW && attr_len(a) >= 12) {
			read_basic(a, &ret->hw_packets, &ret->hw_bytes);
			packets = &ret->hw_packets;
		} else if (type == TCA_STATS_PKT64 && attr_len(a) >= 8 && packets) {
			*packets = get_u64(attr_data(a));
		}
	}
}

static void read_last_used(const struct nlattr *options, unsigned int attr,
			   struct filter_stats *ret)
{
	size_t left = attr_len(options);

	/* struct tcf_t: install, lastuse, ... in hundredths of a second (USER_HZ), as ages. */
	for (const struct nlattr *a = attr_data(options); attr_ok(a, left); a = attr_next(a, &left))
		if (attr_type(a) == attr && attr_len(a) >= 16)
			ret->last_used_ms = get_u64((const uint8_t *)attr_data(a) + 8) * 10;
}

static int parse_one(const struct nlattr *nest, const struct codec_names *names, bool first,
		     struct actions_read *rd)
{
	struct action *to = &rd->list[rd->count];
	const struct action_codec *codec;
	struct nlattr *tb[TCA_ACT_MAX + 1];
	char name[IFNAMSIZ];
	int r = codec_attrs(tb, TCA_ACT_MAX, nest, action_policy);

	if (r < 0)
		return r;
	if (!codec_text(tb[TCA_ACT_KIND], name, sizeof(name)))
		return -EBADMSG;
	codec = codec_named(name);
	memset(to, 0, sizeof(*to));
	r = -ENOMSG;
	if (codec && tb[TCA_ACT_OPTIONS])
		r = codec->parse(tb[TCA_ACT_OPTIONS], names, to);
	if (r == -ENOMSG)
		read_other(name, tb[TCA_ACT_OPTIONS], to);
	else if (r < 0)
		return r;
	rd->count++;
	if (!first)
		return 0;
	if (tb[TCA_ACT_COOKIE] && nla_len(tb[TCA_ACT_COOKIE]) <= COOKIE_SIZE) {
		rd->has_cookie = true;
		memcpy(rd->cookie, nla_data(tb[TCA_ACT_COOKIE]),
		       (size_t)nla_len(tb[TCA_ACT_COOKIE]));
	}
	if (tb[TCA_ACT_STATS])
		read_stats(tb[TCA_ACT_STATS], &rd->stats);
	if (codec && tb[TCA_ACT_OPTIONS])
		read_last_used(tb[TCA_ACT_OPTIONS], (unsigned int)codec->tm_attr, &rd->stats);
	return 0;
}

int actions_parse(const struct nlattr *nest, const struct codec_names *names,
		  struct actions_read *ret)
{
	struct nlattr *tb[TCA_ACT_MAX_PRIO + 1];
	int r = codec_attrs(tb, TCA_ACT_MAX_PRIO, nest, list_policy);

	if (r < 0)
		return r;
	actions_none(ret);
	/* Places count from 1; some dumps of old kernels count from 0. */
	for (size_t i = 0; i <= TCA_ACT_MAX_PRIO; i++) {
		if (!tb[i] || ret->count == TCA_ACT_MAX_PRIO)
			continue;
		r = parse_one(tb[i], names, ret->count == 0, ret);
		if (r < 0)
			return r;
	}
	return 0;
}
