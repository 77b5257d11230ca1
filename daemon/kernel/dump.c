// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dumps, whole or not at all. The kernel says NLM_F_DUMP_INTR when what it lists changed under it,
 * and it may say so first on the closing message; a part of such a dump is worth nothing. So the
 * parts are read to the end (a dump that is left half-read blocks the next one on its socket) and
 * thrown away.
 */
#include <errno.h>
#include <time.h>

#include "daemon/kernel/rtnl_send.h"

#define PAUSE_MS 4 /* before the first retake; doubles */
/* One dump's parts; a kernel that never says DONE shall not hold us. Some 16 GiB of filters. */
#define DATAGRAMS_MOST (1u << 19)

static void message(struct rtnl *s, struct rtnl_taking *t, const struct nlmsghdr *h,
		    rtnl_part_fn part, void *data)
{
	_cleanup_free_ char *words = NULL;
	int error = 0;

	if (h->nlmsg_seq != s->seq || h->nlmsg_pid != s->port) {
		s->strays++;
		return;
	}
	if (h->nlmsg_flags & NLM_F_DUMP_INTR)
		t->interrupted = true;
	switch (h->nlmsg_type) {
	case NLMSG_NOOP:
		return;
	case NLMSG_OVERRUN:
		t->lost = true;
		return;
	case NLMSG_DONE:
	case NLMSG_ERROR:
		/* An old kernel's DONE may come without a number. */
		if (rtnl_ack_parse(h, &error, &words) == 0 && error < 0 && t->error == 0)
			t->error = error;
		t->done = true;
		return;
	}
	if (t->error == 0 && !t->interrupted && !t->lost)
		t->error = part(h, data);
}

int rtnl_dump_begin(struct rtnl *s, struct nl_msg *msg, struct rtnl_taking *ret)
{
	struct nlmsghdr *h = nlmsg_hdr(msg);
	int r;

	*ret = (struct rtnl_taking){ 0 };
	h->nlmsg_seq = ++s->seq;
	h->nlmsg_pid = s->port;
	h->nlmsg_flags |= NLM_F_REQUEST | NLM_F_DUMP;
	r = rtnl_send(s, &msg, 1);
	s->dumps += r == 0;
	return r;
}

int rtnl_dump_part(struct rtnl *s, struct rtnl_taking *t, rtnl_part_fn part, void *data)
{
	size_t size;
	int left, r = rtnl_recv(s, s->timeout_ms, &size);

	if (r == -ENOBUFS || r == -EMSGSIZE) {
		t->lost = true;
		return 0;
	}
	if (r < 0 || t->parts++ >= DATAGRAMS_MOST)
		return r < 0 && r != -EAGAIN ? r : -ETIMEDOUT;
	left = (int)size;
	for (struct nlmsghdr *h = s->buffer; nlmsg_ok(h, left); h = nlmsg_next(h, &left))
		message(s, t, h, part, data);
	return 0;
}

static void pause_before(unsigned int retake)
{
	struct timespec ts = { .tv_nsec = (PAUSE_MS * 1000000L) << retake };

	nanosleep(&ts, NULL);
}

int rtnl_dump(struct rtnl *s, struct nl_msg *msg, rtnl_restart_fn restart, rtnl_part_fn part,
	      void *data)
{
	for (unsigned int retake = 0; retake <= RTNL_RETAKES; retake++) {
		struct rtnl_taking t;
		int r;

		if (retake > 0)
			pause_before(retake - 1);
		restart(data);
		r = rtnl_dump_begin(s, msg, &t);
		if (r < 0)
			return r;
		while (r == 0 && !t.done)
			r = rtnl_dump_part(s, &t, part, data);
		if (r < 0) {
			/* Half-read: the next dump would be refused as long as this one is open. */
			int reopened = rtnl_reopen(s);

			if (!t.lost || reopened < 0)
				return r;
			continue;
		}
		if (t.lost || t.interrupted)
			continue;
		return t.error;
	}
	restart(data);
	return -EAGAIN;
}
