/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fields: everything a rule can match on, a row each. A row gives the YAML name, the type, the size
 * and the flower attributes; a new field is a new row, and nothing else in the tree lists fields.
 *
 * Values and masks are kept as they stand in a frame: network byte order. The codec turns them when
 * an attribute wants host order (vlan_id does, vlan_ethtype does not).
 */
#ifndef SWD_MODEL_FIELDS_H
#define SWD_MODEL_FIELDS_H

#include <stdint.h>

#include "config/base/util.h"
#include "config/model/carries.h"

/* The order is the order in a match, in its bytes and in its text: outer headers first. */
enum field {
	FIELD_DST_MAC,
	FIELD_SRC_MAC,
	FIELD_VLAN, /* outer VLAN id */
	FIELD_VLAN_PRIO,
	FIELD_VLAN_ETHTYPE, /* behind the outer tag; set by compile, not by people */
	FIELD_CVLAN,	    /* inner VLAN id */
	FIELD_CVLAN_PRIO,
	FIELD_CVLAN_ETHTYPE, /* behind the inner tag; set by compile, not by people */
	FIELD_IP_PROTO,
	FIELD_TOS,
	FIELD_TTL,	/* IPv4 TTL and IPv6 hop limit */
	FIELD_IP_FLAGS, /* fragments: flower's key flags */
	FIELD_IPV4_SRC,
	FIELD_IPV4_DST,
	FIELD_IPV6_SRC,
	FIELD_IPV6_DST,
	FIELD_SPORT,
	FIELD_DPORT,
	FIELD_SPORT_RANGE, /* value: lowest, mask: highest port, both included */
	FIELD_DPORT_RANGE,
	FIELD_TCP_FLAGS,
	FIELD_ICMP_TYPE, /* ICMP or ICMPv6, as the protocol says */
	FIELD_ICMP_CODE,
	FIELD_ARP_OP,
	FIELD_ARP_SENDER_IP,
	FIELD_ARP_TARGET_IP,
	FIELD_ARP_SENDER_MAC,
	FIELD_ARP_TARGET_MAC,
	FIELD_COUNT_,
};

enum field_type {
	FIELD_TYPE_UINT, /* a number, alone or with "/mask" */
	FIELD_TYPE_MAC,	 /* a MAC address, alone or with "/mask" */
	FIELD_TYPE_IPV4, /* prefix, or address "/" mask */
	FIELD_TYPE_IPV6,
	FIELD_TYPE_PORT,  /* 0 to 65535 */
	FIELD_TYPE_RANGE, /* "1000-2000" */
	FIELD_TYPE_NAME,  /* a number that has names: ip protocol, ethertype, arp operation */
	FIELD_TYPE_FLAGS, /* names of bits: "syn,!ack" */
};

struct field_name {
	const char *name;
	uint32_t value;
};

struct field_row {
	const char *name; /* as in the YAML; rows for two families share one ("src") */
	enum field_type type;
	uint8_t size;	 /* bytes of the value, and of the mask */
	uint8_t carries; /* CARRIES_*: frames that have it carry one of these behind their tags */
	uint8_t tags;	 /* frames that have it have so many tags, or more */
	bool host_order; /* the kernel's attribute is a number in host order */
	bool internal;	 /* only compile sets it */
	bool masked;	 /* the kernel takes a mask */
	uint32_t max;	 /* largest number allowed, 0: all that fits */
	uint16_t attr;	 /* TCA_FLOWER_KEY_*, or 0: the codec chooses by protocol (ports, icmp) */
	uint16_t mask_attr;		     /* or 0 */
	const struct field_name *names;	     /* ended by a NULL name, or NULL */
	const struct carries_protos *protos; /* IP protocols that have it, NULL: any */
	const char *expected;		     /* "a VLAN id from 0 to 4095": for messages */
};

/* The row of f, never NULL. */
extern const struct field_row field_rows[FIELD_COUNT_];
static inline const struct field_row *field_row(enum field f)
{
	return &field_rows[f];
}
/* The field names people may write, each once, in table order; NULL behind the last. */
const char *field_name_at(size_t i);

struct match;
/*
 * Reads one field as people write it and adds it to m: picks the row that fits the text (src: IPv4
 * or IPv6; sport: one port or a range). 0; -ENOENT: no such field; -EINVAL: not of its form;
 * -ERANGE: out of range; -EEXIST: m has it already. After an error m is as before, and
 * *ret_expected (may be NULL) says in static words what was expected.
 * Host bits behind a prefix are an error (-EINVAL): the person meant something else.
 */
int field_parse(const char *name, const char *text, struct match *m, const char **ret_expected);

/*
 * Gives a field that is in these bytes of a match another value, if the row it has is the one for
 * that text. False, with nothing changed, if not.
 */
bool field_reparse(const char *name, const char *text, uint8_t *bytes, uint16_t size);

#define FIELD_TEXT 128
/* The value as people write it, such that field_parse() reads it back. */
void field_print(enum field f, const uint8_t *value, const uint8_t *mask, char to[FIELD_TEXT]);

/* Ethertypes by name: "ip", "ipv6", "arp", "802.1q", "802.1ad", "all", or 0x0600 to 0xffff. */
#define ETHERTYPE_ALL 0x0003 /* ETH_P_ALL: protocol "all" of a filter */
int ethertype_parse(const char *text, uint16_t *ret);
void ethertype_print(uint16_t ethertype, char to[16]);

#endif
