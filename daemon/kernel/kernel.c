// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The door, its reading half: opening, dumps, single objects, names. It joins sockets (rtnl.h),
 * codecs (codec.h), the table of names (devices.h) and what ethtool and sysfs add (facts.h).
 */
#include "daemon/kernel/kernel.h"

#include <errno.h>
#include <linux/rtnetlink.h>

#include "daemon/kernel/room.h"

#define REQUEST_BUFFER (4 * 1024 * 1024)
#define QUERY_BUFFER (1024 * 1024)
#define EVENT_BUFFER (16 * 1024 * 1024)

/* ---- names, as the codecs ask for them ---- */

static uint32_t name_to_index(const char *name, void *data)
{
	struct kernel *k = data;

	return devices_index_now(k->devices, facts_fd(k->facts), name);
}

static const char *index_to_name(uint32_t ifindex, void *data)
{
	struct kernel *k = data;
	const char *name = devices_name(k->devices, ifindex);

	if (name || ifindex == 0)
		return name;
	/* Not kept: whether it is news to the engine only a dump or an event may decide. */
	return devices_name_now(facts_fd(k->facts), ifindex, k->name) ? k->name : NULL;
}

const char *kernel_dev_name(const struct kernel *k, uint32_t ifindex)
{
	return devices_name(k->devices, ifindex);
}

uint32_t kernel_dev_index(const struct kernel *k, const char *name)
{
	return devices_index(k->devices, name);
}

/* ---- birth and death ---- */

static int open_events(struct kernel *k)
{
	static const uint32_t groups[] = {
		RTNLGRP_LINK,
		RTNLGRP_IPV4_IFADDR,
		RTNLGRP_IPV6_IFADDR,
		RTNLGRP_TC,
	};
	int r = rtnl_open(NETLINK_ROUTE, EVENT_BUFFER, &k->events);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(groups); i++)
		r = rtnl_join(k->events, groups[i]);
	return r;
}

int kernel_open(struct kernel **ret)
{
	_cleanup_(kernel_closep) struct kernel *k = calloc(1, sizeof(*k));
	_cleanup_(state_freep) struct state *links = NULL;
	int r;

	if (!k)
		return -ENOMEM;
	k->names = (struct codec_names){ name_to_index, index_to_name, k, 0 };
	k->devices = devices_new();
	k->moulds = moulds_new();
	links = state_new();
	if (!k->devices || !k->moulds || !links)
		return -ENOMEM;
	r = facts_new(&k->facts);
	/* Events first: what changes while we read the table is told. */
	if (r == 0)
		r = open_events(k);
	if (r == 0)
		r = rtnl_open(NETLINK_ROUTE, REQUEST_BUFFER, &k->request);
	if (r == 0)
		r = rtnl_open(NETLINK_ROUTE, QUERY_BUFFER, &k->query);
	if (r == 0)
		r = rtnl_open(NETLINK_ROUTE, QUERY_BUFFER, &k->slow);
	if (r == 0)
		r = kernel_dump(k, KIND_PORT, 0, links);
	if (r < 0)
		return r;
	r = bypass_genl_open(&k->bypass);
	if (r == 0 || r == -EOPNOTSUPP)
		r = tx_open(&k->tx);
	if (r < 0)
		return r;
	*ret = take(k);
	return 0;
}

void kernel_close(struct kernel *k)
{
	if (!k)
		return;
	bypass_genl_close(k->bypass);
	tx_close(k->tx);
	rtnl_close(k->request);
	rtnl_close(k->query);
	rtnl_close(k->slow);
	rtnl_close(k->events);
	facts_free(k->facts);
	devices_free(k->devices);
	moulds_free(k->moulds);
	while (k->pooled)
		nlmsg_free(k->pool[--k->pooled]);
	free(k);
}

void kernel_set_instance(struct kernel *k, uint32_t instance)
{
	k->names.instance = instance;
	moulds_clear(k->moulds);
}

void kernel_counts(const struct kernel *k, struct kernel_counts *ret)
{
	*ret = (struct kernel_counts){
		.sends = k->request->sends,
		.messages = k->request->messages,
		.refused = k->refused,
		.dumps = k->query->dumps + k->slow->dumps,
		.events = k->event_count,
		.overruns = k->events->overruns,
	};
}

/* ---- messages ---- */

static struct nl_msg *new_message(struct kernel *k, size_t size)
{
	struct nl_msg *m;

