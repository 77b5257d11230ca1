// SPDX-License-Identifier: GPL-2.0
/*
 * The table of what a rule can match on, by the names that tc has for it: a row says where a field
 * lies in the key, and how it prints. From it come the names of deny_fields, the sentence of a
 * refusal and the list of rules in debugfs.
 */
#include <linux/seq_file.h>
#include <linux/string.h>

#include "swsim.h"

enum swsim_print {
	PRINT_HEX,
	PRINT_DEC,
	PRINT_BE16,
	PRINT_HEX16,
	PRINT_MAC,
	PRINT_IP4,
	PRINT_IP6,
	PRINT_VID,
	PRINT_DEI,
	PRINT_PRIO,
	PRINT_FLAGS
};

struct swsim_field {
	const char *name, *denied;
	u16 offset, size;
	u16 addr_type; /* for addresses, which share their place */
	enum swsim_print print;
};

#define FIELD(fname, member, how)                                                         \
	{                                                                                 \
		.name = fname, .denied = "swsim: this hardware does not match on " fname, \
		.offset = offsetof(struct swsim_key, member),                             \
		.size = sizeof_field(struct swsim_key, member), .print = how              \
	}
#define FIELD_ADDR(fname, member, how, type)                                              \
	{                                                                                 \
		.name = fname, .denied = "swsim: this hardware does not match on " fname, \
		.offset = offsetof(struct swsim_key, member),                             \
		.size = sizeof_field(struct swsim_key, member), .print = how,             \
		.addr_type = FLOW_DISSECTOR_KEY_##type##_ADDRS                            \
	}

static const struct swsim_field fields[] = {
	FIELD("eth_type", basic.n_proto, PRINT_HEX16),
	FIELD("dst_mac", eth.dst, PRINT_MAC),
	FIELD("src_mac", eth.src, PRINT_MAC),
	FIELD("num_of_vlans", num_of_vlans.num_of_vlans, PRINT_DEC),
	FIELD("vlan_id", vlan.vlan_tci, PRINT_VID),
	FIELD("vlan_dei", vlan.vlan_tci, PRINT_DEI),
	FIELD("vlan_prio", vlan.vlan_tci, PRINT_PRIO),
	FIELD("vlan_tpid", vlan.vlan_tpid, PRINT_HEX16),
	FIELD("vlan_ethtype", vlan.vlan_eth_type, PRINT_HEX16),
	FIELD("cvlan_id", cvlan.vlan_tci, PRINT_VID),
	FIELD("cvlan_dei", cvlan.vlan_tci, PRINT_DEI),
	FIELD("cvlan_prio", cvlan.vlan_tci, PRINT_PRIO),
	FIELD("cvlan_tpid", cvlan.vlan_tpid, PRINT_HEX16),
	FIELD("cvlan_ethtype", cvlan.vlan_eth_type, PRINT_HEX16),
	FIELD("ip_proto", basic.ip_proto, PRINT_DEC),
	FIELD_ADDR("src_ip", ipv4.src, PRINT_IP4, IPV4),
	FIELD_ADDR("dst_ip", ipv4.dst, PRINT_IP4, IPV4),
	FIELD_ADDR("src_ip", ipv6.src, PRINT_IP6, IPV6),
	FIELD_ADDR("dst_ip", ipv6.dst, PRINT_IP6, IPV6),
	FIELD("ip_tos", ip.tos, PRINT_HEX),
	FIELD("ip_ttl", ip.ttl, PRINT_DEC),
	FIELD("ip_flags", control.flags, PRINT_FLAGS),
	FIELD("src_port", tp.src, PRINT_BE16),
	FIELD("dst_port", tp.dst, PRINT_BE16),
	FIELD("tcp_flags", tcp.flags, PRINT_HEX16),
	FIELD("icmp_type", icmp.type, PRINT_DEC),
	FIELD("icmp_code", icmp.code, PRINT_DEC),
	FIELD("arp_op", arp.op, PRINT_DEC),
	FIELD("arp_sip", arp.sip, PRINT_IP4),
	FIELD("arp_tip", arp.tip, PRINT_IP4),
	FIELD("arp_sha", arp.sha, PRINT_MAC),
	FIELD("arp_tha", arp.tha, PRINT_MAC),
};

/* Two fields that are not in the key: they follow the rows above. */
enum {
	FIELD_SRC_RANGE = ARRAY_SIZE(fields),
	FIELD_DST_RANGE,
	NR_FIELDS
};

static const char *const range_names[] = { "src_port_range", "dst_port_range" };
static const char *const range_denied[] = {
	"swsim: this hardware does not match on src_port_range",
	"swsim: this hardware does not match on dst_port_range",
};

static const char *swsim_field_name(unsigned int i)
{
	return i < ARRAY_SIZE(fields) ? fields[i].name : range_names[i - FIELD_SRC_RANGE];
}

