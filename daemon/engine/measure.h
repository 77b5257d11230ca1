/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measure: what `flush: auto` comes to. The figures of daemon/tx/tune stand in the store, and the
 * number they say is what is wanted from then on, as if the file had it. They hold for a name and a
 * driver: a device that is made anew has its number at once, and one of another driver is left as
 * it is until it is measured. A port without figures is measured as soon as it has a carrier and
 * nobody else uses it; on demand, any.
 *
 * Noisy figures count until there are better ones: see turns.h for when these are sought. They take
 * no good ones' place.
 *
 * It takes seconds, in slices: in between events are taken and repairs made. Jobs wait, but no
 * apply for what nobody asked for, and none that has a deadline: see jobs_waiting().
 */
#ifndef SWD_ENGINE_MEASURE_H
#define SWD_ENGINE_MEASURE_H

#include "daemon/engine/owner.h"

/* Takes what the store has. */
void measure_read(struct engine_owner *o);
/* Puts known numbers where the config says auto. Only for one that nobody shares. 0 or -ENOMEM. */
int measure_resolve(const struct engine_owner *o, struct config *config);
/*
 * Does the same for the config in force, before it is compared with what was found: a device may
 * have come, or figures. While that waits for its confirmation nothing changes. 0 or -ENOMEM.
 */
int measure_refresh(struct engine_owner *o);
/* JOB_MEASURE. */
void measure_job(struct engine_owner *o, struct job *job);
/* Something may be to be measured: looks soon. */
void measure_soon(struct engine_owner *o);
/* Another file is in force; what was on trial may be so for good; a device came; a link came up. */
void measure_adopted(struct engine_owner *o);
void measure_confirmed(struct engine_owner *o);
void measure_new(struct engine_owner *o, const char *dev);
void measure_link_up(struct engine_owner *o, const char *dev);
/* When o->measure_due has come. */
void measure_tick(struct engine_owner *o);

#endif
