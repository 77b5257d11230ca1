// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `flush: auto`: what was measured stands in the store, is what is wanted from then on, and is
 * measured anew when it says nothing any more.
 */
#include "../check.h"

#include <errno.h>
#include <stdio.h>

#include "fake_tune.h"
#include "fake_world.h"
#include "rig.h"

#define HEAD "version: 1\nports:\n"
#define AUTO HEAD "  eth0: { tx: { flush: auto } }\n"

static uint32_t is(const char *dev)
{
	return tx_find(fake.world, dev, TX_FLUSH)->value[0];
}

static void give(const char *dev, const char *driver, bool carrier)
{
	struct port *p = world_copy_port(state_port(fake.world, dev));

	p->up = 1;
	p->facts.carrier = carrier;
	COPY_NAME(p->facts.driver, driver);
	world_put(p);
	fake_add_tx(dev, TX_FLUSH, 0, 1, 1, 0);
}

static void begin(struct rig *r, const char *yaml)
{
	rig_begin(r, BYPASS_ABILITY_READBACK);
	fake_tune = (struct fake_tune){ .verdict = TUNE_CHOSEN, .frames = 16 };
	give("eth0", "nic", true);
	give("lan2", "nic", true);
	rig_write(r, yaml);
	rig_start(r);
	rig_settle(r);
}

/* Its time comes; what waits for another try goes on waiting. */
static void tick(struct rig *r)
{
	r->o->measure_due = 0;
	owner_tick(r->o);
	rig_settle(r);
}

/* The time of those that wait comes too. */
static void tick_later(struct rig *r)
{
	for (size_t i = 0; i < r->o->turns.count; i++)
		r->o->turns.list[i].due_ns = 0;
	tick(r);
}

/* Seconds from now. */
static uint64_t due_in(const struct rig *r)
{
	return (r->o->measure_due - now_monotonic_ns()) / 1000000000ULL;
}

static const struct measured *figures(const struct rig *r, const char *dev)
{
	return measured_find(&r->newest->measured, dev);
}

static void make_anew(struct rig *r, const char *driver)
{
	if (state_port(fake.world, "eth0"))
		fake_del_port("eth0");
	rig_settle(r);
	fake_add_port("eth0", NULL, -1);
	give("eth0", driver, true);
	world_emit(KERNEL_EVENT_NEW, state_port(fake.world, "eth0"), false);
	rig_settle(r);
}

static void set_carrier(struct rig *r, const char *dev, bool carrier)
{
	give(dev, "nic", carrier);
	world_emit(KERNEL_EVENT_NEW, state_port(fake.world, dev), false);
	rig_settle(r);
}

static struct job *the_job;

static struct job *measure(struct rig *r, const char *dev, bool force)
{
	struct job *job = job_new(JOB_MEASURE);

	the_job = job;
	COPY_NAME(job->port, dev);
	job->force = force;
	owner_job(r->o, job);
	rig_settle(r);
	return job;
}

static void auto_is_measured_and_set(void **state)
{
	struct rig r;

	begin(&r, AUTO);
	assert_int_equal(is("eth0"), 1);
	assert_true(r.newest->settled);
	tick(&r);
	assert_int_equal(fake_tune.runs, 1);
	assert_false(fake_tune.forced);
	assert_int_equal(is("eth0"), 16);
	assert_true(r.newest->settled);
	assert_true(rig_has_event(&r, "measured port eth0: 16 frames to a doorbell"));
	/* Once is enough; and drift is drift. */
	fake_set_tx("eth0", TX_FLUSH, 0, 1);
	r.o->audit_due = 0;
	rig_settle(&r);
	assert_int_equal(is("eth0"), 16);
	tick(&r);
	assert_int_equal(fake_tune.runs, 1);
	rig_end(&r);
}

