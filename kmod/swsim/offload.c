// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's requests for one ruleset: install, remove and count, for flower and matchall,
 * whether they came through a flow block (nic.c) or through DSA (dsa.c). rtnl is held throughout.
 */
#include <linux/delay.h>

#include "swsim.h"

static bool swsim_same_rule(const struct swsim_rule *a, const struct swsim_rule *b)
{
	return a->chain == b->chain && a->pref == b->pref && a->protocol == b->protocol &&
	       a->matchall == b->matchall && !memcmp(&a->key, &b->key, sizeof(a->key)) &&
	       !memcmp(&a->mask, &b->mask, sizeof(a->mask)) &&
	       !memcmp(&a->src, &b->src, sizeof(a->src)) &&
	       !memcmp(&a->dst, &b->dst, sizeof(a->dst)) && swsim_rule_same_actions(a, b);
}

/*
 * A filter we know by its cookie, but with other contents, is none: DSA tells nobody that a filter
 * goes while hw-tc-offload is off, and the cookie, an address, is used again.
 */
static void swsim_forget(struct swsim_rule *rule)
{
	struct swsim_entry *entry, *next;
	bool last = false;

	list_for_each_entry_safe(entry, next, &rule->entries, peer) {
		last = list_is_singular(&rule->entries);
		swsim_entry_del(entry);
		if (last)
			break;
	}
}

static int swsim_insert(struct swsim_ruleset *set, struct swsim_rule *rule,
			struct netlink_ext_ack *extack)
{
	struct swsim_inst *inst = set->inst;
	struct swsim_rule *known = swsim_rule_find(inst, rule->cookie);
	int err;

	err = swsim_limits_fail(inst, extack);
	if (err)
		goto free;
	if (known && !swsim_same_rule(known, rule)) {
		swsim_forget(known);
		known = NULL;
	}
	if (known && swsim_rule_entry(known, set)) {
		swsim_rule_free(rule);
		return 0;
	}
	err = swsim_limits_check(set, rule, !known, extack);
	if (err)
		goto free;
	if (known) {
		swsim_rule_free(rule);
		return swsim_set_add(set, known);
	}
	err = swsim_rule_link(rule);
	if (err)
		goto free;
	err = swsim_set_add(set, rule);
	if (err)
		swsim_rule_unlink(rule);
	return err;
free:
	swsim_rule_free(rule);
	return err;
}

static int swsim_install(struct swsim_ruleset *set, const struct flow_cls_common_offload *common,
			 unsigned long cookie, struct flow_rule *flow, bool matchall)
{
	struct swsim_inst *inst = set->inst;
	struct swsim_rule *rule;
	int err;

	if (READ_ONCE(inst->limits.install_delay_ms))
		msleep(READ_ONCE(inst->limits.install_delay_ms));
	rule = swsim_rule_new(inst, 2 * flow->action.num_entries);
	if (!rule)
		return -ENOMEM;
	rule->cookie = cookie;
	rule->chain = common->chain_index;
	rule->pref = common->prio;
	rule->protocol = common->protocol;
	rule->matchall = matchall;
	err = matchall ? 0 : swsim_parse_match(&flow->match, rule, common->extack);
	if (!err)
		err = swsim_parse_actions(&flow->action, rule, common->extack);
	if (err) {
		swsim_rule_free(rule);
		return err;
	}
	mutex_lock(&inst->lock);
	err = swsim_insert(set, rule, common->extack);
	mutex_unlock(&inst->lock);
	return err;
}

static int swsim_remove(struct swsim_ruleset *set, unsigned long cookie)
{
	struct swsim_inst *inst = set->inst;
	struct swsim_entry *entry = NULL;
	struct swsim_rule *rule;

	mutex_lock(&inst->lock);
	rule = swsim_rule_find(inst, cookie);
	if (rule)
		entry = swsim_rule_entry(rule, set);
	if (entry)
		swsim_entry_del(entry);
	mutex_unlock(&inst->lock);
	return entry ? 0 : -ENOENT;
}

static int swsim_stats(struct swsim_ruleset *set, unsigned long cookie, struct flow_stats *stats)
{
	struct swsim_inst *inst = set->inst;
	struct swsim_rule *rule;

	mutex_lock(&inst->lock);
	rule = swsim_rule_find(inst, cookie);
	if (rule)
		swsim_rule_told(rule, stats);
	mutex_unlock(&inst->lock);
	return rule ? 0 : -ENOENT;
}

int swsim_flower(struct swsim_ruleset *set, struct flow_cls_offload *cls)
{
	switch (cls->command) {
	case FLOW_CLS_REPLACE:
		return swsim_install(set, &cls->common, cls->cookie, cls->rule, false);
	case FLOW_CLS_DESTROY:
		return swsim_remove(set, cls->cookie);
	case FLOW_CLS_STATS:
		return swsim_stats(set, cls->cookie, &cls->stats);
	default:
		return -EOPNOTSUPP;
	}
}

int swsim_matchall(struct swsim_ruleset *set, struct tc_cls_matchall_offload *cls)
{
	switch (cls->command) {
	case TC_CLSMATCHALL_REPLACE:
		return swsim_install(set, &cls->common, cls->cookie, cls->rule, true);
	case TC_CLSMATCHALL_DESTROY:
		return swsim_remove(set, cls->cookie);
	case TC_CLSMATCHALL_STATS:
		return swsim_stats(set, cls->cookie, &cls->stats);
	default:
		return -EOPNOTSUPP;
	}
}
