// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is not there, and what can't be read: the kernel's word that a block or a filter is not
 * there gives nothing; a message nobody can read is an error, or all filters would pass for gone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "daemon/kernel/room.h"

#define PORT 4711

struct side {
	struct kernel k;
	struct state *into;
	int query, slow; /* the kernel's ends */
};

static struct rtnl *open_pair(int *ret_end)
{
	struct rtnl *s = NULL;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	*ret_end = fds[1];
	assert_int_equal(rtnl_wrap(fds[0], PORT, &s), 0);
	s->timeout_ms = 30;
	return s;
}

static int setup(void **state)
{
	struct side *t = calloc(1, sizeof(*t));

	t->k.query = open_pair(&t->query);
	t->k.slow = open_pair(&t->slow);
	t->k.devices = devices_new();
	t->into = state_new();
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct side *t = *state;

	rtnl_close(t->k.query);
	rtnl_close(t->k.slow);
	devices_free(t->k.devices);
	while (t->k.pooled)
		nlmsg_free(t->k.pool[--t->k.pooled]);
	state_free(t->into);
	close(t->query);
	close(t->slow);
	free(t);
	return 0;
}

static void say(int fd, uint16_t type, const void *data, size_t size)
{
	struct {
		struct nlmsghdr h;
		uint8_t data[64];
	} m = { .h = { .nlmsg_len = (uint32_t)(NLMSG_HDRLEN + size),
		       .nlmsg_type = type,
		       .nlmsg_seq = 1,
		       .nlmsg_pid = PORT } };

	memcpy(m.data, data, size);
	assert_int_equal(send(fd, &m, m.h.nlmsg_len, 0), m.h.nlmsg_len);
}

static void say_error(int fd, int error)
{
	struct nlmsgerr e = { .error = error };

	say(fd, NLMSG_ERROR, &e, sizeof(e));
}

static void say_filter(int fd)
{
	struct tcmsg t = {
		.tcm_ifindex = (int)TCM_IFINDEX_MAGIC_BLOCK,
		.tcm_block_index = 10,
		.tcm_info = TC_H_MAKE(1u << 16, htons(0x0800)),
		.tcm_handle = 1,
	};

	say(fd, RTM_NEWTFILTER, &t, sizeof(t));
}

/* Shorter than what all of them begin with. */
static void say_nonsense(int fd)
{
	say(fd, RTM_NEWTFILTER, "abcd", 4);
}

static const struct filter key = {
	.obj.kind = KIND_FILTER,
	.block = 10,
	.pref = 1,
	.protocol = 0x0800,
	.handle = 1,
	.type = FILTER_FLOWER,
};

static size_t filters(const struct side *t)
{
	return state_count(t->into, KIND_FILTER);
}

static void what_can_be_read_is_there(void **state)
{
	struct side *t = *state;

	say_filter(t->query);
	say_error(t->query, 0);
	assert_int_equal(kernel_dump(&t->k, KIND_FILTER, 10, t->into), 0);
	assert_int_equal(filters(t), 1);
}

static void no_such_block_is_no_error(void **state)
{
	struct side *t = *state;

	say_error(t->query, -EINVAL);
	assert_int_equal(kernel_dump(&t->k, KIND_FILTER, 10, t->into), 0);
	assert_int_equal(filters(t), 0);
}

static void an_unreadable_dump_is_no_empty_block(void **state)
{
	struct side *t = *state;

	say_filter(t->query);
	say_nonsense(t->query);
	say_error(t->query, 0);
	assert_int_equal(kernel_dump(&t->k, KIND_FILTER, 10, t->into), -EBADMSG);
	assert_int_equal(filters(t), 0);
}

static void an_unreadable_pref_is_no_empty_pref(void **state)
{
	struct side *t = *state;

	say_nonsense(t->query);
	say_error(t->query, 0);
	assert_int_equal(kernel_dump_pref(&t->k, &key, t->into), -EBADMSG);
}

static int count(const struct filter *f, void *data)
{
	return 0;
}

static void an_unreadable_part_ends_a_walk(void **state)
{
	struct side *t = *state;
	int r = 1;

	say_filter(t->slow);
	say_nonsense(t->slow);
	say_error(t->slow, 0);
	assert_int_equal(kernel_walk_begin(&t->k, 10), 0);
	for (int i = 0; i < 5 && r == 1; i++)
		r = kernel_walk_part(&t->k, count, NULL);
	assert_int_equal(r, -EBADMSG);
}

static void an_absent_filter_is_absent(void **state)
{
	struct side *t = *state;
	struct object *o = NULL;

	say_error(t->query, -EINVAL);
	assert_int_equal(kernel_get(&t->k, &key.obj, &o), -ENOENT);
}

static void an_unreadable_filter_is_not_absent(void **state)
{
	struct side *t = *state;
	struct object *o = NULL;

	say_nonsense(t->query);
	say_error(t->query, 0);
	assert_int_equal(kernel_get(&t->k, &key.obj, &o), -EBADMSG);
	assert_null(o);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_can_be_read_is_there),
		T(no_such_block_is_no_error),
		T(an_unreadable_dump_is_no_empty_block),
		T(an_unreadable_pref_is_no_empty_pref),
		T(an_unreadable_part_ends_a_walk),
		T(an_absent_filter_is_absent),
		T(an_unreadable_filter_is_not_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
