// SPDX-License-Identifier: GPL-2.0
/*
 * Birth and death of an instance: the common part of a NIC port and of a DSA switch. Their own
 * parts are nic.c and dsa.c, which call this first and add the ports.
 */
#include <linux/slab.h>

#include "swsim.h"

#define SWSIM_TABLE_SIZE 131072 /* rules; more than the 100,000 that people want to try */

struct swsim_inst *swsim_inst_new(const char *name, struct device *dev, unsigned int nports)
{
	struct swsim_inst *inst;
	int err;

	inst = kzalloc(sizeof(*inst), GFP_KERNEL);
	if (!inst)
		return ERR_PTR(-ENOMEM);
	inst->ports = kcalloc(nports, sizeof(*inst->ports), GFP_KERNEL);
	if (!inst->ports) {
		kfree(inst);
		return ERR_PTR(-ENOMEM);
	}
	err = rhashtable_init(&inst->rules, &swsim_cookie_params);
	if (err) {
		kfree(inst->ports);
		kfree(inst);
		return ERR_PTR(err);
	}
	strscpy(inst->name, name, sizeof(inst->name));
	inst->dev = dev;
	inst->nports = nports;
	mutex_init(&inst->lock);
	INIT_LIST_HEAD(&inst->node);
	INIT_LIST_HEAD(&inst->rule_list);
	INIT_LIST_HEAD(&inst->policers);
	inst->limits.table_size = SWSIM_TABLE_SIZE;
	inst->limits.pref_min = 1;
	inst->limits.pref_max = U16_MAX;
	inst->limits.chain_max = U32_MAX;
	return inst;
}

/* All ports are detached and all rulesets freed by now, so that no rule is left. */
void swsim_inst_free(struct swsim_inst *inst)
{
	unsigned int i;

	WARN_ON(!list_empty(&inst->rule_list));
	for (i = 0; i < inst->nports; i++)
		if (inst->ports[i])
			swsim_port_put(inst->ports[i]);
	rcu_barrier(); /* rules that go put their policers, which our list has */
	rhashtable_destroy(&inst->rules);
	mutex_destroy(&inst->lock);
	kfree(inst->ports);
	kfree(inst);
}
