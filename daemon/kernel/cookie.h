/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cookie: the mark by which swd knows its own filters again. It sits on a filter's first action,
 * where every kind of action has room for 16 bytes (TCA_ACT_COOKIE), and holds 4 bytes of magic, 4
 * bytes of instance (one swd of several) and an 8-byte hash of what the filter does. A filter
 * without an action can carry none.
 */
#ifndef SWD_KERNEL_COOKIE_H
#define SWD_KERNEL_COOKIE_H

#include <stdint.h>

#include "config/base/hash.h"
#include "config/model/object.h"

#define COOKIE_SIZE 16

/*
 * The cookie of a filter: its hash covers type, the skip_sw and skip_hw bits, match and actions,
 * and not its key; so a filter that moves to another pref keeps it. Stable from run to run.
 */
void cookie_make(const struct filter *f, uint32_t instance, uint8_t ret[COOKIE_SIZE]);
/* In two steps: the first is the same for filters that differ in their matches alone. */
uint64_t cookie_begin(const struct filter *f);
void cookie_end(const struct filter *f, uint64_t begun, uint32_t instance,
		uint8_t ret[COOKIE_SIZE]);

/* True if a swd made it, and which one. */
bool cookie_instance(const uint8_t cookie[COOKIE_SIZE], uint32_t *ret);
/* True if the magic is swd's and the instance that one. */
bool cookie_is_ours(const uint8_t cookie[COOKIE_SIZE], uint32_t instance);

#endif
