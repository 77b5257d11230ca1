// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests, answers and dumps against a peer of ours in the kernel's place: what arrives is written
 * into a socket pair before the call, since sequence numbers can be foreseen.
 */
#include <setjmp.h>
#include <stddef.h>
#include <stdarg.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <sys/socket.h>

#include "daemon/kernel/rtnl.h"

#define PORT 4711

struct peer {
	struct rtnl *s;
	int fd; /* the kernel's end */
};

static int setup(void **state)
{
	struct peer *p = calloc(1, sizeof(*p));
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	p->fd = fds[1];
	assert_int_equal(rtnl_wrap(fds[0], PORT, &p->s), 0);
	p->s->timeout_ms = 30;
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct peer *p = *state;

	rtnl_close(p->s);
	close(p->fd);
	free(p);
	return 0;
}

/* ---- what the kernel says ---- */

struct words {
	size_t size;
	uint8_t bytes[8192] __attribute__((aligned(8)));
};

static struct nlmsghdr *say(struct words *w, uint16_t type, uint16_t flags, uint32_t seq,
			    uint32_t port, const void *data, size_t size)
{
	struct nlmsghdr *h = (struct nlmsghdr *)(void *)(w->bytes + w->size);

	*h = (struct nlmsghdr){
		.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + size),
		.nlmsg_type = type,
		.nlmsg_flags = flags,
		.nlmsg_seq = seq,
		.nlmsg_pid = port,
	};
	if (size > 0)
		memcpy(h + 1, data, size);
	w->size += NLMSG_ALIGN(h->nlmsg_len);
	return h;
}

static void say_ack(struct words *w, uint32_t seq, int error)
{
	struct nlmsgerr e = { .error = error, .msg = { .nlmsg_len = 200, .nlmsg_seq = seq } };

	say(w, NLMSG_ERROR, NLM_F_CAPPED, seq, PORT, &e, sizeof(e));
}

static void say_done(struct words *w, uint16_t flags, uint32_t seq, int error)
{
	say(w, NLMSG_DONE, flags | NLM_F_MULTI, seq, PORT, &error, sizeof(error));
}

static void deliver(struct peer *p, struct words *w)
{
	assert_int_equal(send(p->fd, w->bytes, w->size, 0), w->size);
	w->size = 0;
}

static struct nl_msg *request(void)
{
	return nlmsg_alloc_simple(RTM_NEWTFILTER, 0);
}

static void clear(struct rtnl_call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		nlmsg_free(calls[i].msg);
		free(calls[i].words);
	}
}

/* ---- answers ---- */

static void answers_find_their_requests(void **state)
{
	struct peer *p = *state;
	struct rtnl_call calls[3] = { { .msg = request() },
				      { .msg = request() },
				      { .msg = request() } };
	struct words w = { 0 };

	say_ack(&w, 3, -EEXIST);
	say_ack(&w, 1, 0);
	deliver(p, &w);
	say_ack(&w, 2, -EOPNOTSUPP);
	deliver(p, &w);
	assert_int_equal(rtnl_exchange(p->s, calls, 3, NULL, NULL), 0);
	assert_true(calls[0].answered && calls[1].answered && calls[2].answered);
	assert_int_equal(calls[0].error, 0);
	assert_int_equal(calls[1].error, -EOPNOTSUPP);
	assert_int_equal(calls[2].error, -EEXIST);
	assert_int_equal(p->s->sends, 1);
	assert_int_equal(p->s->messages, 3);
	clear(calls, 3);
}

