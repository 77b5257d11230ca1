/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * object: one thing swd manages, in one allocation, shared by reference count between the states
 * that hold it and the snapshots other threads read. Once an object is in a state it does not
 * change: a changed thing is a new object. Wanted and found are the same structs; *_HAS_* bits tell
 * what was said.
 */
#ifndef SWD_MODEL_OBJECT_H
#define SWD_MODEL_OBJECT_H

#include <linux/pkt_cls.h>
#include <net/if.h>
#include <stdint.h>

#include "config/base/diag.h"
#include "config/base/util.h"
#include "config/model/action.h"
#include "config/model/match.h"

/* The order is the order in which things are made; they go in reverse. */
enum kind {
	KIND_PORT, /* a network device that is there without us */
	KIND_TX,   /* a part of how a device sends */
	KIND_VLAN, /* a VLAN upper: a leg of the stick */
	KIND_ADDRESS,
	KIND_BLOCK,  /* a tc block's policy; the kernel has no object for it alone */
	KIND_QDISC,  /* clsact on a port, and the blocks it binds */
	KIND_RULE,   /* what people write; the kernel has none */
	KIND_FILTER, /* what the kernel holds */
	KIND_COUNT_,
};

struct object {
	uint8_t kind;
	uint32_t refs;	       /* atomic */
	struct origin origin;  /* line 0: not from a file */
} __attribute__((aligned(8))); /* as the strictest object that starts with one */

/* A new zeroed object of `size` bytes (struct and tail) with one reference; NULL: memory short. */
void *object_new(enum kind kind, size_t size);
void *object_ref(const void *object); /* returns it; NULL is fine */
void object_unref(void *object);      /* NULL is fine */
static inline void object_unrefp(void *ptr)
{
	object_unref(*(void **)ptr);
}
#define _cleanup_object_ _cleanup_(object_unrefp)

/* ---- port and vlan ---- */

/* What the kernel knows of a device and nobody configures. Found only. */
struct link_facts {
	uint32_t ifindex;
	uint32_t flags; /* IFF_* */
	uint8_t carrier;
	uint8_t operstate; /* IF_OPER_* */
	uint8_t mac[6];
	char type[16];	      /* IFLA_INFO_KIND: "dsa", "vlan", "veth"; "" for plain devices */
	char driver[32];      /* ethtool's; "" if unknown */
	char lower[IFNAMSIZ]; /* IFLA_LINK: conduit of a user port, link of a VLAN; or "" */
	char switch_id[65];   /* phys_switch_id in hex, or "" */
	char port_name[16];   /* phys_port_name, or "" */
	int32_t switch_index; /* DSA: index of the switch in its tree (phys_port_name or devlink),
				 -1: none */
	int32_t port_number;  /* devlink port number (the switch's port), -1: unknown */
	char tagger[16];      /* of the conduit: /sys/class/net/CONDUIT/dsa/tagging; or "" */
	int8_t offload;	      /* hw-tc-offload: 1 on, 0 off, -1 the device has none */
};

#define PORT_HAS_UP 0x01
#define PORT_HAS_MTU 0x02
#define PORT_HAS_TC_OFFLOAD 0x04

struct port {
	struct object obj;
	char name[IFNAMSIZ]; /* key */
	uint32_t has;	     /* PORT_HAS_* */
	uint32_t mtu;
	uint8_t up, tc_offload;
	struct link_facts facts;
};

/* A part of how a device sends: what one request sets. */
enum tx_part {
	TX_FLUSH,    /* frames a doorbell, for senders past the qdisc */
	TX_RING,     /* descriptors of the transmit ring */
	TX_COALESCE, /* when it interrupts for what was sent */
	TX_BQL,	     /* byte queue limits */
	TX_PART_COUNT_,
};

#define TX_VALUES 3

struct tx {
	struct object obj;
	char dev[IFNAMSIZ]; /* key: both */
	uint8_t part;	    /* enum tx_part */
	uint8_t has;	    /* bit i: value[i] was said; found: the device has it */
	uint8_t automatic;  /* wanted only: what is measured, once it is */
	uint32_t value[TX_VALUES];
	uint32_t most;		     /* found only: what value[0] may be; 0: it is not told */
	uint32_t queues;	     /* of the tail; 0: one word for all */
	uint32_t queue[][TX_VALUES]; /* of each queue, where they are its own */
};

