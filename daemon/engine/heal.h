/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heal: Linux 6.12 never forgets that a proto once needed software, as long as the proto lives.
 * Where such a mark is left and nothing in the proto needs software, its filters are put into a new
 * pref and only then taken out of the old one, so that no frame meets a gap.
 */
#ifndef SWD_ENGINE_HEAL_H
#define SWD_ENGINE_HEAL_H

#include "daemon/engine/owner.h"

/* True if something was changed. What fails is tried again later; an alert says so. */
bool heal_run(struct engine_owner *o);

#endif
