// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Birth, life and death of the daemon: see swd.h. It joins the rooms: the engine's news go to the
 * service and to systemd, signals become jobs.
 *
 * Order of birth: the state folder's lock, the socket, and only then the engine, so that a second
 * daemon ends before it has touched the kernel.
 */
#include "daemon/swd.h"

#include <errno.h>
#include <malloc.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "config/base/log.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/teardown.h"
#include "daemon/kernel/privilege.h"
#include "daemon/options.h"
#include "daemon/service/notify.h"
#include "daemon/service/service.h"
#include "daemon/service/socket.h"

/* A piece of the engine's own work that takes longer is a hang. */
#define STUCK_MS 30000
/* How long the end waits for what the kernel is doing. */
#define STOP_MS 20000
#define EXTEND_EVERY_MS 5000
#define EXTEND_MS 30000

struct swd {
	struct swd_options options;
	struct loop *loop;
	struct engine *engine;
	struct service *service;
	struct loop_timer *watchdog, *extend;
	int lock_fd;
	bool ready;
	unsigned int reloads; /* that run or wait */
};

/* ---- what the engine tells ---- */

static void tell_systemd(const struct snapshot *s)
{
	const struct config *c = s->config;

	if (!c)
		notify_status("nothing is in force: %.200s", s->last_error);
	else
		notify_status(
			"generation %llu%s: %zu ports, %zu blocks, %zu rules; %zu alerts%s%.200s",
			(unsigned long long)s->generation,
			s->armed.generation ? " (to be confirmed)" : "",
			state_count(c->wanted, KIND_PORT), state_count(c->wanted, KIND_BLOCK),
			state_count(c->wanted, KIND_RULE), s->alert_count,
			s->last_error[0] ? "; last apply: " : "", s->last_error);
}

static void on_snapshot(struct snapshot *s, void *data)
{
	struct swd *swd = data;

	service_snapshot(swd->service, s);
	if (swd->options.log_level >= 0)
		log_set_level((enum log_level)swd->options.log_level);
	tell_systemd(s);
}

static void on_event(const struct engine_event *e, void *data)
{
	struct swd *swd = data;

	service_event(swd->service, e);
}

static void on_ready(void *data)
{
	struct swd *swd = data;

	swd->ready = true;
	if (swd->reloads == 0)
		notify_ready();
	log_notice("ready");
}

/* ---- signals ---- */

static void on_reloaded(struct job *job, void *data)
{
	struct swd *swd = data;

	/* READY=1 ends a reload always, also when the file was refused: the old one runs on. */
	if (--swd->reloads == 0 && swd->ready)
		notify_ready();
}

static void on_hangup(int signo, void *data)
{
	struct swd *swd = data;
	struct job *job = job_new(JOB_APPLY);

	if (!job) {
		log_error("no memory for a reload");
		return;
	}
	snprintf(job->who, sizeof(job->who), "SIGHUP");
	job->done = on_reloaded;
	job->data = swd;
	if (swd->reloads++ == 0 && swd->ready)
		notify_reloading();
	engine_submit(swd->engine, job);
}

static void on_end(int signo, void *data)
{
	struct swd *swd = data;

	log_notice("ends: %s", strsignal(signo));
	loop_stop(swd->loop);
}

/* ---- timers ---- */

static void on_watchdog(void *data)
{
	struct swd *swd = data;

	if (engine_alive(swd->engine, STUCK_MS))
		notify_watchdog();
	else
		log_error("the engine does not move; the watchdog is not fed");
}

/*
 * A start takes as long as it takes, and so does a reload: that is a call of sw-cli, for which
 * systemd waits no longer than for a start (TimeoutStartSec). Which apply is a reload we don't
 * know; where nothing is waited for, nothing is extended.
 */
static void on_extend(void *data)
{
	struct swd *swd = data;

	struct engine_work work;

	if ((!swd->ready || engine_busy(swd->engine)) && engine_alive(swd->engine, STUCK_MS))
		notify_extend(EXTEND_MS);
	engine_work(swd->engine, &work);
	/* The next snapshot says what came of it. */
	if (work.total)
		notify_status("at work for %llu s: %u of %u steps",
			      (unsigned long long)(work.for_ns / 1000000000), work.done,
			      work.total);
}

static int start_timers(struct swd *swd)
{
	uint32_t period = notify_watchdog_period_ms();

	swd->watchdog = loop_timer_new(swd->loop, on_watchdog, swd);
	swd->extend = loop_timer_new(swd->loop, on_extend, swd);
	if (!swd->watchdog || !swd->extend)
		return -ENOMEM;
	if (period)
		loop_timer_start(swd->watchdog, period, period);
	loop_timer_start(swd->extend, EXTEND_EVERY_MS, EXTEND_EVERY_MS);
	return 0;
}

/* ---- birth and death ---- */

