// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * value_list: the types that hold more than one value: lists of names, of addresses, and maps and
 * lists of sections.
 */
#include <errno.h>
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/base/netaddr.h"
#include "config/yaml/draft.h"
#include "config/yaml/dump.h"
#include "config/yaml/walk.h"

/*
 * A list, each item read by one(), which counts what is to be kept. 0, -EINVAL after errors were
 * added (the others were read), or -ENOMEM.
 */
static int items_read(struct reader *r, const struct key *key, const struct node *n,
		      const char *what, size_t size, struct items *ret,
		      int (*one)(struct reader *r, const struct key *key, const struct node *n,
				 struct items *items))
{
	struct items items;
	size_t i = 0;
	bool bad = false;
	int err;

	err = walk_list(r, n, what);
	if (err < 0)
		return err;
	if (key->max && n->count > key->max) {
		walk_error(r, n, "expected at most %llu %s, found %u", (unsigned long long)key->max,
			   what, n->count);
		return -EINVAL;
	}
	err = items_new(r->arena, n->count, size, &items);
	if (err < 0)
		return err;
	for (const struct node *item = n->first; item; item = item->next) {
		size_t before = walk_enter_index(r, i++);

		err = one(r, key, item, &items);
		walk_leave(r, before);
		if (err == -ENOMEM)
			return err;
		bad |= err < 0;
	}
	*ret = items;
	return bad ? -EINVAL : 0;
}

/* ---- names ---- */

static int name_read(struct reader *r, const struct key *key, const struct node *n,
		     struct items *items)
{
	const char *wrong = n->kind == NODE_SCALAR ? key->check_name(n->text) : "a name";

	if (wrong) {
		walk_expected(r, n, wrong);
		return -EINVAL;
	}
	((struct draft_name *)items->at)[items->count++] =
		(struct draft_name){ .node = n, .name = n->text };
	return 0;
}

static int names_read(struct reader *r, const struct key *key, const struct node *n, void *to)
{
	return items_read(r, key, n, "names", sizeof(struct draft_name), to, name_read);
}

static void names_print(struct printer *p, const struct key *key, const void *from)
{
	const struct items *items = from;
	const struct draft_name *name;

	dump_raw(p, "[");
	FOR_EACH_ITEM(name, *items) {
		if (name != items->at)
			dump_raw(p, ", ");
		dump_text(p, name->name);
	}
	dump_raw(p, "]");
}

static void names_schema(struct jsonw *w, const struct key *key)
{
	jsonw_key_string(w, "type", "array");
	jsonw_key(w, "items");
	jsonw_object(w);
	jsonw_key_string(w, "type", "string");
	jsonw_object_end(w);
	if (key->max)
		jsonw_key_u64(w, "maxItems", key->max);
}

const struct value_type value_names = { names_read, names_print, names_schema };

/* ---- addresses ---- */

static int prefix_read(struct reader *r, const struct key *key, const struct node *n,
		       struct items *items)
{
	static const char what[] =
		"an IPv4 or IPv6 address with its prefix length, like 192.0.2.1/24";
	static const uint8_t zeros[16];
	struct draft_address a = { .node = n };
	struct diag *diag;
	int family, err;

	if (!walk_scalar(r, n, what))
		return -EINVAL;
	err = ip_prefix_parse(n->text, &family, a.addr, &a.prefix_len);
	if (err < 0 || !strchr(n->text, '/')) {
		diag = walk_expected(r, n, what);
		if (err == 0)
			diag_hint(diag, "for the address alone write %s/%d", n->text,
				  family == 4 ? 32 : 128);
		else if (err == -ERANGE)
			diag_hint(diag, "the prefix length goes up to %d",
				  strchr(n->text, ':') ? 128 : 32);
		return -EINVAL;
	}
	if (memcmp(a.addr, zeros, 16) == 0 || (family == 4 && a.addr[0] >= 224) ||
	    (family == 6 && a.addr[0] == 0xff)) {
		diag = walk_expected(r, n, "an address a device can have");
		diag_hint(diag, "it is the unspecified, a multicast or a reserved address");
		return -EINVAL;
	}
	a.family = (uint8_t)family;
	((struct draft_address *)items->at)[items->count++] = a;
	return 0;
}

static int prefixes_read(struct reader *r, const struct key *key, const struct node *n, void *to)
{
	return items_read(r, key, n, "addresses", sizeof(struct draft_address), to, prefix_read);
}

static void prefixes_print(struct printer *p, const struct key *key, const void *from)
{
	const struct items *items = from;
	const struct draft_address *a;
	char text[NETADDR_TEXT], full[NETADDR_TEXT + 8];

	dump_raw(p, "[");
	FOR_EACH_ITEM(a, *items) {
		ip_print(a->family, a->addr, text);
		snprintf(full, sizeof(full), "%s/%u", text, a->prefix_len);
		if (a != items->at)
			dump_raw(p, ", ");
		dump_value(p, full);
	}
	dump_raw(p, "]");
}

