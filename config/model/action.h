/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * action: what happens to a frame that matches, in order. Rules and filters use the same struct, of
 * one size and without holes, so that lists compare as bytes. Devices are named, never numbered: an
 * ifindex changes under a name, and the codec resolves it when it speaks to the kernel.
 */
#ifndef SWD_MODEL_ACTION_H
#define SWD_MODEL_ACTION_H

#include <net/if.h>
#include <stdint.h>

#include "config/base/util.h"

enum action_kind {
	ACTION_PASS,	  /* on to the CPU: gact ok */
	ACTION_DROP,	  /* gact drop */
	ACTION_TRAP,	  /* gact trap: hardware hands it to the CPU */
	ACTION_GOTO,	  /* go on in chain .chain */
	ACTION_REDIRECT,  /* out of .dev, and done */
	ACTION_MIRROR,	  /* a copy out of .dev, and on */
	ACTION_VLAN_PUSH, /* .vlan */
	ACTION_VLAN_POP,
	ACTION_VLAN_MODIFY, /* .vlan */
	ACTION_SET_SRC,	    /* .mac */
	ACTION_SET_DST,	    /* .mac */
	ACTION_DEC_TTL,	    /* TTL, or hop limit; compile adds the CSUM that IPv4 needs */
	ACTION_CSUM,	    /* .csum: only compile makes it */
	ACTION_POLICE,	    /* .police */
	ACTION_SAMPLE,	    /* .sample */
	ACTION_OTHER,	    /* found only: something swd has no word for; .other */
	ACTION_COUNT_,
};

/* What an action is given: the member of struct action that its kind uses. */
enum action_argument {
	ACTION_ARGUMENT_NONE,
	ACTION_ARGUMENT_CHAIN,
	ACTION_ARGUMENT_DEV,
	ACTION_ARGUMENT_VLAN,
	ACTION_ARGUMENT_MAC,
	ACTION_ARGUMENT_CSUM,
	ACTION_ARGUMENT_POLICE,
	ACTION_ARGUMENT_SAMPLE,
	ACTION_ARGUMENT_OTHER,
};

struct action {
	uint8_t kind;	     /* enum action_kind */
	uint8_t reserved[7]; /* zero */
	union {
		char dev[IFNAMSIZ]; /* padded with zeros */
		uint8_t mac[6];
		struct {
			uint16_t id;	    /* 0 to 4094 */
			uint16_t ethertype; /* 0x8100 or 0x88a8, host order; modify: 0 = keep */
			uint8_t prio;
			uint8_t has_prio;
		} vlan;
		struct {
			uint32_t family_v6; /* DEC_TTL in a filter: 1 for the hop limit; 0 in a rule
					     */
		} ttl;
		struct {
			uint32_t flags; /* TCA_CSUM_UPDATE_FLAG_* */
		} csum;
		uint32_t chain;
		struct {
			uint64_t rate_bit; /* bits per second */
			uint32_t burst;	   /* bytes */
			uint32_t mtu;	   /* bytes, 0: not limited */
		} police;		   /* frames over the rate are dropped */
		struct {
			uint32_t rate, group, truncate; /* 1 of `rate` frames to psample `group` */
		} sample;
		struct {
			char name[8];  /* tc kind, cut */
			uint64_t hash; /* of its attributes */
		} other;
		uint8_t bytes[16];
	};
};
_Static_assert(sizeof(struct action) == 24, "actions have no holes");

#define ACTIONS_MAX 16 /* a rule's; the kernel takes 32, and compile may add some */

/* How people write it: "vlan-modify". */
const char *action_name(enum action_kind kind);
int action_kind_parse(const char *name, enum action_kind *ret); /* 0 or -ENOENT */
const char *action_name_at(size_t i); /* those people may write; NULL behind the last */
enum action_argument action_argument(enum action_kind kind);

/* True for what ends the list: pass, drop, trap, goto, redirect. */
bool action_is_final(enum action_kind kind);

#define ACTIONS_TEXT 512
/* "vlan-modify 20, dec-ttl, redirect lan2" */
void actions_print(const struct action *list, size_t n, char to[ACTIONS_TEXT]);

struct jsonw;
/* ["dec-ttl", {"redirect": "lan2"}]: as in the YAML */
void actions_json(const struct action *list, size_t n, struct jsonw *w);

#endif
