// SPDX-License-Identifier: GPL-2.0
/*
 * Rulesets: where rules are put so that lookup.c finds them fast. A chain has its groups in a list
 * for readers and in a tree for finding the place of a new one; the rules of all groups are in
 * one hash table of the ruleset. So a rule costs a hash insert, and a new group a tree insert.
 *
 * Order: prefs ascending; within a pref, masks by age (as cls_flower keeps them); within a mask
 * only rules with port ranges can overlap, and there the older one wins. Of two rules with an
 * equal key at one pref the newer one wins: this is how a filter is replaced without a gap.
 *
 * All changes are made under the instance's lock; readers are under RCU.
 */
#include <linux/slab.h>

#include "swsim.h"

struct swsim_ruleset *swsim_set_new(struct swsim_inst *inst, enum swsim_dir dir)
{
	struct swsim_ruleset *set;
	int err, i;

	set = kzalloc(sizeof(*set), GFP_KERNEL);
	if (!set)
		return ERR_PTR(-ENOMEM);
	err = rhltable_init(&set->keys, &swsim_key_params);
	if (err) {
		kfree(set);
		return ERR_PTR(err);
	}
	set->inst = inst;
	set->dir = dir;
	INIT_LIST_HEAD(&set->ports);
	for (i = 0; i < SWSIM_CHAIN_BUCKETS; i++)
		INIT_HLIST_HEAD(&set->chains[i]);
	return set;
}

/* No reader is left. Rules that the kernel did not take out go now. */
void swsim_set_free(struct swsim_ruleset *set)
{
	struct swsim_inst *inst = set->inst;
	struct swsim_rule *rule, *next;

	mutex_lock(&inst->lock);
	if (set->entries) {
		list_for_each_entry_safe(rule, next, &inst->rule_list, node) {
			struct swsim_entry *entry = swsim_rule_entry(rule, set);

			if (entry)
				swsim_entry_del(entry);
		}
	}
	mutex_unlock(&inst->lock);
	rhltable_destroy(&set->keys);
	kfree(set);
}

/* Frames at @port are looked up in @set from now on. rtnl is held. */
void swsim_set_attach(struct swsim_ruleset *set, struct swsim_port *port)
{
	mutex_lock(&set->inst->lock);
	list_add_tail(&port->set_node[set->dir], &set->ports);
	mutex_unlock(&set->inst->lock);
	rcu_assign_pointer(port->set[set->dir], set);
}

/* The reverse; readers may still be in the ruleset until RCU is through. */
void swsim_set_detach(struct swsim_port *port, enum swsim_dir dir)
{
	struct swsim_ruleset *set = rcu_dereference_protected(port->set[dir], true);

	RCU_INIT_POINTER(port->set[dir], NULL);
	mutex_lock(&set->inst->lock);
	list_del(&port->set_node[dir]);
	mutex_unlock(&set->inst->lock);
}

struct swsim_chain *swsim_chain_find(const struct swsim_ruleset *set, u32 index)
{
	struct swsim_chain *chain;

	hlist_for_each_entry_rcu(chain, &set->chains[index % SWSIM_CHAIN_BUCKETS], node,
				 lockdep_is_held(&set->inst->lock))
		if (chain->index == index)
			return chain;
	return NULL;
}

static struct swsim_chain *swsim_chain_get(struct swsim_ruleset *set, u32 index)
{
	struct swsim_chain *chain = swsim_chain_find(set, index);

	if (chain)
		return chain;
	chain = kzalloc(sizeof(*chain), GFP_KERNEL);
	if (!chain)
		return NULL;
	chain->index = index;
	chain->tree = RB_ROOT;
	INIT_LIST_HEAD(&chain->groups);
	hlist_add_head_rcu(&chain->node, &set->chains[index % SWSIM_CHAIN_BUCKETS]);
	return chain;
}

static void swsim_chain_put(struct swsim_chain *chain)
{
	if (!RB_EMPTY_ROOT(&chain->tree))
		return;
	hlist_del_rcu(&chain->node);
	kfree_rcu(chain, rcu);
}

static bool swsim_group_fits(const struct swsim_group *group, const struct swsim_rule *rule)
{
	return group->protocol == rule->protocol && group->src_range == rule->src.on &&
	       group->dst_range == rule->dst.on &&
	       !memcmp(&group->mask, &rule->mask, sizeof(group->mask));
}

