// SPDX-License-Identifier: GPL-2.0
/*
 * The CPU ports of a tree, each with a conduit of its own: all switches of the tree are reached
 * through any of them, a user port can change to another, and they can be joined to a LAG.
 * Which of them a frame takes is the kernel's choice one way, and the user port's the other.
 */
#include "swsim.h"

/* The switch is reached through all conduits of its tree from now on; they must be our own. */
int swsim_dsa_join(struct dsa_switch *ds, struct swsim_inst *inst)
{
	struct dsa_port *dp;
	int err;

	list_for_each_entry(dp, &ds->dst->ports, list) {
		if (!dsa_port_is_cpu(dp))
			continue;
		err = swsim_conduit_join(swsim_cpu_conduit(dp), ds->index, inst);
		if (err) {
			dev_err(ds->dev, "the conduit must be one of swsim's own\n");
			return err;
		}
	}
	return 0;
}

/* The caller waits for RCU readers before it frees the instance. */
void swsim_dsa_leave(struct dsa_switch *ds)
{
	struct dsa_port *cpu_dp;

	dsa_tree_for_each_cpu_port(cpu_dp, ds->dst)
		swsim_conduit_leave(swsim_cpu_conduit(cpu_dp), ds->index);
}

/* Nothing to be told: each frame asks the user port for its CPU port. */
int swsim_dsa_change_conduit(struct dsa_switch *ds, int port, struct net_device *conduit,
			     struct netlink_ext_ack *extack)
{
	return 0;
}

int swsim_dsa_lag_join(struct dsa_switch *ds, int port, struct dsa_lag lag,
		       struct netdev_lag_upper_info *info, struct netlink_ext_ack *extack)
{
	return dsa_is_cpu_port(ds, port) ? 0 : -EOPNOTSUPP;
}

int swsim_dsa_lag_leave(struct dsa_switch *ds, int port, struct dsa_lag lag)
{
	return 0;
}

/* The port is another switch's, which has its say as well. */
int swsim_dsa_far_lag_join(struct dsa_switch *ds, int sw, int port, struct dsa_lag lag,
			   struct netdev_lag_upper_info *info, struct netlink_ext_ack *extack)
{
	return 0;
}

int swsim_dsa_far_lag_leave(struct dsa_switch *ds, int sw, int port, struct dsa_lag lag)
{
	return 0;
}
