/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of fields and the two ways between a field and its text. Attribute numbers and byte
 * orders are the kernel's: linux/pkt_cls.h and the policy in net/sched/cls_flower.c (6.1 and 6.12).
 */
#include "config/model/fields.h"

#include <errno.h>
#include <linux/pkt_cls.h>
#include <stdio.h>

#include "config/base/netaddr.h"
#include "config/base/units.h"
#include "config/model/field_names.h"
#include "config/model/match.h"

#define KEY(attr) TCA_FLOWER_KEY_##attr
#define KEY_AND_MASK(a) .attr = KEY(a), .mask_attr = KEY(a##_MASK), .masked = true

const struct field_row field_rows[FIELD_COUNT_] = {
	[FIELD_DST_MAC] = { "dst-mac", FIELD_TYPE_MAC, 6, CARRIES_ANYTHING, KEY_AND_MASK(ETH_DST),
			    .expected = "a MAC address, or one with /mask" },
	[FIELD_SRC_MAC] = { "src-mac", FIELD_TYPE_MAC, 6, CARRIES_ANYTHING, KEY_AND_MASK(ETH_SRC),
			    .expected = "a MAC address, or one with /mask" },
	[FIELD_VLAN] = { "vlan", FIELD_TYPE_UINT, 2, CARRIES_ANYTHING, .tags = 1,
			 .host_order = true, .max = 4094, .attr = KEY(VLAN_ID),
			 .expected = "a VLAN id from 0 to 4094" },
	[FIELD_VLAN_PRIO] = { "vlan-prio", FIELD_TYPE_UINT, 1, CARRIES_ANYTHING, .tags = 1,
			      .max = 7, .attr = KEY(VLAN_PRIO),
			      .expected = "a priority from 0 to 7" },
	[FIELD_VLAN_ETHTYPE] = { "vlan-ethtype", FIELD_TYPE_NAME, 2, CARRIES_ANYTHING, .tags = 1,
				 .internal = true, .attr = KEY(VLAN_ETH_TYPE),
				 .names = ethertype_names, .expected = "an ethertype" },
	[FIELD_CVLAN] = { "cvlan", FIELD_TYPE_UINT, 2, CARRIES_ANYTHING, .tags = 2,
			  .host_order = true, .max = 4094, .attr = KEY(CVLAN_ID),
			  .expected = "a VLAN id from 0 to 4094" },
	[FIELD_CVLAN_PRIO] = { "cvlan-prio", FIELD_TYPE_UINT, 1, CARRIES_ANYTHING, .tags = 2,
			       .max = 7, .attr = KEY(CVLAN_PRIO),
			       .expected = "a priority from 0 to 7" },
	[FIELD_CVLAN_ETHTYPE] = { "cvlan-ethtype", FIELD_TYPE_NAME, 2, CARRIES_ANYTHING, .tags = 2,
				  .internal = true, .attr = KEY(CVLAN_ETH_TYPE),
				  .names = ethertype_names, .expected = "an ethertype" },
	[FIELD_IP_PROTO] = { "proto", FIELD_TYPE_NAME, 1, CARRIES_IP, .attr = KEY(IP_PROTO),
			     .names = ip_proto_names,
			     .expected = "a protocol such as tcp, or a number from 0 to 255" },
	[FIELD_TOS] = { "tos", FIELD_TYPE_UINT, 1, CARRIES_IP, KEY_AND_MASK(IP_TOS),
			.expected = "a number from 0 to 255, or one with /mask" },
	[FIELD_TTL] = { "ttl", FIELD_TYPE_UINT, 1, CARRIES_IP, KEY_AND_MASK(IP_TTL),
			.expected = "a number from 0 to 255, or one with /mask" },
	[FIELD_IP_FLAGS] = { "ip-flags", FIELD_TYPE_FLAGS, 4, CARRIES_IP, KEY_AND_MASK(FLAGS),
			     .names = ip_flag_names,
			     .expected = "a list such as frag or !frag,!first-frag" },
	[FIELD_IPV4_SRC] = { "src", FIELD_TYPE_IPV4, 4, CARRIES_IPV4, KEY_AND_MASK(IPV4_SRC),
			     .expected = "an IPv4 or IPv6 prefix" },
	[FIELD_IPV4_DST] = { "dst", FIELD_TYPE_IPV4, 4, CARRIES_IPV4, KEY_AND_MASK(IPV4_DST),
			     .expected = "an IPv4 or IPv6 prefix" },
	[FIELD_IPV6_SRC] = { "src", FIELD_TYPE_IPV6, 16, CARRIES_IPV6, KEY_AND_MASK(IPV6_SRC),
			     .expected = "an IPv4 or IPv6 prefix" },
	[FIELD_IPV6_DST] = { "dst", FIELD_TYPE_IPV6, 16, CARRIES_IPV6, KEY_AND_MASK(IPV6_DST),
			     .expected = "an IPv4 or IPv6 prefix" },
	[FIELD_SPORT] = { "sport", FIELD_TYPE_PORT, 2, CARRIES_IP, .protos = &carries_ports,
			  .masked = true,
			  .expected = "a port from 0 to 65535, or a range such as 1000-2000" },
	[FIELD_DPORT] = { "dport", FIELD_TYPE_PORT, 2, CARRIES_IP, .protos = &carries_ports,
			  .masked = true,
			  .expected = "a port from 0 to 65535, or a range such as 1000-2000" },
	[FIELD_SPORT_RANGE] = { "sport", FIELD_TYPE_RANGE, 2, CARRIES_IP, .protos = &carries_ports,
				.attr = KEY(PORT_SRC_MIN), .mask_attr = KEY(PORT_SRC_MAX),
				.expected =
					"a port from 0 to 65535, or a range such as 1000-2000" },
	[FIELD_DPORT_RANGE] = { "dport", FIELD_TYPE_RANGE, 2, CARRIES_IP, .protos = &carries_ports,
				.attr = KEY(PORT_DST_MIN), .mask_attr = KEY(PORT_DST_MAX),
				.expected =
					"a port from 0 to 65535, or a range such as 1000-2000" },
	[FIELD_TCP_FLAGS] = { "tcp-flags", FIELD_TYPE_FLAGS, 2, CARRIES_IP, .protos = &carries_tcp,
			      KEY_AND_MASK(TCP_FLAGS), .names = tcp_flag_names,
			      .expected = "a list such as syn,!ack" },
	[FIELD_ICMP_TYPE] = { "icmp-type", FIELD_TYPE_UINT, 1, CARRIES_IP, .protos = &carries_icmp,
			      .masked = true,
			      .expected = "a number from 0 to 255, or one with /mask" },
	[FIELD_ICMP_CODE] = { "icmp-code", FIELD_TYPE_UINT, 1, CARRIES_IP, .protos = &carries_icmp,
			      .masked = true,
			      .expected = "a number from 0 to 255, or one with /mask" },
	[FIELD_ARP_OP] = { "arp-op", FIELD_TYPE_NAME, 1, CARRIES_ARP, KEY_AND_MASK(ARP_OP),
			   .names = arp_op_names,
			   .expected = "request, reply or a number from 0 to 255" },
	[FIELD_ARP_SENDER_IP] = { "arp-sender", FIELD_TYPE_IPV4, 4, CARRIES_ARP,
				  KEY_AND_MASK(ARP_SIP), .expected = "an IPv4 prefix" },
	[FIELD_ARP_TARGET_IP] = { "arp-target", FIELD_TYPE_IPV4, 4, CARRIES_ARP,
				  KEY_AND_MASK(ARP_TIP), .expected = "an IPv4 prefix" },
	[FIELD_ARP_SENDER_MAC] = { "arp-sender-mac", FIELD_TYPE_MAC, 6, CARRIES_ARP,
				   KEY_AND_MASK(ARP_SHA),
				   .expected = "a MAC address, or one with /mask" },
	[FIELD_ARP_TARGET_MAC] = { "arp-target-mac", FIELD_TYPE_MAC, 6, CARRIES_ARP,
				   KEY_AND_MASK(ARP_THA),
				   .expected = "a MAC address, or one with /mask" },
};

