/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tx: how a device sends, asked for and set part by part (struct tx of the model). Ring and
 * coalescing go by ethtool's generic netlink family, whose messages tx_codec.c writes and reads;
 * the doorbell (an attribute of our kernel patch) and byte queue limits are files of sysfs, which
 * tells no news of them.
 */
#ifndef SWD_KERNEL_TX_H
#define SWD_KERNEL_TX_H

#include "config/model/tx.h"
#include "daemon/kernel/family.h"

struct tx_door;

int tx_open(struct tx_door **ret); /* 0 or -errno */
void tx_close(struct tx_door *t);  /* NULL is fine */
DEFINE_CLEANUP(struct tx_door *, tx_close);
int tx_fd(const struct tx_door *t); /* of the news; -1: this kernel has no ethtool family */

/* What the device has of one part, if need be nothing. 0, -ENOENT: there is no such device, -errno.
 */
int tx_read(struct tx_door *t, const char *dev, enum tx_part part, struct tx **ret);
/*
 * Sets what is wanted and is other than found, which may be NULL. 0, or -errno with nothing
 * changed; -ETIMEDOUT: it is not known. ret_words: the kernel's, the caller's from then on.
 */
int tx_set(struct tx_door *t, const struct tx *wanted, const struct tx *found, char **ret_words);

/* Reads one datagram of news; NULL: some were lost. 0, -EAGAIN: nothing there, -errno. */
typedef void (*tx_fn)(const struct tx *now, void *data);
int tx_event(struct tx_door *t, tx_fn fn, void *data);

/* ---- tx_codec.c ---- */

/* The attributes of a request for a part: get, or what is to be set. 0 or -EMSGSIZE. */
int tx_put_get(struct nl_msg *m, const char *dev);
int tx_put_set(struct nl_msg *m, const struct tx *wanted, const struct tx *found);
/* An answer or news. 0 with NULL in *ret: none of ours; -EBADMSG, -ENOMEM. */
int tx_parse(const struct nlmsghdr *h, struct tx **ret);

/* ---- tx_sysfs.c; net: where the devices are, "/sys/class/net" ---- */

int tx_sysfs_read(const char *net, const char *dev, enum tx_part part, struct tx **ret);
int tx_sysfs_set(const char *net, const struct tx *wanted);

#endif
