/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * expand: the filters a rule takes, as (protocol, match) pairs, so that together they match what
 * the rule says and nothing else.
 *
 * What a rule says:
 * - Its fields say what is behind the tags: addresses a family, `arp-*` ARP, `proto`, ports, `tos`,
 *   `ttl`, `ip-flags` and the action dec-ttl IPv4 and IPv6 alike; `proto: icmp` IPv4, `proto:
 * icmpv6` IPv6, unless addresses say otherwise. `icmp-*` and `tcp-flags` bring their `proto` along.
 *   Ports, `tcp-flags` and `icmp-*` are of packets that show them, and no fragment does.
 *   `ethertype` says it as well; `ethertype: all` says that nothing is said.
 * - `vlan` and `vlan-prio` mean the outer tag, 802.1Q, and behind it what the fields say and no
 *   further tag; if they say nothing, whatever is there. With `cvlan` or `cvlan-prio` there are two
 *   tags: 802.1Q or 802.1ad outside, 802.1Q inside. `ethertype: 802.1q` or `802.1ad` says the outer
 * tag.
 * - Without such fields `tagging` counts, the rule's or its block's: none is a frame without a tag;
 *   any is one without, with one or with two tags, each 802.1Q or 802.1ad, and if the rule says
 *   nothing of what is behind them, every frame there is.
 */
#ifndef SWD_POLICY_EXPAND_H
#define SWD_POLICY_EXPAND_H

#include "config/base/diag.h"
#include "config/model/object.h"

#define VARIANTS_MAX 14 /* two families by seven forms of tagging */
#define VARIANT_TAGS 2

struct variant {
	uint16_t protocol; /* of the filter: the outermost ethertype, or ETHERTYPE_ALL */
	uint8_t family;	   /* 4 or 6: all its frames are; 0: something else, or not said */
	uint8_t tag_count; /* tags each of its frames has, at least */
	uint16_t tags[VARIANT_TAGS]; /* their ethertypes, outer first */
	struct match match;
};

/* Adds an error at "blocks.edge.rules[3].PART" to d; hint may be NULL. Returns -EINVAL. */
int rule_refuse(const struct rule *r, const struct block *b, struct diags *d, const char *part,
		const char *hint, const char *fmt, ...) _printf_(6, 7);

/* 0, or -EINVAL with an error in d. */
int expand(const struct rule *r, const struct block *b, struct diags *d,
	   struct variant ret[VARIANTS_MAX], size_t *ret_count);

#endif