const char *field_name_at(size_t i)
{
	for (size_t f = 0; f < FIELD_COUNT_; f++) {
		bool seen = field_rows[f].internal;

		for (size_t before = 0; before < f && !seen; before++)
			seen = streq(field_rows[before].name, field_rows[f].name);
		if (!seen && i-- == 0)
			return field_rows[f].name;
	}
	return NULL;
}

/*
 * Where names are looked up: by their first letter to the first row of each name, and from that to
 * the others of that name. FIELD_COUNT_ ends both.
 */
static uint8_t by_letter[256], next_name[FIELD_COUNT_ + 1], next_alike[FIELD_COUNT_];

__attribute__((constructor)) static void index_rows(void)
{
	memset(by_letter, FIELD_COUNT_, sizeof(by_letter));
	next_name[FIELD_COUNT_] = FIELD_COUNT_;
	for (size_t f = FIELD_COUNT_; f-- > 0;) {
		uint8_t *at = &by_letter[(unsigned char)field_rows[f].name[0]];

		while (*at < FIELD_COUNT_ && !streq(field_rows[*at].name, field_rows[f].name))
			at = &next_name[*at];
		next_alike[f] = *at;
		next_name[f] = next_name[*at];
		*at = (uint8_t)f;
	}
}

/* The first row of that name, or FIELD_COUNT_. */
static size_t row_named(const char *name)
{
	size_t f = by_letter[(unsigned char)name[0]];

	while (f < FIELD_COUNT_ && !streq(field_rows[f].name, name))
		f = next_name[f];
	return f;
}