static void one_send_holds_all_messages(void **state)
{
	struct peer *p = *state;
	struct rtnl_call calls[RTNL_BATCH] = { 0 };
	uint8_t got[65536] __attribute__((aligned(8)));
	struct words w = { 0 };
	ssize_t size;
	int left, n = 0;

	for (uint32_t i = 0; i < RTNL_BATCH; i++) {
		calls[i].msg = request();
		say_ack(&w, i + 1, 0);
	}
	deliver(p, &w);
	assert_int_equal(rtnl_exchange(p->s, calls, RTNL_BATCH, NULL, NULL), 0);
	size = recv(p->fd, got, sizeof(got), 0);
	left = (int)size;
	for (struct nlmsghdr *h = (void *)got; nlmsg_ok(h, left); h = nlmsg_next(h, &left), n++) {
		assert_int_equal(h->nlmsg_seq, n + 1);
		assert_int_equal(h->nlmsg_pid, PORT);
		assert_true(h->nlmsg_flags & NLM_F_ACK);
	}
	assert_int_equal(n, RTNL_BATCH);
	clear(calls, RTNL_BATCH);
}

/* A times out; its answer comes while B waits. */
static void nl_07_a_late_answer_is_nobodys(void **state)
{
	struct peer *p = *state;
	struct rtnl_call a = { .msg = request() }, b = { .msg = request() };
	struct words w = { 0 };

	assert_int_equal(rtnl_exchange(p->s, &a, 1, NULL, NULL), 0);
	assert_true(a.sent);
	assert_false(a.answered); /* unknown, and not an error of the kernel's */

	say_ack(&w, 1, -ENOSPC);
	deliver(p, &w);
	say_ack(&w, 2, 0);
	deliver(p, &w);
	assert_int_equal(rtnl_exchange(p->s, &b, 1, NULL, NULL), 0);
	assert_true(b.answered);
	assert_int_equal(b.error, 0);
	assert_int_equal(p->s->strays, 1);
	clear(&a, 1);
	clear(&b, 1);
}

static void nl_07_what_is_not_for_us_is_dropped(void **state)
{
	struct peer *p = *state;
	struct rtnl_call a = { .msg = request() };
	struct nlmsgerr e = { .error = -EPERM };
	struct words w = { 0 };

	say(&w, RTM_NEWTFILTER, 0, 0, 0, NULL, 0); /* an event */
	say(&w, NLMSG_ERROR, 0, 1, PORT + 1, &e, sizeof(e));
	say(&w, NLMSG_ERROR, 0, 1, PORT, &e, 2); /* cut short */
	say_ack(&w, 1, 0);
	say_ack(&w, 1, -EPERM); /* a second answer */
	deliver(p, &w);
	assert_int_equal(rtnl_exchange(p->s, &a, 1, NULL, NULL), 0);
	assert_true(a.answered);
	assert_int_equal(a.error, 0);
	assert_int_equal(p->s->strays, 3);
	clear(&a, 1);
}

static void words_after_ack(void **state, uint16_t flags, size_t request_size)
{
	struct peer *p = *state;
	struct rtnl_call a = { .msg = request() };
	struct words w = { 0 };
	uint8_t body[256] = { 0 };
	struct nlmsgerr e = { .error = -EINVAL,
			      .msg.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + request_size) };
	struct nlattr attr = { .nla_len = 4 + 9, .nla_type = NLMSGERR_ATTR_MSG };
	size_t at = sizeof(e) + (flags & NLM_F_CAPPED ? 0 : request_size);

	memcpy(body, &e, sizeof(e));
	memcpy(body + at, &attr, sizeof(attr));
	memcpy(body + at + 4, "no room!", 9);
	say(&w, NLMSG_ERROR, flags | NLM_F_ACK_TLVS, 1, PORT, body, at + 16);
	deliver(p, &w);
	assert_int_equal(rtnl_exchange(p->s, &a, 1, NULL, NULL), 0);
	assert_int_equal(a.error, -EINVAL);
	assert_string_equal(a.words, "no room!");
	clear(&a, 1);
}

static void the_kernels_words_are_kept(void **state)
{
	words_after_ack(state, NLM_F_CAPPED, 200);
}

static void words_stand_behind_the_request(void **state)
{
	words_after_ack(state, 0, 100);
}

