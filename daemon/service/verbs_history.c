// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * History, Generation and Export: what was in force, from the store. A long history comes in
 * pieces.
 */
#include "daemon/service/errand.h"
#include "daemon/service/verbs.h"
#include "daemon/service/write.h"

#define PIECE_BYTES (96u << 10)
#define WHOLE_BYTES (1u << 20) /* the longest answer without "more" */

/* A history on its way out; what the job held. */
struct pages {
	struct generation *list;
	size_t count, at;
	uint64_t current;
};

static void pages_free(void *work)
{
	struct pages *p = work;

	for (size_t i = 0; i < p->count; i++)
		generation_clear(&p->list[i]);
	free(p->list);
	free(p);
}

static void number_or_null(struct jsonw *w, const char *key, uint64_t number)
{
	if (number)
		jsonw_key_u64(w, key, number);
	else
		write_null(w, key);
}

static void write_entry(struct jsonw *w, const struct generation *g)
{
	jsonw_object(w);
	jsonw_key_u64(w, "id", g->id);
	write_ms(w, "at_ms", g->at_ns);
	jsonw_key_string(w, "who", g->who);
	jsonw_key_u64(w, "uid", g->uid);
	write_text(w, "file", g->name);
	write_text(w, "why", g->why);
	jsonw_key_string(w, "outcome", g->outcome);
	write_text(w, "error", g->error);
	jsonw_key_u64(w, "changes", g->changes);
	number_or_null(w, "confirm_ms", g->confirm_ms);
	number_or_null(w, "reverts", g->reverts);
	jsonw_key_u64(w, "bytes", g->size);
	jsonw_object_end(w);
}

static void send_page(struct call *c)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	struct pages *p = c->work;
	bool more = c->message.more;
	size_t most = more ? PIECE_BYTES : WHOLE_BYTES;

	if (!w) {
		call_lost(c);
		return;
	}
	jsonw_object(w);
	jsonw_key_u64(w, "current", p->current);
	jsonw_key(w, "generations");
	jsonw_array(w);
	while (p->at < p->count && jsonw_size(w) < most)
		write_entry(w, &p->list[p->at++]);
	jsonw_array_end(w);
	jsonw_object_end(w);
	if (p->at == p->count)
		call_reply(c, w);
	else if (more)
		call_piece(c, w);
	else
		call_error(c, ORG_VARLINK "ExpectedMore", NULL);
}

static void answer_history(struct call *c, struct job *job)
{
	struct pages *p = calloc(1, sizeof(*p));

	if (!p) {
		call_lost(c);
		return;
	}
	*p = (struct pages){ job->list, job->list_count, 0, job->generation };
	job->list = NULL;
	job->list_count = 0;
	c->work = p;
	c->work_free = pages_free;
	if (c->message.more)
		c->next = send_page;
	send_page(c);
}

static void write_generation(struct jsonw *w, const struct job *job)
{
	jsonw_key_u64(w, "current", job->generation);
	jsonw_key(w, "generation");
	write_entry(w, &job->list[0]);
	jsonw_key_string(w, "diff", job->list[0].diff);
}

static void write_export(struct jsonw *w, const struct job *job)
{
	jsonw_key_u64(w, "generation", job->list[0].id);
	jsonw_key_string(w, "text", job->list[0].text);
}

static const struct errand_kind history = { .answer = answer_history };
static const struct errand_kind generation = { .write = write_generation };
static const struct errand_kind export = { .write = write_export };

static void submit(struct call *c, enum job_type type, const struct errand_kind *kind)
{
	uint64_t target = 0;
	bool said = varlink_param_u64(c->message.parameters, "generation", &target);
	struct job *job;

	if (said && !target) {
		call_error_text(c, ORG_VARLINK "InvalidParameter", "parameter", "generation");
		return;
	}
	job = errand_job(c, type);
	if (!job)
		return;
	job->target = target;
	errand_submit(c, job, kind);
}

void verb_history(struct call *c)
{
	submit(c, JOB_HISTORY, &history);
}

void verb_generation(struct call *c)
{
	submit(c, JOB_GENERATION, &generation);
}

void verb_export(struct call *c)
{
	submit(c, JOB_GENERATION, &export);
}
