// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How a device sends: ethtool's messages there and back, and the files of sysfs, which here are
 * files of a folder.
 */
#include "../check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool_netlink.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <sys/stat.h>

#include "daemon/kernel/tx.h"

static const struct family family = { .id = 20, .version = 1 };

static void freep_msg(struct nl_msg **m)
{
	nlmsg_free(*m);
}
#define _cleanup_msg_ _cleanup_(freep_msg)

/* ---- messages ---- */

/* What the kernel would tell of dev3, value by value. */
static struct nl_msg *told(uint8_t command)
{
	struct nl_msg *m = nlmsg_alloc();

	assert_int_equal(family_begin(&family, m, command), 0);
	assert_int_equal(tx_put_get(m, "dev3"), 0);
	return m;
}

static struct tx *parsed(struct nl_msg *m)
{
	struct tx *t = NULL;

	assert_int_equal(tx_parse(nlmsg_hdr(m), &t), 0);
	assert_non_null(t);
	assert_string_equal(t->dev, "dev3");
	return t;
}

static void a_ring_is_read(void **state)
{
	static const uint8_t commands[] = { ETHTOOL_MSG_RINGS_GET_REPLY, ETHTOOL_MSG_RINGS_NTF };

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		_cleanup_msg_ struct nl_msg *m = told(commands[i]);
		_cleanup_object_ struct tx *t = NULL;

		nla_put_u32(m, ETHTOOL_A_RINGS_RX, 7);
		nla_put_u32(m, ETHTOOL_A_RINGS_TX_MAX, 4096);
		nla_put_u32(m, ETHTOOL_A_RINGS_TX, 512);
		t = parsed(m);
		assert_int_equal(t->part, TX_RING);
		assert_int_equal(t->has, 1);
		assert_int_equal(t->value[0], 512);
		assert_int_equal(t->most, 4096);
	}
}

/* What a driver has not is not in the answer; and a value of 0 is a value. */
static void coalescing_is_read_as_far_as_it_is_there(void **state)
{
	_cleanup_msg_ struct nl_msg *m = told(ETHTOOL_MSG_COALESCE_GET_REPLY);
	_cleanup_object_ struct tx *t = NULL;

	nla_put_u32(m, ETHTOOL_A_COALESCE_TX_USECS, 0);
	nla_put_u8(m, ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX, 1);
	t = parsed(m);
	assert_int_equal(t->part, TX_COALESCE);
	assert_int_equal(t->has, 5);
	assert_int_equal(t->value[0], 0);
	assert_int_equal(t->value[2], 1);
}

static void what_is_none_of_ours_is_nothing(void **state)
{
	_cleanup_msg_ struct nl_msg *m = told(ETHTOOL_MSG_FEATURES_NTF);
	struct tx *t = NULL;

	assert_int_equal(tx_parse(nlmsg_hdr(m), &t), 0);
	assert_null(t);
}

static void a_bad_message_is_said_to_be(void **state)
{
	struct tx *t = NULL;
	uint16_t half = 5;

	{
		_cleanup_msg_ struct nl_msg *m = told(ETHTOOL_MSG_RINGS_NTF);

		nla_put(m, ETHTOOL_A_RINGS_TX, sizeof(half), &half);
		assert_int_equal(tx_parse(nlmsg_hdr(m), &t), -EBADMSG);
	}
	{
		_cleanup_msg_ struct nl_msg *m = nlmsg_alloc();

		/* Of no device. */
		family_begin(&family, m, ETHTOOL_MSG_RINGS_NTF);
		nla_put_u32(m, ETHTOOL_A_RINGS_TX, 5);
		assert_int_equal(tx_parse(nlmsg_hdr(m), &t), -EBADMSG);
	}
	{
		_cleanup_msg_ struct nl_msg *m = told(ETHTOOL_MSG_RINGS_NTF);

		nlmsg_hdr(m)->nlmsg_len = NLMSG_HDRLEN + GENL_HDRLEN - 1;
		assert_int_equal(tx_parse(nlmsg_hdr(m), &t), -EBADMSG);
	}
	assert_null(t);
}

static struct tx *wish(enum tx_part part, uint8_t has, uint32_t a, uint32_t b, uint32_t c)
{
	struct tx *t = tx_new("dev3", part, 0);

	t->has = has;
	t->value[0] = a;
	t->value[1] = b;
	t->value[2] = c;
	return t;
}

/* A request has what is wanted and other than it is, and nothing else: read back as if it were an
 * answer. */
static void a_request_has_only_what_is_other(void **state)
{
	_cleanup_object_ struct tx *wanted = wish(TX_COALESCE, 6, 99, 16, 0);
	_cleanup_object_ struct tx *found = wish(TX_COALESCE, 7, 5, 16, 1);

	for (int known = 0; known < 2; known++) {
		_cleanup_msg_ struct nl_msg *m = nlmsg_alloc();
		_cleanup_object_ struct tx *t = NULL;

		family_begin(&family, m, ETHTOOL_MSG_COALESCE_GET_REPLY);
		assert_int_equal(tx_put_set(m, wanted, known ? found : NULL), 0);
		t = parsed(m);
		assert_int_equal(t->has, known ? 4 : 6);
		assert_int_equal(t->value[2], 0);
	}
}

/* ---- files ---- */

static char net[64];

