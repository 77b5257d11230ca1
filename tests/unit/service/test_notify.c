// SPDX-License-Identifier: GPL-2.0-or-later
/* What systemd hears, over sockets by path and by abstract name; and that silence is harmless. */
#include "tests/unit/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "daemon/service/notify.h"

static int hear_fd = -1;
static char where[96];

static void listen_at(const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));

	strcpy(addr.sun_path, name);
	if (name[0] == '@')
		addr.sun_path[0] = 0;
	else
		size++;
	hear_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(hear_fd, (struct sockaddr *)&addr, size), 0);
	setenv("NOTIFY_SOCKET", name, 1);
}

static void stop_listening(void)
{
	close(hear_fd);
	unsetenv("NOTIFY_SOCKET");
}

static void heard(char to[600])
{
	ssize_t n = recv(hear_fd, to, 599, 0);

	assert_true(n > 0);
	to[n] = 0;
}

static void hear(const char *wanted)
{
	char got[600];

	heard(got);
	assert_string_equal(got, wanted);
}

static void check_all(void)
{
	uint64_t before, stamp;
	char got[600];

	notify_ready();
	hear("READY=1");
	before = now_monotonic_ns() / 1000;
	notify_reloading();
	heard(got);
	assert_int_equal(sscanf(got, "RELOADING=1\nMONOTONIC_USEC=%" SCNu64, &stamp), 1);
	assert_in_range(stamp, before, now_monotonic_ns() / 1000);
	notify_status("%d rules\nREADY=1", 50);
	hear("STATUS=50 rules READY=1"); /* a text can't say anything else */
	notify_stopping();
	hear("STOPPING=1");
	notify_watchdog();
	hear("WATCHDOG=1");
	notify_extend(2500);
	hear("EXTEND_TIMEOUT_USEC=2500000");
	assert_non_null(getenv("NOTIFY_SOCKET")); /* survives a re-exec */
}

static void test_path(void **state)
{
	snprintf(where, sizeof(where), "/tmp/swd-test-notify-%d", getpid());
	listen_at(where);
	check_all();
	stop_listening();
	unlink(where);
}

static void test_abstract(void **state)
{
	snprintf(where, sizeof(where), "@swd-test-notify-%d", getpid());
	listen_at(where);
	check_all();
	stop_listening();
}

static void test_nobody(void **state)
{
	unsetenv("NOTIFY_SOCKET");
	notify_ready();
	notify_status("x");
	setenv("NOTIFY_SOCKET", "/nonexistent/socket", 1);
	notify_ready();
	unsetenv("NOTIFY_SOCKET");
}

static void test_watchdog_period(void **state)
{
	char pid[16];

	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	assert_int_equal(notify_watchdog_period_ms(), 0);
	setenv("WATCHDOG_USEC", "5000000", 1);
	assert_int_equal(notify_watchdog_period_ms(), 2500);
	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("WATCHDOG_PID", pid, 1);
	assert_int_equal(notify_watchdog_period_ms(), 2500);
	assert_int_equal(notify_watchdog_period_ms(), 2500); /* the environment stays */
	setenv("WATCHDOG_PID", "1", 1);
	assert_int_equal(notify_watchdog_period_ms(), 0); /* meant for another process */
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_abstract),
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_watchdog_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
