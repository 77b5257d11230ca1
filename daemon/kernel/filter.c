// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Filters of shared blocks: the key, and what is common to all classifiers. The kernel chooses when
 * a key is not whole (pref 0, handle 0), and deleting without a handle deletes the whole pref: so
 * swd never sends a key with a hole.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "daemon/kernel/actions.h"
#include "daemon/kernel/classifier.h"
#include "daemon/kernel/cookie.h"

static const struct nla_policy filter_policy[TCA_MAX + 1] = {
	[TCA_KIND] = { .type = NLA_STRING },
	[TCA_OPTIONS] = { .type = NLA_UNSPEC },
	[TCA_CHAIN] = { .type = NLA_U32 },
};

/* ---- writing ---- */

static int put_key(struct nl_msg *m, uint16_t type, uint16_t flags, const struct filter *f)
{
	struct tcmsg tcm = {
		.tcm_family = AF_UNSPEC,
		.tcm_ifindex = (int)TCM_IFINDEX_MAGIC_BLOCK,
		.tcm_handle = f->handle,
		.tcm_info = TC_H_MAKE((uint32_t)f->pref << 16, htons(f->protocol)),
	};
	int r;

	if (f->block == 0 || f->pref == 0 || f->handle == 0 || f->protocol == 0)
		return -EINVAL;
	tcm.tcm_block_index = f->block;
	r = codec_begin(m, type, flags, &tcm, sizeof(tcm));
	if (r == 0)
		r = codec_fit(attr_put_u32(m, TCA_CHAIN, f->chain));
	if (r == 0 && filter_type_name(f)[0])
		r = codec_fit(attr_put_text(m, TCA_KIND, filter_type_name(f)));
	return r;
}

static int put_options(struct nl_msg *m, const struct filter *f, const struct codec_names *names)
{
	struct nlattr *options = nla_nest_start(m, TCA_OPTIONS);
	int r = -EOPNOTSUPP;

	if (!options)
		return -EMSGSIZE;
	switch ((enum filter_type)f->type) {
	case FILTER_FLOWER:
		r = flower_put(m, f);
		if (r == 0)
			r = actions_put(m, TCA_FLOWER_ACT, f, names);
		break;
	case FILTER_MATCHALL:
		r = matchall_put(m, f);
		if (r == 0)
			r = actions_put(m, TCA_MATCHALL_ACT, f, names);
		break;
	case FILTER_OTHER:
		break;
	}
	if (r < 0)
		return r;
	/* Empty options are left out by nla_nest_end(), and then matchall refuses: it keeps them.
	 */
	return nla_nest_end_keep_empty(m, options) < 0 ? -EMSGSIZE : 0;
}

static int filter_put(struct nl_msg *m, enum kernel_op op, const struct object *wanted,
		      const struct object *found, const struct codec_names *names)
{
	const struct filter *w = (const struct filter *)wanted;
	int r = -EINVAL;

	switch (op) {
	case KERNEL_ADD:
		r = put_key(m, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ECHO, w);
		break;
	case KERNEL_CHANGE:
		/* Without NLM_F_CREATE: what is not there stays away, and says ENOENT. */
		r = put_key(m, RTM_NEWTFILTER, NLM_F_REPLACE | NLM_F_ECHO, w);
		break;
	case KERNEL_REMOVE:
		return put_key(m, RTM_DELTFILTER, 0, (const struct filter *)found);
	}
	return r < 0 ? r : put_options(m, w, names);
}

static int filter_dump(struct nl_msg *m, uint32_t block)
{
	struct tcmsg tcm = {
		.tcm_family = AF_UNSPEC,
		.tcm_ifindex = (int)TCM_IFINDEX_MAGIC_BLOCK,
	};

	tcm.tcm_block_index = block;
	return codec_begin(m, RTM_GETTFILTER, 0, &tcm, sizeof(tcm));
}

int codec_dump_pref(struct nl_msg *m, const struct filter *key)
{
	struct tcmsg tcm = {
		.tcm_family = AF_UNSPEC,
		.tcm_ifindex = (int)TCM_IFINDEX_MAGIC_BLOCK,
		.tcm_info = TC_H_MAKE((uint32_t)key->pref << 16, htons(key->protocol)),
	};
	int r;

	tcm.tcm_block_index = key->block;
	r = codec_begin(m, RTM_GETTFILTER, 0, &tcm, sizeof(tcm));
	return r < 0 ? r : codec_fit(attr_put_u32(m, TCA_CHAIN, key->chain));
}

static int filter_get(struct nl_msg *m, const struct object *key, const struct codec_names *names)
{
	return put_key(m, RTM_GETTFILTER, 0, (const struct filter *)key);
}

/* ---- reading ---- */

static enum filter_type type_of(const char *kind)
{
	if (streq(kind, "flower"))
		return FILTER_FLOWER;
	return streq(kind, "matchall") ? FILTER_MATCHALL : FILTER_OTHER;
}

static int read_options(const char *kind, const struct nlattr *options, uint16_t protocol,
			struct classified *ret)
{
	switch (type_of(kind)) {
	case FILTER_FLOWER:
		return flower_parse(options, protocol, ret);
	case FILTER_MATCHALL:
		return matchall_parse(options, ret);
	case FILTER_OTHER:
		break;
	}
	return classifier_other_parse(kind, options, ret);
}

