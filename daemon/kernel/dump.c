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

struct taking {
	struct rtnl *s;
	rtnl_part_fn part;
	void *data;
	bool interrupted, lost, done;
	int error;
};

static void message(struct taking *t, const struct nlmsghdr *h)
{
	_cleanup_free_ char *words = NULL;
	int error = 0;

	if (h->nlmsg_seq != t->s->seq || h->nlmsg_pid != t->s->port) {
		t->s->strays++;
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
		t->error = t->part(h, t->data);
}

static int read_parts(struct taking *t)
{
	for (unsigned int n = 0; n < DATAGRAMS_MOST && !t->done; n++) {
		size_t size;
		int left, r = rtnl_recv(t->s, t->s->timeout_ms, &size);

		if (r == -ENOBUFS || r == -EMSGSIZE) {
			t->lost = true;
			continue;
		}
		if (r == -EAGAIN)
			return -ETIMEDOUT;
		if (r < 0)
			return r;
		left = (int)size;
		for (struct nlmsghdr *h = t->s->buffer; nlmsg_ok(h, left); h = nlmsg_next(h, &left))
			message(t, h);
	}
	return t->done ? 0 : -ETIMEDOUT;
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
		struct taking t = { .s = s, .part = part, .data = data };
		struct nlmsghdr *h = nlmsg_hdr(msg);
		int r;

		if (retake > 0)
			pause_before(retake - 1);
		restart(data);
		h->nlmsg_seq = ++s->seq;
		h->nlmsg_pid = s->port;
		h->nlmsg_flags |= NLM_F_REQUEST | NLM_F_DUMP;
		r = rtnl_send(s, &msg, 1);
		if (r < 0)
			return r;
		s->dumps++;
		r = read_parts(&t);
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
