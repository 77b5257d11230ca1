/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * schema: the language as tables. A section is a list of keys; a key has a name, a type, a range, a
 * default and a sentence for people. From the same tables come the reading (walk.c), the writing
 * (dump.c) and the schema for editors (json_schema.c), so that the three never disagree.
 *
 * A section describes a draft, a plain struct of draft.h that begins with `struct draft`. A new key
 * is a row in a table and a member in a draft; a new section is a table of its own, schema_X.c.
 */
#ifndef SWD_YAML_SCHEMA_H
#define SWD_YAML_SCHEMA_H

#include <stdint.h>
#include <stdio.h>

#include "config/base/arena.h"
#include "config/base/diag.h"
#include "config/base/util.h"
#include "config/yaml/tree.h"

struct jsonw;
struct key;
struct reader;
struct printer;

/* What can be done with a value of one type. */
struct value_type {
	/*
	 * Reads a node into the member at `to`. 0; -EINVAL after adding an error, with `to`
	 * untouched or holding what could be read; -ENOMEM.
	 */
	int (*read)(struct reader *r, const struct key *key, const struct node *n, void *to);
	/* Writes what comes behind "key:", up to and with the newline. */
	void (*print)(struct printer *p, const struct key *key, const void *from);
	/* Writes the members of a JSON Schema object: "type" and so on. */
	void (*schema)(struct jsonw *w, const struct key *key);
	/* Bytes of the member; 0: too big for a default. */
	uint8_t size;
	/* True if the default is written into JSON as it stands, false if as a string. */
	bool bare;
	/* True if the value is written as a map or list of its own, a line an entry. */
	bool block;
	/*
	 * Changes a member that was read from the node `like` without an error, for a text that has
	 * another scalar in the place of like, or of a part of it. 0; 1: that must be read as a
	 * whole, which finds the words for what is wrong; -ENOMEM. NULL: always 1.
	 */
	int (*change)(struct reader *r, const struct key *key, const struct node *like,
		      const struct node *scalar, void *member);
};

struct key {
	const char *name;
	const struct value_type *type;
	size_t offset; /* of the member in its draft */
	bool required;
	uint64_t min, max;			 /* numbers and words: both included */
	const char *def;			 /* as in the YAML, or NULL */
	const char *(*word)(unsigned int value); /* words: the text of a value from min to max */
	const struct section *section;		 /* maps, maps by name, lists of maps */
	const char *(*check_name)(const char *name); /* names: what is wrong with it, or NULL */
	const char *doc;			     /* one sentence without full stop */
};

struct section {
	const char *what; /* one of them, in messages: "a port" */
	const struct key *keys;
	uint32_t count; /* at most 32 */
	uint32_t size;	/* bytes of the draft */
};

/* The first member of every draft. */
struct draft {
	const struct node *node;      /* the map; NULL if it came from a config */
	const struct node *name_node; /* its key in the map above, or NULL */
	const char *name;	      /* that key's text, or NULL */
	uint32_t has;		      /* bit i: keys[i] was said and could be read */
};

/* Drafts or other values of one size, in the arena. */
struct items {
	void *at;
	uint32_t count;
};

#define HAS(d, i) (((d)->draft.has >> (i)) & 1)

/* ---- types; value.c, value_list.c ---- */

extern const struct value_type value_bool;	  /* bool */
extern const struct value_type value_uint;	  /* uint32_t, min to max */
extern const struct value_type value_word;	  /* uint32_t */
extern const struct value_type value_duration;	  /* uint32_t, milliseconds */
extern const struct value_type value_rate;	  /* uint64_t, bits per second */
extern const struct value_type value_size;	  /* uint32_t, bytes */
extern const struct value_type value_name;	  /* const char *, check_name */
extern const struct value_type value_protocol;	  /* uint32_t: 0x8100 or 0x88a8 */
extern const struct value_type value_names;	  /* struct items of struct draft_name */
extern const struct value_type value_prefixes;	  /* struct items of struct draft_address */
extern const struct value_type value_map;	  /* a draft, by value */
extern const struct value_type value_map_by_name; /* struct items of drafts */
extern const struct value_type value_map_list;	  /* struct items of drafts */
extern const struct value_type value_match;	  /* struct draft_match; schema_match.c */
extern const struct value_type value_actions;	  /* struct draft_actions; schema_action.c */
extern const struct value_type value_flush;	  /* uint32_t, 0: auto; schema_tx.c */

/* check_name functions: NULL if fine, else what a name must be. name.c */
const char *check_device_name(const char *name);
const char *check_block_name(const char *name);
const char *check_rule_name(const char *name);
const char *check_group_name(const char *name);

/* ---- sections; schema_X.c ---- */

extern const struct section schema_root;
extern const struct section schema_daemon;
extern const struct section schema_port;
extern const struct section schema_tx;
extern const struct section schema_vlan;
extern const struct section schema_block;
extern const struct section schema_rule;
extern const struct section schema_vlan_action;
extern const struct section schema_police;
extern const struct section schema_sample;

/* ---- json_schema.c ---- */

/* The schema for editors, indented, ended by a newline. The caller frees it. 0 or -ENOMEM. */
int json_schema(char **ret);
/* The members that describe a section; for types that hold one. */
void json_schema_section(struct jsonw *w, const struct section *s);

#endif
