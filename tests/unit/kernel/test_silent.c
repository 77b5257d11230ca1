// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests that are echoed ask for no acknowledgement, but the last of a batch: what that means for
 * those that are refused, and for those whose echo does not come.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "daemon/kernel/rtnl.h"

#define PORT 4711
#define CALLS 4

struct talk {
	struct rtnl *s;
	int fd; /* the kernel's end */
	struct rtnl_call calls[CALLS];
	size_t echoes[CALLS];
};

static int setup(void **state)
{
	struct talk *t = calloc(1, sizeof(*t));
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	t->fd = fds[1];
	assert_int_equal(rtnl_wrap(fds[0], PORT, &t->s), 0);
	t->s->timeout_ms = 30;
	for (size_t i = 0; i < CALLS; i++)
		t->calls[i].msg = nlmsg_alloc_simple(RTM_NEWTFILTER, i == 1 ? 0 : NLM_F_ECHO);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct talk *t = *state;

	for (size_t i = 0; i < CALLS; i++)
		nlmsg_free(t->calls[i].msg);
	rtnl_close(t->s);
	close(t->fd);
	free(t);
	return 0;
}

static void echo(struct talk *t, uint32_t seq)
{
	struct nlmsghdr h = { .nlmsg_len = sizeof(h),
			      .nlmsg_type = RTM_NEWTFILTER,
			      .nlmsg_seq = seq,
			      .nlmsg_pid = PORT };

	send(t->fd, &h, sizeof(h), 0);
}

static void ack(struct talk *t, uint32_t seq, int error)
{
	struct {
		struct nlmsghdr h;
		struct nlmsgerr e;
	} m = { { .nlmsg_len = sizeof(m),
		  .nlmsg_type = NLMSG_ERROR,
		  .nlmsg_flags = NLM_F_CAPPED,
		  .nlmsg_seq = seq,
		  .nlmsg_pid = PORT },
		{ .error = error } };

	send(t->fd, &m, sizeof(m), 0);
}

static void on_answer(struct rtnl_call *call, const struct nlmsghdr *h, void *data)
{
	struct talk *t = data;

	t->echoes[call - t->calls]++;
}

static void exchange(struct talk *t)
{
	assert_int_equal(rtnl_exchange(t->s, t->calls, CALLS, on_answer, t), 0);
}

static void only_what_has_no_echo_and_the_last_ask(void **state)
{
	struct talk *t = *state;
	uint8_t got[4096] __attribute__((aligned(8)));
	size_t asked = 0;
	int left;

	echo(t, 1);
	ack(t, 2, 0);
	echo(t, 3);
	echo(t, 4);
	ack(t, 4, 0);
	exchange(t);
	left = (int)recv(t->fd, got, sizeof(got), 0);
	for (struct nlmsghdr *h = (void *)got; nlmsg_ok(h, left); h = nlmsg_next(h, &left))
		asked = asked << 1 | !!(h->nlmsg_flags & NLM_F_ACK);
	assert_int_equal(asked, 0x5); /* of 1, 2, 3, 4: the second and the last */
	for (size_t i = 0; i < CALLS; i++) {
		assert_true(t->calls[i].answered);
		assert_int_equal(t->calls[i].error, 0);
		assert_int_equal(t->echoes[i], i != 1);
	}
}

static void a_refusal_is_told_unasked(void **state)
{
	struct talk *t = *state;

	ack(t, 1, -EEXIST);
	ack(t, 2, 0);
	echo(t, 3);
	ack(t, 4, -ENOSPC);
	exchange(t);
	assert_int_equal(t->calls[0].error, -EEXIST);
	assert_int_equal(t->calls[2].error, 0);
	assert_int_equal(t->calls[3].error, -ENOSPC);
	assert_true(t->calls[0].answered && t->calls[2].answered && t->calls[3].answered);
}

/* The kernel had no room for an echo: the request was carried out all the same. */
static void an_echo_that_does_not_come(void **state)
{
	struct talk *t = *state;

	ack(t, 2, 0);
	echo(t, 4);
	ack(t, 4, 0);
	exchange(t);
	assert_true(t->calls[0].answered && t->calls[2].answered);
	assert_int_equal(t->calls[0].error, 0);
	assert_int_equal(t->echoes[0] + t->echoes[2], 0);
}

/* Without the last word nothing is known of those that were not echoed. */
static void silence_to_the_end_is_no_answer(void **state)
{
	struct talk *t = *state;

	echo(t, 1);
	exchange(t);
	assert_true(t->calls[0].answered);
	for (size_t i = 1; i < CALLS; i++)
		assert_false(t->calls[i].answered);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(only_what_has_no_echo_and_the_last_ask),
		T(a_refusal_is_told_unasked),
		T(an_echo_that_does_not_come),
		T(silence_to_the_end_is_no_answer),
	};

	return cmocka_run_group_tests_name("silent", tests, NULL, NULL);
}
