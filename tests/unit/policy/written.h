/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * written: a block's rules as a person writes them, in plain numbers: what a random list is made
 * of, what its YAML is printed from, and what a judge reads who knows the words of swd.yaml(5) and
 * nothing of the program. Nothing here is shared with what compiles rules, or with table.h.
 */
#ifndef SWD_TESTS_WRITTEN_H
#define SWD_TESTS_WRITTEN_H

#include "config/model/object.h"
#include "tests/unit/policy/packet.h"

/* What happens to a frame, and with which number: a device's, a chain's, a VLAN, ... */
enum deed_kind {
	DEED_PASS,
	DEED_DROP,
	DEED_TRAP,
	DEED_REDIRECT, /* to lanN */
	DEED_GOTO,
	DEED_MIRROR,
	DEED_POLICE, /* to N mbit/s */
	DEED_SAMPLE, /* to psample's group N */
	DEED_PUSH,
	DEED_MODIFY,
	DEED_POP,
	DEED_SET_SRC, /* to 02:00:00:00:00:N */
	DEED_SET_DST,
	DEED_DEC_TTL,
};
struct deed {
	enum deed_kind kind;
	uint32_t number;
};

/* The two who look at a block's filters. */
enum side {
	SIDE_HARDWARE,
	SIDE_SOFTWARE,
	SIDES,
};

/* What becomes of a packet: the deeds in order but for jumps, and the rules that said so. */
#define VERDICT_DEEDS 20
#define VERDICT_HITS 6
struct verdict {
	size_t deed_count, hit_count;
	struct deed deeds[VERDICT_DEEDS];
	uint32_t hits[VERDICT_HITS]; /* positions in the list */
};
void verdict_add(struct verdict *v, enum deed_kind kind, uint32_t number);
/* Nothing matched is as pass. */
bool verdict_same(const struct verdict *a, const struct verdict *b);
bool verdict_same_hits(const struct verdict *a, const struct verdict *b);
#define VERDICT_TEXT 400
void verdict_print(const struct verdict *v, char to[VERDICT_TEXT]);

/* ---- a rule ---- */

struct written_number {
	bool said;
	uint32_t value, mask;
};
struct written_range {
	bool said;
	uint16_t low, high;
};
struct written_net {
	uint8_t family; /* 4, 6; 0: not said */
	uint8_t addr[16];
	uint8_t len;
};
struct written_mac {
	bool said;
	uint8_t addr[6], mask[6];
};

struct written {
	uint32_t id; /* its name is "rN" */
	uint32_t chain;
	uint16_t pref;
	enum offload offload;
	enum tagging tagging;
	uint16_t ethertype; /* 0: not said; ETHERTYPE_ALL */
	struct written_net src, dst, arp_sender, arp_target;
	struct written_mac src_mac, dst_mac, arp_sender_mac, arp_target_mac;
	struct written_number vlan, vlan_prio, cvlan, cvlan_prio, proto, ttl, tos, icmp_type,
		icmp_code, tcp_flags, ip_flags, arp_op;
	struct written_range sport, dport;
	struct deed deeds[4];
	size_t deed_count;
};

struct written_block {
	enum offload offload;
	enum tagging tagging;
	enum bypass_want bypass;
	size_t count;
	struct written *rules; /* not owned by a copy of the struct */
	size_t space;
};

/* From `tagging` on; rules have a line each, behind the first WRITTEN_HEAD lines. */
#define WRITTEN_HEAD 5
void written_print(const struct written_block *b, FILE *to);
/* The whole file, ended by NUL; the caller frees it. Rule i stands alone on line LINE + i. */
#define WRITTEN_LINE 13
char *written_yaml(const struct written_block *b);

/* ---- by chance (written_random.c) ---- */

/* A rule that the language may refuse. others: rules it may be made after, with other values. */
struct written written_random(struct dice *d, uint32_t id, const struct written_block *others);
/* Other values for what is said already. */
void written_reroll(struct dice *d, struct written *w);
void written_deeds(struct dice *d, struct written *w);
/* A packet that the rule is likely to be for, or that just misses it. */
struct packet written_packet(struct dice *d, const struct written *w);

/* ---- lists by chance (written_list.c) ---- */

struct written_block written_list(struct dice *d, size_t n, uint32_t *id);
struct written_block written_copy(const struct written_block *b); /* with rules of its own */
void written_take(struct written_block *b, size_t i);
/* What a person does in one go: a rule more or less, moved, renamed, with other values, ... */
void written_edit(struct dice *d, struct written_block *b, uint32_t *id);

/* ---- the judge (written_judge.c) ---- */

/* What a walk over the list, in its order, from chain 0, says. */
struct verdict written_walk(const struct written_block *b, enum side side, const struct packet *p);

#endif
