/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * room: the inside of struct kernel, for the files that make up kernel.h: kernel.c (open, read),
 * walk.c (read in parts), execute.c (change) and events.c (news).
 */
#ifndef SWD_KERNEL_ROOM_H
#define SWD_KERNEL_ROOM_H

#include "daemon/kernel/codec.h"
#include "daemon/kernel/devices.h"
#include "daemon/kernel/facts.h"
#include "daemon/kernel/genl.h"
#include "daemon/kernel/kernel.h"
#include "daemon/kernel/mould.h"
#include "daemon/kernel/rtnl.h"
#include "daemon/kernel/tx.h"

struct kernel {
	struct rtnl *
		request; /* what changes something: the port id by which our own events are known */
	struct rtnl *query; /* dumps and gets */
	struct rtnl *slow;  /* the dump that is read in parts */
	struct rtnl *events;
	struct rtnl_taking walk;
	bool walking;
	struct bypass_genl *bypass; /* NULL: not this kernel */
	struct tx_door *tx;
	struct devices *devices;
	struct facts *facts;
	struct moulds *moulds;
	struct codec_names names;
	char name[IFNAMSIZ]; /* of a device the table does not have yet */
	uint64_t event_count, refused;
	struct nl_msg *pool[RTNL_BATCH]; /* of CODEC_MESSAGE_BYTES each, to be used again */
	size_t pooled;
};

/* Parses and completes an object; *ret NULL: none of ours. 0, -ENOMEM, or -EBADMSG for all that
 * can't be read. */
int kernel_parse(struct kernel *k, const struct nlmsghdr *h, struct object **ret);
/*
 * Writes a message that `put` fills, in a buffer that is large enough. 0, or put's error. The
 * caller frees it, or gives it back to be used again.
 */
int kernel_message(struct kernel *k, int (*put)(struct nl_msg *m, void *data), void *data,
		   struct nl_msg **ret);
void kernel_message_done(struct kernel *k, struct nl_msg *m);

/*
 * False for two things Linux lists among filters: a pref that announces itself, and the hash tables
 * of u32, which match nothing and mark nothing.
 */
static inline bool kernel_is_filter(const struct filter *f)
{
	return f->handle != 0 && !(streq(f->other, "u32") && (f->handle & 0xfffff) == 0);
}

static inline void nl_msg_freep(struct nl_msg **m)
{
	if (*m)
		nlmsg_free(*m);
}

#endif