static void hostile_words_are_harmless(void **state)
{
	struct peer *p = *state;
	struct rtnl_call a = { .msg = request() };
	struct words w = { 0 };
	struct {
		struct nlmsgerr e;
		struct nlattr attr;
		char text[4];
	} body = { { -EINVAL, { .nlmsg_len = UINT32_MAX } },
		   { .nla_len = 60000, .nla_type = NLMSGERR_ATTR_MSG },
		   "abc" };

	say(&w, NLMSG_ERROR, NLM_F_ACK_TLVS, 1, PORT, &body, sizeof(body));
	deliver(p, &w);
	assert_int_equal(rtnl_exchange(p->s, &a, 1, NULL, NULL), 0);
	assert_int_equal(a.error, -EINVAL);
	assert_null(a.words);
	clear(&a, 1);
}

static void count_echo(struct rtnl_call *call, const struct nlmsghdr *h, void *data)
{
	assert_int_equal(h->nlmsg_type, RTM_NEWTFILTER);
	*(int *)call->data += 1;
}

static void an_echo_belongs_to_its_request(void **state)
{
	struct peer *p = *state;
	int echoes[2] = { 0, 0 };
	struct rtnl_call calls[2] = { { .msg = request(), .data = &echoes[0] },
				      { .msg = request(), .data = &echoes[1] } };
	struct words w = { 0 };

	say_ack(&w, 1, -EEXIST);
	say(&w, RTM_NEWTFILTER, 0, 2, PORT, NULL, 0);
	say_ack(&w, 2, 0);
	deliver(p, &w);
	assert_int_equal(rtnl_exchange(p->s, calls, 2, count_echo, NULL), 0);
	assert_int_equal(echoes[0], 0);
	assert_int_equal(echoes[1], 1);
	clear(calls, 2);
}

/* An answer longer than its part is lost, not cut; from then on there is room. */
static void an_answer_too_long_makes_room(void **state)
{
	struct peer *p = *state;
	struct words w = { 0 };

	p->s->space = RTNL_PARTS * 256;
	for (uint32_t seq = 1; seq <= 2; seq++) {
		int heard = 0;
		struct rtnl_call a = { .msg = request(), .data = &heard };
		uint8_t more[400] = { 0 };

		nlmsg_hdr(a.msg)->nlmsg_flags |= NLM_F_ECHO;
		say(&w, RTM_NEWTFILTER, 0, seq, PORT, more, sizeof(more));
		deliver(p, &w);
		say_ack(&w, seq, 0);
		deliver(p, &w);
		assert_int_equal(rtnl_exchange(p->s, &a, 1, count_echo, NULL), 0);
		assert_true(a.answered);
		assert_int_equal(heard, seq - 1);
		clear(&a, 1);
	}
	assert_int_equal(p->s->space, RTNL_PARTS * 512);
}

/* More answers than one reading takes, and one of somebody else's among them. */
static void many_answers_are_read_at_once(void **state)
{
	struct peer *p = *state;
	struct rtnl_call calls[RTNL_PARTS + 3] = { 0 };
	struct words w = { 0 };
	int heard = 0;

	for (uint32_t i = 0; i < ARRAY_SIZE(calls); i++) {
		calls[i] = (struct rtnl_call){ .msg = request(), .data = &heard };
		nlmsg_hdr(calls[i].msg)->nlmsg_flags |= NLM_F_ECHO;
		say(&w, RTM_NEWTFILTER, 0, i + 1, i == 5 ? PORT + 1 : PORT, NULL, 0);
		deliver(p, &w);
	}
	say_ack(&w, ARRAY_SIZE(calls), 0);
	deliver(p, &w);
	assert_int_equal(rtnl_exchange(p->s, calls, ARRAY_SIZE(calls), count_echo, NULL), 0);
	assert_int_equal(heard, ARRAY_SIZE(calls) - 1);
	assert_int_equal(p->s->strays, 1);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		assert_true(calls[i].answered && calls[i].error == 0);
	clear(calls, ARRAY_SIZE(calls));
}

static void a_closed_socket_is_an_error(void **state)
{
	struct peer *p = *state;
	struct rtnl_call a = { .msg = request() };

	shutdown(p->fd, SHUT_RDWR);
	assert_true(rtnl_exchange(p->s, &a, 1, NULL, NULL) < 0);
	clear(&a, 1);
}

