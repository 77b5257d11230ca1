// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The door, its listening half: multicast messages to events. Events are hints; when some are lost,
 * or one cannot be read, the word is LOST and the engine looks at everything again.
 */
#include <errno.h>
#include <linux/rtnetlink.h>

#include "daemon/kernel/room.h"

struct reader {
	struct kernel *k;
	kernel_event_fn fn;
	void *data;
	size_t messages;
	bool own;
};

static void tell(struct reader *rd, struct kernel_event e)
{
	rd->k->event_count++;
	e.own = rd->own;
	rd->fn(&e, rd->data);
}

static void link_news(struct reader *rd, struct object *o, bool gone)
{
	struct devices *d = rd->k->devices;
	const struct link_facts *facts;
	const char *name, *before;
	char old_name[IFNAMSIZ];
	bool renamed;

	if (o->kind == KIND_VLAN) {
		facts = &((struct vlan *)o)->facts;
		name = ((struct vlan *)o)->name;
	} else {
		facts = &((struct port *)o)->facts;
		name = ((struct port *)o)->name;
	}
	if (gone) {
		facts_forget(rd->k->facts, facts->ifindex);
		tell(rd, (struct kernel_event){ .type = KERNEL_EVENT_GONE, .object = o });
		devices_remove(d, facts->ifindex);
		return;
	}
	before = devices_name(d, facts->ifindex);
	renamed = before && !streq(before, name);
	if (renamed)
		COPY_NAME(old_name, before);
	if (devices_set(d, facts->ifindex, name) < 0) {
		tell(rd, (struct kernel_event){ .type = KERNEL_EVENT_LOST });
		return;
	}
	/* Who hears of the new one asks for it by name; then they are filled in. */
	if (renamed)
		facts_fill(rd->k->facts, o);
	tell(rd, (struct kernel_event){
			 .type = renamed ? KERNEL_EVENT_RENAMED : KERNEL_EVENT_NEW,
			 .object = o,
			 .old_name = renamed ? old_name : NULL,
		 });
}

/* NEW 1, GONE -1, and 0 for what is no news. */
static int meaning(uint16_t type)
{
	switch (type) {
	case RTM_NEWLINK:
	case RTM_NEWADDR:
	case RTM_NEWQDISC:
	case RTM_NEWTFILTER:
		return 1;
	case RTM_DELLINK:
	case RTM_DELADDR:
	case RTM_DELQDISC:
	case RTM_DELTFILTER:
	case RTM_DELCHAIN:
		return -1;
	}
	return 0;
}

/*
 * A new matchall (and cgroup) is told without its handle, its flags and its actions: mall_change()
 * hands out the pointer that was there before it (6.1 and 6.12). So the pref is asked for.
 */
static void nameless_filter(struct reader *rd, const struct filter *key)
{
	_cleanup_(state_freep) struct state *s = state_new();

	if (!s || kernel_dump_pref(rd->k, key, s) < 0) {
		tell(rd, (struct kernel_event){ .type = KERNEL_EVENT_LOST });
		return;
	}
	for (size_t i = 0; i < state_count(s, KIND_FILTER); i++)
		tell(rd, (struct kernel_event){
				 .type = KERNEL_EVENT_NEW,
				 .object = state_at(s, KIND_FILTER, i),
			 });
}

static int parse(const struct reader *rd, const struct nlmsghdr *h, struct object **ret)
{
	if (rd->own && (h->nlmsg_type == RTM_NEWTFILTER || h->nlmsg_type == RTM_DELTFILTER))
		return codec_parse_own_filter(h, ret);
	return kernel_parse(rd->k, h, ret);
}

