// SPDX-License-Identifier: GPL-2.0-or-later
/* Who may what: the whole matrix. And what the kernel says of a peer. */
#include "tests/unit/check.h"

#include <sys/socket.h>

#include "daemon/service/access.h"

#define READERS 700
#define WRITERS 800

static const struct access_rules rules = {
	.has_reader = true,
	.reader = READERS,
	.writer_count = 1,
	.writers = { WRITERS },
};

static void check(uid_t uid, gid_t gid, gid_t extra, bool may_read, bool may_write)
{
	gid_t groups[2] = { 5, extra };
	struct peer p = { .uid = uid, .gid = gid, .groups = groups, .group_count = 2 };

	assert_true(access_allows(&rules, &p, ACCESS_NONE));
	assert_int_equal(access_allows(&rules, &p, ACCESS_READ), may_read);
	assert_int_equal(access_allows(&rules, &p, ACCESS_WRITE), may_write);
}

static void test_matrix(void **state)
{
	check(0, 0, 0, true, true);
	check(0, 99, 99, true, true);
	check(1000, 1000, 1000, false, false);
	check(1000, READERS, 1000, true, false);
	check(1000, 1000, READERS, true, false);
	check(1000, WRITERS, 1000, true, true);
	check(1000, 1000, WRITERS, true, true);
	check(1000, 0, 0, false, false); /* root's group is not root */
}

static void test_no_rules(void **state)
{
	const struct access_rules none = { 0 };
	struct peer p = { .uid = 1000, .gid = 0 };

	assert_false(access_allows(&none, &p, ACCESS_READ));
	assert_false(access_allows(&none, &p, ACCESS_WRITE));
	assert_true(access_allows(&none, &p, ACCESS_NONE));
}

static void test_names(void **state)
{
	_cleanup_(config_unrefp) struct config *c = config_new("x");
	struct access_rules r;
	const char *unknown = "?";

	assert_non_null(c);
	c->daemon.writer_count = 2;
	strcpy(c->daemon.writers[0], "root");
	strcpy(c->daemon.writers[1], "no-such-group-here");
	access_resolve("root", c, &r, &unknown);
	assert_string_equal(unknown, "no-such-group-here");
	assert_true(r.has_reader);
	assert_int_equal(r.reader, 0);
	assert_int_equal(r.writer_count, 1);
	assert_int_equal(r.writers[0], 0);
	access_resolve("no-such-group-here", NULL, &r, &unknown);
	assert_false(r.has_reader);
	assert_int_equal(r.writer_count, 0);
}

static void test_peer(void **state)
{
	int pair[2];
	struct peer p;
	gid_t groups[256];
	int n = getgroups(256, groups);

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(peer_read(pair[0], &p), 0);
	assert_int_equal(p.uid, geteuid());
	assert_int_equal(p.gid, getegid());
	assert_int_equal(p.pid, getpid());
	assert_int_equal(p.group_count, n);
	for (int i = 0; i < n; i++)
		assert_int_equal(p.groups[i], groups[i]);
	assert_string_equal(p.name, "test_access");
	peer_clear(&p);
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matrix),
		cmocka_unit_test(test_no_rules),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
