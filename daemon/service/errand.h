/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * errand: a call that the engine answers. Its job goes to the engine, and what is said to the
 * client is written when that ends. The client may go meanwhile, and the service: the job runs to
 * its end all the same, but for a measurement, which changes nothing.
 */
#ifndef SWD_SERVICE_ERRAND_H
#define SWD_SERVICE_ERRAND_H

#include "daemon/engine/engine.h"
#include "daemon/service/call.h"

/* Writes the members of the answer; the job went well. */
typedef void (*errand_write_fn)(struct jsonw *w, const struct job *job);

struct errand_kind {
	errand_write_fn write;
	/* Instead of write: answers the call in its own way. It may take what the job holds. */
	void (*answer)(struct call *c, struct job *job);
	/* Writes the members of a piece in front of it, for a caller who wants more. May be NULL.
	 */
	void (*progress)(struct jsonw *w, const struct job_progress *p);
	bool bad_file_is_fine; /* a file that is wrong is no error, but what was asked for */
};

/* A job in the name of the call's client; NULL: memory is short, and the call is lost. */
struct job *errand_job(struct call *c, enum job_type type);
/* Takes over the job. Those who may only read share a few places for theirs. */
void errand_submit(struct call *c, struct job *job, const struct errand_kind *kind);
/* Answers with the error that a job ended with. */
void errand_fail(struct call *c, const struct job *job);
void errand_detach(struct service *s); /* the service goes; jobs end later */

/* "deadline": ?Deadline, as of now. */
void errand_write_deadline(struct jsonw *w, const struct armed *a);

#endif
