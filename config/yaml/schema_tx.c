// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schema_tx: how a port sends: frames a doorbell, the ring, interrupts, byte queue limits. Nothing
 * here has a default: what the file does not say is left as it is.
 */
#include <errno.h>
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/base/units.h"
#include "config/model/tx.h"
#include "config/yaml/draft.h"
#include "config/yaml/dump.h"
#include "config/yaml/hint.h"
#include "config/yaml/walk.h"

#define COALESCE_MAX 1000000 /* a second, or as many frames */
#define RING_MAX 1048576

/* ---- flush: a number, auto or off ---- */

static int flush_read(struct reader *r, const struct key *key, const struct node *n, void *to)
{
	char what[64];
	uint64_t v;

	snprintf(what, sizeof(what), "a whole number from %u to %u, auto or off",
		 (unsigned int)key->min, (unsigned int)key->max);
	if (!walk_scalar(r, n, what))
		return -EINVAL;
	if (streq(n->text, "auto")) {
		v = FLUSH_AUTO;
	} else if (streq(n->text, "off")) {
		v = 1;
	} else if (parse_u64(n->text, key->min, key->max, &v) < 0) {
		hint_number(walk_expected(r, n, what), n->text);
		return -EINVAL;
	} else if (!n->plain) {
		diag_hint(walk_expected(r, n, what), "write %s without quotes", n->text);
		return -EINVAL;
	}
	*(uint32_t *)to = (uint32_t)v;
	return 0;
}

static void flush_print(struct printer *p, const struct key *key, const void *from)
{
	uint32_t v = *(const uint32_t *)from;

	if (v <= 1)
		dump_text(p, v == FLUSH_AUTO ? "auto" : "off");
	else
		dump_rawf(p, "%u", v);
}

static void flush_schema(struct jsonw *w, const struct key *key)
{
	jsonw_key(w, "oneOf");
	jsonw_array(w);
	jsonw_object(w);
	jsonw_key_string(w, "type", "integer");
	jsonw_key_u64(w, "minimum", key->min);
	jsonw_key_u64(w, "maximum", key->max);
	jsonw_object_end(w);
	jsonw_object(w);
	jsonw_key(w, "enum");
	jsonw_raw(w, "[\"auto\",\"off\"]");
	jsonw_object_end(w);
	jsonw_array_end(w);
}

const struct value_type value_flush = { flush_read, flush_print, flush_schema, sizeof(uint32_t) };

/* ---- sections ---- */

static const struct key coalesce_keys[] = {
	[COALESCE_USECS] = {
		.name = "tx-usecs", .type = &value_uint,
		.offset = offsetof(struct draft_coalesce, usecs),
		.min = 0, .max = COALESCE_MAX,
		.doc = "microseconds from a frame that was sent to the interrupt that tells so",
	},
	[COALESCE_FRAMES] = {
		.name = "tx-frames", .type = &value_uint,
		.offset = offsetof(struct draft_coalesce, frames),
		.min = 0, .max = COALESCE_MAX,
		.doc = "frames that were sent before an interrupt tells so",
	},
	[COALESCE_ADAPTIVE] = {
		.name = "adaptive-tx", .type = &value_bool,
		.offset = offsetof(struct draft_coalesce, adaptive),
		.doc = "the driver chooses both by the load",
	},
};

static const struct section schema_coalesce = { "coalescing", coalesce_keys,
						ARRAY_SIZE(coalesce_keys),
						sizeof(struct draft_coalesce) };

static const struct key bql_keys[] = {
	[BQL_MIN] = {
		.name = "limit-min", .type = &value_size,
		.offset = offsetof(struct draft_bql, min),
		.min = 0, .max = TX_BQL_MAX,
		.doc = "bytes that each queue may always hold",
	},
	[BQL_MAX] = {
		.name = "limit-max", .type = &value_size,
		.offset = offsetof(struct draft_bql, max),
		.min = 0, .max = TX_BQL_MAX,
		.doc = "bytes that each queue may hold at most",
	},
};

static const struct section schema_bql = { "byte queue limits", bql_keys, ARRAY_SIZE(bql_keys),
					   sizeof(struct draft_bql) };

static const struct key keys[] = {
	[TX_FLUSH] = {
		.name = "flush", .type = &value_flush, .offset = offsetof(struct draft_tx, flush),
		.min = 1, .max = TX_FLUSH_MAX,
		.doc = "frames for which the doorbell is rung once, of senders that pass the "
		       "qdisc by; auto: as many as were measured to be best; off: each frame",
	},
	[TX_RING] = {
		.name = "ring", .type = &value_uint, .offset = offsetof(struct draft_tx, ring),
		.min = 1, .max = RING_MAX,
		.doc = "descriptors of the transmit ring, at most what the device has",
	},
	[TX_COALESCE] = {
		.name = "coalesce", .type = &value_map,
		.offset = offsetof(struct draft_tx, coalesce),
		.section = &schema_coalesce,
		.doc = "when the device interrupts for what was sent; what its driver can do",
	},
	[TX_BQL] = {
		.name = "bql", .type = &value_map, .offset = offsetof(struct draft_tx, bql),
		.section = &schema_bql,
		.doc = "byte queue limits, of all its queues",
	},
};

const struct section schema_tx = { "a port's tx", keys, ARRAY_SIZE(keys), sizeof(struct draft_tx) };
