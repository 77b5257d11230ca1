// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schema_match: the match of a rule. Its keys are the rows of config/model/fields.c, which nothing
 * here lists, and two that are no fields: ethertype (the filter's protocol) and tagging.
 */
#include <errno.h>

#include "config/base/jsonw.h"
#include "config/base/netaddr.h"
#include "config/yaml/draft.h"
#include "config/yaml/dump.h"
#include "config/yaml/hint.h"
#include "config/yaml/walk.h"

static const char ethertype_expected[] =
	"ip, ipv6, arp, 802.1q, 802.1ad, all, or a number from 0x0600 to 0xffff";
static const char tagging_expected[] = "none or any";

static const char *name_at(size_t i, void *data)
{
	static const char *const others[] = { "ethertype", "tagging" };
	const char *field = NULL;
	size_t n = 0;

	while (n <= i && (field = field_name_at(n)))
		n++;
	if (n > i)
		return field;
	return i - n < ARRAY_SIZE(others) ? others[i - n] : NULL;
}

/* An address with bits behind its prefix: the person meant another address or another length. */
static void prefix_hint(struct diag *diag, const char *text)
{
	uint8_t addr[16], mask[16], len;
	char right[NETADDR_TEXT];
	int family;

	if (!diag || ip_prefix_parse(text, &family, addr, &len) < 0)
		return;
	if (len == 0) {
		diag_hint(diag,
			  "a prefix of length 0 says nothing; leave it out, or write ethertype: %s",
			  family == 4 ? "ip" : "ipv6");
		return;
	}
	if (!ip_host_bits(family, addr, len))
		return;
	ip_mask(family, len, mask);
	for (size_t i = 0; i < (family == 4 ? 4u : 16u); i++)
		addr[i] &= mask[i];
	ip_print(family, addr, right);
	diag_hint(diag, "bits behind the prefix are set; did you mean '%s/%u'?", right, len);
}

static bool field_fits(const char *text, const void *name)
{
	struct match scratch = { 0 };

	return field_parse(name, text, &scratch, NULL) == 0;
}

static void field_hint(struct diag *diag, const char *name, const char *text)
{
	enum field_type type = FIELD_TYPE_UINT;
	bool range = false;

	for (unsigned int f = 0; f < FIELD_COUNT_; f++)
		if (streq(field_row((enum field)f)->name, name)) {
			type = field_row((enum field)f)->type;
			range |= type == FIELD_TYPE_RANGE;
		}
	if (hint_lower(diag, text, field_fits, name))
		return;
	if (range && strspn(text, "0123456789") > 0 && strchr(text, '-'))
		diag_hint(diag, "the lower port comes first, and both are ports");
	else if (type == FIELD_TYPE_MAC && strchr(text, '/'))
		diag_hint(diag, "the address has no bits outside its mask");
	else if (range || type == FIELD_TYPE_UINT || type == FIELD_TYPE_NAME)
		hint_number(diag, text);
	else
		prefix_hint(diag, text);
}

static int read_field(struct reader *r, const struct node *key, const struct node *n,
		      struct match *m)
{
	const char *expected = "a value";
	struct diag *diag;
	int err;

	/* Where there is no text: an empty one fits no field, and tells what is expected. */
	err = field_parse(key->text, n->kind == NODE_SCALAR ? n->text : "", m, &expected);
	if (err == 0 || err == -EEXIST) /* a duplicate key, and reported as such */
		return 0;
	if (err == -ENOENT) {
		walk_unknown(r, key, "a match", name_at, NULL);
		return -EINVAL;
	}
	if (n->kind != NODE_SCALAR) {
		diag = walk_expected(r, n, expected);
		if (n->kind == NODE_LIST)
			diag_hint(diag, "write a rule for each value");
		return -EINVAL;
	}
	diag = walk_expected(r, n, expected);
	field_hint(diag, key->text, n->text);
	return -EINVAL;
}

static bool ethertype_fits(const char *text, const void *data)
{
	uint16_t scratch;

	return ethertype_parse(text, &scratch) == 0;
}

static int read_ethertype(struct reader *r, const struct node *n, struct draft_match *m)
{
	if (!walk_scalar(r, n, ethertype_expected))
		return -EINVAL;
	if (ethertype_parse(n->text, &m->ethertype) < 0) {
		hint_lower(walk_expected(r, n, ethertype_expected), n->text, ethertype_fits, NULL);
		return -EINVAL;
	}
	return 0;
}

static int read_tagging(struct reader *r, const struct node *n, struct draft_match *m)
{
	struct diag *diag;

	if (!walk_scalar(r, n, tagging_expected))
		return -EINVAL;
	for (unsigned int v = TAGGING_NONE; v <= TAGGING_ANY; v++)
		if (streq(n->text, tagging_name((enum tagging)v))) {
			m->tagging = (uint8_t)v;
			return 0;
		}
	diag = walk_expected(r, n, tagging_expected);
	if (*n->text >= '0' && *n->text <= '9')
		diag_hint(diag, "for one VLAN write %s: %s", field_row(FIELD_VLAN)->name, n->text);
	return -EINVAL;
}

/* True if a match has the keys of the last good one, in that order, and fields of the same rows. */
static bool read_like_last(const struct reader *r, const struct node *n, struct draft_match *m,
			   struct match *fields)
{
	const struct draft_match *last = r->last_match;
	const struct node *was;

	if (!last || n->kind != NODE_MAP || n->count != last->node->count)
		return false;
	was = last->node->first;
	fields->size = last->size;
	memcpy(fields->bytes, last->bytes, last->size);
	for (const struct node *k = n->first; k; k = k->next->next, was = was->next->next) {
		if (!node_same_text(k, was) || node_is_refused_key(was))
			return false;
		if (!node_same_text(k->next, was->next) &&
		    (k->next->kind != NODE_SCALAR ||
		     !field_reparse(k->text, k->next->text, fields->bytes, fields->size)))
			return false;
	}
	m->ethertype = last->ethertype;
	m->tagging = last->tagging;
	return true;
}

static bool read_fields(struct reader *r, const struct node *n, struct draft_match *m,
			struct match *fields)
{
	bool bad = false;

	for (const struct node *k = n->first; k && k->next; k = k->next->next) {
		size_t before;
		int err;

		if (node_is_refused_key(k))
			continue;
		before = walk_enter(r, k->text);
		if (k->text[0] == 'e' && streq(k->text, "ethertype"))
			err = read_ethertype(r, k->next, m);
		else if (k->text[0] == 't' && streq(k->text, "tagging"))
			err = read_tagging(r, k->next, m);
		else
			err = read_field(r, k, k->next, fields);
		bad |= err < 0;
		walk_leave(r, before);
	}
	return !bad;
}

static int match_read(struct reader *r, const struct key *key, const struct node *n, void *to)
{
	struct draft_match *m = to;
	struct match fields;
	bool good = true;
	int err;

	m->node = n;
	if (!read_like_last(r, n, m, &fields)) {
		fields.size = 0;
		err = walk_map(r, n, "a match");
		if (err == -ENOMEM || n->kind != NODE_MAP)
			return err;
		good = read_fields(r, n, m, &fields) && err == 0;
	}
	m->bytes =
		(const uint8_t *)arena_strndup(r->arena, (const char *)fields.bytes, fields.size);
	if (!m->bytes)
		return -ENOMEM;
	m->size = fields.size;
	draft_match_sum(m);
	if (!good)
		return -EINVAL;
	r->last_match = m;
	return 0;
}

static int match_change(struct reader *r, const struct key *key, const struct node *like,
			const struct node *scalar, void *member)
{
	const struct node *k = like->kind == NODE_MAP ? like->first : NULL;
	struct draft_match *m = member;
	uint8_t *bytes = arena_alloc(r->arena, MAX(m->size, 1u));

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, m->bytes, m->size);
	while (k && k->next != scalar->next)
		k = k->next->next;
	if (!k || !field_reparse(k->text, scalar->text, bytes, m->size))
		return 1;
	m->bytes = bytes;
	/* Of all values only this one is more than its row. */
	if (match_has(draft_match_view(m), FIELD_IP_PROTO))
		draft_match_sum(m);
	return 0;
}