/* Empties both, but for the long arrays that their counts say are empty. */
static void nothing_read(struct classified *c, struct actions_read *actions)
{
	c->match.size = 0;
	c->flags = c->in_hw_count = 0;
	c->actions = NULL;
	c->strange = false;
	actions_none(actions);
}

/* What all messages on filters begin with. 1; 0: none of ours; or -EBADMSG. */
static int read_head(const struct nlmsghdr *h, struct nlattr *tb[TCA_MAX + 1], struct tcmsg *ret,
		     char kind[16])
{
	int r = codec_message(h, sizeof(*ret), tb, TCA_MAX, filter_policy);

	if (r < 0)
		return r;
	memcpy(ret, nlmsg_data(h), sizeof(*ret));
	if ((uint32_t)ret->tcm_ifindex != TCM_IFINDEX_MAGIC_BLOCK || ret->tcm_block_index == 0)
		return 0;
	/* Messages on a chain or a whole pref have no options, some no kind. */
	if (!codec_text(tb[TCA_KIND], kind, 16) && tb[TCA_OPTIONS])
		return -EBADMSG;
	return 1;
}

static void set_key(struct filter *f, const struct tcmsg *tcm, const struct nlattr *chain)
{
	f->block = tcm->tcm_block_index;
	f->chain = chain ? nla_get_u32(chain) : 0;
	f->pref = (uint16_t)(TC_H_MAJ(tcm->tcm_info) >> 16);
	f->protocol = ntohs(TC_H_MIN(tcm->tcm_info));
	f->handle = tcm->tcm_handle;
}

static int filter_parse(const struct nlmsghdr *h, const struct codec_names *names,
			struct object **ret)
{
	struct nlattr *tb[TCA_MAX + 1];
	struct actions_read actions;
	struct classified c;
	struct filter *f;
	struct tcmsg tcm;
	char kind[16];
	int r = read_head(h, tb, &tcm, kind);

	*ret = NULL;
	if (r <= 0)
		return r;
	nothing_read(&c, &actions);
	r = 0;
	if (tb[TCA_OPTIONS])
		r = read_options(kind, tb[TCA_OPTIONS], ntohs(TC_H_MIN(tcm.tcm_info)), &c);
	if (r == 0 && c.actions)
		r = actions_parse(c.actions, names, &actions);
	/* Somebody's filter that we cannot read is there all the same, and may need software. */
	if (r < 0) {
		nothing_read(&c, &actions);
		c.strange = true;
	}
	/* A filter with keys we have no words for keeps its name and shows no match at all. */
	if (c.strange)
		c.match.size = 0;
	f = filter_new(match_view(&c.match), actions.list, actions.count);
	if (!f)
		return -ENOMEM;
	set_key(f, &tcm, tb[TCA_CHAIN]);
	/* Before Linux 6.6 what is told of a chain has memory of the kernel's in the pref's place.
	 */
	if (h->nlmsg_type == RTM_DELCHAIN)
		f->pref = f->protocol = 0;
	f->type = c.strange ? FILTER_OTHER : type_of(kind);
	COPY_NAME(f->other, f->type == FILTER_OTHER ? kind : "");
	f->flags = c.flags;
	f->in_hw_count = c.in_hw_count;
	f->has_cookie = actions.has_cookie;
	memcpy(f->cookie, actions.cookie, sizeof(f->cookie));
	f->owner = f->has_cookie && cookie_is_ours(f->cookie, names->instance) ? OWNER_OURS
									       : OWNER_FOREIGN;
	f->stats = actions.stats;
	*ret = &f->obj;
	return 0;
}

static uint32_t read_flags(const struct nlattr *options, unsigned int attr)
{
	size_t left = attr_len(options);

	for (const struct nlattr *a = attr_data(options); attr_ok(a, left); a = attr_next(a, &left))
		if (attr_type(a) == attr && attr_len(a) >= sizeof(uint32_t))
			return nla_get_u32((struct nlattr *)(uintptr_t)a);
	return 0;
}

int codec_parse_own_filter(const struct nlmsghdr *h, struct object **ret)
{
	struct nlattr *tb[TCA_MAX + 1];
	struct filter *f;
	struct tcmsg tcm;
	char kind[16];
	int r = read_head(h, tb, &tcm, kind);

	*ret = NULL;
	if (r <= 0)
		return r;
	f = filter_new((struct match_view){ 0 }, NULL, 0);
	if (!f)
		return -ENOMEM;
	set_key(f, &tcm, tb[TCA_CHAIN]);
	f->type = type_of(kind);
	COPY_NAME(f->other, f->type == FILTER_OTHER ? kind : "");
	f->owner = OWNER_OURS;
	if (tb[TCA_OPTIONS] && f->type != FILTER_OTHER)
		f->flags =
			read_flags(tb[TCA_OPTIONS], f->type == FILTER_FLOWER ? TCA_FLOWER_FLAGS
									     : TCA_MATCHALL_FLAGS);
	*ret = &f->obj;
	return 0;
}

const struct codec codec_filter = { filter_put, filter_dump, filter_get, filter_parse };
