// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands in for engine.c: the functions of engine.h that the service calls. See fake.h.
 */
#include "tests/unit/check.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include "tests/unit/service/fake.h"

struct engine {
	struct fake *fake;
	struct snapshot *snapshot;
	struct job *first, **tail;
};

struct snapshot *engine_snapshot(struct engine *e)
{
	return snapshot_ref(e->snapshot);
}

void engine_submit(struct engine *e, struct job *job)
{
	atomic_fetch_add(&e->fake->submitted, 1);
	if (job->type == JOB_COUNTERS)
		atomic_fetch_add(&e->fake->counter_jobs, 1);
	*e->tail = job;
	e->tail = &job->next;
	job->next = NULL;
}

void engine_work(struct engine *e, struct engine_work *ret)
{
	*ret = (struct engine_work){ PULSE_APPLY, 12000, 100000, 3000000000, 1 };
}

static void wrong_file(struct job *job)
{
	job->result = -EINVAL;
	job->outcome = APPLY_REFUSED;
	job->diags = diags_new(job->name[0] ? job->name : "swd.yaml");
	diag_hint(diags_add(job->diags, DIAG_ERROR, (struct origin){ 3, 7 }, "blocks.edge",
			    "unknown key 'skip_sv'"),
		  "did you mean 'skip_sw'?");
}

/* A text that says "bad" is a wrong file, one that says "refuse" is refused by the kernel. */
static void do_file(struct fake *f, struct job *job)
{
	snprintf(f->who, sizeof(f->who), "%s", job->who);
	if (job->text && strstr(job->text, "bad")) {
		wrong_file(job);
		return;
	}
	if (job->text && strstr(job->text, "refuse")) {
		job->result = -EOPNOTSUPP;
		job->outcome = APPLY_REVERTED;
		job->diags = diags_new("swd.yaml");
		diags_add(job->diags, DIAG_ERROR, (struct origin){ 9, 5 }, NULL,
			  "rule no-bogons: kernel: table full");
		return;
	}
	job->outcome = APPLY_DONE;
	job->generation = 8;
	job->steps = 1;
	job->plan_json =
		strdup("{\"steps\":[{\"op\":\"add\",\"reason\":\"missing\",\"kind\":\"qdisc\","
		       "\"object\":\"x\",\"port\":\"x\",\"block\":null,\"rule\":null,\"line\":null,"
		       "\"text\":\"+ x\"}],\"waiting\":[],\"conflicts\":[],\"gaps\":[]}");
}

static struct armed armed(uint32_t confirm_ms)
{
	return (struct armed){ 8, 7, confirm_ms, clock_boot_ns() + confirm_ms * 1000000ULL };
}

static void refuse(struct job *job, enum job_refusal why, const char *words)
{
	job->result = -EBUSY;
	job->refusal = why;
	strcpy(job->words, words);
}

/* Generation 8 is a failure, 7 the one in force, 6 a revert; there are none besides. */
static void fill_generation(struct generation *g, uint64_t id)
{
	*g = (struct generation){ .id = id, .at_ns = 1700000000123456789, .uid = 1000, .size = 20 };
	strcpy(g->who, "sw-cli pid 5");
	strcpy(g->name, id == 6 ? "" : "new.yaml");
	strcpy(g->outcome, id == 8 ? "reverted" : "done");
	strcpy(g->error, id == 8 ? "rule x: kernel: no" : "");
	strcpy(g->why, id == 7 ? "ticket \"42\"" : "");
	g->changes = id;
	g->reverts = id == 6 ? 3 : 0;
	g->confirm_ms = id == 7 ? 60000 : 0;
}

static void do_history(struct fake *f, struct job *job)
{
	size_t n = 3 + (size_t)atomic_load(&f->history);

	job->generation = 7;
	job->list = calloc(n, sizeof(*job->list));
	job->list_count = n;
	for (size_t i = 0; i < n; i++)
		fill_generation(&job->list[i], i < 3 ? 8 - i : 100 + i);
}

