// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Check, Plan, Apply, Confirm and Revert: what changes which generation is in force, or says what
 * would. A text, or nothing for the daemon's own file, goes to the engine, and its end is the
 * answer.
 */
#include "daemon/service/errand.h"
#include "daemon/service/verbs.h"
#include "daemon/service/write.h"

#define CONFIRM_MIN_MS 1000
#define CONFIRM_MAX_MS 86400000

static void write_plan(struct jsonw *w, const struct job *job)
{
	jsonw_key(w, "plan");
	jsonw_raw(w, job->plan_json ? job->plan_json
				    : "{\"steps\":[],\"waiting\":[],\"conflicts\":[],\"gaps\":[]}");
	jsonw_key_u64(w, "steps", job->steps);
	write_diags(w, job->diags);
}

static void write_check(struct jsonw *w, const struct job *job)
{
	write_diags(w, job->diags);
}

static void write_applied(struct jsonw *w, const struct job *job)
{
	jsonw_key_u64(w, "generation", job->generation);
	errand_write_deadline(w, &job->armed);
	write_text(w, "covered_by", job->covered_by);
	write_plan(w, job);
}

static void write_confirmed(struct jsonw *w, const struct job *job)
{
	jsonw_key_u64(w, "generation", job->generation);
}

static const struct errand_kind check = { .write = write_check, .bad_file_is_fine = true };
static const struct errand_kind plan = { .write = write_plan };
static const struct errand_kind apply = { .write = write_applied };
static const struct errand_kind confirm = { .write = write_confirmed };

/* Both take what the parameters say into the job; the name of the one that is wrong, or NULL. */
static const char *read_text(struct call *c, struct job *job)
{
	const char *text = varlink_param_string(c->message.parameters, "text");
	const char *name = varlink_param_string(c->message.parameters, "name");

	if (name && !diag_file_valid(name))
		return "name";
	COPY_NAME(job->name, name ? name : "");
	if (text) {
		job->text = strdup(text);
		job->text_size = job->text ? strlen(text) : 0;
	}
	return NULL;
}

static const char *read_trial(struct call *c, struct job *job)
{
	const char *why = varlink_param_string(c->message.parameters, "why");
	uint64_t ms = 0;

	if (varlink_param_u64(c->message.parameters, "confirm_ms", &ms) &&
	    (ms < CONFIRM_MIN_MS || ms > CONFIRM_MAX_MS))
		return "confirm_ms";
	if (why && !diag_text_valid(why, GENERATION_WHY))
		return "why";
	job->confirm_ms = (uint32_t)ms;
	job->allow_gap = varlink_param_bool(c->message.parameters, "allow_gap");
	COPY_NAME(job->why, why ? why : "");
	return NULL;
}

static void submit(struct call *c, enum job_type type, const struct errand_kind *kind)
{
	const char *wants_text = varlink_param_string(c->message.parameters, "text");
	struct job *job = errand_job(c, type);
	const char *bad;

	if (!job)
		return;
	bad = read_text(c, job);
	if (!bad)
		bad = read_trial(c, job);
	if (!bad && varlink_param_u64(c->message.parameters, "generation", &job->target) &&
	    !job->target)
		bad = "generation";
	if (bad || (wants_text && !job->text)) {
		job_free(job);
		if (bad)
			call_error_text(c, ORG_VARLINK "InvalidParameter", "parameter", bad);
		else
			call_lost(c);
		return;
	}
	errand_submit(c, job, kind);
}

void verb_check(struct call *c)
{
	submit(c, JOB_PLAN, &check);
}

void verb_plan(struct call *c)
{
	submit(c, JOB_PLAN, &plan);
}

void verb_apply(struct call *c)
{
	submit(c, JOB_APPLY, &apply);
}

void verb_confirm(struct call *c)
{
	submit(c, JOB_CONFIRM, &confirm);
}

void verb_revert(struct call *c)
{
	submit(c, JOB_REVERT, &apply);
}
