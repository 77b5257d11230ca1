// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See measure.h. What is wanted changes here, as by a commit, though no text did: the next start
 * reads the same number from the store.
 */
#include "daemon/engine/measure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "config/base/log.h"
#include "config/model/tx.h"
#include "daemon/engine/confirm.h"
#include "daemon/tx/tune.h"

#define WORDS TURNS_WHY

_Static_assert(MEASURED_TRIES >= CHOOSE_ROWS, "room for each number that is tried");
_Static_assert(WORDS > TUNE_WORDS, "room for a word more");

/* After a port that could not be measured, and after one where it was noisy. */
static const struct turns_pace in_vain = { 30000000000ULL, 3600000000000ULL };
static const struct turns_pace noisy = { 300000000000ULL, 86400000000000ULL };

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

static const struct measured *figures_of(const struct engine_owner *o, const char *dev)
{
	return measured_of(&o->measured, o->found, dev);
}

/* The automatic ones of a config, from *i on. NULL: no more. */
static const struct tx *next_auto(const struct config *config, size_t *i)
{
	while (config && *i < state_count(config->wanted, KIND_TX)) {
		const struct tx *t = state_at(config->wanted, KIND_TX, (*i)++);

		if (t->automatic)
			return t;
	}
	return NULL;
}

static bool is_resolved(const struct engine_owner *o, const struct tx *t)
{
	const struct measured *m = figures_of(o, t->dev);

	return m ? t->has && t->value[0] == m->frames : !t->has;
}

static int resolve_one(const struct engine_owner *o, struct config *config, const struct tx *t)
{
	const struct measured *m = figures_of(o, t->dev);
	struct tx *known = tx_only(t, 0);
	int r;

	if (!known)
		return -ENOMEM;
	known->obj.origin = t->obj.origin;
	known->automatic = 1;
	if (m) {
		known->has = 1;
		known->value[0] = m->frames;
	}
	r = state_put(config->wanted, known);
	if (r < 0)
		object_unref(known);
	return r;
}

int measure_resolve(const struct engine_owner *o, struct config *config)
{
	const struct tx *t;
	int r = 0;

	for (size_t i = 0; r == 0 && (t = next_auto(config, &i));)
		if (!is_resolved(o, t))
			r = resolve_one(o, config, t);
	return r;
}

static bool all_resolved(const struct engine_owner *o)
{
	const struct tx *t;

	for (size_t i = 0; (t = next_auto(o->config, &i));)
		if (!is_resolved(o, t))
			return false;
	return true;
}

/* Others may hold the config: it is copied. What a trial changes is recorded before; this is not.
 */
int measure_refresh(struct engine_owner *o)
{
	struct config *config;
	int r;

	if (all_resolved(o) || confirm_is_armed(o))
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
	return 0;
}

/* ---- measuring ---- */

static bool is_auto(const struct engine_owner *o, const char *dev)
{
	const struct tx *t = o->config ? tx_find(o->config->wanted, dev, TX_FLUSH) : NULL;

	return t && t->automatic;
}

static void tell_progress(struct engine_owner *o, const struct tune *t, struct job *job)
{
	struct tune_progress p;

	tune_progress(t, &p);
	pulse_begin(o->pulse, PULSE_MEASURE, p.total);
	pulse_step(o->pulse, p.done);
	if (job && job->progress && o->listener.progress)
		o->listener.progress(job, &(struct job_progress){ p.done, p.total, p.frames },
				     o->listener.data);
}

/*
 * Who asked for it has the first word, but for what has a deadline. It may be the one of what is on
 * trial: the daemon takes that back on time.
 */
static bool is_to_end(const struct engine_owner *o, const struct job *job)
{
	enum jobs_waiting waiting =
		o->listener.waiting ? o->listener.waiting(o->listener.data) : JOBS_OTHERS;

	if (job && job->unwanted)
		return true;
	if (confirm_is_armed(o) && confirm_armed(o).until_ns <= clock_boot_ns())
		return true;
	return waiting == JOBS_PRESS || (!job && waiting == JOBS_APPLY);
}

/* job: who asked for it, or NULL. */
static int run(struct engine_owner *o, const char *dev, struct job *job, struct tune_result *ret)
{
	struct tune_options options = { .despite_traffic = job && job->force };
	_cleanup_(tune_freep) struct tune *t = NULL;
	int more, r;

	if (job && job->unwanted)
		return -EINTR;
	pulse_wait(o->pulse);
	r = tune_open(dev, &options, &t);
	pulse_go(o->pulse);
	if (r < 0)
		return r;
	do {
		tell_progress(o, t, job);
		pulse_wait(o->pulse);
		more = tune_step(t);
		pulse_go(o->pulse);
		owner_between(o);
		if (more > 0 && is_to_end(o, job))
			return -EINTR;
	} while (more > 0);
	*ret = *tune_result(t);
	return 0;
}

