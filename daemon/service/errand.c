// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Jobs of clients on their way to the engine and back: see errand.h.
 */
#include "daemon/service/errand.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/service/client.h"
#include "daemon/service/serving.h"
#include "daemon/service/verbs.h"
#include "daemon/service/write.h"

/* A job of ours that is with the engine; it may outlive the call and the service. */
struct errand {
	struct call *call; /* NULL: nobody waits for the answer */
	struct job *job;
	struct service *service; /* in whose list it is; NULL: that has gone */
	struct errand *next;
	const struct errand_kind *kind;
	bool counts; /* among CHECKS_MAX */
};

/* The errand stays in the list until the job ends: the limit is on the engine's work. */
static void forget(void *work)
{
	struct errand *e = work;

	e->call = NULL;
	e->job->unwanted = true;
}

void errand_detach(struct service *s)
{
	for (struct errand *e = s->errands; e; e = e->next)
		e->service = NULL;
	s->errands = NULL;
}

static void unlink_errand(struct errand *e)
{
	struct errand **link;

	if (!e->service)
		return;
	for (link = &e->service->errands; *link != e; link = &(*link)->next)
		;
	*link = e->next;
}

/* ---- answers ---- */

void errand_write_deadline(struct jsonw *w, const struct armed *a)
{
	uint64_t now = clock_boot_ns();

	if (!a->generation) {
		write_null(w, "deadline");
		return;
	}
	jsonw_key(w, "deadline");
	jsonw_object(w);
	jsonw_key_u64(w, "generation", a->generation);
	jsonw_key_u64(w, "back_to", a->back_to);
	jsonw_key_u64(w, "confirm_ms", a->confirm_ms);
	write_ms(w, "left_ms", a->until_ns > now ? a->until_ns - now : 0);
	jsonw_object_end(w);
}

static const char *first_error(const struct job *job)
{
	for (size_t i = 0; job->diags && i < diags_count(job->diags); i++) {
		const struct diag *d = diags_at(job->diags, i);

		if (d->level == DIAG_ERROR)
			return d->text;
	}
	return strerror(-job->result);
}

static bool has_errors(const struct job *job)
{
	return job->diags && diags_errors(job->diags) > 0;
}

/* The error's name, its parameters in w; NULL: it was not refused. */
static const char *write_refusal(struct jsonw *w, const struct job *job)
{
	switch (job->refusal) {
	case JOB_ALLOWED:
		return NULL;
	case JOB_ARMED:
		jsonw_key_string(w, "text", job->words);
		errand_write_deadline(w, &job->armed);
		return IO_SWD "Armed";
	case JOB_NOT_ARMED:
		jsonw_key_string(w, "text", job->words);
		return IO_SWD "NotArmed";
	case JOB_NO_GENERATION:
		jsonw_key_string(w, "text", job->words);
		return IO_SWD "NoSuchGeneration";
	case JOB_NOT_MEASURED:
		jsonw_key_string(w, "text", job->words);
		return IO_SWD "NotMeasured";
	case JOB_NEEDS_GAP:
		jsonw_key_string(w, "text", job->words);
		write_diags(w, job->diags);
		return IO_SWD "NeedsGap";
	}
	return NULL;
}

static const char *write_failure(struct jsonw *w, const struct job *job)
{
	bool undone = job->outcome == APPLY_REVERTED || job->outcome == APPLY_FAILED;
	const char *refused = write_refusal(w, job);

	if (refused)
		return refused;
	if (job->result == -ECANCELED)
		return IO_SWD "Stopping";
	if (has_errors(job) && job->result == -EINVAL) {
		write_diags(w, job->diags);
		return IO_SWD "BadConfig";
	}
	if (has_errors(job) || undone) {
		jsonw_key_string(w, "outcome",
				 apply_outcome_name(undone ? job->outcome : APPLY_REFUSED));
		jsonw_key_string(w, "text", first_error(job));
		write_diags(w, job->diags);
		return IO_SWD "Refused";
	}
	jsonw_key_i64(w, "errno", -(int64_t)job->result);
	jsonw_key_string(w, "text", job->words[0] ? job->words : strerror(-job->result));
	return IO_SWD "Failed";
}

void errand_fail(struct call *c, const struct job *job)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	const char *error;

	if (!w) {
		call_lost(c);
		return;
	}
	jsonw_object(w);
	error = write_failure(w, job);
	jsonw_object_end(w);
	call_error(c, error, w);
}

static void answer(struct call *c, struct job *job, const struct errand_kind *kind)
{
	_cleanup_(jsonw_freep) struct jsonw *w = NULL;
	bool bad_file = job->result != -ECANCELED && has_errors(job);

	if (job->result < 0 && !(kind->bad_file_is_fine && bad_file)) {
		errand_fail(c, job);
		return;
	}
	if (kind->answer) {
		kind->answer(c, job);
		return;
	}
	w = jsonw_new();
	if (!w) {
		call_lost(c);
		return;
	}
	jsonw_object(w);
	kind->write(w, job);
	jsonw_object_end(w);
	call_reply(c, w);
}

static void on_done(struct job *job, void *data)
{
	struct errand *e = data;
	struct call *c = e->call;
	struct service *s = e->service;

	unlink_errand(e);
	if (c) {
		c->work = NULL;
		c->work_free = NULL;
		answer(c, job, e->kind);
	}
	free(e);
	if (s)
		service_settle(s);
}

/* Who is slow to read it misses some, and not the answer. */
static void on_progress(const struct job_progress *p, void *data)
{
	struct errand *e = data;
	_cleanup_(jsonw_freep) struct jsonw *w = NULL;

	if (!e->call || e->call->client->out_bytes > QUEUE_SOFT)
		return;
	w = jsonw_new();
	if (!w) {
		call_lost(e->call);
	} else {
		jsonw_object(w);
		e->kind->progress(w, p);
		jsonw_object_end(w);
		call_piece(e->call, w);
	}
	if (e->service)
		service_settle(e->service);
}

/* ---- the way to the engine ---- */

struct job *errand_job(struct call *c, enum job_type type)
{
	const struct peer *p = &c->client->peer;
	struct job *job = job_new(type);

	if (!job) {
		call_lost(c);
		return NULL;
	}
	job->uid = p->uid;
	snprintf(job->who, sizeof(job->who), "%s pid %d", p->name[0] ? p->name : "client",
		 (int)p->pid);
	/* A program names itself as it likes, and this is shown on terminals. */
	for (char *at = job->who; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	return job;
}

static bool crowded(const struct service *s)
{
	size_t n = 0;

	for (const struct errand *e = s->errands; e; e = e->next)
		n += e->counts;
	return n >= CHECKS_MAX;
}

void errand_submit(struct call *c, struct job *job, const struct errand_kind *kind)
{
	struct service *s = c->service;
	bool writer = access_allows(&s->access, &c->client->peer, ACCESS_WRITE);
	struct errand *e;

	if (!writer && crowded(s)) {
		job_free(job);
		call_error_text(c, IO_SWD "Busy", "text", "others are checking files now");
		return;
	}
	e = calloc(1, sizeof(*e));
	if (!e) {
		job_free(job);
		call_lost(c);
		return;
	}
	*e = (struct errand){
		.call = c,
		.job = job,
		.service = s,
		.next = s->errands,
		.kind = kind,
		.counts = !writer,
	};
	s->errands = e;
	job->done = on_done;
	job->progress = kind->progress && c->message.more ? on_progress : NULL;
	job->data = e;
	c->work = e;
	c->work_free = forget;
	engine_submit(s->engine, job);
}