u64 swsim_fields_by_name(const char *name)
{
	unsigned int i;
	u64 ret = 0;

	BUILD_BUG_ON(NR_FIELDS > 64);
	for (i = 0; i < NR_FIELDS; i++)
		if (!strcmp(name, swsim_field_name(i)))
			ret |= BIT_ULL(i);
	return ret;
}

void swsim_fields_print(struct seq_file *seq, u64 set)
{
	unsigned int i;

	for (i = 0; i < NR_FIELDS; i++) {
		if (!(set & BIT_ULL(i)))
			continue;
		if (!(i && i < ARRAY_SIZE(fields) && fields[i].addr_type &&
		      swsim_fields_by_name(fields[i].name) & set & (BIT_ULL(i) - 1)))
			seq_printf(seq, "%s ", swsim_field_name(i));
	}
	seq_putc(seq, '\n');
}

const char *swsim_fields_denied(u64 set)
{
	unsigned int i = __ffs64(set);

	return i < ARRAY_SIZE(fields) ? fields[i].denied : range_denied[i - FIELD_SRC_RANGE];
}

/* One member of the TCI of a key or mask: the dissector has them as bit fields. */
static unsigned int swsim_tci_part(const void *tci, enum swsim_print part)
{
	const struct flow_dissector_key_vlan *vlan = tci;

	BUILD_BUG_ON(offsetof(struct flow_dissector_key_vlan, vlan_tci));
	switch (part) {
	case PRINT_VID:
		return vlan->vlan_id;
	case PRINT_DEI:
		return vlan->vlan_dei;
	default:
		return vlan->vlan_priority;
	}
}

static bool swsim_field_masked(const struct swsim_field *field, const struct swsim_key *mask)
{
	const void *at = (const u8 *)mask + field->offset;

	if (field->print == PRINT_VID || field->print == PRINT_DEI || field->print == PRINT_PRIO)
		return swsim_tci_part(at, field->print);
	return memchr_inv(at, 0, field->size);
}

u64 swsim_fields_of(const struct swsim_rule *rule)
{
	unsigned int i;
	u64 ret = 0;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if ((!fields[i].addr_type || fields[i].addr_type == rule->key.control.addr_type) &&
		    swsim_field_masked(&fields[i], &rule->mask))
			ret |= BIT_ULL(i);
	if (rule->src.on)
		ret |= BIT_ULL(FIELD_SRC_RANGE);
	if (rule->dst.on)
		ret |= BIT_ULL(FIELD_DST_RANGE);
	return ret;
}

static void swsim_value_print(struct seq_file *seq, const struct swsim_field *field,
			      const struct swsim_key *key)
{
	const void *at = (const u8 *)key + field->offset;

	switch (field->print) {
	case PRINT_HEX:
		seq_printf(seq, "0x%02x", *(const u8 *)at);
		break;
	case PRINT_DEC:
		seq_printf(seq, "%u", *(const u8 *)at);
		break;
	case PRINT_BE16:
		seq_printf(seq, "%u", get_unaligned_be16(at));
		break;
	case PRINT_HEX16:
		seq_printf(seq, "0x%04x", get_unaligned_be16(at));
		break;
	case PRINT_MAC:
		seq_printf(seq, "%pM", at);
		break;
	case PRINT_IP4:
		seq_printf(seq, "%pI4", at);
		break;
	case PRINT_IP6:
		seq_printf(seq, "%pI6c", at);
		break;
	case PRINT_VID:
	case PRINT_DEI:
	case PRINT_PRIO:
		seq_printf(seq, "%u", swsim_tci_part(at, field->print));
		break;
	case PRINT_FLAGS:
		seq_printf(seq, "0x%x", *(const u32 *)at);
		break;
	}
}

/* A mask is printed when it leaves something of the field open. */
static bool swsim_mask_is_full(const struct swsim_field *field, const struct swsim_key *mask)
{
	const void *at = (const u8 *)mask + field->offset;

	switch (field->print) {
	case PRINT_VID:
		return swsim_tci_part(at, PRINT_VID) == VLAN_VID_MASK;
	case PRINT_DEI:
		return true;
	case PRINT_PRIO:
		return swsim_tci_part(at, PRINT_PRIO) == 7;
	default:
		return !memchr_inv(at, 0xff, field->size);
	}
}

static void swsim_range_print(struct seq_file *seq, const char *name, const struct swsim_range *r)
{
	if (r->on)
		seq_printf(seq, " %s %u-%u", name, r->min, r->max);
}

static const char *const act_names[SWSIM_ACTS] = {
	[SWSIM_ACT_DROP] = "drop",
	[SWSIM_ACT_PASS] = "pass",
	[SWSIM_ACT_TRAP] = "trap",
	[SWSIM_ACT_GOTO] = "goto",
	[SWSIM_ACT_REDIRECT] = "redirect",
	[SWSIM_ACT_MIRROR] = "mirror",
	[SWSIM_ACT_VLAN_PUSH] = "vlan_push",
	[SWSIM_ACT_VLAN_POP] = "vlan_pop",
	[SWSIM_ACT_VLAN_MODIFY] = "vlan_modify",
	[SWSIM_ACT_PEDIT] = "pedit",
	[SWSIM_ACT_CSUM] = "csum",
	[SWSIM_ACT_POLICE] = "police",
};