static void the_store_knows_it(void **state)
{
	const struct measured *m;
	struct rig r;

	begin(&r, AUTO);
	tick(&r);
	rig_stop(&r);
	fake_set_tx("eth0", TX_FLUSH, 0, 1);
	rig_start(&r);
	assert_int_equal(is("eth0"), 16);
	rig_settle(&r);
	m = figures(&r, "eth0");
	assert_non_null(m);
	assert_string_equal(m->driver, "nic");
	assert_int_equal(m->doorbell_ps, 53000);
	assert_int_equal(m->tries, 2);
	assert_int_equal(m->tried[1], 16);
	assert_int_equal(m->took_ps[1], 593625);
	/* A file without it leaves the port as it is; one with it needs no new figures. */
	rig_write(&r, HEAD "  eth0: {}\n");
	assert_int_equal(rig_reload_ok(&r), 0);
	fake_set_tx("eth0", TX_FLUSH, 0, 1);
	rig_write(&r, AUTO);
	assert_int_equal(rig_reload_ok(&r), 1);
	assert_int_equal(is("eth0"), 16);
	assert_int_equal(fake_tune.runs, 1);
	rig_end(&r);
}

static void another_driver_is_measured_anew(void **state)
{
	struct rig r;

	begin(&r, AUTO);
	tick(&r);
	tick(&r); /* there is nothing else to be measured */
	make_anew(&r, "other");
	/* What another driver took is nothing to begin with. */
	assert_int_equal(is("eth0"), 1);
	assert_true(r.newest->settled);
	fake_tune.frames = 4;
	assert_in_range(due_in(&r), 0, 10);
	tick(&r);
	assert_int_equal(fake_tune.runs, 2);
	assert_int_equal(is("eth0"), 4);
	/* It comes while swd is away, and while it looks for the device. */
	rig_stop(&r);
	fake_del_port("eth0");
	rig_start(&r);
	rig_settle(&r);
	assert_int_equal(tx_find(r.o->config->wanted, "eth0", TX_FLUSH)->value[0], 4);
	make_anew(&r, "third");
	assert_int_equal(is("eth0"), 1);
	assert_int_equal(fake_tune.runs, 2);
	rig_end(&r);
}

static void a_device_made_anew_has_its_number_at_once(void **state)
{
	struct rig r;

	begin(&r, AUTO);
	tick(&r);
	make_anew(&r, "nic");
	assert_int_equal(is("eth0"), 16);
	tick(&r);
	assert_int_equal(fake_tune.runs, 1);
	/* Likewise after a start without it. */
	rig_stop(&r);
	fake_del_port("eth0");
	rig_start(&r);
	rig_settle(&r);
	make_anew(&r, "nic");
	assert_int_equal(is("eth0"), 16);
	tick(&r);
	assert_int_equal(fake_tune.runs, 1);
	rig_end(&r);
}

static void other_changes_do_not_measure_it_again(void **state)
{
	struct rig r;

	begin(&r, AUTO);
	tick(&r);
	assert_int_equal(rig_reload_ok(&r), 0);
	rig_write(&r, AUTO "  lan1: { mtu: 1400 }\n");
	assert_int_equal(rig_reload_ok(&r), 1);
	tick(&r);
	assert_int_equal(is("eth0"), 16);
	assert_int_equal(fake_tune.runs, 1);
	rig_end(&r);
}

static void what_can_not_be_measured_now_waits(void **state)
{
	struct rig r;

	begin(&r, HEAD "  eth0: { tx: { flush: auto } }\n  lan2: { tx: { flush: auto } }\n");
	fake_tune.verdict = TUNE_TRAFFIC;
	tick(&r);
	assert_int_equal(is("eth0"), 1);
	assert_string_equal(rig_alert(&r, "unmeasured")->about, "port eth0");
	assert_string_equal(rig_alert(&r, "unmeasured")->text, "flush: auto waits: others use it");
	assert_true(r.newest->settled);
	/* It keeps nobody else waiting. */
	assert_string_equal(fake_tune.dev, "lan2");
	assert_int_equal(fake_tune.runs, 2);
	tick(&r);
	assert_int_equal(fake_tune.runs, 2);
	assert_in_range(due_in(&r), 20, 30);
	/* It waits longer each time, and a reload is no reason to hurry. */
	for (int i = 0; i < 10; i++)
		tick_later(&r);
	assert_int_equal(rig_reload_ok(&r), 0);
	assert_non_null(rig_alert(&r, "unmeasured"));
	tick(&r);
	assert_in_range(due_in(&r), 300, 3600);
	fake_tune.verdict = TUNE_CHOSEN;
	tick_later(&r);
	tick_later(&r);
	assert_int_equal(is("eth0"), 16);
	assert_int_equal(is("lan2"), 16);
	assert_null(rig_alert(&r, "unmeasured"));
	rig_end(&r);
}