static void put_number(uint8_t *to, size_t size, uint32_t v)
{
	for (size_t i = size; i-- > 0; v >>= 8)
		to[i] = (uint8_t)v;
}

static uint32_t get_number(const uint8_t *from, size_t size)
{
	uint32_t v = 0;

	for (size_t i = 0; i < size; i++)
		v = v << 8 | from[i];
	return v;
}

static uint32_t row_max(const struct field_row *row)
{
	if (row->max)
		return row->max;
	return row->size == 4 ? UINT32_MAX : (1u << row->size * 8) - 1;
}

static int parse_number(const struct field_row *row, const char *s, uint8_t *ret)
{
	uint32_t named;
	uint64_t v;
	int r;

	if (row->names && field_name_value(row->names, s, &named)) {
		put_number(ret, row->size, named);
		return 0;
	}
	r = parse_u64(s, 0, row_max(row), &v);
	if (r < 0)
		return r;
	put_number(ret, row->size, (uint32_t)v);
	return 0;
}

/* Values and masks are read into 16 bytes, zero where the row has less. */
struct masked {
	union {
		uint8_t value[16];
		uint64_t value_words[2];
	};
	union {
		uint8_t mask[16];
		uint64_t mask_words[2];
	};
};

/* Bits that nobody looks at: the person meant something else. */
static bool outside_mask(const struct masked *v)
{
	return (v->value_words[0] & ~v->mask_words[0]) | (v->value_words[1] & ~v->mask_words[1]);
}

/* A mask that looks at nothing would match everything: nobody writes that on purpose. */
static bool looks_at_nothing(const struct masked *v)
{
	return !(v->mask_words[0] | v->mask_words[1]);
}

/* "192.0.2.1/255.0.255.0" */
static int parse_address_mask(const char *s, const char *slash, int want, struct masked *ret)
{
	char head[64];
	int family;

	if ((size_t)(slash - s) >= sizeof(head))
		return -EINVAL;
	memcpy(head, s, (size_t)(slash - s));
	head[slash - s] = '\0';
	if (ip_parse(slash + 1, &family, ret->mask) < 0 || family != want)
		return -EINVAL;
	if (ip_parse(head, &family, ret->value) < 0 || family != want)
		return -EINVAL;
	return 0;
}

static int parse_address(const struct field_row *row, const char *s, struct masked *ret)
{
	int want = row->type == FIELD_TYPE_IPV6 ? 6 : 4, family;
	uint8_t len;
	int r = ip_prefix_parse(s, &family, ret->value, &len);

	if (r == 0) {
		if (family != want)
			return -EINVAL;
		ip_mask(family, len, ret->mask);
	} else {
		const char *slash = strchr(s, '/');

		if (slash && strpbrk(slash, ".:"))
			r = parse_address_mask(s, slash, want, ret);
	}
	if (r < 0)
		return r;
	return outside_mask(ret) ? -EINVAL : 0;
}

