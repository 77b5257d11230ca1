// SPDX-License-Identifier: GPL-2.0
/*
 * swsim, a virtual switch that really forwards: the module's door. See README.md for what it is,
 * and swsim.h for its words.
 */
#include <linux/module.h>

#include "swsim.h"

static unsigned int nics;
module_param(nics, uint, 0444);
MODULE_PARM_DESC(nics, "number of NIC ports: sim0, sim1, ... with wires sim0w, ... (0 to 64)");

static unsigned int queues = 1;
module_param(queues, uint, 0444);
MODULE_PARM_DESC(queues, "transmit queues of each NIC port (1 to 64)");

static unsigned int ports;
module_param(ports, uint, 0444);
MODULE_PARM_DESC(ports, "user ports of one DSA switch: lan1, ... behind cpu0 (0 to 11)");

static int __init swsim_init(void)
{
	int err;

	if (nics > 64 || !queues || queues > 64)
		return -ERANGE;
	swsim_lookup_init();
	swsim_debugfs_init();
	err = swsim_nics_add(nics, queues);
	if (err)
		goto debugfs;
	err = swsim_dsa_init(ports);
	if (err)
		goto nics;
	return 0;
nics:
	swsim_nics_del();
debugfs:
	swsim_debugfs_exit();
	rcu_barrier();
	rcu_barrier();
	return err;
}

static void __exit swsim_exit(void)
{
	swsim_dsa_exit();
	swsim_nics_del();
	swsim_debugfs_exit();
	/* Rules put their ports in an RCU callback, and ports are freed in the next one. */
	rcu_barrier();
	rcu_barrier();
}

module_init(swsim_init);
module_exit(swsim_exit);

MODULE_DESCRIPTION("Virtual switch with tc offload");
MODULE_LICENSE("GPL");
