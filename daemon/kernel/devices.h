/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * devices: names and numbers of the devices of our network namespace, as the last dump and the
 * events since then told them. The kernel may be ahead of it; who is about to send a number asks
 * the kernel.
 */
#ifndef SWD_KERNEL_DEVICES_H
#define SWD_KERNEL_DEVICES_H

#include <net/if.h>
#include <stdint.h>

#include "config/base/util.h"

struct devices;

struct devices *devices_new(void); /* NULL: memory short */
void devices_free(struct devices *d);
DEFINE_CLEANUP(struct devices *, devices_free);

void devices_clear(struct devices *d);
/* Notes a name; whoever had the name or the number before loses it. 0 or -ENOMEM. */
int devices_set(struct devices *d, uint32_t ifindex, const char *name);
void devices_remove(struct devices *d, uint32_t ifindex);
/* Valid until the table changes; NULL: unknown. */
const char *devices_name(const struct devices *d, uint32_t ifindex);
uint32_t devices_index(const struct devices *d, const char *name); /* 0: unknown */

/*
 * The number of a name, asked of the kernel at most once between two calls of devices_doubt(): a
 * device may have come, gone or changed its number while its event waits to be read. fd: any
 * socket. 0: none.
 */
uint32_t devices_index_now(struct devices *d, int fd, const char *name);
void devices_doubt(struct devices *d);
/* Asks the kernel for the name. False: there is none. */
bool devices_name_now(int fd, uint32_t ifindex, char ret[IFNAMSIZ]);

#endif
