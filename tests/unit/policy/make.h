/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * make: configurations for tests, by hand: a block or more and rules in a line each, without YAML.
 */
#ifndef SWD_TESTS_MAKE_H
#define SWD_TESTS_MAKE_H

#include "daemon/policy/compile.h"

struct make_rule {
	const char *name;
	const char *match;   /* "dst=192.0.2.0/24 proto=tcp dport=179"; NULL: any */
	const char *actions; /* "dec-ttl redirect=lan2"; NULL: "drop" */
	enum tagging tagging;
	enum offload offload;
	const char *ethertype; /* or NULL */
	uint32_t chain;
	uint16_t pref;
};

/* A configuration with one block: id 10, "edge", at line 12 of swd.yaml; rules at 20, 21, ... */
struct config *make_config(const struct block *defaults, const struct make_rule *rules, size_t n);
/* id 10, "edge", offload required, tagging none, foreign report, bypass preferred. */
extern const struct block make_block;

/* Fills m from the notation above; aborts on what field_parse() refuses. */
void make_match(const char *text, struct match *m);
/* The same for actions; returns how many. */
size_t make_actions(const char *text, struct action *ret, size_t most);

/* compile() into a new state with nothing special; aborts unless it succeeds. */
struct state *make_filters(const struct config *c, const struct state *before);
/* Compiles and returns all diags as text, one a line; the caller frees it. "" if there were none.
 */
char *make_diags(const struct config *c);

/* The same filters as a dump after a restart shows them: no rules, flags of the kernel's. */
struct state *make_found(const struct state *s, enum owner owner);

#endif