static void message(struct reader *rd, const struct nlmsghdr *h)
{
	_cleanup_object_ struct object *o = NULL;
	int what = meaning(h->nlmsg_type);

	rd->messages++;
	if (what == 0)
		return;
	rd->own = h->nlmsg_pid != 0 && h->nlmsg_pid == rd->k->request->port;
	if (parse(rd, h, &o) < 0) {
		tell(rd, (struct kernel_event){ .type = KERNEL_EVENT_LOST });
		return;
	}
	if (!o)
		return;
	if (o->kind == KIND_PORT || o->kind == KIND_VLAN) {
		link_news(rd, o, what < 0);
		return;
	}
	if (what > 0 && o->kind == KIND_FILTER && ((struct filter *)o)->handle == 0) {
		nameless_filter(rd, (struct filter *)o);
		return;
	}
	if (what > 0 && o->kind == KIND_FILTER && !kernel_is_filter((struct filter *)o))
		return;
	tell(rd, (struct kernel_event){
			 .type = what > 0 ? KERNEL_EVENT_NEW : KERNEL_EVENT_GONE,
			 .object = o,
		 });
}

/* One datagram of the rtnl socket. 0, -EAGAIN when there is none, -errno. */
static int read_one(struct reader *rd)
{
	struct rtnl *s = rd->k->events;
	size_t size;
	int left, r = rtnl_recv(s, 0, &size);

	rd->own = false;
	if (r == -ENOBUFS || r == -EMSGSIZE) {
		rd->messages++;
		tell(rd, (struct kernel_event){ .type = KERNEL_EVENT_LOST });
		return 0;
	}
	if (r < 0)
		return r;
	left = (int)size;
	for (struct nlmsghdr *h = s->buffer; nlmsg_ok(h, left); h = nlmsg_next(h, &left))
		message(rd, h);
	return 0;
}

static void bypass_news(const struct bypass_reading *reading, void *data)
{
	struct reader *rd = data;

	rd->messages++;
	tell(rd, (struct kernel_event){
			 .type = reading ? KERNEL_EVENT_BYPASS : KERNEL_EVENT_LOST,
			 .reading = reading,
		 });
}

static void tx_news(const struct tx *now, void *data)
{
	struct reader *rd = data;

	rd->messages++;
	tell(rd, (struct kernel_event){
			 .type = now ? KERNEL_EVENT_NEW : KERNEL_EVENT_LOST,
			 .object = now ? &now->obj : NULL,
		 });
}

/* The families' news. 0, -EAGAIN or -errno. */
static int read_families(struct reader *rd, size_t most)
{
	int r = 0;

	while (rd->k->bypass && rd->messages < most && r == 0)
		r = bypass_genl_event(rd->k->bypass, bypass_news, rd);
	if (r < 0 && r != -EAGAIN)
		return r;
	for (r = 0; rd->messages < most && r == 0;)
		r = tx_event(rd->k->tx, tx_news, rd);
	return r;
}

int kernel_read_events(struct kernel *k, size_t most, kernel_event_fn fn, void *data,
		       bool *ret_more)
{
	struct reader rd = { .k = k, .fn = fn, .data = data };
	bool more = true;
	int r = 0;

	while (more && rd.messages < most) {
		r = read_one(&rd);
		more = r == 0;
	}
	if (r < 0 && r != -EAGAIN)
		return r;
	rd.own = false;
	r = read_families(&rd, most);
	if (r < 0 && r != -EAGAIN)
		return r;
	if (ret_more)
		*ret_more = rd.messages >= most;
	return 0;
}

size_t kernel_event_fds(const struct kernel *k, int fds[KERNEL_EVENT_FDS])
{
	size_t n = 0;

	fds[n++] = k->events->fd;
	if (k->bypass)
		fds[n++] = bypass_genl_fd(k->bypass);
	if (tx_fd(k->tx) >= 0)
		fds[n++] = tx_fd(k->tx);
	return n;
}

int kernel_ignore_own_filters(struct kernel *k)
{
	return rtnl_ignore(k->events, k->request->port, RTM_NEWTFILTER, RTM_DELTFILTER);
}