static void a_link_that_comes_up_is_measured_soon(void **state)
{
	struct rig r;

	begin(&r, HEAD "  eth0: {}\n");
	set_carrier(&r, "eth0", false);
	rig_write(&r, AUTO);
	assert_int_equal(rig_reload_ok(&r), 0);
	tick(&r);
	assert_int_equal(fake_tune.runs, 0);
	assert_int_equal(r.o->measure_due, OWNER_NEVER);
	set_carrier(&r, "eth0", true);
	assert_in_range(due_in(&r), 0, 3);
	fake_tune.verdict = TUNE_LINK; /* and goes again */
	tick(&r);
	for (int i = 0; i < 5; i++)
		tick_later(&r);
	assert_int_equal(fake_tune.runs, 6);
	assert_in_range(due_in(&r), 900, 960);
	/* One that flaps is not measured all the time. */
	set_carrier(&r, "eth0", false);
	set_carrier(&r, "eth0", true);
	tick(&r);
	assert_int_equal(fake_tune.runs, 6);
	assert_in_range(due_in(&r), 20, 30);
	fake_tune.verdict = TUNE_CHOSEN;
	tick_later(&r);
	assert_int_equal(is("eth0"), 16);
	assert_int_equal(r.o->measure_due, OWNER_NEVER);
	assert_int_equal(r.newest->turns.count, 0);
	rig_end(&r);
}

/* Noisy figures are better than none, and are asked for again. */
static void noise_is_no_last_word(void **state)
{
	struct rig r;

	begin(&r, AUTO);
	fake_tune.noisy = true;
	fake_tune.frames = 2;
	tick(&r);
	assert_int_equal(is("eth0"), 2);
	assert_true(figures(&r, "eth0")->noisy);
	assert_string_equal(turns_find(&r.newest->turns, "eth0")->why, "the machine was busy");
	assert_in_range(due_in(&r), 290, 300);
	assert_null(rig_alert(&r, "unmeasured"));
	tick_later(&r);
	assert_in_range(due_in(&r), 590, 600);
	for (int i = 0; i < 10; i++)
		tick_later(&r);
	assert_in_range(due_in(&r), 86390, 86400);
	/* What a start finds is asked for again, but not at once. */
	rig_stop(&r);
	rig_start(&r);
	rig_settle(&r);
	assert_true(figures(&r, "eth0")->noisy);
	assert_int_equal(is("eth0"), 2);
	tick(&r);
	assert_int_equal(fake_tune.runs, 12);
	assert_in_range(due_in(&r), 290, 300);
	/* Now it is quiet. */
	fake_tune.noisy = false;
	fake_tune.frames = 8;
	tick_later(&r);
	assert_int_equal(is("eth0"), 8);
	assert_false(figures(&r, "eth0")->noisy);
	assert_int_equal(r.newest->turns.count, 0);
	assert_int_equal(r.o->measure_due, OWNER_NEVER);
	rig_end(&r);
}

static void noise_takes_no_good_figures_place(void **state)
{
	struct rig r;
	struct job *job;

	begin(&r, AUTO);
	tick(&r);
	fake_tune.noisy = true;
	fake_tune.frames = 2;
	job = measure(&r, "eth0", false);
	assert_int_equal(job->result, 0);
	assert_int_equal(job->measured.frames, 2);
	assert_string_equal(job->words, "2 frames to a doorbell; the machine was busy, and the 16 "
					"of before stay");
	job_free(job);
	assert_int_equal(is("eth0"), 16);
	assert_int_equal(figures(&r, "eth0")->frames, 16);
	tick(&r);
	assert_int_equal(fake_tune.runs, 2);
	/* Of another driver it would say nothing. */
	make_anew(&r, "other");
	job_free(measure(&r, "eth0", false));
	assert_int_equal(is("eth0"), 2);
	rig_end(&r);
}

