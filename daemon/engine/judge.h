/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge: what the bypass of each wanted block is, and what else in the blocks an operator should
 * know of. Fills the reports for the snapshot; tells changes as events and alerts.
 */
#ifndef SWD_ENGINE_JUDGE_H
#define SWD_ENGINE_JUDGE_H

#include "daemon/engine/owner.h"

void judge_blocks(struct engine_owner *o);

#endif