static void do_generation(struct job *job)
{
	uint64_t id = job->target ? job->target : 7;

	job->generation = 7;
	if (id > 8) {
		refuse(job, JOB_NO_GENERATION, "there is no generation 99");
		return;
	}
	job->list = calloc(1, sizeof(*job->list));
	job->list_count = 1;
	fill_generation(job->list, id);
	job->list->text = strdup("version: 1 # \xe2\x82\xac\r\n\t\"\\\n");
	job->list->diff = id == 6 ? NULL : strdup("+ x: missing\n- y: leftover\n");
}

static void do_trial(struct fake *f, struct job *job)
{
	f->confirm_ms = job->confirm_ms;
	f->target = job->target;
	strcpy(f->why, job->why);
	if (atomic_load(&f->armed) && !job->confirm_ms) {
		refuse(job, JOB_ARMED, "generation 8 waits");
		job->armed = armed(60000);
	} else if (job->target == 99) {
		refuse(job, JOB_NO_GENERATION, "there is no generation 99");
	} else {
		do_file(f, job);
		if (job->confirm_ms)
			job->armed = armed(job->confirm_ms);
	}
}

static void do_confirm(struct fake *f, struct job *job)
{
	job->generation = 8;
	if (!atomic_load(&f->armed))
		refuse(job, JOB_NOT_ARMED, "nothing waits");
	else if (atomic_load(&f->no_room)) {
		job->result = -ENOSPC;
		strcpy(job->words, "the deadline stands");
	}
}

/* Others use each port but lan2. */
static void do_measure(struct job *job)
{
	for (uint32_t i = 0; job->progress && i < 3; i++)
		job->progress(&(struct job_progress){ i, 219, i }, job->data);
	if (!streq(job->port, "lan2") && !job->force) {
		refuse(job, JOB_NOT_MEASURED, "others use it");
		return;
	}
	strcpy(job->words, "8 frames to a doorbell");
	job->measured = (struct measured){ .frames = 8,
					   .doorbell_ps = 53100,
					   .frame_ps = 587000,
					   .tries = 2,
					   .tried = { 1, 8 },
					   .took_ps = { 640000, 593000 } };
	COPY_NAME(job->measured.dev, job->port);
}

static void do_well(struct fake *f, struct job *job)
{
	switch (job->type) {
	case JOB_COUNTERS:
		f->engine->snapshot->counters_ns = now_realtime_ns();
		return;
	case JOB_PLAN:
		do_file(f, job);
		return;
	case JOB_APPLY:
	case JOB_REVERT:
		do_trial(f, job);
		return;
	case JOB_CONFIRM:
		do_confirm(f, job);
		return;
	case JOB_HISTORY:
		do_history(f, job);
		return;
	case JOB_GENERATION:
		do_generation(job);
		return;
	case JOB_MEASURE:
		do_measure(job);
		return;
	case JOB_STOP:
	case JOB_TEARDOWN:
		fail_msg("no client asks for that");
	}
}

static void do_job(struct fake *f, struct job *job, int result)
{
	job->result = result;
	if (result == 0)
		do_well(f, job);
	atomic_fetch_add(&f->unwanted, job->unwanted);
	job->done(job, job->data);
	job_free(job);
}

static struct job *pop(struct engine *e)
{
	struct job *job = e->first;

	if (job) {
		e->first = job->next;
		if (!e->first)
			e->tail = &e->first;
	}
	return job;
}

static void on_tick(void *data)
{
	struct fake *f = data;
	void (*fn)(struct fake *) = atomic_load(&f->errand);

	if (fn) {
		fn(f);
		atomic_store(&f->errand, NULL);
	}
	while (f->engine->first && !atomic_load(&f->hold))
		do_job(f, pop(f->engine), 0);
}

