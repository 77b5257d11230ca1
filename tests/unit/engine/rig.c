// SPDX-License-Identifier: GPL-2.0-or-later
#include "../check.h"

#include "rig.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>

static void on_snapshot(struct snapshot *s, void *data)
{
	struct rig *r = data;

	snapshot_unref(r->newest);
	r->newest = s;
}

static void on_event(const struct engine_event *e, void *data)
{
	struct rig *r = data;

	if (r->event_count < 64)
		snprintf(r->events[r->event_count++], sizeof(r->events[0]), "%s %s: %s",
			 engine_event_name(e->type), e->about, e->text);
}

static void on_ready(void *data)
{
	((struct rig *)data)->ready = true;
}

static void on_progress(struct job *job, const struct job_progress *p, void *data)
{
	job->progress(p, job->data);
}

static enum jobs_waiting what_waits(void *data)
{
	return ((struct rig *)data)->waiting;
}

void rig_begin(struct rig *r, enum bypass_ability ability)
{
	*r = (struct rig){ 0 };
	/* In memory where that can be had: the store waits for its disk. */
	strcpy(r->dir,
	       access("/dev/shm", W_OK) == 0 ? "/dev/shm/swd-rig-XXXXXX" : "/tmp/swd-rig-XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	snprintf(r->config, sizeof(r->config), "%s/swd.yaml", r->dir);
	snprintf(r->state, sizeof(r->state), "%s/state", r->dir);
	assert_int_equal(mkdir(r->state, 0700), 0);
	fake_begin(ability);
	fake_add_port("cpu0", NULL, -1);
	fake_add_port("eth0", NULL, 0);
	fake_add_port("lan1", "cpu0", 1);
	fake_add_port("lan2", "cpu0", 1);
}

void rig_stop(struct rig *r)
{
	owner_free(take(r->o));
	snapshot_unref(take(r->newest));
	r->ready = false;
	r->event_count = 0;
}

void rig_end(struct rig *r)
{
	char command[128];

	rig_stop(r);
	fake_end();
	snprintf(command, sizeof(command), "rm -rf '%s'", r->dir);
	assert_int_equal(system(command), 0);
}

void rig_write(struct rig *r, const char *yaml)
{
	FILE *f;

	unlink(r->config);
	if (!yaml)
		return;
	f = fopen(r->config, "w");
	assert_non_null(f);
	fputs(yaml, f);
	fclose(f);
}

void rig_make(struct rig *r)
{
	struct engine_options options = { .config_path = r->config, .state_dir = r->state };
	struct owner_listener listener = { on_snapshot, on_event,   on_ready,
					   on_progress, what_waits, r };

	fake_reset_counts();
	assert_int_equal(owner_new(&options, &listener, &r->pulse, &r->o), 0);
}

void rig_start(struct rig *r)
{
	rig_make(r);
	owner_start(r->o);
}

void rig_settle(struct rig *r)
{
	for (int i = 0; i < 1000; i++) {
		uint64_t due, now;

		owner_readable(r->o);
		due = owner_due(r->o);
		now = now_monotonic_ns();
		if (due > now + 300000000ULL)
			return;
		if (due > now)
			usleep((useconds_t)((due - now) / 1000 + 1));
		owner_tick(r->o);
	}
	fail_msg("it does not come to rest");
}

static struct job *run(struct rig *r, struct job *job)
{
	strcpy(job->who, "test");
	fake_reset_counts();
	owner_job(r->o, job);
	return job;
}

struct job *rig_apply(struct rig *r, const char *yaml, uint32_t confirm_ms)
{
	struct job *job = job_new(JOB_APPLY);

	assert_non_null(job);
	if (yaml) {
		job->text = strdup(yaml);
		job->text_size = strlen(yaml);
	}
	job->confirm_ms = confirm_ms;
	return run(r, job);
}

struct job *rig_job(struct rig *r, enum job_type type, uint64_t target)
{
	struct job *job = job_new(type);

	assert_non_null(job);
	job->target = target;
	return run(r, job);
}

struct job *rig_reload(struct rig *r)
{
	return rig_apply(r, NULL, 0);
}

void rig_sql(struct rig *r, const char *sql)
{
	char path[128];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/swd.db", r->state);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

size_t rig_reload_ok(struct rig *r)
{
	struct job *job = rig_reload(r);
	size_t requests = fake.requests;

	if (job->result != 0) {
		diags_print(job->diags, stderr);
		fail_msg("the reload failed: %d", job->result);
	}
	assert_int_equal(job->outcome, APPLY_DONE);
	job_free(job);
	return requests;
}

void rig_reload_reverts(struct rig *r, size_t k)
{
	char *before = fake_text(), *after;
	struct job *job;

	fake_reset_counts();
	fake.fail_at = k;
	job = rig_reload(r);
	fake.fail_at = 0;
	assert_true(fake.requests >= k);
	assert_int_equal(job->outcome, APPLY_REVERTED);
	after = fake_text();
	assert_same_kernel(before, after);
	free(before);
	free(after);
	job_free(job);
}

bool rig_has_event(const struct rig *r, const char *part)
{
	for (size_t i = 0; i < r->event_count; i++)
		if (strstr(r->events[i], part))
			return true;
	return false;
}

const struct alert *rig_alert(const struct rig *r, const char *id)
{
	for (size_t i = 0; i < r->newest->alert_count; i++)
		if (streq(r->newest->alerts[i].id, id))
			return &r->newest->alerts[i];
	return NULL;
}

static void print_missing(const char *title, const char *from, const char *in)
{
	while (*from) {
		size_t size = (size_t)(strchr(from, '\n') + 1 - from);
		_cleanup_free_ char *line = strndup(from, size);

		if (!strstr(in, line))
			fprintf(stderr, "%s: %s", title, line);
		from += size;
	}
}

void assert_same_kernel(const char *before, const char *after)
{
	if (streq(before, after))
		return;
	print_missing("gone", before, after);
	print_missing("new", after, before);
	fail_msg("the kernel does not hold what it held");
}

char *without(char *text, const char *part)
{
	char *ret = calloc(1, strlen(text) + 1), *to = ret;

	for (char *line = text, *end; *line; line = end) {
		end = strchr(line, '\n') + 1;
		char saved = *end;

		*end = '\0';
		if (!strstr(line, part))
			to = stpcpy(to, line);
		*end = saved;
	}
	free(text);
	return ret;
}