/* ---- dumps ---- */

struct parts {
	int parts, restarts, fail;
};

static int count_part(const struct nlmsghdr *h, void *data)
{
	struct parts *c = data;

	c->parts++;
	return c->fail;
}

static void count_restart(void *data)
{
	struct parts *c = data;

	c->parts = 0;
	c->restarts++;
}

static void say_part(struct words *w, uint16_t flags, uint32_t seq)
{
	say(w, RTM_NEWLINK, flags | NLM_F_MULTI, seq, PORT, NULL, 0);
}

static int dump(struct peer *p, struct parts *c)
{
	struct nl_msg *m = nlmsg_alloc_simple(RTM_GETLINK, 0);
	int r = rtnl_dump(p->s, m, count_restart, count_part, c);

	nlmsg_free(m);
	return r;
}

static void nl_07_a_dump_gives_all_its_parts(void **state)
{
	struct peer *p = *state;
	struct parts c = { 0 };
	struct words w = { 0 };

	say_part(&w, 0, 1);
	say_part(&w, 0, 1);
	say(&w, RTM_NEWLINK, 0, 0, 0, NULL, 0); /* an event between the parts */
	deliver(p, &w);
	say_part(&w, 0, 1);
	say_done(&w, 0, 1, 0);
	deliver(p, &w);
	assert_int_equal(dump(p, &c), 0);
	assert_int_equal(c.parts, 3);
	assert_int_equal(c.restarts, 1);
	assert_int_equal(p->s->strays, 1);
}

/* The flag on a part in the middle, then on DONE alone; the third one is whole. */
static void nl_02_an_interrupted_dump_is_taken_again(void **state)
{
	struct peer *p = *state;
	struct parts c = { 0 };
	struct words w = { 0 };

	say_part(&w, 0, 1);
	say_part(&w, NLM_F_DUMP_INTR, 1);
	say_part(&w, 0, 1);
	say_done(&w, 0, 1, 0);
	deliver(p, &w);
	say_part(&w, 0, 2);
	say_done(&w, NLM_F_DUMP_INTR, 2, 0);
	deliver(p, &w);
	say_part(&w, 0, 3);
	say_done(&w, 0, 3, 0);
	deliver(p, &w);
	assert_int_equal(dump(p, &c), 0);
	assert_int_equal(c.parts, 1);
	assert_int_equal(c.restarts, 3);
	assert_int_equal(p->s->dumps, 3);
}

static void nl_02_a_dump_that_never_settles_is_no_dump(void **state)
{
	struct peer *p = *state;
	struct parts c = { 0 };
	struct words w = { 0 };

	for (uint32_t seq = 1; seq <= RTNL_RETAKES + 1; seq++) {
		say_part(&w, 0, seq);
		say_done(&w, NLM_F_DUMP_INTR, seq, 0);
		deliver(p, &w);
	}
	assert_int_equal(dump(p, &c), -EAGAIN);
	assert_int_equal(c.parts, 0); /* nothing of it is left for anyone to believe */
	assert_int_equal(p->s->dumps, RTNL_RETAKES + 1);
}

static void the_kernels_error_ends_a_dump(void **state)
{
	struct peer *p = *state;
	struct parts c = { 0 };
	struct words w = { 0 };

	say_part(&w, 0, 1);
	say_done(&w, 0, 1, -EMSGSIZE);
	deliver(p, &w);
	assert_int_equal(dump(p, &c), -EMSGSIZE);
	say_ack(&w, 2, -EOPNOTSUPP);
	deliver(p, &w);
	assert_int_equal(dump(p, &c), -EOPNOTSUPP);
}

static void our_own_error_ends_it_at_its_end(void **state)
{
	struct peer *p = *state;
	struct parts c = { .fail = -ENOMEM };
	struct words w = { 0 };

	say_part(&w, 0, 1);
	say_part(&w, 0, 1);
	say_done(&w, 0, 1, 0);
	deliver(p, &w);
	assert_int_equal(dump(p, &c), -ENOMEM);
	assert_int_equal(c.parts, 1);
	/* It was read to the end: the next one is not disturbed. */
	c.fail = 0;
	say_done(&w, 0, 2, 0);
	deliver(p, &w);
	assert_int_equal(dump(p, &c), 0);
}

