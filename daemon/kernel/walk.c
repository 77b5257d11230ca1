// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The door, its slow half: the filters of one block in parts, on a socket of its own, since an
 * answer would stand behind all parts that are not fetched. A block of 100,000 filters takes a
 * second to tell.
 */
#include <errno.h>

#include "daemon/kernel/room.h"
#include "daemon/kernel/rtnl_send.h"

static int put_dump(struct nl_msg *m, void *data)
{
	return codec_of(KIND_FILTER)->dump(m, *(const uint32_t *)data);
}

int kernel_walk_begin(struct kernel *k, uint32_t block)
{
	struct nl_msg *m = NULL;
	int r;

	kernel_walk_end(k);
	r = kernel_message(k, put_dump, &block, &m);
	if (r < 0)
		return r;
	r = rtnl_dump_begin(k->slow, m, &k->walk);
	kernel_message_done(k, m);
	k->walking = r == 0;
	return r;
}

struct hand_on {
	struct kernel *k;
	kernel_filter_fn fn;
	void *data;
};

static int hand_on(const struct nlmsghdr *h, void *data)
{
	const struct hand_on *to = data;
	_cleanup_object_ struct object *o = NULL;
	int r = kernel_parse(to->k, h, &o);

	if (r < 0)
		return r;
	if (!o || !kernel_is_filter((struct filter *)o))
		return 0;
	return to->fn((struct filter *)o, to->data);
}

int kernel_walk_part(struct kernel *k, kernel_filter_fn fn, void *data)
{
	struct hand_on to = { k, fn, data };
	struct rtnl_taking *t = &k->walk;
	int r;

	if (!k->walking)
		return 0;
	r = rtnl_dump_part(k->slow, t, hand_on, &to);
	if (r == 0 && (t->interrupted || t->lost))
		r = -EAGAIN;
	if (r == 0)
		r = t->error;
	if (r == 0 && !t->done)
		return 1;
	kernel_walk_end(k);
	/* A block that is not there holds nothing, whatever words a kernel finds for that. */
	return r == -ENOENT || r == -EINVAL ? 0 : r;
}

void kernel_walk_end(struct kernel *k)
{
	/* Half-read, it would stand in the way of the next one. */
	if (k->walking && !k->walk.done)
		rtnl_reopen(k->slow);
	k->walking = false;
}