/* What a trial changes is recorded before it begins; so nothing is measured for it. */
static void a_trial_waits_for_its_confirmation(void **state)
{
	struct rig r;

	begin(&r, HEAD "  eth0: {}\n");
	rig_write(&r, AUTO);
	job_free(rig_apply(&r, NULL, 60000));
	tick(&r);
	assert_int_equal(fake_tune.runs, 0);
	/* On demand it is, and stays a figure. */
	job_free(measure(&r, "eth0", false));
	assert_int_equal(fake_tune.runs, 1);
	assert_int_equal(is("eth0"), 1);
	job_free(rig_job(&r, JOB_CONFIRM, 0));
	rig_settle(&r);
	assert_int_equal(is("eth0"), 16);
	/* What it was too early for is soon made good. */
	rig_write(&r, AUTO "  lan2: { tx: { flush: auto } }\n");
	job_free(rig_apply(&r, NULL, 60000));
	tick(&r);
	assert_int_equal(r.o->measure_due, OWNER_NEVER);
	job_free(rig_job(&r, JOB_CONFIRM, 0));
	assert_in_range(due_in(&r), 0, 2);
	tick(&r);
	assert_int_equal(is("lan2"), 16);
	rig_end(&r);
}

static void drop_it(void)
{
	fake_del_port("eth0");
	fake_add_port("eth0", NULL, -1);
	give("eth0", "nic", true);
	world_emit(KERNEL_EVENT_NEW, state_port(fake.world, "eth0"), false);
}

/* Whose figures would that be? */
static void a_device_that_is_another_meanwhile(void **state)
{
	struct rig r;

	begin(&r, AUTO);
	fake_tune.between = drop_it;
	tick(&r);
	assert_int_equal(fake_tune.runs, 1);
	assert_null(figures(&r, "eth0"));
	assert_int_equal(is("eth0"), 1);
	rig_end(&r);
}

/* No carrier, no doorbell for several frames, or nobody asked for it. */
static void what_need_not_be_measured_is_left_alone(void **state)
{
	struct rig r;

	begin(&r, HEAD "  eth0: { tx: { flush: 8 } }\n  lan2: { tx: { flush: off } }\n");
	tick(&r);
	give("lan2", "nic", false);
	world_emit(KERNEL_EVENT_NEW, state_port(fake.world, "lan2"), false);
	rig_write(&r, HEAD "  lan2: { tx: { flush: auto } }\n");
	rig_reload_ok(&r);
	tick(&r);
	fake_add_tx("eth0", TX_FLUSH, 0, 0, 0, 0);
	rig_write(&r, AUTO);
	job_free(rig_reload(&r));
	tick(&r);
	assert_int_equal(fake_tune.runs, 0);
	assert_string_equal(rig_alert(&r, "conflict")->about, "port eth0 tx flush");
	rig_end(&r);
}

static void somebody_asks(void **state)
{
	struct rig r;
	struct job *job;

	begin(&r, HEAD "  eth0: {}\n");
	job = measure(&r, "eth0", true);
	assert_int_equal(job->result, 0);
	assert_int_equal(job->measured.frames, 16);
	assert_true(fake_tune.forced);
	job_free(job);
	/* The file says nothing of it. */
	assert_int_equal(is("eth0"), 1);
	rig_write(&r, AUTO);
	assert_int_equal(rig_reload_ok(&r), 1);
	assert_int_equal(is("eth0"), 16);
	fake_tune.frames = 32;
	job_free(measure(&r, "eth0", false));
	assert_int_equal(is("eth0"), 32);

	fake_tune.verdict = TUNE_TRAFFIC;
	job = measure(&r, "eth0", false);
	assert_int_equal(job->refusal, JOB_NOT_MEASURED);
	assert_string_equal(job->words, "eth0: others use it");
	job_free(job);
	assert_int_equal(is("eth0"), 32);
	job = measure(&r, "nothing", false);
	assert_int_equal(job->result, -ENODEV);
	assert_string_equal(job->words, "nothing: there is no such port");
	job_free(job);
	fake_tune.error = -EPERM;
	job = measure(&r, "eth0", false);
	assert_int_equal(job->result, -EPERM);
	job_free(job);
	fake_tune.error = -EPROTONOSUPPORT;
	job = measure(&r, "eth0", false);
	assert_string_equal(job->words, "eth0: it can't be measured: it is no Ethernet device");
	job_free(job);
	rig_end(&r);
}