static void match_print_yaml(struct printer *p, const struct key *key, const void *from)
{
	const struct draft_match *m = from;
	struct match_entry e;
	char text[FIELD_TEXT];
	const char *comma = "";

	dump_raw(p, "{");
	for (size_t offset = 0; match_next(draft_match_view(m), &offset, &e);) {
		field_print(e.field, e.value, e.mask, text);
		dump_rawf(p, "%s%s: ", comma, field_row(e.field)->name);
		dump_value(p, text);
		comma = ", ";
	}
	if (m->ethertype) {
		char name[16];

		ethertype_print(m->ethertype, name);
		dump_rawf(p, "%sethertype: ", comma);
		dump_value(p, name);
		comma = ", ";
	}
	if (m->tagging)
		dump_rawf(p, "%stagging: %s", comma, tagging_name((enum tagging)m->tagging));
	dump_raw(p, "}");
}

static void describe(struct jsonw *w, const char *name, const char *type, const char *text)
{
	jsonw_key(w, name);
	jsonw_object(w);
	jsonw_key(w, "type");
	jsonw_raw(w, type);
	jsonw_key_string(w, "description", text);
	jsonw_object_end(w);
}

static void match_schema(struct jsonw *w, const struct key *key)
{
	const char *name;

	jsonw_key_string(w, "type", "object");
	jsonw_key(w, "properties");
	jsonw_object(w);
	for (size_t i = 0; (name = field_name_at(i)); i++) {
		struct match scratch = { 0 };
		const char *expected = "";

		field_parse(name, "", &scratch, &expected);
		describe(w, name, "[\"string\",\"integer\"]", expected);
	}
	describe(w, "ethertype", "[\"string\",\"integer\"]", ethertype_expected);
	jsonw_key(w, "tagging");
	jsonw_object(w);
	jsonw_key(w, "enum");
	jsonw_array(w);
	for (unsigned int v = TAGGING_NONE; v <= TAGGING_ANY; v++)
		jsonw_string(w, tagging_name((enum tagging)v));
	jsonw_array_end(w);
	jsonw_key_string(w, "description",
			 "none: untagged frames only; any: without, with one and with two tags");
	jsonw_object_end(w);
	jsonw_object_end(w);
	jsonw_key_bool(w, "additionalProperties", false);
}

const struct value_type value_match = { match_read, match_print_yaml, match_schema,
					.change = match_change };
