// SPDX-License-Identifier: GPL-2.0
/*
 * The DSA form: a switch behind a conduit (cpu0), from module parameters (one switch, 1 to 11 user
 * ports, platform data) or from a device tree (a tree of switches, see mkdts). The DSA core hands
 * us flower rules port by port, without the block; of matchall it hands over mirrors and policers,
 * stripped of pref and cookie. Frames pass through conduit.c.
 */
#include <linux/debugfs.h>
#include <linux/idr.h>
#include <linux/of.h>
#include <linux/phy.h>
#include <linux/phy_fixed.h>
#include <linux/platform_device.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "swsim.h"

#define SWSIM_MAX_PDATA 11 /* DSA_MAX_PORTS is 12, and one is the CPU's */

/* The kernel's software PHY; its header is not installed. drivers/net/phy/swphy.h */
int swphy_read_reg(int reg, const struct fixed_phy_status *state);

struct swsim_dsa {
	struct dsa_switch ds;
	struct swsim_inst *inst;
	int number; /* of the instance's name */
};

static DEFINE_IDA(swsim_switch_ida);
static unsigned int pdata_ports;
static struct platform_device *pdata_conduit, *pdata_switch;
static struct dsa_chip_data pdata_chip;
static char pdata_names[SWSIM_MAX_PDATA][8];

static const struct dsa_switch_ops swsim_dsa_ops;

static struct swsim_port *swsim_ds_port(struct dsa_switch *ds, int port)
{
	struct swsim_dsa *dsa = ds->priv;

	return dsa->inst ? dsa->inst->ports[port] : NULL;
}

/* The port of a DSA netdev, or NULL when it is none of ours. */
struct swsim_port *swsim_dsa_port(struct net_device *dev)
{
	struct dsa_port *dp = dsa_port_from_netdev(dev);

	if (IS_ERR(dp) || dp->ds->ops != &swsim_dsa_ops)
		return NULL;
	return swsim_ds_port(dp->ds, dp->index);
}

/* Tells phylink that the link may have changed. rtnl is held. */
static void swsim_dsa_link(struct swsim_port *port)
{
	struct net_device *dev = rtnl_dereference(port->dev);

	WRITE_ONCE(port->link_up, swsim_wire_up(port));
	if (!dev)
		return;
	if (dev->phydev)
		phy_mac_interrupt(dev->phydev);
	else
		dsa_port_phylink_mac_change(port->dp->ds, port->index, port->link_up);
}

static enum dsa_tag_protocol swsim_dsa_protocol(struct dsa_switch *ds, int port,
						enum dsa_tag_protocol mprot)
{
	return ds->dev->of_node ? DSA_TAG_PROTO_DSA : DSA_TAG_PROTO_RTL8_4;
}

static int swsim_dsa_add_port(struct dsa_switch *ds, struct dsa_port *dp)
{
	struct swsim_dsa *dsa = ds->priv;
	struct swsim_port *port;

	if (dp->index > 31) /* what the tagger can name */
		return -ERANGE;
	port = swsim_port_new(dsa->inst, dp->index, dp->name);
	if (!port)
		return -ENOMEM;
	port->dp = dp;
	port->to_cpu = swsim_dsa_to_cpu;
	port->link = swsim_dsa_link;
	dsa->inst->ports[dp->index] = port;
	return swsim_wire_add(port);
}

/* Nobody reads the port's rules any more; what the kernel did not take out goes. rtnl is held. */
static void swsim_dsa_free_rules(struct swsim_port *port, struct swsim_ruleset **sets)
{
	struct swsim_policer *policer = rtnl_dereference(port->policer);
	int dir;

	RCU_INIT_POINTER(port->policer, NULL);
	if (policer)
		swsim_policer_put(policer);
	for (dir = 0; dir < SWSIM_DIRS; dir++) {
		struct swsim_port *mirror = rtnl_dereference(port->mirror[dir]);

		RCU_INIT_POINTER(port->mirror[dir], NULL);
		if (mirror)
			swsim_port_put(mirror);
		if (sets[dir])
			swsim_set_free(sets[dir]);
	}
}

