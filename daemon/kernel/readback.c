// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Is it still the one? See readback.h. A filter is provably ours by the cookie on its first action,
 * so whose it is decides, and not what it does: one of ours that somebody changed is ours to mend.
 */
#include "daemon/kernel/readback.h"

#include <errno.h>

#include "daemon/kernel/room.h"

struct look {
	struct kernel_request *r;
	struct object *now;
};

bool readback_needed(const struct kernel_request *r)
{
	return r->op != KERNEL_ADD && r->found && r->found->kind == KIND_FILTER;
}

bool readback_passed(const struct kernel_request *r)
{
	return r->outcome == KERNEL_NOT_SENT && r->error == -ECANCELED;
}

static int put_get(struct nl_msg *m, void *data)
{
	const struct look *l = data;

	return codec_of(KIND_FILTER)->get(m, l->r->found, NULL);
}

static void got(struct rtnl_call *call, const struct nlmsghdr *h, void *data)
{
	struct look *l = call->data;

	if (!l->now)
		kernel_parse(data, h, &l->now);
}

/* No such filter, chain, or block; or the pref is another protocol's or classifier's. */
static bool says_gone(int error)
{
	return error == -ENOENT || error == -EINVAL || error == -ENODEV;
}

static void settle(struct look *l, int error)
{
	const struct filter *seen = (const struct filter *)l->r->found;
	const struct filter *now = (const struct filter *)l->now;
	struct kernel_request *r = l->r;

	if (error == 0 && !now)
		error = -ENOENT;
	if (error < 0 && !says_gone(error)) {
		r->error = error;
		return;
	}
	if (error < 0) {
		/* A change of what is gone is sent, and the kernel says so in its own words. */
		if (r->op == KERNEL_REMOVE) {
			r->outcome = KERNEL_DONE;
			r->error = -ENOENT;
		}
		return;
	}
	if (now->obj.kind == KIND_FILTER && now->owner == seen->owner)
		return;
	r->error = -EEXIST;
	r->echo = take(l->now);
	r->outcome = r->op == KERNEL_REMOVE ? KERNEL_DONE : KERNEL_REFUSED;
	if (r->op != KERNEL_REMOVE)
		r->words = strdup("another's filter is in its place now, and stays");
}

static int ask(struct kernel *k, struct look *looks, struct rtnl_call *calls, size_t n)
{
	int r = rtnl_exchange(k->query, calls, n, got, k);

	for (size_t i = 0; i < n; i++) {
		int error = calls[i].answered ? calls[i].error : r < 0 ? r : -ETIMEDOUT;

		settle(&looks[i], error);
		object_unref(looks[i].now);
		free(calls[i].words);
		kernel_message_done(k, calls[i].msg);
	}
	return r;
}

int readback(struct kernel *k, struct kernel_request *list, size_t n)
{
	struct rtnl_call calls[RTNL_BATCH];
	struct look looks[RTNL_BATCH];
	size_t most = MIN(k->query->batch, (size_t)RTNL_BATCH), waiting = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct nl_msg *m = NULL;
		int e;

		if (!readback_needed(&list[i]))
			continue;
		looks[waiting] = (struct look){ .r = &list[i] };
		e = kernel_message(k, put_get, &looks[waiting], &m);
		if (e < 0) {
			list[i].error = e;
			continue;
		}
		calls[waiting] = (struct rtnl_call){ .msg = m, .data = &looks[waiting] };
		if (++waiting == most) {
			r = ask(k, looks, calls, waiting);
			waiting = 0;
		}
	}
	if (waiting) {
		int e = ask(k, looks, calls, waiting);

		r = r < 0 ? r : e;
	}
	return r;
}