static struct swsim_group *swsim_group_find(const struct swsim_chain *chain,
					    const struct swsim_rule *rule)
{
	struct rb_node *node = chain->tree.rb_node, *first = NULL;

	while (node) {
		if (rb_entry(node, struct swsim_group, rb)->pref >= rule->pref) {
			first = node;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	for (node = first; node; node = rb_next(node)) {
		struct swsim_group *group = rb_entry(node, struct swsim_group, rb);

		if (group->pref != rule->pref)
			break;
		if (swsim_group_fits(group, rule))
			return group;
	}
	return NULL;
}

static struct swsim_group *swsim_group_get(struct swsim_ruleset *set, struct swsim_chain *chain,
					   const struct swsim_rule *rule)
{
	struct swsim_group *group = swsim_group_find(chain, rule);
	struct rb_node **link = &chain->tree.rb_node, *parent = NULL, *prev;

	if (group)
		return group;
	group = kzalloc(sizeof(*group), GFP_KERNEL);
	if (!group)
		return NULL;
	group->mask = rule->mask;
	group->src_range = rule->src.on;
	group->dst_range = rule->dst.on;
	group->pref = rule->pref;
	group->protocol = rule->protocol;
	group->id = set->next_group++;
	INIT_LIST_HEAD(&group->ranged);
	swsim_key_extent(&group->mask, &group->start, &group->words);

	/* The youngest of its pref: behind all with the same one. */
	while (*link) {
		parent = *link;
		if (rb_entry(parent, struct swsim_group, rb)->pref > group->pref)
			link = &parent->rb_left;
		else
			link = &parent->rb_right;
	}
	rb_link_node(&group->rb, parent, link);
	rb_insert_color(&group->rb, &chain->tree);
	prev = rb_prev(&group->rb);
	list_add_rcu(&group->node,
		     prev ? &rb_entry(prev, struct swsim_group, rb)->node : &chain->groups);
	return group;
}

static void swsim_group_put(struct swsim_chain *chain, struct swsim_group *group)
{
	if (group->entries)
		return;
	rb_erase(&group->rb, &chain->tree);
	list_del_rcu(&group->node);
	kfree_rcu(group, rcu);
}

/* Puts a linked rule into the ruleset. */
int swsim_set_add(struct swsim_ruleset *set, struct swsim_rule *rule)
{
	struct swsim_group *group;
	struct swsim_chain *chain;
	struct swsim_entry *entry;
	int err = -ENOMEM;

	lockdep_assert_held(&set->inst->lock);
	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return -ENOMEM;
	chain = swsim_chain_get(set, rule->chain);
	if (!chain)
		goto free_entry;
	group = swsim_group_get(set, chain, rule);
	if (!group)
		goto put_chain;
	entry->set = set;
	entry->chain = chain;
	entry->group = group;
	entry->rule = rule;
	INIT_LIST_HEAD(&entry->ranged);
	if (group->src_range || group->dst_range) {
		list_add_tail_rcu(&entry->ranged, &group->ranged);
	} else {
		err = rhltable_insert(&set->keys, &entry->by_key, swsim_key_params);
		if (err)
			goto put_group;
	}
	group->entries++;
	set->entries++;
	list_add_tail(&entry->peer, &rule->entries);
	return 0;
put_group:
	swsim_group_put(chain, group);
put_chain:
	swsim_chain_put(chain);
free_entry:
	kfree(entry);
	return err;
}

/* Takes a rule out of one ruleset; with the last one the rule itself goes. */
void swsim_entry_del(struct swsim_entry *entry)
{
	struct swsim_ruleset *set = entry->set;
	struct swsim_rule *rule = entry->rule;

	lockdep_assert_held(&set->inst->lock);
	if (entry->group->src_range || entry->group->dst_range)
		list_del_rcu(&entry->ranged);
	else
		rhltable_remove(&set->keys, &entry->by_key, swsim_key_params);
	list_del(&entry->peer);
	entry->group->entries--;
	set->entries--;
	swsim_group_put(entry->chain, entry->group);
	swsim_chain_put(entry->chain);
	kfree_rcu(entry, rcu);
	if (list_empty(&rule->entries))
		swsim_rule_unlink(rule);
}

static bool swsim_same_range(const struct swsim_range *a, const struct swsim_range *b)
{
	return a->on == b->on && (!a->on || (a->min == b->min && a->max == b->max));
}

static bool swsim_group_has_equal(const struct swsim_ruleset *set, struct swsim_group *group,
				  const struct swsim_rule *rule, bool any_actions)
{
	struct swsim_entry *entry;

	list_for_each_entry(entry, &group->ranged, ranged)
		if (!memcmp(&entry->rule->key, &rule->key, sizeof(rule->key)) &&
		    swsim_same_range(&entry->rule->src, &rule->src) &&
		    swsim_same_range(&entry->rule->dst, &rule->dst) &&
		    (any_actions || !swsim_rule_same_actions(entry->rule, rule)))
			return true;
	if (!group->src_range && !group->dst_range) {
		struct swsim_lookup_key arg = { .group = group, .key = &rule->key };
		struct rhlist_head *pos, *list;

		rcu_read_lock();
		list = rhltable_lookup((struct rhltable *)&set->keys, &arg, swsim_key_params);
		rhl_for_each_entry_rcu(entry, pos, list, by_key)
			if (any_actions || !swsim_rule_same_actions(entry->rule, rule)) {
				rcu_read_unlock();
				return true;
			}
		rcu_read_unlock();
	}
	return false;
}

/*
 * Is there a rule with the same key? With @same_pref: at the same pref, whatever it does; without:
 * at another pref of the chain and with other actions.
 */
bool swsim_set_has_equal(const struct swsim_ruleset *set, const struct swsim_rule *rule,
			 bool same_pref)
{
	struct swsim_chain *chain = swsim_chain_find(set, rule->chain);
	struct swsim_group *group;

	if (!chain)
		return false;
	if (same_pref) {
		group = swsim_group_find(chain, rule);
		return group && swsim_group_has_equal(set, group, rule, true);
	}
	list_for_each_entry(group, &chain->groups, node)
		if (group->pref != rule->pref && swsim_group_fits(group, rule) &&
		    swsim_group_has_equal(set, group, rule, false))
			return true;
	return false;
}
