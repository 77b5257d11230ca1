// SPDX-License-Identifier: GPL-2.0
/*
 * The narrowness that is imitated: each install of a rule at a port is held against the limits of
 * the instance, which debugfs.c sets. A refusal has its words, as good drivers have.
 */
#include "swsim.h"

/* The injected failures: the errno, or 0 when this install may go on. Lock held. */
int swsim_limits_fail(struct swsim_inst *inst, struct netlink_ext_ack *extack)
{
	struct swsim_limits *limits = &inst->limits;

	if (!limits->fail_count)
		return 0;
	if (limits->fail_good) {
		limits->fail_good--;
		return 0;
	}
	limits->fail_count--;
	return swsim_refuse(extack, -limits->fail_errno, "swsim: this install fails on request");
}

/*
 * May the rule be installed in the ruleset? @counted: it is new to the instance and takes a place
 * in its table. Lock held.
 */
int swsim_limits_check(struct swsim_ruleset *set, const struct swsim_rule *rule, bool counted,
		       struct netlink_ext_ack *extack)
{
	const struct swsim_limits *limits = &set->inst->limits;
	u64 denied = swsim_fields_of(rule) & limits->deny_fields;
	unsigned int i;

	if (rule->pref < limits->pref_min || rule->pref > limits->pref_max)
		return swsim_refuse(extack, -EOPNOTSUPP,
				    "swsim: this hardware does not have this pref");
	if (rule->chain > limits->chain_max)
		return swsim_refuse(extack, -EOPNOTSUPP,
				    "swsim: this hardware does not have this chain");
	if (denied)
		return swsim_refuse(extack, -EOPNOTSUPP, swsim_fields_denied(denied));
	for (i = 0; i < rule->nactions; i++) {
		const struct swsim_action *act = &rule->actions[i];

		if (limits->deny_actions & BIT(act->id))
			return swsim_refuse(extack, -EOPNOTSUPP, swsim_act_denied(act->id));
		if (act->id == SWSIM_ACT_GOTO && act->chain > limits->chain_max)
			return swsim_refuse(extack, -EOPNOTSUPP,
					    "swsim: this hardware does not have the chain of goto");
	}
	if (limits->deny_replace && swsim_set_has_equal(set, rule, true))
		return swsim_refuse(extack, -EOPNOTSUPP,
				    "swsim: this hardware cannot replace a rule in place");
	if (limits->deny_equal_key && swsim_set_has_equal(set, rule, false))
		return swsim_refuse(
			extack, -EEXIST,
			"swsim: this hardware has a rule with this key and other actions");
	if (counted && set->inst->nrules >= limits->table_size)
		return swsim_refuse(extack, -ENOSPC, "swsim: the table is full");
	return 0;
}
