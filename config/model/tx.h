/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tx: what can be asked of a part of how a device sends (struct tx of object.h). A row for each
 * part names its values.
 */
#ifndef SWD_MODEL_TX_H
#define SWD_MODEL_TX_H

#include "config/model/state.h"

#define TX_FLUSH_MAX 64	       /* frames a doorbell, at most */
#define TX_BQL_MAX 1879048192u /* bytes; DQL_MAX_LIMIT of linux/dynamic_queue_limits.h */
#define TX_TEXT 16
#define TX_SAME UINT32_MAX /* no queue is other than wanted */

const char *tx_part_name(enum tx_part part); /* "flush" */
/* "tx-usecs"; the part's own where it has one value; NULL: it has no such value. */
const char *tx_value_name(enum tx_part part, unsigned int i);

/* NULL: memory short. */
struct tx *tx_new(const char *dev, enum tx_part part, uint32_t queues);
/* What was said of one thing, as a wish: those of its values that are in `has`. NULL likewise. */
struct tx *tx_only(const struct tx *t, uint8_t has);
const struct tx *tx_find(const struct state *s, const char *dev, enum tx_part part);

static inline uint32_t tx_value(const struct tx *t, unsigned int i, uint32_t queue)
{
	return queue < t->queues ? t->queue[queue][i] : t->value[i];
}
/* The first queue whose value is other than wanted; TX_SAME: none. What wanted does not say is. */
uint32_t tx_other_queue(const struct tx *wanted, const struct tx *found, unsigned int i);
/* A value for people: "8", "off"; "none": the device has it not. */
void tx_print(const struct tx *t, unsigned int i, uint32_t queue, char to[TX_TEXT]);
/* What is said and the device has not: bits as in `has`. */
uint8_t tx_lacks(const struct tx *wanted, const struct tx *found);

#endif
