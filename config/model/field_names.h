/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * field_names: the names of numbers that have names. Numbers are IANA's (protocols, ARP operations,
 * TCP flags), IEEE's (ethertypes) and the kernel's (fragment flags, linux/pkt_cls.h). Only for
 * fields.c.
 */
#ifndef SWD_MODEL_FIELD_NAMES_H
#define SWD_MODEL_FIELD_NAMES_H

#include "config/model/fields.h"

extern const struct field_name ip_proto_names[];
extern const struct field_name ethertype_names[];
extern const struct field_name arp_op_names[];
extern const struct field_name tcp_flag_names[];
extern const struct field_name ip_flag_names[];

/* The name of a value, or NULL. */
const char *field_name_of(const struct field_name *names, uint32_t value);
/* The value of a name; false if there is none. */
bool field_name_value(const struct field_name *names, const char *name, uint32_t *ret);

#endif