	if (size != CODEC_MESSAGE_BYTES || k->pooled == 0)
		return nlmsg_alloc_size(size);
	m = k->pool[--k->pooled];
	memset(nlmsg_hdr(m), 0, NLMSG_HDRLEN);
	nlmsg_hdr(m)->nlmsg_len = NLMSG_HDRLEN;
	return m;
}

void kernel_message_done(struct kernel *k, struct nl_msg *m)
{
	if (m && k->pooled < ARRAY_SIZE(k->pool) && nlmsg_get_max_size(m) == CODEC_MESSAGE_BYTES)
		k->pool[k->pooled++] = m;
	else
		nlmsg_free(m);
}

int kernel_message(struct kernel *k, int (*put)(struct nl_msg *m, void *data), void *data,
		   struct nl_msg **ret)
{
	static const size_t sizes[] = { CODEC_MESSAGE_BYTES, CODEC_MESSAGE_BYTES_MOST };
	int r = -EMSGSIZE;

	for (size_t i = 0; r == -EMSGSIZE && i < ARRAY_SIZE(sizes); i++) {
		struct nl_msg *m = new_message(k, sizes[i]);

		if (!m)
			return -ENOMEM;
		r = put(m, data);
		if (r == 0)
			*ret = m;
		else
			kernel_message_done(k, m);
	}
	return r;
}

int kernel_parse(struct kernel *k, const struct nlmsghdr *h, struct object **ret)
{
	const struct codec *codec = codec_of_message(h->nlmsg_type);
	int r;

	*ret = NULL;
	r = codec ? codec->parse(h, &k->names, ret) : 0;
	/* What can't be read must not pass for the kernel's word that nothing is there. */
	return r < 0 && r != -ENOMEM ? -EBADMSG : r;
}

static bool is_link(const struct object *o)
{
	return o->kind == KIND_PORT || o->kind == KIND_VLAN;
}

static const struct link_facts *facts_of(const struct object *o, const char **ret_name)
{
	if (o->kind == KIND_VLAN) {
		*ret_name = ((const struct vlan *)o)->name;
		return &((const struct vlan *)o)->facts;
	}
	*ret_name = ((const struct port *)o)->name;
	return &((const struct port *)o)->facts;
}

/* ---- dumps ---- */

struct collection {
	struct kernel *k;
	struct object **list;
	size_t count, space;
};

static void collection_drop(void *data)
{
	struct collection *c = data;

	for (size_t i = 0; i < c->count; i++)
		object_unref(c->list[i]);
	c->count = 0;
}

static void collection_clear(struct collection *c)
{
	collection_drop(c);
	free(c->list);
}

static int collect(const struct nlmsghdr *h, void *data)
{
	struct collection *c = data;
	_cleanup_object_ struct object *o = NULL;
	int r = kernel_parse(c->k, h, &o);

	if (r < 0 || !o)
		return r;
	if (o->kind == KIND_FILTER && !kernel_is_filter((struct filter *)o))
		return 0;
	r = grow(&c->list, &c->space, c->count, sizeof(*c->list));
	if (r < 0)
		return r;
	c->list[c->count++] = take(o);
	return 0;
}

static int note_devices(struct kernel *k, const struct collection *c)
{
	devices_clear(k->devices);
	for (size_t i = 0; i < c->count; i++) {
		const char *name;
		const struct link_facts *facts = facts_of(c->list[i], &name);
		int r = devices_set(k->devices, facts->ifindex, name);

		if (r < 0)
			return r;
	}
	return 0;
}

struct dump_of {
	const struct codec *codec;
	uint32_t block;
	const struct filter *pref; /* this one alone, or NULL */
};

static int put_dump(struct nl_msg *m, void *data)
{
	const struct dump_of *d = data;

	return d->pref ? codec_dump_pref(m, d->pref) : d->codec->dump(m, d->block);
}

