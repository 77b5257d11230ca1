// SPDX-License-Identifier: GPL-2.0-or-later
/* The connection: framing, order, errors, rights, streams, jobs that end late. */
#include "tests/unit/check.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/unit/service/fake.h"

#define STATUS "{\"method\":\"io.swd.Switch.Status\"}"
#define INFO "{\"method\":\"org.varlink.service.GetInfo\"}"

/* One call on a connection of its own; the answer must hold these words. */
static void expect(const char *message, const char *words)
{
	int fd = client_connect(&fake);
	char *answer = client_ask(fd, message);

	if (!strstr(answer, words))
		fail_msg("to %s: %s", message, answer);
	free(answer);
	/* And the connection is as good as before. */
	answer = client_ask(fd, INFO);
	assert_non_null(strstr(answer, "io.swd.Switch"));
	free(answer);
	close(fd);
}

static void test_errors(void **state)
{
	expect("{\"method\":\"io.swd.Switch.Nothing\"}",
	       "{\"error\":\"org.varlink.service.MethodNotFound\",\"parameters\":{\"method\":"
	       "\"io.swd.Switch.Nothing\"}}");
	expect("{\"method\":\"org.example.Other.Get\"}",
	       "{\"error\":\"org.varlink.service.InterfaceNotFound\",\"parameters\":{\"interface\":"
	       "\"org.example.Other\"}}");
	expect("{\"method\":\"Status\"}", "InterfaceNotFound");
	expect("{\"method\":\"io.swd.Switch.Status\",\"parameters\":{\"x\":1}}",
	       "{\"error\":\"org.varlink.service.InvalidParameter\",\"parameters\":{\"parameter\":"
	       "\"x\"}}");
	expect("{\"method\":\"io.swd.Switch.Rules\",\"parameters\":{\"block\":7}}",
	       "InvalidParameter");
	expect("{\"method\":\"io.swd.Switch.Rules\",\"parameters\":{\"block\":\"no\"}}",
	       "{\"error\":\"io.swd.Switch.NoSuchBlock\",\"parameters\":{\"block\":\"no\"}}");
	expect("{\"method\":\"io.swd.Switch.Bypass\",\"parameters\":{\"block\":\"no\"}}",
	       "NoSuchBlock");
	expect("{\"method\":\"io.swd.Switch.Monitor\"}", "org.varlink.service.ExpectedMore");
	expect("{\"method\":\"io.swd.Switch.Status\",\"upgrade\":true}", "MethodNotImplemented");
	expect("{\"method\":\"org.varlink.service.GetInterfaceDescription\",\"parameters\":"
	       "{\"interface\":\"x.y\"}}",
	       "InterfaceNotFound");
}

static void test_hostile(void **state)
{
	static const char *const messages[] = {
		"",
		"x",
		"[",
		"{\"method\":\"io.swd.Switch.Status\"}x",
		"{\"method\":\"io.swd.Switch.\\u0000Status\"}",
		"{\"method\":\"io.swd.Switch.\\uX000\"}",
		"{\"method\":\"\\ud800\"}",
		"{\"method\":\"\xc0\x80\"}",
		"{\"method\":\"io.swd.Switch.Status\",\"method\":\"io.swd.Switch.Apply\"}",
		"{\"method\":\"io.swd.Switch.Status\",\"parameters\":{\"a\":1e999}}",
		"{\"method\":\"io.swd.Switch.Status\",\"parameters\":{\"a\":-0}}",
		"{\"method\":\"io.swd.Switch.Status\",\"parameters\":{\"a\":9223372036854775808}}",
	};
	char *deep = malloc(100001);

	for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
		expect(messages[i], "io.swd.Switch.BadMessage");
	memset(deep, '[', 100000);
	deep[100000] = 0;
	expect(deep, "nested too deep");
	free(deep);
}