static void prefixes_schema(struct jsonw *w, const struct key *key)
{
	jsonw_key_string(w, "type", "array");
	jsonw_key(w, "items");
	jsonw_object(w);
	jsonw_key_string(w, "type", "string");
	jsonw_key_string(w, "pattern", "^[0-9a-fA-F.:]+/[0-9]+$");
	jsonw_object_end(w);
}

const struct value_type value_prefixes = { prefixes_read, prefixes_print, prefixes_schema };

/* ---- one section ---- */

static int map_read(struct reader *r, const struct key *key, const struct node *n, void *to)
{
	return walk_section(r, key->section, n, to);
}

static void map_print(struct printer *p, const struct key *key, const void *from)
{
	dump_raw(p, "\n");
	p->depth++;
	dump_section(p, key->section, from, false);
	p->depth--;
}

static void map_schema(struct jsonw *w, const struct key *key)
{
	json_schema_section(w, key->section);
}

const struct value_type value_map = { map_read, map_print, map_schema, .block = true };

/* ---- sections by name ---- */

static bool section_has_key(const struct section *s, const char *name)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (streq(s->keys[i].name, name))
			return true;
	return false;
}

static int by_name_read(struct reader *r, const struct key *key, const struct node *n, void *to)
{
	struct items items;
	bool bad;
	int err;

	err = walk_map(r, n, "names");
	if (err == -ENOMEM || n->kind != NODE_MAP)
		return err;
	bad = err < 0;
	err = items_new(r->arena, n->count, key->section->size, &items);
	if (err < 0)
		return err;
	for (const struct node *k = n->first; k && k->next; k = k->next->next) {
		struct draft *draft = (void *)((char *)items.at + items.count * key->section->size);
		const char *wrong;
		size_t before;

		if (node_is_refused_key(k))
			continue;
		before = walk_enter(r, k->text);
		wrong = key->check_name(k->text);
		if (wrong) {
			walk_expected(r, k, wrong);
			bad = true;
		}
		if (k->next->kind != NODE_MAP && section_has_key(key->section, k->text)) {
			struct diag *diag = walk_error(
				r, k, "expected the name of %s, found the key '%s' of one",
				key->section->what, k->text);

			diag_hint(diag, "indent it more");
			walk_leave(r, before);
			bad = true;
			continue;
		}
		draft->name_node = k;
		draft->name = k->text;
		err = walk_section(r, key->section, k->next, draft);
		walk_leave(r, before);
		if (err == -ENOMEM)
			return err;
		bad |= err < 0;
		items.count++;
	}
	*(struct items *)to = items;
	return bad ? -EINVAL : 0;
}

static void by_name_print(struct printer *p, const struct key *key, const void *from)
{
	const struct items *items = from;

	if (items->count == 0)
		dump_raw(p, " {}");
	dump_raw(p, "\n");
	p->depth++;
	for (uint32_t i = 0; i < items->count; i++) {
		const struct draft *d =
			(const void *)((const char *)items->at + i * key->section->size);

		dump_indent(p);
		dump_text(p, d->name);
		dump_raw(p, dump_says(key->section, d) ? ":\n" : ": {}\n");
		p->depth++;
		dump_section(p, key->section, d, false);
		p->depth--;
	}
	p->depth--;
}

static void by_name_schema(struct jsonw *w, const struct key *key)
{
	jsonw_key_string(w, "type", "object");
	jsonw_key(w, "additionalProperties");
	jsonw_object(w);
	json_schema_section(w, key->section);
	jsonw_object_end(w);
}

const struct value_type value_map_by_name = { by_name_read, by_name_print, by_name_schema,
					      .block = true };

/* ---- a list of sections ---- */

static int section_read(struct reader *r, const struct key *key, const struct node *n,
			struct items *items)
{
	return walk_item(r, key->section, n,
			 (char *)items->at + items->count++ * key->section->size);
}

static int list_read(struct reader *r, const struct key *key, const struct node *n, void *to)
{
	return items_read(r, key, n, key->name, key->section->size, to, section_read);
}

static void list_print(struct printer *p, const struct key *key, const void *from)
{
	const struct items *items = from;

	if (items->count == 0)
		dump_raw(p, " []");
	dump_raw(p, "\n");
	p->depth++;
	for (uint32_t i = 0; i < items->count; i++) {
		dump_indent(p);
		dump_raw(p, "- ");
		p->depth++;
		dump_section(p, key->section, (const char *)items->at + i * key->section->size,
			     true);
		p->depth--;
	}
	p->depth--;
}

static void list_schema(struct jsonw *w, const struct key *key)
{
	jsonw_key_string(w, "type", "array");
	jsonw_key(w, "items");
	jsonw_object(w);
	json_schema_section(w, key->section);
	jsonw_object_end(w);
}

const struct value_type value_map_list = { list_read, list_print, list_schema, .block = true };
