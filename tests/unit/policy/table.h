/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table: how Linux reads a block's filters, by the source of cls_api.c, cls_flower.c,
 * cls_matchall.c and flow_dissector.c, the silent dropping of keys included.
 */
#ifndef SWD_TESTS_TABLE_H
#define SWD_TESTS_TABLE_H

#include "config/model/state.h"
#include "tests/unit/policy/written.h"

/* Does the kernel match it with this filter? */
bool filter_matches(const struct filter *f, const struct packet *p);

/*
 * Walks a block, from chain 0, pref by pref. Of several filters of one pref that match, hardware
 * may take any: *ret_twice tells that there were some, and `last` which one is taken here.
 */
struct verdict table_walk(const struct state *filters, uint32_t block, enum side side,
			  const struct packet *p, bool last, bool *ret_twice);

/*
 * True if in each chain on the packet's way `now` decides as `old` or as `new` does there: what is
 * neither is a mix of both, chain by chain.
 */
bool table_mixes(const struct state *const tables[3], uint32_t block, enum side side,
		 const struct packet *p, bool last);

#endif