/* One byte at a time, and many messages in one write: the same answers in the same order. */
static void test_framing(void **state)
{
	int fd = client_connect(&fake);
	char *answer;

	for (size_t i = 0; i < sizeof(STATUS); i++)
		client_say_bytes(fd, STATUS + i, 1);
	answer = client_hear(fd);
	assert_non_null(strstr(answer, "\"generation\":7"));
	free(answer);
	close(fd);
}

static void test_pipelining(void **state)
{
	enum {
		CALLS = 500
	};
	int fd = client_connect(&fake);
	char *all = malloc(CALLS * 80), *at = all;

	/* Each third answer takes its time (Rules waits for a job), and order is kept. */
	for (int i = 0; i < CALLS; i++) {
		if (i % 3 == 0)
			at += sprintf(at, "{\"method\":\"io.swd.Switch.Rules\"}") + 1;
		else
			at += sprintf(at, "{\"method\":\"io.swd.Switch.M%d\"}", i) + 1;
	}
	client_say_bytes(fd, all, (size_t)(at - all));
	for (int i = 0; i < CALLS; i++) {
		char *answer = client_hear(fd), wanted[40];

		assert_non_null(answer);
		if (i % 3 == 0)
			snprintf(wanted, sizeof(wanted), "counters_age_ms");
		else
			snprintf(wanted, sizeof(wanted), "io.swd.Switch.M%d\"", i);
		assert_non_null(strstr(answer, wanted));
		free(answer);
	}
	free(all);
	close(fd);
}

static void test_oneway(void **state)
{
	int fd = client_connect(&fake);
	char *answer;

	client_say(fd, "{\"method\":\"io.swd.Switch.Status\",\"oneway\":true}");
	client_say(fd, "{\"method\":\"io.swd.Switch.No\",\"oneway\":true}");
	client_say(fd, "{\"method\":\"io.swd.Switch.Rules\",\"oneway\":true}");
	client_say(fd, "{\"method\":\"io.swd.Switch.Monitor\",\"oneway\":true}");
	answer = client_ask(fd, INFO);
	assert_non_null(strstr(answer, "interfaces"));
	free(answer);
	close(fd);
}

/* Too long is skipped, told, and forgotten. Without end, the connection goes. */
static void test_too_long(void **state)
{
	size_t chunk = 1 << 20;
	char *bytes = malloc(chunk), *answer;
	int fd = client_connect(&fake);

	memset(bytes, ' ', chunk);
	for (int i = 0; i < 97; i++)
		client_say_bytes(fd, bytes, chunk);
	client_say(fd, "{}");
	answer = client_hear(fd);
	assert_non_null(strstr(answer, "BadMessage"));
	assert_non_null(strstr(answer, "longer than"));
	free(answer);
	answer = client_ask(fd, INFO);
	assert_non_null(strstr(answer, "interfaces"));
	free(answer);
	close(fd);

	fd = client_connect(&fake);
	for (int i = 0; i < 400; i++) {
		if (send(fd, bytes, chunk, MSG_NOSIGNAL) < 0) {
			assert_true(errno == EPIPE || errno == ECONNRESET);
			break;
		}
		assert_true(i < 399);
	}
	close(fd);
	free(bytes);
}

/* Sends all, closes that direction, and still gets the answers. */
static void test_half_closed(void **state)
{
	int fd = client_connect(&fake);
	char *answer;

	client_say(fd, "{\"method\":\"io.swd.Switch.Rules\"}");
	client_say(fd, INFO);
	shutdown(fd, SHUT_WR);
	answer = client_hear(fd);
	assert_non_null(strstr(answer, "no-bogons"));
	free(answer);
	answer = client_hear(fd);
	assert_non_null(strstr(answer, "interfaces"));
	free(answer);
	assert_null(client_hear(fd));
	close(fd);
}

