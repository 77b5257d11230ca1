/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * owned: which VLANs, addresses and qdiscs are swd's. They can carry no cookie, so the set is kept
 * here and in the store: objects with their keys, and what tells a look-alike apart (a VLAN's link
 * and id, a qdisc's blocks). What was there before swd wanted it is not ours, and stays when it is
 * wanted no more.
 */
#ifndef SWD_ENGINE_OWNED_H
#define SWD_ENGINE_OWNED_H

#include "config/model/state.h"

/* True for the kinds that are recorded here. */
bool owned_kind(enum kind kind);
/* True if the found object is the one recorded, not another under its name. */
bool owned_has(const struct state *owned, const struct object *found);

/* True if the record is of this object, whose key is the same. */
bool owned_is(const struct object *record, const struct object *found);

/*
 * The records after devices got other names, all at once; a record of a device that is not there
 * any more gives way to that of one which bears its name now. *ret is NULL if no record is of any
 * of them. 0 or -ENOMEM.
 */
struct owned_rename {
	char old_name[IFNAMSIZ], name[IFNAMSIZ];
};
int owned_renamed(const struct state *owned, const struct owned_rename *list, size_t n,
		  struct state **ret);

/*
 * A record as text, for the store: "core.100" and "link=lan1 id=100 protocol=0x8100", "lan1" and
 * "192.0.2.1/31", "lan1" and "clsact ingress=10 egress=0".
 */
#define OWNED_DETAIL 96
void owned_print(const struct object *o, char name[IFNAMSIZ], char detail[OWNED_DETAIL]);
/* The way back: 0 and a new object, -EINVAL, or -ENOMEM. */
int owned_parse(enum kind kind, const char *name, const char *detail, struct object **ret);

#endif