static void *run(void *data)
{
	struct fake *f = data;

	loop_run(f->loop);
	return NULL;
}

void fake_start(struct fake *f, struct snapshot *first, const struct service_options *options)
{
	struct service_options o = options ? *options : (struct service_options){ 0 };

	*f = (struct fake){ 0 };
	strcpy(f->folder, "/tmp/swd-test-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	assert_int_equal(chmod(f->folder, 0755), 0);
	snprintf(f->path, sizeof(f->path), "%s/s", f->folder);
	f->loop = loop_new();
	f->engine = calloc(1, sizeof(*f->engine));
	assert_non_null(f->loop);
	assert_non_null(f->engine);
	f->engine->fake = f;
	f->engine->snapshot = first;
	f->engine->tail = &f->engine->first;
	f->tick = loop_timer_new(f->loop, on_tick, f);
	loop_timer_start(f->tick, 1, 1);
	o.socket_path = f->path;
	if (!o.counters_wait_ms)
		o.counters_wait_ms = 100;
	assert_int_equal(service_open(f->loop, &o, &f->service), 0);
	assert_int_equal(service_start(f->service, f->engine), 0);
	assert_int_equal(pthread_create(&f->thread, NULL, run, f), 0);
}

void fake_stop(struct fake *f)
{
	char lock[112];
	struct job *job;

	loop_stop(f->loop);
	pthread_join(f->thread, NULL);
	service_stop(f->service);
	/* As engine_stop() does; the service has gone already. */
	while ((job = pop(f->engine)))
		do_job(f, job, -ECANCELED);
	snapshot_unref(f->engine->snapshot);
	free(f->engine);
	loop_timer_free(f->tick);
	loop_free(f->loop);
	assert_int_equal(access(f->path, F_OK), -1);
	snprintf(lock, sizeof(lock), "%s.lock", f->path);
	unlink(lock);
	rmdir(f->folder);
}

void fake_in_loop(struct fake *f, void (*fn)(struct fake *))
{
	atomic_store(&f->errand, fn);
	for (int i = 0; atomic_load(&f->errand); i++) {
		assert_true(i < 5000);
		usleep(1000);
	}
}

static struct snapshot *to_publish;

static void publish(struct fake *f)
{
	snapshot_unref(f->engine->snapshot);
	f->engine->snapshot = to_publish;
	service_snapshot(f->service, to_publish);
}

void fake_publish(struct fake *f, struct snapshot *s)
{
	to_publish = s;
	fake_in_loop(f, publish);
}

int client_connect(const struct fake *f)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval patience = { .tv_sec = 20 };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	strcpy(addr.sun_path, f->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return fd;
}

void client_say_bytes(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size > 0) {
		ssize_t n = send(fd, at, size, MSG_NOSIGNAL);

		assert_true(n > 0);
		at += n;
		size -= (size_t)n;
	}
}

void client_say(int fd, const char *message)
{
	client_say_bytes(fd, message, strlen(message) + 1);
}

char *client_hear(int fd)
{
	size_t size = 0, space = 65536;
	char *text = malloc(space);

	assert_non_null(text);
	for (;;) {
		/* Peek, so that what follows the NUL stays for the next one. */
		ssize_t n = recv(fd, text + size, space - size - 1, MSG_PEEK);
		char *end;

		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			fail_msg("no answer in time");
		if (n <= 0) {
			free(text);
			return NULL;
		}
		end = memchr(text + size, 0, (size_t)n);
		if (end)
			n = end + 1 - (text + size);
		assert_int_equal(recv(fd, text + size, (size_t)n, 0), n);
		size += (size_t)n;
		if (end)
			return text;
		if (space - size < 32768) {
			space *= 2;
			text = realloc(text, space);
			assert_non_null(text);
		}
	}
}

char *client_ask(int fd, const char *message)
{
	char *answer;

	client_say(fd, message);
	answer = client_hear(fd);
	assert_non_null(answer);
	return answer;
}
