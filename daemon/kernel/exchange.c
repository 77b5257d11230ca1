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
	bool lost; /* messages of the kernel */
	uint64_t deadline;
	uint32_t first;
	rtnl_answer_fn fn;
	void *data;
};

/*
 * What is echoed needs no word of its own that it was done, unless it is the last: the kernel takes
 * messages in order, and an error is always told.
 */
static bool is_silent(const struct exchange *x, size_t i)
{
	return !(nlmsg_hdr(x->calls[i].msg)->nlmsg_flags & NLM_F_ACK);
}

static void end_call(struct exchange *x, struct rtnl_call *call)
{
	call->answered = true;
	x->open--;
}

/* The last is answered. What is open among the silent ones was done, and there was no room for its
 * echo; if answers were lost, nothing is known of it. */
static void end_silent(struct exchange *x)
{
	for (size_t i = 0; i < x->n && !x->lost; i++) {
		if (x->calls[i].answered || !is_silent(x, i))
			continue;
		x->calls[i].error = 0;
		end_call(x, &x->calls[i]);
	}
}

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
		end_call(x, call);
		if (i == x->n - 1)
			end_silent(x);
	} else if (h->nlmsg_type >= NLMSG_MIN_TYPE) {
		if (x->fn)
			x->fn(call, h, x->data);
		if (is_silent(x, i))
			end_call(x, call);
	}
}

static void lost(struct exchange *x)
{
	uint64_t soon = now_monotonic_ns() + AFTER_LOSS_MS * 1000000ULL;

	x->lost = true;
	x->deadline = MIN(x->deadline, soon);
}

static void read_part(struct exchange *x, const struct iovec *part)
{
	int left = (int)part->iov_len;

	if (left == 0)
		lost(x);
	for (struct nlmsghdr *h = part->iov_base; nlmsg_ok(h, left); h = nlmsg_next(h, &left))
		answer(x, h);
}

static int read_answers(struct exchange *x)
{
	struct iovec parts[RTNL_PARTS];

	while (x->open > 0) {
		size_t n = 0;
		int r = rtnl_recv_parts(x->s, x->deadline, parts, &n);

		if (r == -ENOBUFS)
			lost(x);
		else if (r < 0)
			return r == -EAGAIN ? 0 : r;
		for (size_t i = 0; i < n; i++)
			read_part(x, &parts[i]);
	}
	return 0;
}

int rtnl_exchange(struct rtnl *s, struct rtnl_call *calls, size_t n, rtnl_answer_fn fn, void *data)
{
	struct exchange x = { .s = s,
			      .calls = calls,
			      .n = n,
			      .open = n,
			      .first = s->seq + 1,
			      .fn = fn,
			      .data = data };
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
		h->nlmsg_flags |= NLM_F_REQUEST;
		if (i == n - 1 || !(h->nlmsg_flags & NLM_F_ECHO))
			h->nlmsg_flags |= NLM_F_ACK;
		msgs[i] = calls[i].msg;
	}
	r = rtnl_send(s, msgs, n);
	for (size_t i = 0; i < n; i++) {
		calls[i].sent = r == 0;
		calls[i].error = r;
	}
	if (r < 0)
		return r;
	x.deadline = now_monotonic_ns() + (uint64_t)s->timeout_ms * 1000000;
	return read_answers(&x);
}
