// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Check, Plan and Apply: a text, or nothing for the daemon's own file, goes to the engine as a job,
 * and its end is the answer. The client may go meanwhile: an apply runs to its end all the same.
 */
#include <errno.h>
#include <stdio.h>

#include "daemon/service/client.h"
#include "daemon/service/serving.h"
#include "daemon/service/verbs.h"
#include "daemon/service/write.h"

/* A job of ours that is with the engine; it may outlive the call and the service. */
struct errand {
	struct call *call;	 /* NULL: nobody waits for the answer */
	struct service *service; /* in whose list it is; NULL: that has gone */
	struct errand *next;
	bool plan_only, check_only;
	bool counts; /* among CHECKS_MAX */
};

/* The errand stays in the list until the job ends: the limit is on the engine's work. */
static void forget(void *work)
{
	struct errand *e = work;

	e->call = NULL;
}

void apply_detach(struct service *s)
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

static void write_plan(struct jsonw *w, const struct job *job)
{
	jsonw_key(w, "plan");
	jsonw_raw(w, job->plan_json ? job->plan_json
				    : "{\"steps\":[],\"waiting\":[],\"conflicts\":[]}");
	jsonw_key_u64(w, "steps", job->steps);
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

/* The error's name, its parameters in w. */
static const char *write_failure(struct jsonw *w, const struct job *job)
{
	if (job->result == -ECANCELED)
		return IO_SWD "Stopping";
	if (job->outcome == APPLY_REVERTED || job->outcome == APPLY_FAILED) {
		jsonw_key_string(w, "outcome", apply_outcome_name(job->outcome));
		jsonw_key_string(w, "text", first_error(job));
		write_diags(w, job->diags);
		return IO_SWD "Refused";
	}
	if (job->diags && diags_errors(job->diags) > 0) {
		write_diags(w, job->diags);
		return IO_SWD "BadConfig";
	}
	jsonw_key_i64(w, "errno", -(int64_t)job->result);
	jsonw_key_string(w, "text", strerror(-job->result));
	return IO_SWD "Failed";
}

static void write_success(struct jsonw *w, const struct job *job, const struct errand *e)
{
	if (!e->check_only) {
		if (!e->plan_only)
			jsonw_key_u64(w, "generation", job->generation);
		write_plan(w, job);
	}
	write_diags(w, job->diags);
}

static void answer(struct call *c, const struct job *job, const struct errand *e)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	const char *error = NULL;
	bool bad_file = job->result < 0 && job->result != -ECANCELED && job->diags &&
			diags_errors(job->diags) > 0;

	if (!w) {
		call_lost(c);
		return;
	}
	jsonw_object(w);
	/* To Check, a bad file is an answer. */
	if (job->result < 0 && !(e->check_only && bad_file))
		error = write_failure(w, job);
	else
		write_success(w, job, e);
	jsonw_object_end(w);
	if (error)
		call_error(c, error, w);
	else
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
		answer(c, job, e);
	}
	free(e);
	if (s)
		service_settle(s);
}

static bool crowded(const struct service *s)
{
	size_t n = 0;

	for (const struct errand *e = s->errands; e; e = e->next)
		n += e->counts;
	return n >= CHECKS_MAX;
}

static struct job *new_job(const struct call *c, enum job_type type)
{
	const char *text = varlink_param_string(c->message.parameters, "text");
	const char *name = varlink_param_string(c->message.parameters, "name");
	const struct peer *p = &c->client->peer;
	struct job *job = job_new(type);

	if (!job)
		return NULL;
	if (text) {
		job->text = strdup(text);
		job->text_size = strlen(text);
		if (!job->text) {
			job_free(job);
			return NULL;
		}
	}
	COPY_NAME(job->name, name ? name : "");
	job->uid = p->uid;
	snprintf(job->who, sizeof(job->who), "%s pid %d", p->name[0] ? p->name : "client",
		 (int)p->pid);
	job->done = on_done;
	return job;
}

static void submit(struct call *c, enum job_type type, bool check_only)
{
	const char *name = varlink_param_string(c->message.parameters, "name");
	struct service *s = c->service;
	bool writer = access_allows(&s->access, &c->client->peer, ACCESS_WRITE);
	struct errand *e;
	struct job *job;

	if (name && !diag_file_valid(name)) {
		call_error_text(c, ORG_VARLINK "InvalidParameter", "parameter", "name");
		return;
	}
	if (!writer && crowded(s)) {
		call_error_text(c, IO_SWD "Busy", "text", "others are checking files now");
		return;
	}
	e = calloc(1, sizeof(*e));
	job = new_job(c, type);
	if (!e || !job) {
		free(e);
		job_free(job);
		call_lost(c);
		return;
	}
	*e = (struct errand){
		.call = c,
		.service = s,
		.next = s->errands,
		.plan_only = type == JOB_PLAN,
		.check_only = check_only,
		.counts = !writer,
	};
	s->errands = e;
	job->data = e;
	c->work = e;
	c->work_free = forget;
	engine_submit(s->engine, job);
}

void verb_check(struct call *c)
{
	submit(c, JOB_PLAN, true);
}

void verb_plan(struct call *c)
{
	submit(c, JOB_PLAN, false);
}

void verb_apply(struct call *c)
{
	submit(c, JOB_APPLY, false);
}
