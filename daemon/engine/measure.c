// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See measure.h. What is wanted changes here, as by a commit, though no text did: the next start
 * reads the same number from the store.
 */
#include "daemon/engine/measure.h"

#include <errno.h>
#include <stdio.h>

#include "config/base/log.h"
#include "config/model/tx.h"
#include "daemon/engine/observe.h"
#include "daemon/engine/repair.h"
#include "daemon/tx/tune.h"

#define SOON_NS 2000000000ULL	 /* a link that just came up may go again */
#define AGAIN_NS 300000000000ULL /* after a failure */

_Static_assert(MEASURED_TRIES >= CHOOSE_ROWS, "room for each number that is tried");

void measure_read(struct engine_owner *o)
{
	int r;

	if (!o->store)
		return;
	pulse_wait(o->pulse);
	r = store_measured(o->store, &o->measured);
	pulse_go(o->pulse);
	owner_store_result(o, "what was measured can't be read", r);
}

/* ---- from figures to what is wanted ---- */

/* Of another driver they say nothing. */
static const struct measured *figures_of(const struct engine_owner *o, const char *dev)
{
	const struct measured *m = measured_find(&o->measured, dev);
	const struct port *p = state_port(o->found, dev);

	return m && !(p && !streq(p->facts.driver, m->driver)) ? m : NULL;
}

static int resolve_one(struct config *config, const struct tx *t, uint32_t frames)
{
	struct tx *known = tx_only(t, 0);
	int r;

	if (!known)
		return -ENOMEM;
	known->obj.origin = t->obj.origin;
	known->automatic = 1;
	known->has = 1;
	known->value[0] = frames;
	r = state_put(config->wanted, known);
	if (r < 0)
		object_unref(known);
	return r;
}

int measure_resolve(const struct engine_owner *o, struct config *config)
{
	int r = 0;

	for (size_t i = 0; i < state_count(config->wanted, KIND_TX) && r == 0; i++) {
		const struct tx *t = state_at(config->wanted, KIND_TX, i);
		const struct measured *m = t->automatic ? figures_of(o, t->dev) : NULL;

		if (m)
			r = resolve_one(config, t, m->frames);
	}
	return r;
}

/* Others may hold the config: it is copied. */
static int want(struct engine_owner *o)
{
	struct config *config;
	int r;

	if (!o->config)
		return 0;
	config = config_copy(o->config);
	if (!config)
		return -ENOMEM;
	r = measure_resolve(o, config);
	if (r < 0) {
		config_unref(config);
		return r;
	}
	config_unref(o->config);
	o->config = config;
	o->settled = false;
	owner_changed(o);
	return 0;
}

static int keep(struct engine_owner *o, const char *dev, const struct tune_result *result)
{
	const struct port *p = state_port(o->found, dev);
	const struct choice *c = &result->choice;
	struct measured m = {
		.at_ns = now_realtime_ns(),
		.frames = result->frames,
		.doorbell_ps = c->doorbell_ps,
		.frame_ps = c->frame_ps,
		.noise_ps = c->noise_ps,
		.tries = (uint32_t)result->samples.rows,
	};
	int r;

	COPY_NAME(m.dev, dev);
	COPY_NAME(m.driver, p ? p->facts.driver : "");
	memcpy(m.tried, result->samples.frames, sizeof(result->samples.frames));
	memcpy(m.took_ps, c->median_ps, sizeof(c->median_ps));
	r = measured_put(&o->measured, &m);
	if (r < 0)
		return r;
	pulse_wait(o->pulse);
	r = o->store ? store_put_measured(o->store, &m) : -ENODEV;
	pulse_go(o->pulse);
	owner_store_result(o, "what was measured can't be recorded", r);
	return want(o);
}

/* ---- measuring ---- */

static int run(struct engine_owner *o, const char *dev, bool force, struct tune_result *ret)
{
	struct tune_options options = { .despite_traffic = force };
	_cleanup_(tune_freep) struct tune *t = NULL;
	uint32_t done, total;
	int more, r;

	pulse_wait(o->pulse);
	r = tune_open(dev, &options, &t);
	pulse_go(o->pulse);
	if (r < 0)
		return r;
	do {
		tune_progress(t, &done, &total);
		pulse_begin(o->pulse, PULSE_MEASURE, total);
		pulse_step(o->pulse, done);
		pulse_wait(o->pulse);
		more = tune_step(t);
		pulse_go(o->pulse);
		owner_between(o);
	} while (more > 0);
	*ret = *tune_result(t);
	return 0;
}