static int dump(struct kernel *k, enum kind kind, const struct dump_of *what, struct state *into)
{
	_cleanup_(collection_clear) struct collection c = { .k = k };
	_cleanup_(nl_msg_freep) struct nl_msg *m = NULL;
	int r = kernel_message(k, put_dump, (void *)(uintptr_t)what, &m);

	if (r < 0)
		return r;
	r = rtnl_dump(k->query, m, collection_drop, collect, &c);
	/* A block that is not there holds nothing, whatever words a kernel finds for that. */
	if (kind == KIND_FILTER && (r == -ENOENT || r == -EINVAL))
		return 0;
	if (r == 0 && (kind == KIND_PORT || kind == KIND_VLAN))
		r = note_devices(k, &c);
	for (size_t i = 0; r == 0 && i < c.count; i++) {
		struct object *o = c.list[i];

		if (is_link(o))
			facts_fill(k->facts, o);
		if (kind == KIND_VLAN && o->kind != KIND_VLAN)
			continue;
		/* A dump may tell an object twice; the later word holds. */
		r = state_put(into, o);
		if (r == 0)
			c.list[i] = NULL;
	}
	return r;
}

int kernel_dump(struct kernel *k, enum kind kind, uint32_t block, struct state *into)
{
	struct dump_of what = { codec_of(kind), block, NULL };

	return what.codec ? dump(k, kind, &what, into) : 0;
}

int kernel_dump_pref(struct kernel *k, const struct filter *key, struct state *into)
{
	struct dump_of what = { codec_of(KIND_FILTER), key->block, key };

	return dump(k, KIND_FILTER, &what, into);
}

/* ---- single objects ---- */

struct get_of {
	const struct codec *codec;
	const struct object *key;
	const struct codec_names *names;
};

static int put_get(struct nl_msg *m, void *data)
{
	const struct get_of *g = data;

	return g->codec->get(m, g->key, g->names);
}

struct got {
	struct object *o;
	int error;
};

static void got(struct rtnl_call *call, const struct nlmsghdr *h, void *data)
{
	struct got *to = call->data;

	if (!to->o && to->error == 0)
		to->error = kernel_parse(data, h, &to->o);
}

static int get_from_dump(struct kernel *k, const struct object *key, struct object **ret)
{
	_cleanup_(state_freep) struct state *all = state_new();
	const void *o;
	int r;

	if (!all)
		return -ENOMEM;
	r = kernel_dump(k, (enum kind)key->kind, 0, all);
	if (r < 0)
		return r;
	o = state_find(all, key);
	if (!o)
		return -ENOENT;
	*ret = object_ref(o);
	return 0;
}

/* What the kernel says when the thing asked for is not there. */
static int absence(enum kind kind, int error)
{
	if (error == -ENODEV || error == -ENOENT || error == -EADDRNOTAVAIL)
		return -ENOENT;
	/*
	 * Filters: no such block, no such chain, or the pref is another protocol's or kind's.
	 * Qdiscs: the empty place has no handle. The requests themselves are well-formed.
	 */
	if (error == -EINVAL && (kind == KIND_FILTER || kind == KIND_QDISC))
		return -ENOENT;
	return error;
}

static int get_tx(struct kernel *k, const struct tx *key, struct object **ret)
{
	struct tx *t;
	int r = tx_read(k->tx, key->dev, (enum tx_part)key->part, &t);

	if (r == 0)
		*ret = &t->obj;
	return r;
}

int kernel_get(struct kernel *k, const struct object *key, struct object **ret)
{
	_cleanup_(nl_msg_freep) struct nl_msg *m = NULL;
	_cleanup_object_ struct object *o = NULL;
	struct get_of what = { codec_of((enum kind)key->kind), key, &k->names };
	struct got answer = { 0 };
	struct rtnl_call call = { .data = &answer };
	int r;

	if (key->kind == KIND_TX)
		return get_tx(k, (const struct tx *)key, ret);
	if (!what.codec)
		return -EOPNOTSUPP;
	if (!what.codec->get)
		return get_from_dump(k, key, ret);
	devices_doubt(k->devices);
	r = kernel_message(k, put_get, &what, &m);
	if (r < 0)
		return absence((enum kind)key->kind, r);
	call.msg = m;
	r = rtnl_exchange(k->query, &call, 1, got, k);
	free(call.words);
	o = answer.o;
	if (r < 0)
		return r;
	if (!call.answered)
		return -ETIMEDOUT;
	if (call.error < 0)
		return absence((enum kind)key->kind, call.error);
	if (answer.error < 0)
		return answer.error;
	if (!o || o->kind != key->kind)
		return -ENOENT;
	if (is_link(o))
		facts_fill(k->facts, o);
	*ret = take(o);
	return 0;
}

int kernel_read_bypass(struct kernel *k, uint32_t block, struct bypass_reading *ret)
{
	return k->bypass ? bypass_genl_read(k->bypass, block, ret) : -EOPNOTSUPP;
}
