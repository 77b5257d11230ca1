/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kinds: the rows that object.c joins, a file each. Everybody else asks kind_ops().
 */
#ifndef SWD_MODEL_KINDS_H
#define SWD_MODEL_KINDS_H

#include "config/model/object.h"

extern const struct kind_ops kind_port;
extern const struct kind_ops kind_tx;
extern const struct kind_ops kind_vlan;
extern const struct kind_ops kind_address;
extern const struct kind_ops kind_block;
extern const struct kind_ops kind_qdisc;
extern const struct kind_ops kind_rule;
extern const struct kind_ops kind_filter;

/* What port and vlan share. */
void link_facts_json(const struct link_facts *facts, struct jsonw *w);
/* Writes "line" and "column" of an object that came from a file; nothing for others. */
void origin_json(const struct origin *at, struct jsonw *w);

#endif
