// SPDX-License-Identifier: GPL-2.0-or-later
/* The two threads: jobs in, snapshots, events and finished jobs out, and an orderly end. */
#include "../check.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "config/base/log.h"
#include "daemon/engine/pulse.h"
#include "fake_tune.h"
#include "files.h"
#include "rig.h"

struct outer {
	struct rig rig;
	struct loop *loop;
	struct engine *engine;
	pthread_t thread;
	size_t snapshots, events, done, cancelled, wanted_done;
	size_t told; /* how far a measurement is */
	struct job_progress last;
	size_t repaired_after; /* so many jobs */
	uint64_t last_number;
	bool ready;
};

static void on_snapshot(struct snapshot *s, void *data)
{
	struct outer *out = data;

	assert_true(pthread_equal(pthread_self(), out->thread));
	assert_true(s->number > out->last_number);
	out->last_number = s->number;
	out->snapshots++;
}

static void on_event(const struct engine_event *e, void *data)
{
	struct outer *out = data;

	assert_true(engine_event_name(e->type)[0] != '?');
	out->events++;
	if (e->type == ENGINE_EVENT_REPAIRED && !out->repaired_after)
		out->repaired_after = out->done + 1;
}

static void maybe_stop(struct outer *out)
{
	if (out->ready && out->done + out->cancelled == out->wanted_done)
		loop_stop(out->loop);
}

static void on_ready(void *data)
{
	struct outer *out = data;

	assert_false(out->ready);
	out->ready = true;
	maybe_stop(out);
}

static void begin(struct outer *out)
{
	struct engine_options options;
	struct engine_listener listener = { on_snapshot, on_event, on_ready, out };

	*out = (struct outer){ .thread = pthread_self() };
	rig_begin(&out->rig, BYPASS_ABILITY_READBACK);
	rig_write(&out->rig, FILE_ONE);
	options = (struct engine_options){ out->rig.config, out->rig.state };
	out->loop = loop_new();
	assert_int_equal(engine_start(out->loop, &options, &listener, &out->engine), 0);
}

static void end(struct outer *out)
{
	assert_int_equal(engine_stop(out->engine, 10000), 0);
	loop_free(out->loop);
	rig_end(&out->rig);
}

static void on_done(struct job *job, void *data)
{
	struct outer *out = data;
	struct snapshot *s;

	assert_true(pthread_equal(pthread_self(), out->thread));
	if (job->result == -ECANCELED) {
		out->cancelled++;
		return;
	}
	assert_int_equal(job->result, 0);
	if (job->type == JOB_APPLY) {
		/* Who was told "done" sees it. */
		s = engine_snapshot(out->engine);
		assert_true(s->generation >= job->generation);
		snapshot_unref(s);
	}
	out->done++;
	maybe_stop(out);
}

static void on_progress(const struct job_progress *p, void *data)
{
	struct outer *out = data;

	assert_true(pthread_equal(pthread_self(), out->thread));
	assert_int_equal(out->done + out->cancelled, 0);
	assert_in_range(p->done, out->last.done, p->total - 1);
	out->last = *p;
	out->told++;
}

static void submit(struct outer *out, enum job_type type, const char *text)
{
	struct job *job = job_new(type);

	COPY_NAME(job->port, "eth0");
	job->progress = type == JOB_MEASURE ? on_progress : NULL;
	job->text = text ? strdup(text) : NULL;
	job->text_size = text ? strlen(text) : 0;
	job->done = on_done;
	job->data = out;
	out->wanted_done++;
	engine_submit(out->engine, job);
}

static void all_jobs_are_done_and_the_last_file_wins(void **state)
{
	const struct port lan1 = { .obj.kind = KIND_PORT, .name = "lan1" }, *port;
	struct outer out;
	struct snapshot *s;

	begin(&out);
	s = engine_snapshot(out.engine);
	assert_non_null(s); /* never NULL, from the first moment */
	assert_non_null(s->found);
	snapshot_unref(s);
	for (int i = 0; i < 20; i++) {
		submit(&out, JOB_APPLY, i % 2 ? FILE_TWO : FILE_ONE);
		submit(&out, JOB_COUNTERS, NULL);
		submit(&out, JOB_PLAN, FILE_TWO);
	}
	loop_run(out.loop);
	assert_int_equal(out.done, 60);
	s = engine_snapshot(out.engine);
	/* Those that waited together are one generation. */
	assert_in_range(s->generation, 2, 21);
	port = state_find(s->config->wanted, &lan1.obj);
	assert_non_null(port);
	assert_true(port->has & PORT_HAS_MTU);
	assert_true(s->counters_ns > 0);
	snapshot_unref(s);
	assert_true(out.snapshots > 0 && out.events > 0);
	assert_true(engine_alive(out.engine, 5000));
	end(&out);
}

/* Nothing of the kernel of paper may be touched before. */
static void wait_for_rest(struct outer *out)
{
	bool settled = false;

	while (!settled) {
		struct snapshot *s = engine_snapshot(out->engine);

		settled = s->generation == 1 && s->settled;
		snapshot_unref(s);
		usleep(300000);
	}
}

static void repair_waits_for_no_row_of_jobs(void **state)
{
	struct outer out;

	begin(&out);
	wait_for_rest(&out);
	fake_del_filter(10, 0);
	for (int i = 0; i < 1000; i++)
		submit(&out, JOB_PLAN, FILE_TWO);
	loop_run(out.loop);
	assert_int_equal(out.done, 1000);
	assert_in_range(out.repaired_after, 1, 900);
	end(&out);
}

/* Its news come before its end, and the newest always. */
static void a_measurement_tells_how_far_it_is(void **state)
{
	struct outer out;

	fake_tune = (struct fake_tune){ .verdict = TUNE_CHOSEN, .frames = 16 };
	begin(&out);
	wait_for_rest(&out);
	submit(&out, JOB_MEASURE, NULL);
	loop_run(out.loop);
	assert_int_equal(out.done, 1);
	assert_in_range(out.told, 1, 3);
	assert_int_equal(out.last.done, 2);
	assert_int_equal(out.last.frames, 4);
	end(&out);
}

static void an_end_cancels_what_waits(void **state)
{
	struct outer out;

	begin(&out);
	for (int i = 0; i < 200; i++)
		submit(&out, JOB_PLAN, FILE_TWO);
	end(&out); /* each job's done() has run, here, by now */
	assert_int_equal(out.done + out.cancelled, 200);
	assert_true(out.cancelled > 0);
}

static void pulse_tells_a_hang_from_a_wait(void **state)
{
	struct pulse p = { 0 };

	assert_true(pulse_alive(&p, 10));
	assert_false(pulse_busy(&p));
	pulse_go(&p);
	assert_true(pulse_busy(&p));
	assert_true(pulse_alive(&p, 10));
	usleep(30000);
	assert_false(pulse_alive(&p, 10));
	pulse_wait(&p); /* for rtnl, however long */
	assert_true(pulse_busy(&p));
	usleep(30000);
	assert_true(pulse_alive(&p, 10));
	pulse_at(&p, PULSE_IDLE);
	usleep(30000);
	assert_true(pulse_alive(&p, 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_jobs_are_done_and_the_last_file_wins),
		cmocka_unit_test(repair_waits_for_no_row_of_jobs),
		cmocka_unit_test(a_measurement_tells_how_far_it_is),
		cmocka_unit_test(an_end_cancels_what_waits),
		cmocka_unit_test(pulse_tells_a_hang_from_a_wait),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