static void swsim_dsa_teardown(struct dsa_switch *ds)
{
	struct swsim_dsa *dsa = ds->priv;
	struct swsim_ruleset *sets[32][SWSIM_DIRS] = {};
	struct swsim_port *port;
	struct dsa_port *dp;
	int dir;

	if (!dsa->inst)
		return;
	debugfs_remove_recursive(dsa->inst->debugfs);
	swsim_devlink_del(dsa->inst);
	swsim_dsa_leave(ds);
	dsa_switch_for_each_user_port(dp, ds) {
		port = swsim_ds_port(ds, dp->index);
		if (port)
			swsim_port_detach(port);
	}
	swsim_wires_del(dsa->inst);
	rtnl_lock();
	dsa_switch_for_each_user_port(dp, ds) {
		port = swsim_ds_port(ds, dp->index);
		for (dir = 0; port && dir < SWSIM_DIRS; dir++) {
			sets[dp->index][dir] = rtnl_dereference(port->set[dir]);
			if (sets[dp->index][dir])
				swsim_set_detach(port, dir);
		}
	}
	synchronize_net(); /* frames are through with the ports, and with the conduit's list of us
			    */
	dsa_switch_for_each_user_port(dp, ds) {
		port = swsim_ds_port(ds, dp->index);
		if (port)
			swsim_dsa_free_rules(port, sets[dp->index]);
	}
	rtnl_unlock();
	swsim_inst_free(dsa->inst);
	dsa->inst = NULL;
	ida_free(&swsim_switch_ida, dsa->number);
}

static int swsim_dsa_setup(struct dsa_switch *ds)
{
	struct swsim_dsa *dsa = ds->priv;
	struct dsa_port *dp;
	char name[16];
	int err;

	/* dsa0 is the switch of the module parameters, when there is one */
	dsa->number = ds->dev->of_node ? ida_alloc_min(&swsim_switch_ida, !!pdata_ports, GFP_KERNEL)
				       : ida_alloc(&swsim_switch_ida, GFP_KERNEL);
	if (dsa->number < 0)
		return dsa->number;
	snprintf(name, sizeof(name), "dsa%d", dsa->number);
	dsa->inst = swsim_inst_new(name, ds->dev, ds->num_ports);
	if (IS_ERR(dsa->inst)) {
		err = PTR_ERR(dsa->inst);
		dsa->inst = NULL;
		ida_free(&swsim_switch_ida, dsa->number);
		return err;
	}
	err = swsim_dsa_join(ds, dsa->inst);
	if (err)
		goto undo;
	dsa_switch_for_each_user_port(dp, ds) {
		err = swsim_dsa_add_port(ds, dp);
		if (err)
			goto undo;
	}
	err = swsim_devlink_add(dsa->inst, ds->devlink);
	if (err)
		goto undo;
	swsim_debugfs_add(dsa->inst);
	return 0;
undo:
	swsim_dsa_teardown(ds);
	return err;
}

/* The user port was opened; there is a netdev from now on. rtnl is held. */
static int swsim_dsa_enable(struct dsa_switch *ds, int index, struct phy_device *phy)
{
	struct swsim_port *port = swsim_ds_port(ds, index);

	if (port) {
		WRITE_ONCE(port->link_up, swsim_wire_up(port));
		rcu_assign_pointer(port->dev, swsim_dsa_user(port->dp));
	}
	return 0;
}

static void swsim_dsa_disable(struct dsa_switch *ds, int index)
{
	struct swsim_port *port = swsim_ds_port(ds, index);

	if (port)
		swsim_port_detach(port);
}

static int swsim_dsa_phy_read(struct dsa_switch *ds, int index, int reg)
{
	struct swsim_port *port = swsim_ds_port(ds, index);
	struct fixed_phy_status state = {
		.link = port && READ_ONCE(port->link_up),
		.speed = 1000,
		.duplex = 1,
	};

	return swphy_read_reg(reg, &state);
}

static int swsim_dsa_phy_write(struct dsa_switch *ds, int port, int reg, u16 val)
{
	return 0;
}

static void swsim_dsa_fixed_state(struct dsa_switch *ds, int index,
				  struct phylink_link_state *state)
{
	struct swsim_port *port = swsim_ds_port(ds, index);

	state->link = port && READ_ONCE(port->link_up);
}

static void swsim_dsa_caps(struct dsa_switch *ds, int port, struct phylink_config *config)
{
	config->mac_capabilities = MAC_10 | MAC_100 | MAC_1000FD;
	__set_bit(PHY_INTERFACE_MODE_INTERNAL, config->supported_interfaces);
	__set_bit(PHY_INTERFACE_MODE_GMII, config->supported_interfaces);
	__set_bit(PHY_INTERFACE_MODE_MII, config->supported_interfaces);
}

static void swsim_dsa_stats64(struct dsa_switch *ds, int index, struct rtnl_link_stats64 *stats)
{
	struct swsim_port *port = swsim_ds_port(ds, index);

	if (port)
		swsim_port_stats(port, stats);
}

static int swsim_dsa_change_mtu(struct dsa_switch *ds, int port, int mtu)
{
	return 0;
}

static int swsim_dsa_max_mtu(struct dsa_switch *ds, int port)
{
	return 9000;
}

