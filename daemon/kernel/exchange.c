// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests and their answers. The sequence numbers of one exchange follow each other, so that the
 * call an answer belongs to is found by subtraction; an answer outside that range is late, is
 * counted and dropped. After a time-out the outcome is unknown, and the caller reads back.
 */
#include <errno.h>

#include "daemon/kernel/rtnl_send.h"

/* How long to look on once messages were lost: the kernel answers within the send, so all there is
 * is there. */
#define AFTER_LOSS_MS 50

struct exchange {
	struct rtnl *s;
	struct rtnl_call *calls;
	size_t n, open;
	uint32_t first;
	rtnl_answer_fn fn;
	void *data;
};

static void answer(struct exchange *x, const struct nlmsghdr *h)
{
	uint32_t i = h->nlmsg_seq - x->first;
	struct rtnl_call *call;

	if (i >= x->n || h->nlmsg_pid != x->s->port || x->calls[i].answered) {
		x->s->strays++;
		return;
	}
	call = &x->calls[i];
	if (h->nlmsg_type == NLMSG_ERROR) {
		if (rtnl_ack_parse(h, &call->error, &call->words) < 0)
			return;
		call->answered = true;
		x->open--;
	} else if (h->nlmsg_type >= NLMSG_MIN_TYPE && x->fn) {
		x->fn(call, h, x->data);
	}
}

static int read_answers(struct exchange *x)
{
	uint64_t deadline = now_monotonic_ns() + (uint64_t)x->s->timeout_ms * 1000000;
	bool lost = false;

	while (x->open > 0) {
		uint64_t now = now_monotonic_ns();
		size_t size;
		int left, r;

		if (now >= deadline)
			return 0;
		left = (int)((deadline - now + 999999) / 1000000);
		r = rtnl_recv(x->s, lost ? MIN(left, AFTER_LOSS_MS) : left, &size);
		if (r == -ENOBUFS || r == -EMSGSIZE) {
			lost = true;
			continue;
		}
		if (r == -EAGAIN)
			return 0;
		if (r < 0)
			return r;
		left = (int)size;
		for (struct nlmsghdr *h = x->s->buffer; nlmsg_ok(h, left); h = nlmsg_next(h, &left))
			answer(x, h);
	}
	return 0;
}

int rtnl_exchange(struct rtnl *s, struct rtnl_call *calls, size_t n, rtnl_answer_fn fn, void *data)
{
	struct exchange x = { s, calls, n, n, s->seq + 1, fn, data };
	struct nl_msg *msgs[RTNL_BATCH];
	int r;

	if (n > RTNL_BATCH)
		return -E2BIG;
	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		struct nlmsghdr *h = nlmsg_hdr(calls[i].msg);

		h->nlmsg_seq = ++s->seq;
		h->nlmsg_pid = s->port;
		h->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
		msgs[i] = calls[i].msg;
	}
	r = rtnl_send(s, msgs, n);
	for (size_t i = 0; i < n; i++) {
		calls[i].sent = r == 0;
		calls[i].error = r;
	}
	if (r < 0)
		return r;
	return read_answers(&x);
}