#define DENIED(name) "swsim: this hardware has no action " name

static const char *const act_denied[SWSIM_ACTS] = {
	[SWSIM_ACT_DROP] = DENIED("drop"),
	[SWSIM_ACT_PASS] = DENIED("pass"),
	[SWSIM_ACT_TRAP] = DENIED("trap"),
	[SWSIM_ACT_GOTO] = DENIED("goto"),
	[SWSIM_ACT_REDIRECT] = DENIED("redirect"),
	[SWSIM_ACT_MIRROR] = DENIED("mirror"),
	[SWSIM_ACT_VLAN_PUSH] = DENIED("vlan_push"),
	[SWSIM_ACT_VLAN_POP] = DENIED("vlan_pop"),
	[SWSIM_ACT_VLAN_MODIFY] = DENIED("vlan_modify"),
	[SWSIM_ACT_PEDIT] = DENIED("pedit"),
	[SWSIM_ACT_CSUM] = DENIED("csum"),
	[SWSIM_ACT_POLICE] = DENIED("police"),
};

int swsim_act_by_name(const char *name)
{
	int i;

	for (i = 0; i < SWSIM_ACTS; i++)
		if (!strcmp(name, act_names[i]))
			return i;
	return -EINVAL;
}

const char *swsim_act_name(enum swsim_act_id id)
{
	return act_names[id];
}

const char *swsim_act_denied(enum swsim_act_id id)
{
	return act_denied[id];
}

static void swsim_action_print(struct seq_file *seq, const struct swsim_action *act)
{
	static const char *const bases[] = { "eth", "ip4", "ip6" };

	seq_printf(seq, " %s", act_names[act->id]);
	switch (act->id) {
	case SWSIM_ACT_GOTO:
		seq_printf(seq, " %u", act->chain);
		break;
	case SWSIM_ACT_REDIRECT:
	case SWSIM_ACT_MIRROR:
		seq_printf(seq, " %s", act->port->name);
		break;
	case SWSIM_ACT_VLAN_PUSH:
	case SWSIM_ACT_VLAN_MODIFY:
		seq_printf(seq, " 0x%04x:%u:%u", ntohs(act->vlan.proto), act->vlan.vid,
			   act->vlan.prio);
		break;
	case SWSIM_ACT_PEDIT:
		seq_printf(seq, " %s+%u %s %08x mask %08x", bases[act->pedit.base],
			   act->pedit.offset, act->pedit.add ? "add" : "set",
			   ntohl((__force __be32)act->pedit.val),
			   ntohl((__force __be32)act->pedit.mask));
		break;
	case SWSIM_ACT_DROP:
	case SWSIM_ACT_PASS:
	case SWSIM_ACT_TRAP:
	case SWSIM_ACT_VLAN_POP:
	case SWSIM_ACT_CSUM:
	case SWSIM_ACT_POLICE:
	case SWSIM_ACTS:
		break;
	}
}

/* One line: place, match, actions, counters, ports. The instance's lock is held. */
void swsim_rule_print(struct seq_file *seq, struct swsim_rule *rule)
{
	u64 set = swsim_fields_of(rule);
	const struct swsim_entry *entry;
	unsigned int i;

	seq_printf(seq, "chain %u pref %u protocol 0x%04x %s", rule->chain, rule->pref,
		   ntohs(rule->protocol), rule->matchall ? "matchall" : "flower");
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!(set & BIT_ULL(i)))
			continue;
		seq_printf(seq, " %s ", fields[i].name);
		swsim_value_print(seq, &fields[i], &rule->key);
		if (!swsim_mask_is_full(&fields[i], &rule->mask)) {
			seq_putc(seq, '/');
			swsim_value_print(seq, &fields[i], &rule->mask);
		}
	}
	swsim_range_print(seq, range_names[0], &rule->src);
	swsim_range_print(seq, range_names[1], &rule->dst);
	seq_puts(seq, " :");
	for (i = 0; i < rule->nactions; i++)
		swsim_action_print(seq, &rule->actions[i]);
	seq_printf(seq, " : packets %lld bytes %lld drops %lld :",
		   (long long)atomic64_read(&rule->packets), (long long)atomic64_read(&rule->bytes),
		   (long long)atomic64_read(&rule->drops));
	list_for_each_entry(entry, &rule->entries, peer) {
		const struct swsim_port *port;

		list_for_each_entry(port, &entry->set->ports, set_node[entry->set->dir])
			seq_printf(seq, " %s/%s", port->name,
				   entry->set->dir == SWSIM_INGRESS ? "ingress" : "egress");
	}
	seq_putc(seq, '\n');
}
