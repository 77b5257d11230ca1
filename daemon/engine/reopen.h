/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reopen: the store over the life of the engine. It is opened at the start; what it could not be
 * then (no room, locked, read-only) it may be later, and its log may be taken away under it. Looked
 * at before each apply and with each audit.
 */
#ifndef SWD_ENGINE_REOPEN_H
#define SWD_ENGINE_REOPEN_H

#include "daemon/engine/owner.h"

/* At the start; what fails becomes an alert. */
void reopen_first(struct engine_owner *o);
/* The store is open and its files are where they belong, or are again now. 0 or -errno, -ENODEV if
 * there is none, and an alert says why. */
int reopen_store(struct engine_owner *o);
/* A store that was corrupt and begun anew knows of nothing that is swd's: what the file wants and
 * the kernel has is taken for it. Filters carry their marks. */
void reopen_adopt(struct engine_owner *o);

#endif
