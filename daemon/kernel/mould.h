/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mould: most filters of a long list differ from one before them in a few values. So what the codec
 * wrote for that one serves again, with other values in their places; and what the kernel said of
 * it tells what it should say now, so that one comparison of bytes reads the answer. What fits no
 * mould, or differs anywhere, goes to the codec, and makes the next mould. Both ways give the same.
 */
#ifndef SWD_KERNEL_MOULD_H
#define SWD_KERNEL_MOULD_H

#include "daemon/kernel/codec.h"

struct moulds;

struct moulds *moulds_new(void); /* NULL: memory short */
void moulds_free(struct moulds *m);
/* Who we are has changed: nothing holds any more. */
void moulds_clear(struct moulds *m);
/* Devices may have other numbers from here on. */
void moulds_doubt_devices(struct moulds *m);

/* True if m holds now what codec_filter.put() would write. */
bool mould_write(struct moulds *moulds, enum kernel_op op, const struct filter *wanted,
		 struct nl_msg *m);
/* h: what it wrote. */
void mould_wrote(struct moulds *moulds, enum kernel_op op, const struct filter *wanted,
		 const struct nlmsghdr *h);

/*
 * h: the kernel's answer to a request for `wanted`. True, and a new object in *ret, if it says that
 * very filter, key and cookie included.
 */
bool mould_read(struct moulds *moulds, const struct filter *wanted, const struct nlmsghdr *h,
		struct object **ret);
/* said: what codec_filter.parse() read in h. */
void mould_was_read(struct moulds *moulds, const struct filter *wanted, const struct nlmsghdr *h,
		    const struct filter *said);

#endif
