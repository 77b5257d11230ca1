/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measure: what `flush: auto` comes to. The figures of daemon/tx/tune stand in the store, and the
 * number they say is what is wanted from then on, as if the file had it. A port without figures
 * (of its driver) is measured as soon as it has a carrier and nobody else uses it; on demand, any.
 *
 * It takes seconds, in slices: in between events are taken and repairs made; jobs wait.
 */
#ifndef SWD_ENGINE_MEASURE_H
#define SWD_ENGINE_MEASURE_H

#include "daemon/engine/owner.h"

/* Takes what the store has. */
void measure_read(struct engine_owner *o);
/* Puts known numbers where the config says auto. Only for one that nobody shares. 0 or -ENOMEM. */
int measure_resolve(const struct engine_owner *o, struct config *config);
/* JOB_MEASURE. */
void measure_job(struct engine_owner *o, struct job *job);
/* Something may be to be measured: looks soon. adopted: another file is in force. */
void measure_soon(struct engine_owner *o);
void measure_adopted(struct engine_owner *o);
/* When o->measure_due has come. */
void measure_tick(struct engine_owner *o);

#endif
