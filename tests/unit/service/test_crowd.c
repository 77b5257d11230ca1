// SPDX-License-Identifier: GPL-2.0-or-later
/* Many clients, slow ones, and greedy ones: nobody harms the others. */
#include "tests/unit/check.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tests/unit/service/fake.h"

#define STATUS "{\"method\":\"io.swd.Switch.Status\"}"

static uint64_t status_ms(int fd)
{
	uint64_t start = now_monotonic_ns();

	free(client_ask(fd, STATUS));
	return (now_monotonic_ns() - start) / 1000000;
}

/* The best of some, because the machine that runs this may be busy with other things. */
static void quick(int fd)
{
	uint64_t ms = UINT64_MAX;

	for (int i = 0; i < 5 && ms >= 100; i++)
		ms = MIN(ms, status_ms(fd));
	if (ms >= 100)
		fail_msg("status took %llu ms", (unsigned long long)ms);
}

static void test_thousand(void **state)
{
	enum {
		CLIENTS = 1000
	};
	struct rlimit limit;
	int *fds = calloc(CLIENTS, sizeof(int));

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max < 2 * CLIENTS + 100) {
		print_message("skipped: the limit of open files is %llu\n",
			      (unsigned long long)limit.rlim_max);
		free(fds);
		skip();
	}
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	for (int i = 0; i < CLIENTS; i++) {
		fds[i] = client_connect(&fake);
		client_say(fds[i], STATUS);
	}
	for (int i = 0; i < CLIENTS; i++) {
		char *answer = client_hear(fds[i]);

		assert_non_null(answer);
		assert_non_null(strstr(answer, "\"generation\":7"));
		free(answer);
	}
	/* All of them are still there, and one more is answered at once. */
	quick(fds[0]);
	for (int i = 0; i < CLIENTS; i++)
		close(fds[i]);
	free(fds);
}

static void send_events(struct fake *f)
{
	struct engine_event e = { .type = ENGINE_EVENT_FOREIGN };

	memset(e.text, 'x', sizeof(e.text) - 1);
	for (int i = 0; i < 2000; i++)
		service_event(f->service, &e);
}

/* A monitor that reads nothing is dropped; one that reads gets everything. */
static void test_slow_monitor(void **state)
{
	int slow = client_connect(&fake), dropped = 0;
	char *answer;

	free(client_ask(slow, "{\"method\":\"io.swd.Switch.Monitor\",\"more\":true}"));
	for (int i = 0; i < 10 && !dropped; i++) {
		fake_in_loop(&fake, send_events);
		/* The service has hung up when our own sending fails. */
		dropped = send(slow, "", 1, MSG_NOSIGNAL) < 0;
	}
	assert_true(dropped);
	while ((answer = client_hear(slow)))
		free(answer);
	close(slow);
	slow = client_connect(&fake);
	quick(slow);
	close(slow);
}

/* Asks without end and never reads: the service stops reading, and keeps little. */
static void test_asks_and_never_reads(void **state)
{
	int greedy = client_connect(&fake), other = client_connect(&fake);
	size_t sent = 0;

	for (int idle = 0; idle < 20;) {
		ssize_t n = send(greedy, STATUS, sizeof(STATUS), MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0) {
			assert_int_equal(errno, EAGAIN);
			idle++;
			usleep(10000);
		} else {
			idle = 0;
			sent += (size_t)n;
			assert_true(sent < 64 << 20);
		}
	}
	quick(other);
	close(greedy);
	close(other);
}

/* A stream that is not read costs nothing either: pieces are made when there is room. */
static void test_rules_never_read(void **state)
{
	int greedy, other;

	fake_publish(&fake, sample_snapshot_rules(20000));
	greedy = client_connect(&fake);
	other = client_connect(&fake);
	client_say(greedy, "{\"method\":\"io.swd.Switch.Rules\",\"more\":true}");
	usleep(300000);
	quick(other);
	close(greedy);
	quick(other);
	close(other);
}

/* How many connections of one user are answered. */
static int answered_as_nobody(void)
{
	enum {
		TRIES = 80
	};
	int fds[TRIES], count = 0;

	if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
		return 255;
	for (int i = 0; i < TRIES; i++)
		fds[i] = client_connect(&fake);
	for (int i = 0; i < TRIES; i++) {
		char *answer = NULL;

		if (send(fds[i], STATUS, sizeof(STATUS), MSG_NOSIGNAL) > 0)
			answer = client_hear(fds[i]);
		count += answer != NULL;
		free(answer);
	}
	return count;
}

static void test_crowd_of_a_stranger(void **state)
{
	pid_t child;
	int status, fd;

	if (geteuid() != 0) {
		print_message("skipped: needs root to be someone else\n");
		skip();
	}
	child = fork();
	if (child == 0)
		_exit(answered_as_nobody());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 8);
	fd = client_connect(&fake);
	quick(fd);
	close(fd);
}

/* Out of descriptors: who waits is taken later, and we do not spin. */
static void test_out_of_descriptors(void **state)
{
	struct rlimit old, low;
	int fds[2], spare[400], n = 0;
	char *answer;

	getrlimit(RLIMIT_NOFILE, &old);
	fds[0] = client_connect(&fake);
	free(client_ask(fds[0], STATUS));
	fds[1] = socket(AF_UNIX, SOCK_STREAM, 0); /* to connect with later */
	low = old;
	low.rlim_cur = (rlim_t)fds[1] + 1;
	setrlimit(RLIMIT_NOFILE, &low);
	/* Fill what gaps there are. */
	while (n < 400 && (spare[n] = dup(0)) >= 0)
		n++;
	{
		struct sockaddr_un addr = { .sun_family = AF_UNIX };

		strcpy(addr.sun_path, fake.path);
		assert_int_equal(connect(fds[1], (struct sockaddr *)&addr, sizeof(addr)), 0);
	}
	client_say(fds[1], STATUS);
	usleep(150000);
	quick(fds[0]);
	setrlimit(RLIMIT_NOFILE, &old);
	while (n > 0)
		close(spare[--n]);
	answer = client_hear(fds[1]);
	assert_non_null(answer);
	free(answer);
	close(fds[0]);
	close(fds[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sample_start, sample_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_thousand),
		TEST(test_slow_monitor),
		TEST(test_asks_and_never_reads),
		TEST(test_rules_never_read),
		TEST(test_crowd_of_a_stranger),
		TEST(test_out_of_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
