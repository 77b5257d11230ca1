/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * check: the rules across objects, which no table can say. Each is a function check_WHAT() that
 * answers with a sentence and places. They look at what could be read, so that a file's errors come
 * in one go, and take no part of a draft for granted that HAS() denies.
 */
#ifndef SWD_YAML_CHECK_H
#define SWD_YAML_CHECK_H

#include "config/base/arena.h"
#include "config/yaml/draft.h"

struct checker {
	const struct draft_root *root;
	struct arena *arena; /* for what a check needs while it runs */
	struct diags *diags;
};

/* All of them. 0 (with or without errors added) or -ENOMEM. */
int check_all(const struct draft_root *root, struct arena *arena, struct diags *d);

/* Parts, a file each. */
int check_devices(const struct checker *c); /* check_devices.c: ports, vlans, addresses */
int check_blocks(const struct checker *c);  /* check_blocks.c: ids, binds, bypass */
int check_rules(const struct checker *c,
		const struct draft_block *b); /* check_rules.c: names, prefs, twins */
int check_chains(const struct checker *c, const struct draft_block *b); /* check_chains.c */
void check_names(const struct checker *c); /* check_names.c: slips of devices' names */
void check_match(const struct checker *c, const struct draft_block *b, const struct draft_rule *r);
void check_actions(const struct checker *c, const struct draft_block *b,
		   const struct draft_rule *r);

/* What frames a match is for, in words: "ip", "ipv6", "ip and ipv6", "arp", "other protocols",
 * "all". */
const char *match_protocol(const struct draft_match *m);
/* False if no frame it is for carries IP. */
bool match_is_ip(const struct draft_match *m);

/*
 * Adds a message about a rule, with its place in the block as path. Returns it, or NULL.
 */
struct diag *check_add_rule(const struct checker *c, enum diag_level level,
			    const struct draft_block *b, const struct draft_rule *r,
			    struct origin at, const char *fmt, ...) _printf_(6, 7);

#endif