static void fill(struct measured *m, const struct port *p, const struct tune_result *result)
{
	const struct choice *c = &result->choice;

	*m = (struct measured){
		.at_ns = now_realtime_ns(),
		.frames = result->frames,
		.noisy = result->noisy,
		.doorbell_ps = c->doorbell_ps,
		.frame_ps = c->frame_ps,
		.noise_ps = c->noise_ps,
		.tries = (uint32_t)result->samples.rows,
	};
	COPY_NAME(m->dev, p->name);
	COPY_NAME(m->driver, p->facts.driver);
	memcpy(m->tried, result->samples.frames, sizeof(result->samples.frames));
	memcpy(m->took_ps, c->median_ps, sizeof(c->median_ps));
}

static const char *why_not(int error)
{
	switch (error) {
	case -EINTR:
		return "other work came first";
	case -EPROTONOSUPPORT:
		return "it is no Ethernet device";
	case -ERANGE:
		return "its MTU is out of range";
	default:
		return strerror(-error);
	}
}

/* Sends, and says in words why that came to nothing, or to what. 0; -EBUSY: it could not be
 * measured; -errno. */
static int find_out(struct engine_owner *o, const char *dev, struct job *job, struct measured *ret,
		    char words[WORDS])
{
	const struct port *p = state_port(o->found, dev);
	uint32_t ifindex = p ? p->facts.ifindex : 0;
	struct tune_result result;
	int r = run(o, dev, job, &result);

	if (r < 0) {
		snprintf(words, WORDS, "it can't be measured: %s", why_not(r));
		return r;
	}
	snprintf(words, WORDS, "%s", result.words);
	if (result.verdict != TUNE_CHOSEN)
		return result.error < 0 ? result.error : -EBUSY;
	p = state_port(o->found, dev);
	if (!p || p->facts.ifindex != ifindex) {
		snprintf(words, WORDS, "it went away meanwhile");
		return -EBUSY;
	}
	fill(ret, p, &result);
	return 0;
}

static int record(struct engine_owner *o, const struct measured *m)
{
	int r = measured_put(&o->measured, m);

	if (r < 0)
		return r;
	pulse_wait(o->pulse);
	r = o->store ? store_put_measured(o->store, m) : -ENODEV;
	pulse_go(o->pulse);
	owner_store_result(o, "what was measured can't be recorded", r);
	o->settled = false;
	owner_changed(o);
	return 0;
}

static void more_words(char words[WORDS], const char *fmt, ...) _printf_(2, 3);
static void more_words(char words[WORDS], const char *fmt, ...)
{
	size_t at = strlen(words);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words + at, WORDS - at, fmt, ap);
	va_end(ap);
}

/* 0 or -ENOMEM. */
static int keep(struct engine_owner *o, const struct measured *m, char words[WORDS])
{
	const struct measured *old = figures_of(o, m->dev);
	char about[64];
	int r;

	snprintf(about, sizeof(about), "port %s", m->dev);
	if (m->noisy && old && !old->noisy) {
		more_words(words, "; the machine was busy, and the %u of before stay", old->frames);
		log_notice("%s: %s", about, words);
		return 0;
	}
	r = record(o, m);
	if (r < 0)
		return r;
	if (!m->noisy)
		turns_end(&o->turns, m->dev);
	else
		more_words(words, "; the machine was busy");
	if (m->noisy && is_auto(o, m->dev)) {
		more_words(words, ", so it is measured again");
		turns_vain(&o->turns, m->dev, now_monotonic_ns(), &noisy, "the machine was busy");
	}
	alert_end(&o->alerts, "unmeasured", about);
	owner_event(o, ENGINE_EVENT_MEASURED, about, "%s", words);
	log_notice("%s: %s", about, words);
	return 0;
}

static int measure(struct engine_owner *o, const char *dev, struct job *job, struct measured *ret,
		   char words[WORDS])
{
	int r = find_out(o, dev, job, ret, words);

	return r < 0 ? r : keep(o, ret, words);
}

