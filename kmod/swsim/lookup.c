// SPDX-License-Identifier: GPL-2.0
/*
 * What the hardware sees in a frame, and which rule it finds for it. Frames are taken apart by the
 * kernel's flow dissector, with the flags that cls_flower uses: so a rule matches here exactly
 * what it would match in software. One dissection serves all masks.
 */
#include <linux/jhash.h>
#include <linux/skbuff.h>

#include "swsim.h"

static struct flow_dissector swsim_dissector __read_mostly;

#define SWSIM_DISSECT(id, member)                                                               \
	{                                                                                       \
		.key_id = FLOW_DISSECTOR_KEY_##id, .offset = offsetof(struct swsim_key, member) \
	}

static const struct flow_dissector_key swsim_dissector_keys[] = {
	SWSIM_DISSECT(CONTROL, control),
	SWSIM_DISSECT(BASIC, basic),
	SWSIM_DISSECT(ETH_ADDRS, eth),
	SWSIM_DISSECT(VLAN, vlan),
	SWSIM_DISSECT(CVLAN, cvlan),
	SWSIM_DISSECT(IPV4_ADDRS, ipv4),
	SWSIM_DISSECT(IPV6_ADDRS, ipv6),
	SWSIM_DISSECT(PORTS, tp),
	SWSIM_DISSECT(TCP, tcp),
	SWSIM_DISSECT(IP, ip),
	SWSIM_DISSECT(ICMP, icmp),
	SWSIM_DISSECT(ARP, arp),
	SWSIM_DISSECT(NUM_OF_VLANS, num_of_vlans),
};

int swsim_lookup_init(void)
{
	skb_flow_dissector_init(&swsim_dissector, swsim_dissector_keys,
				ARRAY_SIZE(swsim_dissector_keys));
	return 0;
}

/* Data at the network header, MAC header set, outer VLAN tag beside the data. */
void swsim_dissect(struct sk_buff *skb, struct swsim_key *ret)
{
	memset(ret, 0, sizeof(*ret));
	/* As cls_flower: the dissector leaves n_proto alone for protocols it does not know. */
	ret->basic.n_proto = skb_protocol(skb, false);
	skb_flow_dissect(skb, &swsim_dissector, ret, FLOW_DISSECTOR_F_STOP_BEFORE_ENCAP);
}

/* The words of the key that have bits in the mask, from the first to the last. */
void swsim_key_extent(const struct swsim_key *mask, u16 *ret_start, u16 *ret_words)
{
	const u32 *words = (const u32 *)mask;
	int first = 0, last = sizeof(*mask) / sizeof(u32) - 1;

	while (first <= last && !words[first])
		first++;
	while (last >= first && !words[last])
		last--;
	*ret_start = first;
	*ret_words = last + 1 - first;
}

static u32 swsim_hash(const struct swsim_group *group, const struct swsim_key *key, u32 seed)
{
	return jhash2((const u32 *)key + group->start, group->words, seed ^ group->id);
}

static u32 swsim_hash_arg(const void *data, u32 len, u32 seed)
{
	const struct swsim_lookup_key *arg = data;

	return swsim_hash(arg->group, arg->key, seed);
}

static u32 swsim_hash_entry(const void *data, u32 len, u32 seed)
{
	const struct swsim_entry *entry = data;

	return swsim_hash(entry->group, &entry->rule->key, seed);
}

static int swsim_cmp_entry(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct swsim_lookup_key *want = arg->key;
	const struct swsim_entry *entry = obj;

	return entry->group != want->group ||
	       memcmp((const u32 *)&entry->rule->key + want->group->start,
		      (const u32 *)want->key + want->group->start,
		      want->group->words * sizeof(u32));
}

const struct rhashtable_params swsim_key_params = {
	.key_len = sizeof(struct swsim_lookup_key),
	.head_offset = offsetof(struct swsim_entry, by_key),
	.hashfn = swsim_hash_arg,
	.obj_hashfn = swsim_hash_entry,
	.obj_cmpfn = swsim_cmp_entry,
	.automatic_shrinking = true,
};

static bool swsim_in_range(const struct swsim_range *range, __be16 port)
{
	return !range->on || (ntohs(port) >= range->min && ntohs(port) <= range->max);
}

static struct swsim_rule *swsim_match_ranged(const struct swsim_group *group,
					     const struct swsim_key *key,
					     const struct swsim_key *masked)
{
	const struct swsim_entry *entry;

	list_for_each_entry_rcu(entry, &group->ranged, ranged)
		if (swsim_in_range(&entry->rule->src, key->tp.src) &&
		    swsim_in_range(&entry->rule->dst, key->tp.dst) &&
		    !memcmp(&entry->rule->key, masked, sizeof(*masked)))
			return entry->rule;
	return NULL;
}

static struct swsim_rule *swsim_match(struct swsim_ruleset *set, const struct swsim_group *group,
				      const struct swsim_key *key)
{
	struct swsim_lookup_key arg = { .group = group };
	struct rhlist_head *list, *pos;
	struct swsim_key masked;
	struct swsim_entry *entry;
	unsigned int i;

	if (group->src_range || group->dst_range) {
		for (i = 0; i < SWSIM_KEY_WORDS; i++)
			((u64 *)&masked)[i] =
				((const u64 *)key)[i] & ((const u64 *)&group->mask)[i];
		return swsim_match_ranged(group, key, &masked);
	}
	for (i = group->start; i < group->start + group->words; i++)
		((u32 *)&masked)[i] = ((const u32 *)key)[i] & ((const u32 *)&group->mask)[i];
	arg.key = &masked;
	list = rhltable_lookup(&set->keys, &arg, swsim_key_params);
	rhl_for_each_entry_rcu(entry, pos, list, by_key)
		return entry->rule; /* the newest of those with this key */
	return NULL;
}

/*
 * The rule for a frame in one chain, or NULL. @protocol is what tc compares with a filter's: the
 * tag's for a tagged frame. RCU read lock held.
 */
struct swsim_rule *swsim_lookup(struct swsim_ruleset *set, u32 index, __be16 protocol,
				const struct swsim_key *key)
{
	const struct swsim_chain *chain = swsim_chain_find(set, index);
	const struct swsim_group *group;
	struct swsim_rule *rule;

	if (!chain)
		return NULL;
	list_for_each_entry_rcu(group, &chain->groups, node) {
		if (group->protocol != protocol && group->protocol != htons(ETH_P_ALL))
			continue;
		rule = swsim_match(set, group, key);
		if (rule)
			return rule;
	}
	return NULL;
}