static void test_files(void **state)
{
	expect("{\"method\":\"io.swd.Switch.Check\",\"parameters\":{\"text\":\"good\"}}",
	       "{\"parameters\":{\"diags\":[]}}");
	expect("{\"method\":\"io.swd.Switch.Check\",\"parameters\":{\"text\":\"bad\"}}",
	       "{\"parameters\":{\"diags\":[{\"level\":\"error\",\"file\":\"swd.yaml\",\"line\":3,"
	       "\"column\":7");
	expect("{\"method\":\"io.swd.Switch.Check\",\"parameters\":{\"text\":\"bad\","
	       "\"name\":\"/tmp/n\u00e9w.yaml\"}}",
	       "{\"parameters\":{\"diags\":[{\"level\":\"error\",\"file\":\"/tmp/n\u00e9w.yaml\","
	       "\"line\":3");
	expect("{\"method\":\"io.swd.Switch.Apply\",\"parameters\":{\"text\":\"bad\","
	       "\"name\":\"new\\nyaml\"}}",
	       "{\"error\":\"org.varlink.service.InvalidParameter\",\"parameters\":{"
	       "\"parameter\":\"name\"}}");
	expect("{\"method\":\"io.swd.Switch.Plan\"}", "\"steps\":1");
	expect("{\"method\":\"io.swd.Switch.Apply\",\"parameters\":{\"text\":\"good\"}}",
	       "{\"parameters\":{\"generation\":8,\"deadline\":null,\"covered_by\":null,"
	       "\"plan\":{\"steps\":[{\"op\":\"add\"");
	assert_memory_equal(fake.who, "test_service", 12);
	expect("{\"method\":\"io.swd.Switch.Apply\",\"parameters\":{\"text\":\"bad\"}}",
	       "{\"error\":\"io.swd.Switch.BadConfig\",\"parameters\":{\"diags\":[{");
	expect("{\"method\":\"io.swd.Switch.Apply\",\"parameters\":{\"text\":\"refuse\"}}",
	       "{\"error\":\"io.swd.Switch.Refused\",\"parameters\":{\"outcome\":\"reverted\","
	       "\"text\":\"rule no-bogons: kernel: table full\"");
}

/* What is out of bounds never reaches the engine; what the engine refuses has its own error. */
static void test_trials(void **state)
{
	static const char *const bad[][2] = {
		{ "Apply", "\"confirm_ms\":999" },
		{ "Apply", "\"confirm_ms\":86400001" },
		{ "Apply", "\"confirm_ms\":0" },
		{ "Apply", "\"confirm_ms\":-60000" },
		{ "Apply", "\"confirm_ms\":9223372036854775807" },
		{ "Revert", "\"confirm_ms\":\"60s\"" },
		{ "Apply", "\"why\":\"two\\nlines\"" },
		{ "Apply", "\"why\":7" },
		{ "Revert", "\"generation\":0" },
		{ "Revert", "\"generation\":-1" },
		{ "Generation", "\"generation\":0" },
		{ "Export", "\"generation\":true" },
		{ "Confirm", "\"generation\":8" },
		{ "History", "\"limit\":8" },
	};
	char message[600], wanted[120], why[300];
	int before = atomic_load(&fake.submitted);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *end = strchr(bad[i][1] + 1, '"');

		snprintf(message, sizeof(message),
			 "{\"method\":\"io.swd.Switch.%s\",\"parameters\":{%s}}", bad[i][0],
			 bad[i][1]);
		snprintf(wanted, sizeof(wanted),
			 "org.varlink.service.InvalidParameter\","
			 "\"parameters\":{\"parameter\":%.*s\"",
			 (int)(end - bad[i][1]), bad[i][1]);
		expect(message, wanted);
	}
	memset(why, 'w', sizeof(why));
	why[201] = '\0';
	snprintf(message, sizeof(message),
		 "{\"method\":\"io.swd.Switch.Apply\",\"parameters\":{\"why\":\"%s\"}}", why);
	expect(message, "\"parameter\":\"why\"");
	assert_int_equal(atomic_load(&fake.submitted), before);
	snprintf(message, sizeof(message),
		 "{\"method\":\"io.swd.Switch.Apply\",\"parameters\":{\"why\":\"%s\",\"text\":null,"
		 "\"confirm_ms\":null}}",
		 why + 1);
	expect(message, "\"generation\":8,\"deadline\":null");
	assert_int_equal(strlen(fake.why), 200);

	expect("{\"method\":\"io.swd.Switch.Confirm\"}",
	       "{\"error\":\"io.swd.Switch.NotArmed\","
	       "\"parameters\":{\"text\":\"nothing waits\"}}");
	expect("{\"method\":\"io.swd.Switch.Revert\",\"parameters\":{\"generation\":99}}",
	       "{\"error\":\"io.swd.Switch.NoSuchGeneration\","
	       "\"parameters\":{\"text\":\"there is no generation 99\"}}");
	expect("{\"method\":\"io.swd.Switch.Export\",\"parameters\":{\"generation\":99}}",
	       "io.swd.Switch.NoSuchGeneration");
	atomic_store(&fake.armed, true);
	expect("{\"method\":\"io.swd.Switch.Apply\",\"parameters\":{\"text\":\"good\"}}",
	       "{\"error\":\"io.swd.Switch.Armed\",\"parameters\":{\"text\":\"generation 8 waits\","
	       "\"deadline\":{\"generation\":8,\"back_to\":7,\"confirm_ms\":60000,\"left_ms\":");
	atomic_store(&fake.no_room, true);
	expect("{\"method\":\"io.swd.Switch.Confirm\"}",
	       "{\"error\":\"io.swd.Switch.Failed\",\"parameters\":{\"errno\":28,\"text\":\"the "
	       "deadline stands\"}}");
}