void measure_job(struct engine_owner *o, struct job *job)
{
	char words[WORDS] = "there is no such port";

	job->result = -ENODEV;
	if (state_port(o->found, job->port))
		job->result = measure(o, job->port, job, &job->measured, words);
	if (job->result < 0) {
		job->refusal = JOB_NOT_MEASURED;
		snprintf(job->words, sizeof(job->words), "%s: %.200s", job->port, words);
	} else {
		snprintf(job->words, sizeof(job->words), "%s", words);
		measure_soon(o);
	}
}

/* ---- without being asked ---- */

/* Figures that count until there are better ones, or none. */
static bool wants_figures(const struct engine_owner *o, const char *dev)
{
	const struct measured *m = figures_of(o, dev);

	return !m || m->noisy;
}

void measure_soon(struct engine_owner *o)
{
	const struct tx *t;

	for (size_t i = 0; (t = next_auto(o->config, &i));)
		if (wants_figures(o, t->dev))
			owner_sooner(&o->measure_due, now_monotonic_ns() + TURNS_SOON_NS);
}

void measure_new(struct engine_owner *o, const char *dev)
{
	turns_end(&o->turns, dev);
	measure_soon(o);
}

void measure_link_up(struct engine_owner *o, const char *dev)
{
	const struct measured *m = figures_of(o, dev);

	/* A link says nothing of the noise. */
	if (!m)
		turns_hasten(&o->turns, dev, now_monotonic_ns());
	measure_soon(o);
}

/* Whose turn goes on keeps its alert. */
void measure_adopted(struct engine_owner *o)
{
	alerts_begin(&o->alerts, "unmeasured");
	for (size_t i = o->turns.count; i-- > 0;) {
		const struct turn *turn = &o->turns.list[i];
		char about[64];

		snprintf(about, sizeof(about), "port %s", turn->dev);
		if (is_auto(o, turn->dev))
			alert_keep(&o->alerts, "unmeasured", about);
		else
			turns_end(&o->turns, turn->dev);
	}
	alerts_finish(&o->alerts, "unmeasured");
	measure_soon(o);
}

void measure_confirmed(struct engine_owner *o)
{
	/* Figures that were taken meanwhile. */
	if (!all_resolved(o))
		owner_changed(o);
	measure_soon(o);
}

static bool can_be_measured(const struct engine_owner *o, const char *dev)
{
	const struct tx *found = tx_find(o->found, dev, TX_FLUSH);
	const struct port *p = state_port(o->found, dev);

	return found && found->has && p && p->up && p->facts.carrier;
}

static bool is_to_be_measured(const struct engine_owner *o, const char *dev)
{
	return wants_figures(o, dev) && can_be_measured(o, dev);
}

/* Each that can be measured now has a turn. */
static void give_turns(struct engine_owner *o)
{
	uint64_t now = now_monotonic_ns();
	const struct tx *t;

	for (size_t i = 0; (t = next_auto(o->config, &i));)
		if (is_to_be_measured(o, t->dev))
			turns_begin(&o->turns, t->dev,
				    now + (figures_of(o, t->dev) ? noisy.first_ns : 0));
}

/* NULL: there is none. */
static const struct turn *first_turn(const struct engine_owner *o)
{
	const struct turn *first = NULL;

	for (size_t i = 0; i < o->turns.count; i++) {
		const struct turn *turn = &o->turns.list[i];

		if (is_auto(o, turn->dev) && is_to_be_measured(o, turn->dev) &&
		    (!first || turn->due_ns < first->due_ns))
			first = turn;
	}
	return first;
}

static void measure_now(struct engine_owner *o, const char *dev)
{
	char about[64], words[WORDS];
	struct measured m;
	int r = measure(o, dev, NULL, &m, words);

	if (r == 0)
		return;
	turns_vain(&o->turns, dev, now_monotonic_ns(), &in_vain, words);
	snprintf(about, sizeof(about), "port %s", dev);
	if (r != -EINTR && !figures_of(o, dev))
		alert_set(&o->alerts, "unmeasured", about, "flush: auto waits: %s", words);
	owner_news(o);
}

void measure_tick(struct engine_owner *o)
{
	const struct turn *turn;

	o->measure_due = OWNER_NEVER;
	/* What is on trial may be gone soon: the audit looks again. */
	if (confirm_is_armed(o))
		return;
	give_turns(o);
	turn = first_turn(o);
	if (turn && turn->due_ns <= now_monotonic_ns()) {
		char dev[IFNAMSIZ];

		COPY_NAME(dev, turn->dev);
		measure_now(o, dev);
		turn = first_turn(o);
	}
	if (turn)
		owner_sooner(&o->measure_due, turn->due_ns);
}
