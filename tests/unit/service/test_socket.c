// SPDX-License-Identifier: GPL-2.0-or-later
/* Who owns the path: stale sockets go, living owners and strangers' files stay. */
#include "tests/unit/check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "daemon/service/socket.h"

static char folder[64], path[96];

static int setup(void **state)
{
	strcpy(folder, "/tmp/swd-test-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/run/s", folder);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", folder);
	return system(command);
}

static const char *dirname_of(const char *of)
{
	static char text[96];

	strcpy(text, of);
	*strrchr(text, '/') = 0;
	return text;
}

/* In listen()'s place: what everyone sees of the path before anyone gets through. */
int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);
static mode_t mode_at_listen;

int __wrap_listen(int fd, int backlog)
{
	struct stat st;

	if (lstat(path, &st) == 0)
		mode_at_listen = st.st_mode & 07777;
	return __real_listen(fd, backlog);
}

static bool reachable(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	strcpy(addr.sun_path, path);
	return connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0;
}

static void refused(int error)
{
	struct socket_place s;
	const char *what = NULL;

	assert_int_equal(socket_claim(path, &s, &what), error);
	assert_non_null(what);
}

static void test_sv_01_claim(void **state)
{
	struct socket_place s;
	const char *what;
	struct stat st;

	mode_at_listen = 0;
	assert_int_equal(socket_claim(path, &s, &what), 0); /* makes the folder too */
	assert_int_equal(mode_at_listen, 0666);
	assert_true(reachable());
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0666);
	refused(-EADDRINUSE); /* by the lock */
	assert_true(reachable());
	socket_release(&s);
	assert_int_equal(lstat(path, &st), -1);
	assert_int_equal(socket_claim(path, &s, &what), 0);
	socket_release(&s);
}

static void test_long_path(void **state)
{
	char long_path[300];
	struct socket_place s;
	const char *what;

	memset(long_path, 'x', sizeof(long_path));
	long_path[0] = '/';
	long_path[sizeof(long_path) - 1] = 0;
	assert_int_equal(socket_claim(long_path, &s, &what), -ENAMETOOLONG);
}

/* A process that dies without a chance to clean up. */
static void test_sv_01_stale(void **state)
{
	struct socket_place s;
	const char *what;
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(socket_claim(path, &s, &what) == 0 ? (kill(getpid(), SIGKILL), 1) : 2);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(access(path, F_OK), 0);
	assert_false(reachable());
	assert_int_equal(socket_claim(path, &s, &what), 0);
	assert_true(reachable());
	socket_release(&s);
}

/* Someone who does not know of the lock, and listens. */
static void test_sv_01_foreign_listener(void **state)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	int full[64], n = 0;

	assert_int_equal(mkdir(dirname_of(path), 0755), 0);
	strcpy(addr.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 0), 0);
	refused(-EADDRINUSE);
	/* And never accepts: its backlog runs full, as that of a stopped process would. */
	for (; n < 64; n++) {
		full[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (connect(full[n], (struct sockaddr *)&addr, sizeof(addr)) < 0)
			break;
	}
	assert_int_equal(errno, EAGAIN);
	refused(-EADDRINUSE);
	for (; n >= 0; n--)
		close(full[n]);
	assert_int_equal(access(path, F_OK), 0);
}

static void test_sv_01_not_a_socket(void **state)
{
	char target[96];
	struct stat st;
	int fd;

	assert_int_equal(mkdir(dirname_of(path), 0755), 0);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_int_equal(write(fd, "keep", 4), 4);
	close(fd);
	refused(-ENOTSOCK);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(unlink(path), 0);

	assert_int_equal(mkdir(path, 0700), 0);
	refused(-ENOTSOCK);
	assert_int_equal(rmdir(path), 0);

	snprintf(target, sizeof(target), "%s/target", folder);
	assert_int_equal(symlink(target, path), 0);
	refused(-ENOTSOCK);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(access(target, F_OK), -1);
}

/* What is not ours any more when we leave stays. */
static void test_release_of_another(void **state)
{
	struct socket_place s;
	const char *what;

	assert_int_equal(socket_claim(path, &s, &what), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	socket_release(&s);
	assert_int_equal(access(path, F_OK), 0);
}

/* Started many times at once, exactly one gets it. */
static void test_sv_01_race(void **state)
{
	for (int round = 0; round < 100; round++) {
		int won = 0, go[2], done[2];
		pid_t children[4];

		assert_int_equal(pipe(go), 0);
		assert_int_equal(pipe(done), 0);
		for (int i = 0; i < 4; i++) {
			children[i] = fork();
			if (children[i] == 0) {
				struct socket_place s;
				const char *what;
				char c;

				close(go[1]);
				close(done[1]);
				if (read(go[0], &c, 1) != 0) /* until the parent closes */
					_exit(2);
				if (socket_claim(path, &s, &what) < 0)
					_exit(1);
				if (read(done[0], &c, 1) != 0) /* holds it until all have tried */
					_exit(2);
				if (round % 2)
					socket_release(
						&s); /* else it dies and leaves a stale one */
				_exit(0);
			}
		}
		close(go[1]);
		close(go[0]);
		for (int i = 0, lost = 0; i < 4; i++) {
			int status;

			/* Three losers end by themselves; then the winner may go. */
			if (lost == 3)
				close(done[1]);
			assert_true(waitpid(-1, &status, 0) > 0);
			assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
			if (WEXITSTATUS(status) == 0)
				won++;
			else
				lost++;
		}
		close(done[0]);
		assert_int_equal(won, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sv_01_claim, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_path, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sv_01_stale, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sv_01_foreign_listener, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sv_01_not_a_socket, setup, teardown),
		cmocka_unit_test_setup_teardown(test_release_of_another, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sv_01_race, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