__attribute__((format(printf, 2, 3))) static void write_file(const char *text, const char *fmt, ...)
{
	char path[200];
	va_list args;
	FILE *f;

	va_start(args, fmt);
	vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	for (char *slash = path + strlen(net); (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static uint32_t number_in(const char *file)
{
	char path[200];
	unsigned int v = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", net, file);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%u", &v), 1);
	fclose(f);
	return v;
}

static int make_folder(void **state)
{
	snprintf(net, sizeof(net), "/dev/shm/swd-net-XXXXXX");
	assert_non_null(mkdtemp(net));
	write_file("1\n", "%s/dev3/tx_doorbell_frames", net);
	for (int q = 0; q < 3; q++) {
		write_file("0\n", "%s/dev3/queues/tx-%d/byte_queue_limits/limit_min", net, q);
		write_file(q == 1 ? "9000\n" : "1879048192\n",
			   "%s/dev3/queues/tx-%d/byte_queue_limits/limit_max", net, q);
	}
	write_file("1500\n", "%s/plain/mtu", net);
	return 0;
}

static int drop_folder(void **state)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -r %s", net);
	return system(command) == 0 ? 0 : -1;
}

static void files_are_read(void **state)
{
	_cleanup_object_ struct tx *flush = NULL, *bql = NULL, *none = NULL, *no_limits = NULL;
	struct tx *t = NULL;

	assert_int_equal(tx_sysfs_read(net, "dev3", TX_FLUSH, &flush), 0);
	assert_int_equal(flush->has, 1);
	assert_int_equal(flush->value[0], 1);
	assert_int_equal(tx_sysfs_read(net, "dev3", TX_BQL, &bql), 0);
	assert_int_equal(bql->has, 3);
	assert_int_equal(bql->queues, 3);
	assert_int_equal(tx_value(bql, 1, 0), 1879048192);
	assert_int_equal(tx_value(bql, 1, 1), 9000);
	/* A kernel or a device without them; and no device. */
	assert_int_equal(tx_sysfs_read(net, "plain", TX_FLUSH, &none), 0);
	assert_int_equal(none->has, 0);
	assert_int_equal(tx_sysfs_read(net, "plain", TX_BQL, &no_limits), 0);
	assert_int_equal(no_limits->has, 0);
	assert_int_equal(tx_sysfs_read(net, "gone", TX_BQL, &t), -ENOENT);
	assert_null(t);
}

static void all_queues_are_set(void **state)
{
	_cleanup_object_ struct tx *wanted = wish(TX_BQL, 2, 0, 64000, 0);
	_cleanup_object_ struct tx *back = tx_new("dev3", TX_BQL, 3);

	assert_int_equal(tx_sysfs_set(net, wanted), 0);
	assert_int_equal(number_in("dev3/queues/tx-0/byte_queue_limits/limit_max"), 64000);
	assert_int_equal(number_in("dev3/queues/tx-1/byte_queue_limits/limit_max"), 64000);
	assert_int_equal(number_in("dev3/queues/tx-2/byte_queue_limits/limit_max"), 64000);
	assert_int_equal(number_in("dev3/queues/tx-2/byte_queue_limits/limit_min"), 0);
	/* Each to its own. */
	back->has = 2;
	for (uint32_t q = 0; q < 3; q++)
		back->queue[q][1] = 7000 + q;
	assert_int_equal(tx_sysfs_set(net, back), 0);
	assert_int_equal(number_in("dev3/queues/tx-0/byte_queue_limits/limit_max"), 7000);
	assert_int_equal(number_in("dev3/queues/tx-2/byte_queue_limits/limit_max"), 7002);
}

/* The third queue is a number that nobody can write, not even root: the others are as they were. */
static void a_refused_queue_leaves_none_changed(void **state)
{
	_cleanup_object_ struct tx *wanted = wish(TX_BQL, 2, 0, 64000, 0);
	char path[200];

	snprintf(path, sizeof(path), "%s/dev3/queues/tx-2/byte_queue_limits/limit_max", net);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/proc/sys/kernel/random/poolsize", path), 0);
	assert_true(tx_sysfs_set(net, wanted) < 0);
	assert_int_equal(number_in("dev3/queues/tx-0/byte_queue_limits/limit_max"), 1879048192);
	assert_int_equal(number_in("dev3/queues/tx-1/byte_queue_limits/limit_max"), 9000);
}

static void the_doorbell_is_set(void **state)
{
	_cleanup_object_ struct tx *wanted = wish(TX_FLUSH, 1, 8, 0, 0);

	assert_int_equal(tx_sysfs_set(net, wanted), 0);
	assert_int_equal(number_in("dev3/tx_doorbell_frames"), 8);
	COPY_NAME(wanted->dev, "plain");
	assert_int_equal(tx_sysfs_set(net, wanted), -EOPNOTSUPP);
	COPY_NAME(wanted->dev, "gone");
	assert_int_equal(tx_sysfs_set(net, wanted), -ENODEV);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, drop_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ring_is_read),
		cmocka_unit_test(coalescing_is_read_as_far_as_it_is_there),
		cmocka_unit_test(what_is_none_of_ours_is_nothing),
		cmocka_unit_test(a_bad_message_is_said_to_be),
		cmocka_unit_test(a_request_has_only_what_is_other),
		WITH_FOLDER(files_are_read),
		WITH_FOLDER(all_queues_are_set),
		WITH_FOLDER(a_refused_queue_leaves_none_changed),
		WITH_FOLDER(the_doorbell_is_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