struct vlan {
	struct object obj;
	char name[IFNAMSIZ]; /* key */
	char link[IFNAMSIZ];
	uint16_t id;	   /* 1 to 4094 */
	uint16_t protocol; /* 0x8100 or 0x88a8, host order */
	uint32_t has;	   /* PORT_HAS_UP, PORT_HAS_MTU */
	uint32_t mtu;
	uint8_t up;
	struct link_facts facts;
};

struct address {
	struct object obj;
	char dev[IFNAMSIZ]; /* key: all four */
	uint8_t family;	    /* 4 or 6 */
	uint8_t prefix_len;
	uint8_t addr[16]; /* network order, IPv4 in the first four */
	uint8_t scope;	  /* found only: RT_SCOPE_* */
	uint8_t passing;  /* found only: somebody made it for a time */
};

/* ---- blocks ---- */

enum offload {
	OFFLOAD_UNSET,	   /* a rule that leaves it to its block */
	OFFLOAD_REQUIRED,  /* skip_sw: hardware or refused */
	OFFLOAD_PREFERRED, /* both; software does it where hardware does not */
	OFFLOAD_OFF,	   /* skip_hw */
};
enum foreign {
	FOREIGN_REPORT,
	FOREIGN_EVICT,
};
enum tagging {
	TAGGING_UNSET,
	TAGGING_NONE, /* frames without a tag */
	TAGGING_ANY,  /* frames without, with one and with two tags */
	TAGGING_VLAN, /* the match says which VLAN */
};
enum bypass_want {
	BYPASS_WANT_PREFERRED, /* have it when the rules allow it */
	BYPASS_WANT_REQUIRED,  /* refuse rules that would end it */
	BYPASS_WANT_OFF,       /* never use the shortcut; report only */
};

/* How a rule that was changed takes the old one's place in hardware. */
enum replace {
	REPLACE_AUTO,	  /* a wanted block's: as the driver and what the kernel answers say */
	REPLACE_IN_PLACE, /* at its pref, the new one before the old one goes */
	REPLACE_BESIDE,	  /* equal matches stand at different prefs only */
	REPLACE_GAP,	  /* nowhere: the old one must go first */
};

#define BLOCK_NAME_MAX 32

struct block {
	struct object obj;
	uint32_t id; /* key: the tc block index, 1 to 2^32 - 2 */
	char name[BLOCK_NAME_MAX];
	uint8_t offload, foreign, tagging, bypass, replace; /* the enums above, none unset */
};

struct qdisc {
	struct object obj;
	char dev[IFNAMSIZ];		      /* key */
	char type[16];			      /* "clsact" or "ingress" */
	uint32_t ingress_block, egress_block; /* 0: none */
	uint64_t packets;		      /* found only: the qdisc's counter at the last dump */
	uint8_t takeover;		      /* wanted only: may replace a foreign qdisc */
};

/* True if it binds that shared block, in either direction. */
static inline bool qdisc_binds(const struct qdisc *q, uint32_t block)
{
	return block && (q->ingress_block == block || q->egress_block == block);
}

/* ---- rules and filters ---- */

#define RULE_NAME_MAX 64

struct rule {
	struct object obj;
	uint32_t block; /* key: block and position */
	uint32_t chain;
	uint32_t position;	  /* in its block's list, from 0 */
	uint16_t pref;		  /* said by the file, or 0 */
	uint16_t ethertype;	  /* said by the file (ETHERTYPE_ALL too), or 0 */
	uint8_t offload, tagging; /* enums; unset: the block's */
	uint8_t action_count;
	uint16_t match_size;
	char name[RULE_NAME_MAX];
	/* Actions, then the match's bytes. */
	uint8_t tail[] __attribute__((aligned(8)));
};

/* Makes a rule of these parts; the rest of the struct is for the caller to fill. NULL: no memory.
 */
struct rule *rule_new(struct match_view match, const struct action *actions, size_t count);
static inline const struct action *rule_actions(const struct rule *r)
{
	return (const struct action *)(const void *)r->tail;
}
static inline struct match_view rule_match(const struct rule *r)
{
	return (struct match_view){ r->tail + r->action_count * sizeof(struct action),
				    r->match_size };
}