/* A client that does not wait for its apply, and an engine that outlives the service. */
static void test_jobs_outlive(void **state)
{
	int fd = client_connect(&fake), other = client_connect(&fake);

	atomic_store(&fake.hold, true);
	client_say(fd, "{\"method\":\"io.swd.Switch.Apply\"}");
	client_say(other, "{\"method\":\"io.swd.Switch.Plan\"}");
	for (int i = 0; atomic_load(&fake.submitted) < 2; i++) {
		assert_true(i < 5000);
		usleep(1000);
	}
	close(fd);
	/* The rest happens in sample_stop(): service_stop(), then the jobs end with -ECANCELED. */
	expect(STATUS, "generation");
	close(other);
}

static void test_stopping(void **state)
{
	/* The engine gives up its jobs while the client waits: fake_stop() does it after the
	 * service has gone, so here the connection just ends. */
	int fd = client_connect(&fake);

	atomic_store(&fake.hold, true);
	client_say(fd, "{\"method\":\"io.swd.Switch.Apply\"}");
	for (int i = 0; atomic_load(&fake.submitted) < 1; i++) {
		assert_true(i < 5000);
		usleep(1000);
	}
	fake_stop(&fake);
	assert_null(client_hear(fd));
	close(fd);
	fake_start(&fake, sample_snapshot(), NULL);
}

static void send_event(struct fake *f)
{
	struct engine_event e = { .type = ENGINE_EVENT_FOREIGN, .at_ns = 1700000000123000000ULL };

	strcpy(e.about, "block edge");
	strcpy(e.text, "a \"stranger\"");
	service_event(f->service, &e);
}

static void test_monitor(void **state)
{
	int fds[3];
	char *answer;

	for (int i = 0; i < 3; i++) {
		fds[i] = client_connect(&fake);
		answer = client_ask(fds[i], "{\"method\":\"io.swd.Switch.Monitor\",\"more\":true}");
		assert_non_null(strstr(answer, "\"type\":\"listening\""));
		assert_non_null(strstr(answer, "\"continues\":true"));
		free(answer);
	}
	close(fds[1]);
	for (int round = 0; round < 2; round++) {
		fake_in_loop(&fake, send_event);
		for (int i = 0; i < 3; i += 2) {
			answer = client_hear(fds[i]);
			assert_string_equal(
				answer,
				"{\"parameters\":{\"event\":{\"type\":\"foreign\",\"at_ms\":"
				"1700000000123,\"about\":\"block edge\",\"text\":"
				"\"a \\\"stranger\\\"\"}},\"continues\":true}");
			free(answer);
		}
	}
	/* A stream ends when its client closes even one direction. */
	shutdown(fds[0], SHUT_WR);
	assert_null(client_hear(fds[0]));
	close(fds[0]);
	close(fds[2]);
}

