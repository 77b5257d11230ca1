/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * renames: records of what is ours name the device it is on. What swd put on a device is there
 * under whatever name the device gets, so the records follow it: when a rename is heard, when a
 * dump shows one that was not, and at a start, by the numbers that the store keeps beside the names
 * (a number means the same device as long as the machine is up, and the store forgets both with the
 * boot).
 */
#ifndef SWD_ENGINE_RENAMES_H
#define SWD_ENGINE_RENAMES_H

#include "daemon/engine/owner.h"
#include "daemon/engine/store.h"

void renames_heard(struct engine_owner *o, const char *old_name, const char *name);
/* `now` has the links of a new dump, found those before it. */
void renames_dumped(struct engine_owner *o, const struct state *now);
/* The store's records were read into o->owned, and found is new. */
void renames_since(struct engine_owner *o);

/* Makes the store's records those in o->owned. 0 or -errno. */
int renames_write(struct engine_owner *o);
/* The devices that the objects are on, as far as found has them; the caller frees the list. 0 or
 * -ENOMEM. */
int renames_devices(const struct engine_owner *o, const struct object *const *list, size_t n,
		    struct store_device **ret, size_t *ret_n);

#endif
