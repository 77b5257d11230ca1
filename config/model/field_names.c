/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/model/field_names.h"

#include <errno.h>
#include <linux/pkt_cls.h>
#include <stdio.h>

#include "config/base/units.h"

const struct field_name ip_proto_names[] = {
	{ "icmp", 1 },	 { "igmp", 2 },	   { "ipip", 4 },   { "tcp", 6 },
	{ "udp", 17 },	 { "ipv6", 41 },   { "gre", 47 },   { "esp", 50 },
	{ "ah", 51 },	 { "icmpv6", 58 }, { "ospf", 89 },  { "pim", 103 },
	{ "vrrp", 112 }, { "l2tp", 115 },  { "sctp", 132 }, { NULL, 0 },
};

const struct field_name ethertype_names[] = {
	{ "ip", 0x0800 },    { "arp", 0x0806 },	   { "802.1q", 0x8100 },
	{ "ipv6", 0x86dd },  { "mpls", 0x8847 },   { "pppoe-disc", 0x8863 },
	{ "pppoe", 0x8864 }, { "802.1x", 0x888e }, { "802.1ad", 0x88a8 },
	{ "lldp", 0x88cc },  { "ptp", 0x88f7 },	   { "all", ETHERTYPE_ALL },
	{ NULL, 0 },
};

const struct field_name arp_op_names[] = {
	{ "request", 1 },
	{ "reply", 2 },
	{ NULL, 0 },
};

const struct field_name tcp_flag_names[] = {
	{ "fin", 0x01 }, { "syn", 0x02 }, { "rst", 0x04 }, { "psh", 0x08 }, { "ack", 0x10 },
	{ "urg", 0x20 }, { "ece", 0x40 }, { "cwr", 0x80 }, { NULL, 0 },
};

const struct field_name ip_flag_names[] = {
	{ "frag", TCA_FLOWER_KEY_FLAGS_IS_FRAGMENT },
	{ "first-frag", TCA_FLOWER_KEY_FLAGS_FRAG_IS_FIRST },
	{ NULL, 0 },
};

const char *field_name_of(const struct field_name *names, uint32_t value)
{
	for (; names->name; names++)
		if (names->value == value)
			return names->name;
	return NULL;
}

bool field_name_value(const struct field_name *names, const char *name, uint32_t *ret)
{
	for (; names->name; names++)
		if (streq(names->name, name)) {
			*ret = names->value;
			return true;
		}
	return false;
}

int ethertype_parse(const char *text, uint16_t *ret)
{
	uint32_t named;
	uint64_t value;
	int r;

	if (field_name_value(ethertype_names, text, &named)) {
		*ret = (uint16_t)named;
		return 0;
	}
	/* Below 0x600 the two bytes are a length. */
	r = parse_u64(text, 0x600, 0xffff, &value);
	if (r < 0)
		return r;
	*ret = (uint16_t)value;
	return 0;
}

void ethertype_print(uint16_t ethertype, char to[16])
{
	const char *name = field_name_of(ethertype_names, ethertype);

	if (name)
		snprintf(to, 16, "%s", name);
	else
		snprintf(to, 16, "0x%04x", ethertype);
}
