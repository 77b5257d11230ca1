/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store: what must survive: generations (store_generation.h) and the few records of what is ours
 * and can carry no mark. One SQLite file, `swd.db`, in the state folder. No journal of steps: after
 * a crash a dump and a diff are the recovery.
 *
 * A corrupt file is moved aside once, with the time in its name, and a new one begun; a file of a
 * newer schema is left as it is and not used; one of an older schema becomes one of ours, whole or
 * not at all. Calls may wait for the disk.
 */
#ifndef SWD_ENGINE_STORE_H
#define SWD_ENGINE_STORE_H

#include "config/model/state.h"

struct store;

#define STORE_WORDS 256

/*
 * Opens or makes the store in `dir`. `place` names this boot and network namespace: records of
 * ownership and of what a trial changed are dropped in another place, since the kernel has
 * forgotten those objects. words gets what an operator should know ("" if nothing), also after
 * success. 0 or -errno: -EPROTO for a newer schema, -EROFS, -ENOSPC, -EACCES, -EUCLEAN (corrupt and
 * can't be moved), -EBUSY, -EIO.
 */
int store_open(const char *dir, const char *place, struct store **ret, char words[STORE_WORDS]);
void store_close(struct store *s);
DEFINE_CLEANUP(struct store *, store_close);
/* 0 if its files are still where they were opened; -ENOLINK: the log beside the file is not, and to
 * close it and open it anew saves what it holds; -ESTALE: the file is not. */
int store_there(const struct store *s);
/* True if the file was corrupt and begun anew: what was ours is not known any more. */
bool store_rebuilt(const struct store *s);

/* Which device bore a name when a record of it was made. */
struct store_device {
	uint32_t ifindex;
	char name[IFNAMSIZ];
};

/*
 * Ownership: each is one transaction for all objects of the list. own adds to the records, own_only
 * puts these in the place of all. 0 or -errno.
 */
int store_own(struct store *s, const struct object *const *list, size_t n,
	      const struct store_device *devices, size_t device_count);
int store_own_only(struct store *s, const struct object *const *list, size_t n,
		   const struct store_device *devices, size_t device_count);
int store_disown(struct store *s, const struct object *const *list, size_t n);
/* True if own would write what is in the file already: then nobody need wait for the disk. */
bool store_has(const struct store *s, const struct object *const *list, size_t n,
	       const struct store_device *devices, size_t device_count);
/*
 * Puts all records into `into`. An apply that was refused or cut short may have left two under one
 * name; then it is the one that `found` has (NULL: any).
 */
int store_owned(struct store *s, const struct state *found, struct state *into);
/* The devices of the records; the caller frees the list. 0 or -errno. */
int store_devices(struct store *s, struct store_device **ret, size_t *ret_n);

#endif
