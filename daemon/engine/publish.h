/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * publish: makes a snapshot of all that clients may see and hands it upward. The bypass is judged
 * just before, so that what clients see fits together.
 */
#ifndef SWD_ENGINE_PUBLISH_H
#define SWD_ENGINE_PUBLISH_H

#include "daemon/engine/owner.h"

#define PUBLISH_GAP_NS 10000000ULL /* at most a snapshot in so long */

void publish(struct engine_owner *o);

#endif