/* What another user may: only introspection; and root's group does not help. */
static void as_nobody(void)
{
	int fd;
	char *answer;

	if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
		_exit(10);
	fd = client_connect(&fake);
	answer = client_ask(fd, STATUS);
	if (strcmp(answer, "{\"error\":\"io.swd.Switch.AccessDenied\",\"parameters\":{\"method\":"
			   "\"io.swd.Switch.Status\"}}") != 0)
		_exit(11);
	answer = client_ask(fd, "{\"method\":\"io.swd.Switch.Apply\",\"parameters\":{\"x\":1}}");
	if (!strstr(answer, "AccessDenied"))
		_exit(12);
	answer = client_ask(fd, INFO);
	if (!strstr(answer, "interfaces"))
		_exit(13);
	_exit(0);
}

static void as_reader(void)
{
	int fd;
	gid_t group = 1; /* "daemon" on Debian: the reader group of this test */

	if (setgroups(1, &group) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
		_exit(10);
	fd = client_connect(&fake);
	if (!strstr(client_ask(fd, STATUS), "\"generation\":7"))
		_exit(11);
	if (!strstr(client_ask(fd, "{\"method\":\"io.swd.Switch.Plan\"}"), "\"steps\":1"))
		_exit(12);
	if (!strstr(client_ask(fd, "{\"method\":\"io.swd.Switch.Apply\"}"), "AccessDenied"))
		_exit(13);
	if (!strstr(client_ask(fd, "{\"method\":\"io.swd.Switch.Confirm\"}"), "AccessDenied"))
		_exit(14);
	if (!strstr(client_ask(fd, "{\"method\":\"io.swd.Switch.Revert\"}"), "AccessDenied"))
		_exit(15);
	if (!strstr(client_ask(fd, "{\"method\":\"io.swd.Switch.History\"}"), "\"current\":7"))
		_exit(16);
	if (!strstr(client_ask(fd, "{\"method\":\"io.swd.Switch.Export\"}"), "version: 1"))
		_exit(17);
	_exit(0);
}

static void as_writer(void)
{
	if (setgroups(0, NULL) < 0 || setgid(2) < 0 || setuid(65534) < 0)
		_exit(10);
	if (!strstr(client_ask(client_connect(&fake), "{\"method\":\"io.swd.Switch.Apply\"}"),
		    "\"generation\":8"))
		_exit(11);
	_exit(0);
}

static void in_child(void (*fn)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0)
		fn();
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_rights(void **state)
{
	const struct service_options options = { .reader_group = "daemon" };
	struct snapshot *s = sample_snapshot();
	struct group *daemon_group = getgrnam("daemon");
	bool groups = daemon_group && daemon_group->gr_gid == 1;
	struct group *bin_group = getgrnam("bin");

	groups = groups && bin_group && bin_group->gr_gid == 2;
	if (geteuid() != 0 || !groups) {
		print_message("skipped: needs root, and the groups daemon (1) and bin (2)\n");
		snapshot_unref(s);
		skip();
	}
	fake_stop(&fake);
	s->config->daemon.writer_count = 1;
	strcpy(s->config->daemon.writers[0], "bin");
	fake_start(&fake, s, &options);
	in_child(as_nobody);
	in_child(as_reader);
	in_child(as_writer);
	/* The file changes who may write. */
	fake_publish(&fake, sample_snapshot());
	{
		pid_t child = fork();
		int status;

		if (child == 0)
			as_writer();
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(WEXITSTATUS(status), 11);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sample_start, sample_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_errors),	TEST(test_hostile), TEST(test_framing),
		TEST(test_pipelining),	TEST(test_oneway),  TEST(test_too_long),
		TEST(test_half_closed), TEST(test_files),   TEST(test_jobs_outlive),
		TEST(test_stopping),	TEST(test_monitor), TEST(test_rights),
		TEST(test_trials),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
