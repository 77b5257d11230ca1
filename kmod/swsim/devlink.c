// SPDX-License-Identifier: GPL-2.0
/*
 * The table as a devlink resource, "rules": its size and how much of it is taken. A NIC has a
 * devlink instance of ours, a DSA switch the one that the DSA core made for it.
 */
#include <net/devlink.h>

#include "swsim.h"

enum {
	SWSIM_RESOURCE_RULES = 1
};

static const struct devlink_ops swsim_devlink_ops = {};

static u64 swsim_occupancy(void *priv)
{
	const struct swsim_inst *inst = priv;

	return READ_ONCE(inst->nrules);
}

static int swsim_resource_add(struct swsim_inst *inst)
{
	u32 size = inst->limits.table_size;
	struct devlink_resource_size_params params;
	int err;

	devlink_resource_size_params_init(&params, size, size, 1, DEVLINK_RESOURCE_UNIT_ENTRY);
	err = devl_resource_register(inst->devlink, "rules", size, SWSIM_RESOURCE_RULES,
				     DEVLINK_RESOURCE_ID_PARENT_TOP, &params);
	if (!err)
		devl_resource_occ_get_register(inst->devlink, SWSIM_RESOURCE_RULES, swsim_occupancy,
					       inst);
	return err;
}

static void swsim_resource_del(struct swsim_inst *inst)
{
	devl_resource_occ_get_unregister(inst->devlink, SWSIM_RESOURCE_RULES);
	devl_resources_unregister(inst->devlink);
}

/* @dsa: the switch's devlink, or NULL for an instance of our own. */
int swsim_devlink_add(struct swsim_inst *inst, struct devlink *dsa)
{
	struct devlink *devlink = dsa;
	int err;

	if (!devlink)
		devlink = devlink_alloc(&swsim_devlink_ops, sizeof(inst), inst->dev);
	if (!devlink)
		return -ENOMEM;
	inst->devlink = devlink;
	inst->own_devlink = !dsa;
	devl_lock(devlink);
	err = swsim_resource_add(inst);
	devl_unlock(devlink);
	if (err) {
		if (!dsa)
			devlink_free(devlink);
		inst->devlink = NULL;
		return err;
	}
	if (!dsa)
		devlink_register(devlink);
	return 0;
}

void swsim_devlink_del(struct swsim_inst *inst)
{
	if (!inst->devlink)
		return;
	if (inst->own_devlink)
		devlink_unregister(inst->devlink);
	devl_lock(inst->devlink);
	swsim_resource_del(inst);
	devl_unlock(inst->devlink);
	if (inst->own_devlink)
		devlink_free(inst->devlink);
	inst->devlink = NULL;
}

/* After a change of the table size: a resource has its size for life. */
void swsim_devlink_resize(struct swsim_inst *inst)
{
	devl_lock(inst->devlink);
	swsim_resource_del(inst);
	if (swsim_resource_add(inst))
		pr_warn("swsim: %s: no devlink resource after a change of its size\n", inst->name);
	devl_unlock(inst->devlink);
}