/* Nobody waits for what nobody asked for. */
static void an_apply_comes_first(void **state)
{
	struct rig r;

	begin(&r, AUTO);
	r.waiting = JOBS_APPLY;
	tick(&r);
	assert_int_equal(fake_tune.runs, 1);
	assert_int_equal(fake_tune.slices, 1);
	assert_int_equal(is("eth0"), 1);
	assert_in_range(due_in(&r), 20, 30);
	assert_null(rig_alert(&r, "unmeasured"));
	/* On demand it is carried out. */
	job_free(measure(&r, "eth0", false));
	assert_int_equal(is("eth0"), 16);
	rig_end(&r);
}

static struct rig *the_rig;

static void time_is_up(void)
{
	the_rig->o->deadline.at.boot_ns = 0;
}

/* A measurement that somebody asks for and that ends unfinished, after so many slices. */
static struct job *measure_unfinished(struct rig *r, int slices)
{
	struct job *job;

	fake_tune.slices = 0;
	job = measure(r, "eth0", false);
	assert_int_equal(job->result, -EINTR);
	assert_int_equal(fake_tune.slices, slices);
	return job;
}

/* But what can't wait does not: a confirmation has a deadline, and so has an end. */
static void what_presses_ends_it(void **state)
{
	struct rig r;
	struct job *job;

	begin(&r, HEAD "  eth0: {}\n");
	r.waiting = JOBS_PRESS;
	job = measure_unfinished(&r, 1);
	assert_int_equal(job->refusal, JOB_NOT_MEASURED);
	assert_string_equal(job->words, "eth0: it can't be measured: other work came first");
	job_free(job);
	/* The time of what is on trial is over meanwhile. */
	r.waiting = JOBS_OTHERS;
	rig_write(&r, HEAD "  eth0: {}\n  lan1: { mtu: 1400 }\n");
	job_free(rig_apply(&r, NULL, 60000));
	the_rig = &r;
	fake_tune.between = time_is_up;
	job_free(measure_unfinished(&r, 2));
	assert_null(figures(&r, "eth0"));
	assert_int_equal(state_port(fake.world, "lan1")->mtu, 1500);
	rig_end(&r);
}

static void he_goes(void)
{
	the_job->unwanted = true;
}

static void nothing_is_sent_for_nobody(void **state)
{
	struct rig r;
	struct job *job;

	begin(&r, HEAD "  eth0: {}\n");
	fake_tune.between = he_goes;
	job = measure_unfinished(&r, 2);
	assert_null(figures(&r, "eth0"));
	/* Of a hundred that he asked for the others do not begin. */
	owner_job(r.o, job);
	assert_int_equal(job->result, -EINTR);
	assert_int_equal(fake_tune.runs, 1);
	job_free(job);
	rig_end(&r);
}

static void break_something(void)
{
	fake_set_up("lan1", false);
}

/* Measuring takes seconds, and holds no repair up. */
static void repairs_are_made_meanwhile(void **state)
{
	struct rig r;
	struct job *job;
	size_t before;

	begin(&r, HEAD "  lan1: { up: true }\n");
	fake_tune.between = break_something;
	before = fake.requests;
	job = job_new(JOB_MEASURE);
	COPY_NAME(job->port, "eth0");
	r.o->repaired_ns = 0;
	owner_job(r.o, job);
	assert_int_equal(job->result, 0);
	assert_true(fake.requests > before);
	assert_true(state_port(fake.world, "lan1")->up);
	job_free(job);
	rig_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(auto_is_measured_and_set),
		cmocka_unit_test(the_store_knows_it),
		cmocka_unit_test(another_driver_is_measured_anew),
		cmocka_unit_test(a_device_made_anew_has_its_number_at_once),
		cmocka_unit_test(other_changes_do_not_measure_it_again),
		cmocka_unit_test(a_link_that_comes_up_is_measured_soon),
		cmocka_unit_test(noise_is_no_last_word),
		cmocka_unit_test(noise_takes_no_good_figures_place),
		cmocka_unit_test(a_trial_waits_for_its_confirmation),
		cmocka_unit_test(a_device_that_is_another_meanwhile),
		cmocka_unit_test(what_can_not_be_measured_now_waits),
		cmocka_unit_test(what_need_not_be_measured_is_left_alone),
		cmocka_unit_test(somebody_asks),
		cmocka_unit_test(an_apply_comes_first),
		cmocka_unit_test(what_presses_ends_it),
		cmocka_unit_test(nothing_is_sent_for_nobody),
		cmocka_unit_test(repairs_are_made_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
