/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * draft: what a file says, as plain structs that the tables of schema_*.c describe, with every
 * value's place still at hand. Checks across objects read drafts; build.c makes a config of them
 * and, for dumping, drafts of a config. They live in an arena and point into the tree.
 *
 * The enums number the rows of the tables; HAS(port, PORT_MTU) tells whether it was said.
 */
#ifndef SWD_YAML_DRAFT_H
#define SWD_YAML_DRAFT_H

#include "config/model/action.h"
#include "config/model/config.h"
#include "config/model/match.h"
#include "config/model/object.h"
#include "config/yaml/schema.h"

enum daemon_key {
	DAEMON_SETTLE,
	DAEMON_AUDIT,
	DAEMON_PORT_WAIT,
	DAEMON_LOG_LEVEL,
	DAEMON_HISTORY,
	DAEMON_WRITERS,
};

struct draft_name {
	const struct node *node;
	const char *name;
};

struct draft_daemon {
	struct draft draft;
	uint32_t settle, audit, port_wait; /* milliseconds */
	uint32_t log_level;		   /* enum log_level */
	uint32_t history;
	struct items writers; /* struct draft_name */
};

struct draft_address {
	const struct node *node;
	uint8_t family, prefix_len;
	uint8_t addr[16];
};

/* Keys of `tx` are the parts of struct tx (enum tx_part), and their keys its values. */
enum coalesce_key {
	COALESCE_USECS,
	COALESCE_FRAMES,
	COALESCE_ADAPTIVE,
};

enum bql_key {
	BQL_MIN,
	BQL_MAX,
};

struct draft_tx {
	struct draft draft;
	uint32_t flush, ring;
	struct draft_coalesce {
		struct draft draft;
		uint32_t usecs, frames;
		bool adaptive;
	} coalesce;
	struct draft_bql {
		struct draft draft;
		uint32_t min, max;
	} bql;
};

#define FLUSH_AUTO 0

enum port_key {
	PORT_UP,
	PORT_MTU,
	PORT_TC_OFFLOAD,
	PORT_TX,
	PORT_ADDRESSES,
};

struct draft_port {
	struct draft draft;
	bool up, tc_offload;
	uint32_t mtu;
	struct draft_tx tx;
	struct items addresses; /* struct draft_address */
};

enum vlan_key {
	VLAN_LINK,
	VLAN_ID,
	VLAN_PROTOCOL,
	VLAN_UP,
	VLAN_MTU,
	VLAN_ADDRESSES,
};

struct draft_vlan {
	struct draft draft;
	const char *link;
	uint32_t id, protocol, mtu;
	bool up;
	struct items addresses; /* struct draft_address */
};

struct draft_match {
	const struct node *node;
	const uint8_t *bytes; /* packed as in match.h, in the arena */
	uint16_t size;
	uint16_t ethertype; /* 0: not said */
	uint8_t tagging;    /* enum tagging; UNSET: not said */
	/* What follows from these: draft_match_sum(). */
	uint8_t tags;	  /* that frames need to match: 0, 1 or 2 */
	uint8_t carries;  /* CARRIES_*: what all of it is about; 0: there is no such frame */
	bool needs_proto; /* some field is in the header of some IP protocols alone */
};

struct draft_actions {
	const struct node *node;
	const struct action *list;
	uint8_t count;
};

/* ---- the arguments of actions that have more than one; schema_action.c ---- */

enum vlan_action_key {
	VLAN_ACTION_ID,
	VLAN_ACTION_PRIO,
	VLAN_ACTION_PROTOCOL,
};

struct draft_vlan_action {
	struct draft draft;
	uint32_t id, prio, protocol;
};

enum police_key {
	POLICE_RATE,
	POLICE_BURST,
	POLICE_MTU,
};

struct draft_police {
	struct draft draft;
	uint64_t rate; /* bits per second */
	uint32_t burst, mtu;
};

enum sample_key {
	SAMPLE_RATE,
	SAMPLE_GROUP,
	SAMPLE_TRUNCATE,
};

struct draft_sample {
	struct draft draft;
	uint32_t rate, group, truncate;
};

/* ---- rules and blocks ---- */

enum rule_key {
	RULE_NAME,
	RULE_MATCH,
	RULE_ACTION,
	RULE_OFFLOAD,
	RULE_CHAIN,
	RULE_PREF,
};

struct draft_rule {
	struct draft draft;
	const char *name;
	struct draft_match match;
	struct draft_actions actions;
	uint32_t offload, chain, pref;
};

enum block_key {
	BLOCK_ID,
	BLOCK_BIND,
	BLOCK_BIND_EGRESS,
	BLOCK_TAKEOVER,
	BLOCK_OFFLOAD,
	BLOCK_FOREIGN,
	BLOCK_TAGGING,
	BLOCK_BYPASS,
	BLOCK_REPLACE,
	BLOCK_RULES,
};

struct draft_block {
	struct draft draft;
	uint32_t id;
	struct items bind, bind_egress; /* struct draft_name */
	bool takeover;
	uint32_t offload, foreign, tagging, bypass, replace;
	struct items rules; /* struct draft_rule */
};

enum root_key {
	ROOT_VERSION,
	ROOT_DAEMON,
	ROOT_PORTS,
	ROOT_VLANS,
	ROOT_BLOCKS,
};

struct draft_root {
	struct draft draft;
	uint32_t version;
	struct draft_daemon daemon;
	struct items ports, vlans, blocks; /* struct draft_port, draft_vlan, draft_block */
};

/* Makes room for so many items of that size, all zero, and none yet counted. 0 or -ENOMEM. */
int items_new(struct arena *a, size_t count, size_t size, struct items *ret);
/* Walks items: FOR_EACH_ITEM(p, root->ports) with struct draft_port *p. */
#define FOR_EACH_ITEM(p, items) \
	for ((p) = (items).at; (p) && (p) < (__typeof__(p))(items).at + (items).count; (p)++)

/* Where the value of a key stands, or the draft itself where it does not. */
struct origin draft_at(const struct draft *d, const char *key);
/* Where its name stands, or the draft itself. */
struct origin draft_name_at(const struct draft *d);
/* Where one field of a rule's match stands, and one of its actions. */
struct origin match_at(const struct draft_rule *r, const char *field);
struct origin action_at(const struct draft_rule *r, size_t i);

static inline struct match_view draft_match_view(const struct draft_match *m)
{
	/* A match that could not be read has no bytes, and is as good as an empty one. */
	return (struct match_view){ m->bytes ? m->bytes : (const uint8_t *)"", m->size };
}

/* What frames a field of a match is about: CARRIES_*. */
unsigned int draft_field_carries(struct match_view v, enum field f);
/* Sums up a match whose fields and ethertype are known. */
void draft_match_sum(struct draft_match *m);

/* What a rule comes to with its block's defaults. */
static inline enum offload draft_offload(const struct draft_block *b, const struct draft_rule *r)
{
	return r->offload != OFFLOAD_UNSET ? (enum offload)r->offload : (enum offload)b->offload;
}

static inline enum tagging draft_tagging(const struct draft_block *b, const struct draft_rule *r)
{
	if (r->match.tags)
		return TAGGING_VLAN;
	return r->match.tagging != TAGGING_UNSET ? (enum tagging)r->match.tagging
						 : (enum tagging)b->tagging;
}

#endif