/* The ruleset of a port, made with its first rule. rtnl is held. */
static struct swsim_ruleset *swsim_dsa_set(struct dsa_switch *ds, int index, bool ingress)
{
	struct swsim_port *port = swsim_ds_port(ds, index);
	enum swsim_dir dir = ingress ? SWSIM_INGRESS : SWSIM_EGRESS;
	struct swsim_ruleset *set;

	if (!port)
		return ERR_PTR(-ENODEV);
	set = rtnl_dereference(port->set[dir]);
	if (set)
		return set;
	set = swsim_set_new(port->inst, dir);
	if (!IS_ERR(set))
		swsim_set_attach(set, port);
	return set;
}

static int swsim_dsa_flower(struct dsa_switch *ds, int port, struct flow_cls_offload *cls,
			    bool ingress)
{
	struct swsim_ruleset *set = swsim_dsa_set(ds, port, ingress);

	return IS_ERR(set) ? PTR_ERR(set) : swsim_flower(set, cls);
}

/* matchall mirror: one each port and direction, before the table (after it on egress). */
static int swsim_dsa_mirror_add(struct dsa_switch *ds, int index,
				struct dsa_mall_mirror_tc_entry *mirror, bool ingress,
				struct netlink_ext_ack *extack)
{
	struct swsim_port *port = swsim_ds_port(ds, index);
	struct swsim_port *to = swsim_ds_port(ds, mirror->to_local_port);
	enum swsim_dir dir = ingress ? SWSIM_INGRESS : SWSIM_EGRESS;

	if (!port || !to)
		return swsim_refuse(extack, -EOPNOTSUPP, "swsim: cannot mirror to this port");
	if (port->inst->limits.deny_actions & BIT(SWSIM_ACT_MIRROR))
		return swsim_refuse(extack, -EOPNOTSUPP, swsim_act_denied(SWSIM_ACT_MIRROR));
	if (rtnl_dereference(port->mirror[dir]))
		return swsim_refuse(extack, -EBUSY, "swsim: the port has a mirror already");
	kref_get(&to->ref);
	rcu_assign_pointer(port->mirror[dir], to);
	return 0;
}

static void swsim_dsa_mirror_del(struct dsa_switch *ds, int index,
				 struct dsa_mall_mirror_tc_entry *mirror)
{
	struct swsim_port *port = swsim_ds_port(ds, index);
	enum swsim_dir dir = mirror->ingress ? SWSIM_INGRESS : SWSIM_EGRESS;
	struct swsim_port *to;

	if (!port)
		return;
	to = rtnl_dereference(port->mirror[dir]);
	RCU_INIT_POINTER(port->mirror[dir], NULL);
	synchronize_net();
	if (to)
		swsim_port_put(to);
}

/* matchall police: one each port, ingress, before the table. */
static int swsim_dsa_policer_add(struct dsa_switch *ds, int index,
				 struct dsa_mall_policer_tc_entry *entry)
{
	struct swsim_port *port = swsim_ds_port(ds, index);
	struct swsim_policer *policer;

	if (!port || port->inst->limits.deny_actions & BIT(SWSIM_ACT_POLICE))
		return -EOPNOTSUPP;
	mutex_lock(&port->inst->lock);
	policer = swsim_policer_get(port->inst, 0, entry->rate_bytes_per_sec, entry->burst, 0, 0,
				    U32_MAX);
	mutex_unlock(&port->inst->lock);
	if (!policer)
		return -ENOMEM;
	rcu_assign_pointer(port->policer, policer);
	return 0;
}

static void swsim_dsa_policer_del(struct dsa_switch *ds, int index)
{
	struct swsim_port *port = swsim_ds_port(ds, index);
	struct swsim_policer *policer;

	if (!port)
		return;
	policer = rtnl_dereference(port->policer);
	RCU_INIT_POINTER(port->policer, NULL);
	synchronize_net();
	if (policer)
		swsim_policer_put(policer);
}

static const struct dsa_switch_ops swsim_dsa_ops = {
	.get_tag_protocol = swsim_dsa_protocol,
	.setup = swsim_dsa_setup,
	.teardown = swsim_dsa_teardown,
	.port_enable = swsim_dsa_enable,
	.port_disable = swsim_dsa_disable,
	.phy_read = swsim_dsa_phy_read,
	.phy_write = swsim_dsa_phy_write,
	.phylink_get_caps = swsim_dsa_caps,
	.phylink_fixed_state = swsim_dsa_fixed_state,
	.get_stats64 = swsim_dsa_stats64,
	.port_change_mtu = swsim_dsa_change_mtu,
	.port_max_mtu = swsim_dsa_max_mtu,
	.cls_flower_add = swsim_dsa_flower,
	.cls_flower_del = swsim_dsa_flower,
	.cls_flower_stats = swsim_dsa_flower,
	.port_mirror_add = swsim_dsa_mirror_add,
	.port_mirror_del = swsim_dsa_mirror_del,
	.port_policer_add = swsim_dsa_policer_add,
	.port_policer_del = swsim_dsa_policer_del,
	.swsim_change_conduit_op = swsim_dsa_change_conduit,
	.port_lag_join = swsim_dsa_lag_join,
	.port_lag_leave = swsim_dsa_lag_leave,
	.crosschip_lag_join = swsim_dsa_far_lag_join,
	.crosschip_lag_leave = swsim_dsa_far_lag_leave,
};