static void a_dump_without_an_end_times_out(void **state)
{
	struct peer *p = *state;
	struct parts c = { 0 };
	struct words w = { 0 };

	say_part(&w, 0, 1);
	deliver(p, &w);
	assert_int_equal(dump(p, &c), -ETIMEDOUT);
}

static void a_part_too_long_for_us_makes_room(void **state)
{
	struct peer *p = *state;
	struct parts c = { 0 };
	struct words w = { 0 };
	size_t size = 20480;
	uint8_t *big = calloc(1, size);

	p->s->space = 16384;
	*(struct nlmsghdr *)(void *)big = (struct nlmsghdr){
		.nlmsg_len = (uint32_t)size,
		.nlmsg_type = RTM_NEWLINK,
		.nlmsg_flags = NLM_F_MULTI,
		.nlmsg_seq = 1,
		.nlmsg_pid = PORT,
	};
	assert_int_equal(send(p->fd, big, size, 0), size);
	say_done(&w, 0, 1, 0);
	deliver(p, &w);
	((struct nlmsghdr *)(void *)big)->nlmsg_seq = 2;
	assert_int_equal(send(p->fd, big, size, 0), size);
	say_done(&w, 0, 2, 0);
	deliver(p, &w);
	assert_int_equal(dump(p, &c), 0);
	assert_int_equal(c.parts, 1);
	assert_int_equal(c.restarts, 2);
	free(big);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* What our own requests did to filters is not even queued; all else is. */
static void own_filter_news_is_ignored(void **state)
{
	static const struct {
		uint16_t type;
		uint32_t port;
	} news[] = {
		{ RTM_NEWTFILTER, PORT }, { RTM_NEWTFILTER, PORT + 1 }, { RTM_DELTFILTER, PORT },
		{ RTM_NEWLINK, PORT },	  { RTM_DELTFILTER, 0 },	{ RTM_DELCHAIN, PORT },
	};
	static const size_t heard[] = { 1, 3, 4, 5 };
	struct peer *p = *state;
	size_t size;

	assert_int_equal(rtnl_ignore(p->s, PORT, RTM_NEWTFILTER, RTM_DELTFILTER), 0);
	for (size_t i = 0; i < ARRAY_SIZE(news); i++) {
		struct words w = { 0 };

		say(&w, news[i].type, 0, 0, news[i].port, NULL, 0);
		send(p->fd, w.bytes, w.size, 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(heard); i++) {
		const struct nlmsghdr *h = p->s->buffer;

		assert_int_equal(rtnl_recv(p->s, 0, &size), 0);
		assert_int_equal(h->nlmsg_type, news[heard[i]].type);
		assert_int_equal(h->nlmsg_pid, news[heard[i]].port);
	}
	assert_int_equal(rtnl_recv(p->s, 0, &size), -EAGAIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(answers_find_their_requests),
		T(one_send_holds_all_messages),
		T(nl_07_a_late_answer_is_nobodys),
		T(nl_07_what_is_not_for_us_is_dropped),
		T(the_kernels_words_are_kept),
		T(words_stand_behind_the_request),
		T(hostile_words_are_harmless),
		T(an_echo_belongs_to_its_request),
		T(a_closed_socket_is_an_error),
		T(an_answer_too_long_makes_room),
		T(many_answers_are_read_at_once),
		T(nl_07_a_dump_gives_all_its_parts),
		T(nl_02_an_interrupted_dump_is_taken_again),
		T(nl_02_a_dump_that_never_settles_is_no_dump),
		T(the_kernels_error_ends_a_dump),
		T(our_own_error_ends_it_at_its_end),
		T(a_dump_without_an_end_times_out),
		T(a_part_too_long_for_us_makes_room),
		T(own_filter_news_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
