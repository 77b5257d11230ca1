// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a rule: what one tc filter became in an instance, shared by all ports it is bound to
 * and found by the filter's cookie. Its counters are told to the kernel as differences, whichever
 * port is asked.
 */
#include <linux/slab.h>

#include "swsim.h"

const struct rhashtable_params swsim_cookie_params = {
	.key_len = sizeof(unsigned long),
	.key_offset = offsetof(struct swsim_rule, cookie),
	.head_offset = offsetof(struct swsim_rule, by_cookie),
	.automatic_shrinking = true,
};

struct swsim_rule *swsim_rule_find(struct swsim_inst *inst, unsigned long cookie)
{
	lockdep_assert_held(&inst->lock);
	return rhashtable_lookup_fast(&inst->rules, &cookie, swsim_cookie_params);
}

/* The rule's entry in a ruleset, or NULL. */
struct swsim_entry *swsim_rule_entry(struct swsim_rule *rule, const struct swsim_ruleset *set)
{
	struct swsim_entry *entry;

	list_for_each_entry(entry, &rule->entries, peer)
		if (entry->set == set)
			return entry;
	return NULL;
}

struct swsim_rule *swsim_rule_new(struct swsim_inst *inst, unsigned int nactions)
{
	struct swsim_rule *rule = kzalloc(struct_size(rule, actions, nactions), GFP_KERNEL);

	if (!rule)
		return NULL;
	rule->inst = inst;
	INIT_LIST_HEAD(&rule->node);
	INIT_LIST_HEAD(&rule->entries);
	return rule;
}

/* What the actions hold is put, and the rule freed. */
void swsim_rule_free(struct swsim_rule *rule)
{
	unsigned int i;

	for (i = 0; i < rule->nactions; i++) {
		struct swsim_action *act = &rule->actions[i];

		if (act->id == SWSIM_ACT_REDIRECT || act->id == SWSIM_ACT_MIRROR)
			swsim_port_put(act->port);
		else if (act->id == SWSIM_ACT_POLICE)
			swsim_policer_put(act->policer);
	}
	kfree(rule);
}

static void swsim_rule_free_rcu(struct rcu_head *head)
{
	swsim_rule_free(container_of(head, struct swsim_rule, rcu));
}

/* The instance knows the rule from now on, and counts it. */
int swsim_rule_link(struct swsim_rule *rule)
{
	struct swsim_inst *inst = rule->inst;
	int err;

	lockdep_assert_held(&inst->lock);
	err = rhashtable_insert_fast(&inst->rules, &rule->by_cookie, swsim_cookie_params);
	if (err)
		return err;
	list_add_tail(&rule->node, &inst->rule_list);
	inst->nrules++;
	return 0;
}

/* The reverse; the rule is freed when its last reader is through. */
void swsim_rule_unlink(struct swsim_rule *rule)
{
	struct swsim_inst *inst = rule->inst;

	lockdep_assert_held(&inst->lock);
	rhashtable_remove_fast(&inst->rules, &rule->by_cookie, swsim_cookie_params);
	list_del(&rule->node);
	inst->nrules--;
	call_rcu(&rule->rcu, swsim_rule_free_rcu);
}

/* Tells what was counted since the last time. */
void swsim_rule_told(struct swsim_rule *rule, struct flow_stats *stats)
{
	u64 packets = atomic64_read(&rule->packets);
	u64 bytes = atomic64_read(&rule->bytes);
	u64 drops = atomic64_read(&rule->drops);

	lockdep_assert_held(&rule->inst->lock);
	flow_stats_update(stats, bytes - rule->told_bytes, packets - rule->told_packets,
			  drops - rule->told_drops, READ_ONCE(rule->lastused),
			  FLOW_ACTION_HW_STATS_IMMEDIATE);
	rule->told_packets = packets;
	rule->told_bytes = bytes;
	rule->told_drops = drops;
}

static bool swsim_same_action(const struct swsim_action *a, const struct swsim_action *b)
{
	if (a->id != b->id)
		return false;
	switch (a->id) {
	case SWSIM_ACT_GOTO:
		return a->chain == b->chain;
	case SWSIM_ACT_REDIRECT:
	case SWSIM_ACT_MIRROR:
		return a->port == b->port;
	case SWSIM_ACT_VLAN_PUSH:
	case SWSIM_ACT_VLAN_MODIFY:
		return a->vlan.proto == b->vlan.proto && a->vlan.vid == b->vlan.vid &&
		       a->vlan.prio == b->vlan.prio;
	case SWSIM_ACT_PEDIT:
		return a->pedit.base == b->pedit.base && a->pedit.offset == b->pedit.offset &&
		       a->pedit.mask == b->pedit.mask && a->pedit.val == b->pedit.val &&
		       a->pedit.add == b->pedit.add;
	case SWSIM_ACT_POLICE:
		return a->policer == b->policer;
	case SWSIM_ACT_DROP:
	case SWSIM_ACT_PASS:
	case SWSIM_ACT_TRAP:
	case SWSIM_ACT_VLAN_POP:
	case SWSIM_ACT_CSUM:
	case SWSIM_ACTS:
		return true;
	}
	return false;
}

bool swsim_rule_same_actions(const struct swsim_rule *a, const struct swsim_rule *b)
{
	unsigned int i;

	if (a->nactions != b->nactions)
		return false;
	for (i = 0; i < a->nactions; i++)
		if (!swsim_same_action(&a->actions[i], &b->actions[i]))
			return false;
	return true;
}