enum filter_type {
	FILTER_FLOWER,
	FILTER_MATCHALL,
	FILTER_OTHER, /* found only: a classifier swd does not write; .other names it */
};

/* Whose a found filter is; wanted ones are OURS. */
enum owner {
	OWNER_FOREIGN,
	OWNER_OURS,
};

enum filter_role {
	FILTER_ROLE_RULE,     /* it does a rule's work */
	FILTER_ROLE_SHORTCUT, /* skip_hw matchall in front: ends software classification */
};

/* Flags are the kernel's own: TCA_CLS_FLAGS_SKIP_HW 1, SKIP_SW 2, IN_HW 4, NOT_IN_HW 8. */

struct filter_stats {
	uint64_t packets, bytes; /* all of them, hardware's included */
	uint64_t hw_packets, hw_bytes;
	uint64_t last_used_ms; /* milliseconds since it was last used */
};

struct filter {
	struct object obj;
	uint32_t block; /* key: block, chain, pref, protocol, handle */
	uint32_t chain;
	uint16_t pref;
	uint16_t protocol; /* ethertype in host order; ETHERTYPE_ALL */
	uint32_t handle;
	uint8_t type;  /* enum filter_type */
	uint8_t role;  /* enum filter_role */
	uint8_t owner; /* enum owner */
	uint8_t has_cookie;
	uint8_t cookie[16];   /* of the first action */
	uint32_t flags;	      /* wanted: SKIP_SW or SKIP_HW alone; found: as dumped */
	uint32_t in_hw_count; /* found only */
	uint8_t action_count;
	uint16_t match_size;
	char other[16];	   /* classifier's name if type is OTHER */
	struct rule *rule; /* wanted only: whose work it does, a reference; NULL: shortcut */
	struct filter_stats stats; /* found only */
	uint8_t tail[] __attribute__((aligned(8)));
};

struct filter *filter_new(struct match_view match, const struct action *actions, size_t count);
/* A filter with another's content and key, its tail too; to change a copy before it enters a state.
 */
struct filter *filter_copy(const struct filter *f);
/* The classifier as tc calls it: "flower", "matchall", or what the kernel said of another. */
const char *filter_type_name(const struct filter *f);
static inline const struct action *filter_actions(const struct filter *f)
{
	return (const struct action *)(const void *)f->tail;
}
static inline bool filter_same_actions(const struct filter *a, const struct filter *b)
{
	return a->action_count == b->action_count &&
	       memcmp(filter_actions(a), filter_actions(b),
		      a->action_count * sizeof(struct action)) == 0;
}
static inline struct match_view filter_match(const struct filter *f)
{
	return (struct match_view){ f->tail + f->action_count * sizeof(struct action),
				    f->match_size };
}

/* ---- what every kind can do ---- */

struct jsonw;

struct kind_ops {
	const char *name;
	/* Order by key; never 0 for two objects one state may hold. */
	int (*compare)(const struct object *a, const struct object *b);
	/*
	 * True if `found` is as `wanted` says. What wanted does not say and what only the kernel
	 * knows (facts, counters, in_hw) does not count.
	 */
	bool (*satisfied)(const struct object *wanted, const struct object *found);
	/* Names it in messages and plans: "port lan1", "block 10 chain 0 pref 11 ip flower 0x1". */
	void (*label)(const struct object *o, char *to, size_t size);
	/* One JSON object with all that is known; fixed shape. */
	void (*json)(const struct object *o, struct jsonw *w);
	/* Drops what the object refers to, before its memory goes; or NULL. */
	void (*release)(struct object *o);
};

const struct kind_ops *kind_ops(enum kind kind); /* never NULL */

#define OBJECT_LABEL 160
static inline void object_label(const struct object *o, char to[OBJECT_LABEL])
{
	kind_ops((enum kind)o->kind)->label(o, to, OBJECT_LABEL);
}

const char *offload_name(enum offload v);
const char *foreign_name(enum foreign v);
const char *tagging_name(enum tagging v);
const char *bypass_want_name(enum bypass_want v);
const char *replace_name(enum replace v);

#endif