/* The lock decides who owns the state: it goes with the process, however that ends. */
static int lock_state(struct swd *swd)
{
	char path[PATH_MAX];

	if (mkdir(swd->options.state, 0700) < 0 && errno != EEXIST) {
		log_error("%s can't be made: %s", swd->options.state, strerror(errno));
		return -errno;
	}
	if (snprintf(path, sizeof(path), "%s/lock", swd->options.state) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	swd->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (swd->lock_fd < 0) {
		/* On a read-only disk nobody else can have it; the store will say what is wrong. */
		if (errno == EROFS)
			return 0;
		log_error("%s can't be opened: %s", path, strerror(errno));
		return -errno;
	}
	if (flock(swd->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		log_error("%s is held by another swd", path);
		return -EBUSY;
	}
	return 0;
}

static int watch_signals(struct swd *swd)
{
	int r = loop_signal(swd->loop, SIGHUP, on_hangup, swd);

	if (r == 0)
		r = loop_signal(swd->loop, SIGTERM, on_end, swd);
	if (r == 0)
		r = loop_signal(swd->loop, SIGINT, on_end, swd);
	signal(SIGPIPE, SIG_IGN);
	return r;
}

static int start(struct swd *swd)
{
	struct service_options service = { .socket_path = swd->options.socket };
	struct engine_options engine = {
		.config_path = swd->options.config,
		.state_dir = swd->options.state,
	};
	struct engine_listener listener = { on_snapshot, on_event, on_ready, swd };
	int r = lock_state(swd);

	if (r < 0)
		return r;
	swd->loop = loop_new();
	if (!swd->loop)
		return -ENOMEM;
	r = watch_signals(swd);
	if (r == 0)
		r = service_open(swd->loop, &service, &swd->service);
	if (r < 0)
		return r;
	r = engine_start(swd->loop, &engine, &listener, &swd->engine);
	if (r < 0) {
		log_error("the engine can't start: %s", strerror(-r));
		return r;
	}
	/* The engine's thread has its own, for the probe. */
	privilege_drop();
	r = service_start(swd->service, swd->engine);
	if (r < 0)
		log_error("the service can't start: %s", strerror(-r));
	return r < 0 ? r : start_timers(swd);
}

static void stop(struct swd *swd)
{
	if (swd->engine) {
		notify_stopping();
		notify_extend(STOP_MS + 5000);
	}
	service_stop(swd->service);
	loop_timer_free(swd->watchdog);
	loop_timer_free(swd->extend);
	/* The kernel may hold the engine for long; nothing of it must be freed under its feet. */
	if (engine_stop(swd->engine, STOP_MS) == -ETIMEDOUT) {
		log_warning("the engine still waits in the kernel; ends without it");
		_exit(0);
	}
	loop_free(swd->loop);
	if (swd->lock_fd >= 0)
		close(swd->lock_fd);
}

/* ---- teardown ---- */

static void print_line(const char *line, void *data)
{
	printf("left: %s\n", line);
}

/* True if no swd runs that would put back what goes; the locks are held until the process ends. */
static bool nobody_runs(struct swd *swd, struct socket_place *place)
{
	const char *what;
	int r;

	if (access(swd->options.state, F_OK) < 0) {
		log_error("%s: %s", swd->options.state, strerror(errno));
		return false;
	}
	r = lock_state(swd);
	if (r == 0 && socket_claim(swd->options.socket, place, &what) == -EADDRINUSE) {
		log_error("%s: %s", swd->options.socket, what);
		r = -EBUSY;
	}
	if (r == -EBUSY)
		log_error("it would put back what goes: stop it first (systemctl stop swd)");
	return r == 0;
}

static int teardown(struct swd *swd)
{
	struct socket_place place = { .fd = -1, .lock_fd = -1 };
	struct engine_options options = {
		.config_path = swd->options.config,
		.state_dir = swd->options.state,
	};
	struct teardown done;
	int r;

	if (!nobody_runs(swd, &place))
		return 1;
	r = teardown_run(&options, print_line, NULL, &done);
	socket_release(&place);
	printf("%zu removed; left: %zu of swd's, %zu of others\n", done.removed, done.ours,
	       done.foreign);
	return r == 0 && fflush(stdout) == 0 ? 0 : 1;
}

int swd_main(int argc, char **argv)
{
	struct swd swd = { .lock_fd = -1 };
	int r = options_parse(argc, argv, &swd.options);

	if (r >= 0)
		return r;
	/* An arena of the engine's thread would grow by a page and a system call at a time. */
	mallopt(M_ARENA_MAX, 1);
	if (swd.options.log_level >= 0)
		log_set_level((enum log_level)swd.options.log_level);
	if (swd.options.teardown)
		return teardown(&swd);
	r = start(&swd);
	if (r == 0)
		r = loop_run(swd.loop);
	stop(&swd);
	return r < 0 ? 1 : 0;
}
