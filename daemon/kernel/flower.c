// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * flower's options: matches to attributes and back, driven by the table of fields. A filter with a
 * key that the table does not have is told as strange, never as a wider match.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>

#include "daemon/kernel/classifier.h"
#include "daemon/kernel/flower_keys.h"

#define FIELD_BYTES 16 /* the longest value */

/* Lengths of the attributes of fields are checked against their rows; these stand beside them. */
static const struct nla_policy flower_policy[TCA_FLOWER_MAX + 1] = {
	[TCA_FLOWER_ACT] = { .type = NLA_NESTED },
	[TCA_FLOWER_FLAGS] = { .type = NLA_U32 },
	[TCA_FLOWER_IN_HW_COUNT] = { .type = NLA_U32 },
	[TCA_FLOWER_KEY_ETH_TYPE] = { .type = NLA_U16 },
};

/* ---- writing ---- */

static int put_bytes(struct nl_msg *m, uint16_t attr, const struct field_row *row,
		     const uint8_t *bytes)
{
	uint8_t turned[FIELD_BYTES];

	memcpy(turned, bytes, row->size);
	flower_turn(row, turned);
	return codec_fit(attr_put(m, attr, row->size, turned));
}

static bool all_ones(const uint8_t *mask, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (mask[i] != 0xff)
			return false;
	return true;
}

static int put_field(struct nl_msg *m, const struct flower_context *c, const struct match_entry *e)
{
	const struct field_row *row = field_row(e->field);
	bool whole = row->type != FIELD_TYPE_RANGE && all_ones(e->mask, row->size);
	uint16_t attr, mask;
	int r;

	if (!flower_key(c, e->field, &attr, &mask) || attr == 0)
		return -EINVAL;
	if (!whole && mask == 0)
		return -EINVAL; /* the kernel would take it for the whole value */
	r = put_bytes(m, attr, row, e->value);
	/* A missing mask is one of ones, but for flags, where the kernel wants to be told. */
	if (r == 0 && mask != 0 && (!whole || row->type == FIELD_TYPE_FLAGS))
		r = put_bytes(m, mask, row, e->mask);
	return r;
}

int flower_put(struct nl_msg *m, const struct filter *f)
{
	struct match_view match = filter_match(f);
	struct flower_context c = flower_context(f->protocol, match);
	uint32_t flags = f->flags & CLASSIFIER_FLAGS_ASKED;
	struct match_entry e;
	size_t offset = 0;
	int r;

	/* Such a filter matches every frame there is; who means that says matchall. */
	if (match.size == 0 && f->protocol == ETHERTYPE_ALL)
		return -EINVAL;
	if (f->protocol != ETHERTYPE_ALL) {
		r = codec_fit(attr_put_u16(m, TCA_FLOWER_KEY_ETH_TYPE, htons(f->protocol)));
		if (r < 0)
			return r;
	}
	while (match_next(match, &offset, &e)) {
		r = put_field(m, &c, &e);
		if (r < 0)
			return r;
	}
	return flags ? codec_fit(attr_put_u32(m, TCA_FLOWER_FLAGS, flags)) : 0;
}

/* ---- reading ---- */

struct reading {
	struct nlattr *tb[TCA_FLOWER_MAX + 1];
	bool seen[TCA_FLOWER_MAX + 1];
};

static int get_bytes(struct reading *rd, uint16_t attr, const struct field_row *row, uint8_t *ret)
{
	if (attr_len(rd->tb[attr]) < row->size)
		return -EBADMSG;
	memcpy(ret, attr_data(rd->tb[attr]), row->size);
	flower_turn(row, ret);
	rd->seen[attr] = true;
	return 0;
}

static int read_field(struct reading *rd, enum field f, uint16_t attr, uint16_t mask_attr,
		      struct match *ret)
{
	const struct field_row *row = field_row(f);
	uint8_t value[FIELD_BYTES], mask[FIELD_BYTES];
	int r;

	if (attr == 0 || attr > TCA_FLOWER_MAX || !rd->tb[attr])
		return 0;
	if (row->type == FIELD_TYPE_RANGE && !rd->tb[mask_attr])
		return 0; /* half a range stays unseen, so the filter is strange */
	r = get_bytes(rd, attr, row, value);
	if (r < 0)
		return r;
	memset(mask, 0xff, sizeof(mask));
	if (mask_attr != 0 && rd->tb[mask_attr]) {
		r = get_bytes(rd, mask_attr, row, mask);
		if (r < 0)
			return r;
	}
	match_set(ret, f, value, mask);
	return 0;
}

static int read_fields(struct reading *rd, uint16_t protocol, struct match *ret)
{
	struct flower_context c = flower_context(protocol, match_view(ret));

	for (enum field f = 0; f < FIELD_COUNT_; f++) {
		const struct field_row *row = field_row(f);
		uint16_t attr, mask;
		int r;

		/* Most are not there; rows without an attribute get one by the IP protocol. */
		if (row->attr ? !rd->tb[row->attr] : !c.has_ip_proto)
			continue;
		if (!flower_key(&c, f, &attr, &mask))
			continue;
		r = read_field(rd, f, attr, mask, ret);
		if (r < 0)
			return r;
		if (FLOWER_DECIDING & 1u << f) /* they come first */
			c = flower_context(protocol, match_view(ret));
	}
	return 0;
}

/* True if a key is there that was not read, or one that this kernel's header does not even name. */
static bool has_more(const struct reading *rd, const struct nlattr *options)
{
	size_t left = attr_len(options);

	for (const struct nlattr *a = attr_data(options); attr_ok(a, left); a = attr_next(a, &left))
		if (attr_type(a) > TCA_FLOWER_MAX || !rd->seen[attr_type(a)])
			return true;
	return false;
}

int flower_parse(const struct nlattr *options, uint16_t protocol, struct classified *ret)
{
	struct reading rd;
	int r = codec_attrs(rd.tb, TCA_FLOWER_MAX, options, flower_policy);

	if (r < 0)
		return r;
	memset(rd.seen, 0, sizeof(rd.seen));
	ret->match.size = 0;
	ret->flags = ret->in_hw_count = 0;
	r = read_fields(&rd, protocol, &ret->match);
	if (r < 0)
		return r;
	if (rd.tb[TCA_FLOWER_KEY_ETH_TYPE]) {
		uint16_t type = ntohs(nla_get_u16(rd.tb[TCA_FLOWER_KEY_ETH_TYPE]));

		/* Under a VLAN protocol the kernel tells the innermost type, which the keys repeat.
		 */
		rd.seen[TCA_FLOWER_KEY_ETH_TYPE] =
			type == protocol ||
			(ethertype_is_vlan(protocol) &&
			 type == flower_network_protocol(protocol, match_view(&ret->match)));
	}
	if (rd.tb[TCA_FLOWER_FLAGS])
		ret->flags = nla_get_u32(rd.tb[TCA_FLOWER_FLAGS]);
	if (rd.tb[TCA_FLOWER_IN_HW_COUNT])
		ret->in_hw_count = nla_get_u32(rd.tb[TCA_FLOWER_IN_HW_COUNT]);
	ret->actions = rd.tb[TCA_FLOWER_ACT];
	rd.seen[TCA_FLOWER_FLAGS] = rd.seen[TCA_FLOWER_IN_HW_COUNT] = rd.seen[TCA_FLOWER_ACT] =
		true;
	ret->strange = has_more(&rd, options);
	return 0;
}
