/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * repair: brings found back to wanted after something happened: at once, but a settle time behind
 * the last repair; and at least once per audit time even if nothing was heard. What is refused, or
 * has to be put right again and again, waits longer each time.
 */
#ifndef SWD_ENGINE_REPAIR_H
#define SWD_ENGINE_REPAIR_H

#include "daemon/engine/owner.h"
#include "daemon/engine/plan.h"

/* Of what was heard until now. */
void repair_run(struct engine_owner *o);
/* Everything is read again: links, addresses and qdiscs at once, blocks in parts behind it. */
void repair_audit(struct engine_owner *o);
/* What waits for ports and what is in the way becomes alerts. */
void repair_tell(struct engine_owner *o, const struct plan *plan);

#endif