static int swsim_switch_probe(struct platform_device *pdev)
{
	struct device_node *ports;
	struct swsim_dsa *dsa;
	u32 reg, num = pdata_ports + 1;

	dsa = devm_kzalloc(&pdev->dev, sizeof(*dsa), GFP_KERNEL);
	if (!dsa)
		return -ENOMEM;
	ports = of_get_child_by_name(pdev->dev.of_node, "ports");
	if (ports) {
		struct device_node *np;

		num = 0;
		for_each_available_child_of_node(ports, np)
			if (!of_property_read_u32(np, "reg", &reg))
				num = max(num, reg + 1);
		of_node_put(ports);
	}
	dsa->ds.dev = &pdev->dev;
	dsa->ds.num_ports = num;
	dsa->ds.ops = &swsim_dsa_ops;
	dsa->ds.priv = dsa;
	platform_set_drvdata(pdev, dsa);
	return dsa_register_switch(&dsa->ds);
}

static SWSIM_REMOVE_TYPE swsim_switch_remove(struct platform_device *pdev)
{
	struct swsim_dsa *dsa = platform_get_drvdata(pdev);

	if (dsa)
		dsa_unregister_switch(&dsa->ds);
	SWSIM_REMOVE_DONE;
}

/* As all DSA drivers: let go of the conduit before it shuts down. */
static void swsim_switch_shutdown(struct platform_device *pdev)
{
	struct swsim_dsa *dsa = platform_get_drvdata(pdev);

	if (dsa)
		dsa_switch_shutdown(&dsa->ds);
	platform_set_drvdata(pdev, NULL);
}

static const struct of_device_id swsim_switch_of[] = { { .compatible = "swd,swsim-switch" }, {} };
MODULE_DEVICE_TABLE(of, swsim_switch_of);

static struct platform_driver swsim_switch_driver = {
	.probe = swsim_switch_probe,
	.remove = swsim_switch_remove,
	.shutdown = swsim_switch_shutdown,
	.driver = { .name = "swsim-switch", .of_match_table = swsim_switch_of },
};

/* The switch of the module parameters: its conduit, then itself. */
static int swsim_dsa_pdata(void)
{
	struct net_device *conduit;
	unsigned int i;

	pdata_conduit = platform_device_register_simple("swsim-conduit", 0, NULL, 0);
	if (IS_ERR(pdata_conduit))
		return PTR_ERR(pdata_conduit);
	conduit = platform_get_drvdata(pdata_conduit);
	if (!conduit)
		return -EEXIST; /* somebody has a cpu0 */
	for (i = 0; i < pdata_ports; i++) {
		snprintf(pdata_names[i], sizeof(pdata_names[i]), "lan%u", i + 1);
		pdata_chip.port_names[i] = pdata_names[i];
	}
	pdata_chip.port_names[i] = "cpu";
	pdata_chip.netdev[i] = &conduit->dev;
	pdata_switch = platform_device_register_data(NULL, "swsim-switch", 0, &pdata_chip,
						     sizeof(pdata_chip));
	if (IS_ERR(pdata_switch))
		return PTR_ERR(pdata_switch);
	return platform_get_drvdata(pdata_switch) ? 0 : -ENODEV;
}

void swsim_dsa_exit(void)
{
	if (!IS_ERR_OR_NULL(pdata_switch))
		platform_device_unregister(pdata_switch);
	platform_driver_unregister(&swsim_switch_driver);
	if (!IS_ERR_OR_NULL(pdata_conduit))
		platform_device_unregister(pdata_conduit);
	swsim_conduits_exit();
	ida_destroy(&swsim_switch_ida);
}

/* Drivers for what the device tree has, and the switch of @ports user ports when it is not 0. */
int swsim_dsa_init(unsigned int ports)
{
	int err;

	if (ports > SWSIM_MAX_PDATA)
		return -ERANGE;
	pdata_ports = ports;
	err = swsim_conduits_init(!!ports);
	if (err)
		return err;
	err = platform_driver_register(&swsim_switch_driver);
	if (err) {
		swsim_conduits_exit();
		return err;
	}
	if (ports) {
		err = swsim_dsa_pdata();
		if (err)
			swsim_dsa_exit();
	}
	return err;
}