static void tell(struct engine_owner *o, const char *dev, const char *words)
{
	char about[64];

	snprintf(about, sizeof(about), "port %s", dev);
	owner_event(o, ENGINE_EVENT_MEASURED, about, "%s", words);
	log_notice("%s: %s", about, words);
	alert_end(&o->alerts, "unmeasured", about);
}

/* words: why not, or what came out. 0, -EBUSY: it could not be measured; -errno. */
static int measure(struct engine_owner *o, const char *dev, bool force, char words[TUNE_WORDS])
{
	struct tune_result result;
	int r = run(o, dev, force, &result);

	if (r < 0) {
		snprintf(words, TUNE_WORDS, "it can't be measured: %s", strerror(-r));
		return r;
	}
	snprintf(words, TUNE_WORDS, "%s", result.words);
	if (result.verdict != TUNE_CHOSEN)
		return result.error < 0 ? result.error : -EBUSY;
	r = keep(o, dev, &result);
	tell(o, dev, words);
	return r;
}

void measure_job(struct engine_owner *o, struct job *job)
{
	char words[TUNE_WORDS] = "there is no such port";

	job->result = state_port(o->found, job->port) ? measure(o, job->port, job->force, words)
						      : -ENODEV;
	if (job->result < 0) {
		job->refusal = JOB_NOT_MEASURED;
		snprintf(job->words, sizeof(job->words), "%s: %s", job->port, words);
	} else {
		job->measured = *measured_find(&o->measured, job->port);
		snprintf(job->words, sizeof(job->words), "%s", words);
	}
}

/* ---- without being asked ---- */

void measure_soon(struct engine_owner *o)
{
	const struct state *wanted = o->config ? o->config->wanted : NULL;

	for (size_t i = 0; wanted && i < state_count(wanted, KIND_TX); i++) {
		const struct tx *t = state_at(wanted, KIND_TX, i);

		if (t->automatic && !figures_of(o, t->dev))
			owner_sooner(&o->measure_due, now_monotonic_ns() + SOON_NS);
	}
}

void measure_adopted(struct engine_owner *o)
{
	alerts_begin(&o->alerts, "unmeasured");
	alerts_finish(&o->alerts, "unmeasured");
	measure_soon(o);
}

static bool is_to_be_measured(const struct engine_owner *o, const struct tx *t)
{
	const struct tx *found = tx_find(o->found, t->dev, TX_FLUSH);
	const struct port *p = state_port(o->found, t->dev);

	return t->automatic && found && found->has && p && p->up && p->facts.carrier &&
	       !figures_of(o, t->dev);
}

/* The next one behind the last that was tried, so that no port keeps others waiting. */
static const struct tx *next_port(const struct engine_owner *o, const char *last)
{
	const struct state *wanted = o->config ? o->config->wanted : NULL;

	for (size_t i = 0; wanted && i < state_count(wanted, KIND_TX); i++) {
		const struct tx *t = state_at(wanted, KIND_TX, i);

		if (strcmp(t->dev, last) > 0 && is_to_be_measured(o, t))
			return t;
	}
	return NULL;
}

void measure_tick(struct engine_owner *o)
{
	const struct tx *t = next_port(o, o->measure_last);
	char about[64], words[TUNE_WORDS];
	int r;

	o->measure_due = OWNER_NEVER;
	if (!t && o->measure_last[0] && next_port(o, ""))
		o->measure_due = now_monotonic_ns() + AGAIN_NS;
	COPY_NAME(o->measure_last, t ? t->dev : "");
	if (!t)
		return;
	r = measure(o, o->measure_last, false, words);
	snprintf(about, sizeof(about), "port %s", o->measure_last);
	if (r < 0)
		alert_set(&o->alerts, "unmeasured", about, "flush: auto waits: %s", words);
	measure_soon(o);
}