static int parse_flags(const struct field_row *row, const char *s, struct masked *ret)
{
	uint32_t bits = 0, care = 0, bit;
	char word[16];

	while (true) {
		size_t n = strcspn(s, ",");
		bool not = s[0] == '!';

		if (n >= sizeof(word) || n <= not )
			return -EINVAL;
		memcpy(word, s + not, n - not );
		word[n - not ] = '\0';
		if (!field_name_value(row->names, word, &bit) || care & bit)
			return -EINVAL;
		care |= bit;
		if (!not )
			bits |= bit;
		if (!s[n])
			break;
		s += n + 1;
	}
	put_number(ret->value, row->size, bits);
	put_number(ret->mask, row->size, care);
	return 0;
}

/* Both ends of "1000-2000"; value gets the lower, mask the upper. */
static int parse_range(const struct field_row *row, const char *s, struct masked *ret)
{
	const char *dash = strchr(s, '-');
	char low[16];
	int r;

	if (!dash || (size_t)(dash - s) >= sizeof(low))
		return -EINVAL;
	memcpy(low, s, (size_t)(dash - s));
	low[dash - s] = '\0';
	r = parse_number(row, low, ret->value);
	if (r == 0)
		r = parse_number(row, dash + 1, ret->mask);
	if (r < 0)
		return r;
	/* Flower wants the lower end below the upper one (cls_flower: "Invalid port range"). */
	return get_number(ret->value, row->size) < get_number(ret->mask, row->size) ? 0 : -EINVAL;
}

/* "VALUE" or "VALUE/MASK", each read by one(). */
static int parse_masked(const struct field_row *row, const char *s, struct masked *ret,
			int (*one)(const struct field_row *row, const char *s, uint8_t *ret))
{
	const char *slash = row->masked ? strchr(s, '/') : NULL;
	char head[64];
	int r;

	memset(ret->mask, 0xff, row->size);
	if (!slash)
		return one(row, s, ret->value);
	if ((size_t)(slash - s) >= sizeof(head))
		return -EINVAL;
	memcpy(head, s, (size_t)(slash - s));
	head[slash - s] = '\0';
	r = one(row, head, ret->value);
	if (r == 0)
		r = one(row, slash + 1, ret->mask);
	if (r < 0)
		return r;
	return outside_mask(ret) ? -EINVAL : 0;
}

static int parse_mac(const struct field_row *row, const char *s, uint8_t *ret)
{
	return mac_parse(s, ret);
}

static int parse_row(const struct field_row *row, const char *s, struct masked *ret)
{
	switch (row->type) {
	case FIELD_TYPE_UINT:
	case FIELD_TYPE_PORT:
	case FIELD_TYPE_NAME:
		return parse_masked(row, s, ret, parse_number);
	case FIELD_TYPE_MAC:
		return parse_masked(row, s, ret, parse_mac);
	case FIELD_TYPE_IPV4:
	case FIELD_TYPE_IPV6:
		return parse_address(row, s, ret);
	case FIELD_TYPE_RANGE:
		return parse_range(row, s, ret);
	case FIELD_TYPE_FLAGS:
		return parse_flags(row, s, ret);
	}
	return -EINVAL;
}

int field_parse(const char *name, const char *text, struct match *m, const char **ret_expected)
{
	bool known = false, out_of_range = false;
	size_t first = row_named(name);

	for (size_t f = first; f < FIELD_COUNT_; f = next_alike[f])
		if (match_has(match_view(m), (enum field)f))
			return -EEXIST;
	for (size_t f = first; f < FIELD_COUNT_; f = next_alike[f]) {
		struct masked v = { 0 };
		int r;

		if (field_rows[f].internal)
			continue;
		known = true;
		if (ret_expected)
			*ret_expected = field_rows[f].expected;
		r = parse_row(&field_rows[f], text, &v);
		/* A prefix of length 0 says the family and nothing else: compile needs it said. */
		if (r == 0 && looks_at_nothing(&v))
			r = -ERANGE;
		if (r == 0) {
			match_set(m, (enum field)f, v.value, v.mask);
			return 0;
		}
		out_of_range |= r == -ERANGE;
	}
	if (!known)
		return -ENOENT;
	return out_of_range ? -ERANGE : -EINVAL;
}

bool field_reparse(const char *name, const char *text, uint8_t *bytes, uint16_t size)
{
	const struct match_view m = { bytes, size };

	for (size_t f = row_named(name); f < FIELD_COUNT_; f = next_alike[f]) {
		const struct field_row *row = &field_rows[f];
		const uint8_t *value;
		struct masked v = { 0 };
		uint8_t *to;

		if (row->internal || !match_get(m, (enum field)f, &value, NULL))
			continue;
		if (parse_row(row, text, &v) < 0 || looks_at_nothing(&v))
			return false;
		to = bytes + (value - bytes);
		memcpy(to, v.value, row->size);
		memcpy(to + row->size, v.mask, row->size);
		return true;
	}
	return false;
}

static void print_number(const struct field_row *row, const uint8_t *value, char *to, size_t size)
{
	uint32_t v = get_number(value, row->size);
	const char *name = row->names ? field_name_of(row->names, v) : NULL;

	if (name)
		snprintf(to, size, "%s", name);
	else if (row->names == ethertype_names)
		snprintf(to, size, "0x%04x", v);
	else
		snprintf(to, size, "%u", v);
}

static void print_masked(const struct field_row *row, const uint8_t *value, const uint8_t *mask,
			 char to[FIELD_TEXT])
{
	size_t used;

	print_number(row, value, to, FIELD_TEXT);
	used = strlen(to);
	for (size_t i = 0; i < row->size; i++)
		if (mask[i] != 0xff) {
			snprintf(to + used, FIELD_TEXT - used, "/0x%x",
				 get_number(mask, row->size));
			return;
		}
}

static void print_address(const struct field_row *row, const uint8_t *value, const uint8_t *mask,
			  char to[FIELD_TEXT])
{
	int family = row->type == FIELD_TYPE_IPV6 ? 6 : 4;
	int len = mask_to_len(mask, row->size);
	char addr[NETADDR_TEXT], bits[NETADDR_TEXT];

	ip_print(family, value, addr);
	ip_print(family, mask, bits);
	if (len == row->size * 8)
		snprintf(to, FIELD_TEXT, "%s", addr);
	else if (len >= 0)
		snprintf(to, FIELD_TEXT, "%s/%d", addr, len);
	else
		snprintf(to, FIELD_TEXT, "%s/%s", addr, bits);
}

static void print_mac(const struct field_row *row, const uint8_t *value, const uint8_t *mask,
		      char to[FIELD_TEXT])
{
	char addr[MAC_TEXT], bits[MAC_TEXT];

	mac_print(value, addr);
	mac_print(mask, bits);
	if (streq(bits, "ff:ff:ff:ff:ff:ff"))
		snprintf(to, FIELD_TEXT, "%s", addr);
	else
		snprintf(to, FIELD_TEXT, "%s/%s", addr, bits);
}

static void print_flags(const struct field_row *row, const uint8_t *value, const uint8_t *mask,
			char to[FIELD_TEXT])
{
	uint32_t bits = get_number(value, row->size), care = get_number(mask, row->size);
	size_t used = 0;

	to[0] = '\0';
	for (const struct field_name *n = row->names; n->name; n++)
		if (care & n->value && used < FIELD_TEXT)
			used += (size_t)snprintf(to + used, FIELD_TEXT - used, "%s%s%s",
						 used ? "," : "", bits & n->value ? "" : "!",
						 n->name);
}

void field_print(enum field f, const uint8_t *value, const uint8_t *mask, char to[FIELD_TEXT])
{
	const struct field_row *row = &field_rows[f];

	switch (row->type) {
	case FIELD_TYPE_UINT:
	case FIELD_TYPE_PORT:
	case FIELD_TYPE_NAME:
		print_masked(row, value, mask, to);
		return;
	case FIELD_TYPE_MAC:
		print_mac(row, value, mask, to);
		return;
	case FIELD_TYPE_IPV4:
	case FIELD_TYPE_IPV6:
		print_address(row, value, mask, to);
		return;
	case FIELD_TYPE_RANGE:
		snprintf(to, FIELD_TEXT, "%u-%u", get_number(value, row->size),
			 get_number(mask, row->size));
		return;
	case FIELD_TYPE_FLAGS:
		print_flags(row, value, mask, to);
		return;
	}
}
