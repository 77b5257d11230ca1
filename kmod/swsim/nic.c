// SPDX-License-Identifier: GPL-2.0
/*
 * The NIC form: one port that is an instance of its own (sim0, sim1, ...), for a router on a stick.
 * The kernel binds tc blocks to it through flow_block; each port has a callback of its own, or
 * all have one (see swsim_one_callback), as chips do that keep one table for all their ports.
 */
#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/platform_device.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "swsim.h"

struct swsim_nic {
	struct swsim_port *port; /* holds a reference */
};

struct swsim_nic_unit {
	struct platform_device *parent;
	struct swsim_inst *inst;
	struct net_device *dev;
};

static struct swsim_nic_unit *nics;
static unsigned int nr_nics;

static LIST_HEAD(swsim_block_cbs);
static char swsim_chip[SWSIM_DIRS]; /* its addresses identify the common callbacks */
static bool one_callback;

bool swsim_one_callback(void)
{
	return READ_ONCE(one_callback);
}

/* For binds from now on. */
void swsim_set_one_callback(bool on)
{
	WRITE_ONCE(one_callback, on);
}

static netdev_tx_t swsim_nic_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct swsim_nic *nic = netdev_priv(dev);

	return swsim_txqs_xmit(nic->port->inst->txqs, skb);
}

/* To the kernel, as a driver does. RCU read lock held, BH off. */
static void swsim_nic_to_cpu(struct swsim_port *port, struct net_device *dev, struct sk_buff *skb)
{
	__skb_push(skb, -skb_mac_offset(skb));
	skb->pkt_type = PACKET_HOST;
	skb->protocol = eth_type_trans(skb, dev);
	netif_rx(skb);
}

static void swsim_nic_link(struct swsim_port *port)
{
	struct net_device *dev = rtnl_dereference(port->dev);

	if (!dev)
		return;
	if (swsim_wire_up(port))
		netif_carrier_on(dev);
	else
		netif_carrier_off(dev);
}

static int swsim_nic_open(struct net_device *dev)
{
	netif_tx_start_all_queues(dev);
	return 0;
}

static int swsim_nic_stop(struct net_device *dev)
{
	struct swsim_nic *nic = netdev_priv(dev);

	swsim_txqs_down(nic->port->inst->txqs, dev);
	return 0;
}

static void swsim_nic_stats64(struct net_device *dev, struct rtnl_link_stats64 *stats)
{
	struct swsim_nic *nic = netdev_priv(dev);

	swsim_port_stats(nic->port, stats);
}

static bool swsim_nic_has_offload_stats(const struct net_device *dev, int attr)
{
	return attr == IFLA_OFFLOAD_XSTATS_CPU_HIT;
}

static int swsim_nic_offload_stats(int attr, const struct net_device *dev, void *ret)
{
	struct swsim_nic *nic = netdev_priv(dev);
	u64 packets[SWSIM_COUNTS] = {}, bytes[SWSIM_COUNTS] = {};
	struct rtnl_link_stats64 *stats = ret;

	if (attr != IFLA_OFFLOAD_XSTATS_CPU_HIT)
		return -EINVAL;
	swsim_counts(nic->port, packets, bytes);
	memset(stats, 0, sizeof(*stats));
	stats->rx_packets = packets[SWSIM_CPU_RX];
	stats->rx_bytes = bytes[SWSIM_CPU_RX];
	stats->tx_packets = packets[SWSIM_CPU_TX];
	stats->tx_bytes = bytes[SWSIM_CPU_TX];
	return 0;
}

static int swsim_nic_port_name(struct net_device *dev, char *buf, size_t len)
{
	struct swsim_nic *nic = netdev_priv(dev);

	return snprintf(buf, len, "p%d", nic->port->index) >= (int)len ? -EINVAL : 0;
}

/* As ConnectX does: the switch stays on as long as rules are behind it. */
static int swsim_nic_set_features(struct net_device *dev, netdev_features_t features)
{
	struct swsim_nic *nic = netdev_priv(dev);
	int dir;

	if (features & NETIF_F_HW_TC || !(dev->features & NETIF_F_HW_TC))
		return 0;
	for (dir = 0; dir < SWSIM_DIRS; dir++) {
		struct swsim_ruleset *set = rtnl_dereference(nic->port->set[dir]);

		if (set && set->entries) {
			netdev_err(dev, "hw-tc-offload stays on: %u rules are offloaded\n",
				   set->entries);
			return -EBUSY;
		}
	}
	return 0;
}

static bool swsim_set_offloads(const struct swsim_ruleset *set)
{
	const struct swsim_port *port;

	list_for_each_entry(port, &set->ports, set_node[set->dir]) {
		const struct net_device *dev = rtnl_dereference(port->dev);

		if (dev && !tc_can_offload(dev))
			return false;
	}
	return true;
}

static int swsim_nic_block_cb(enum tc_setup_type type, void *data, void *priv)
{
	struct swsim_ruleset *set = priv;

	switch (type) {
	case TC_SETUP_CLSFLOWER: {
		struct flow_cls_offload *cls = data;

		if (cls->command == FLOW_CLS_REPLACE && !swsim_set_offloads(set))
			return -EOPNOTSUPP;
		return swsim_flower(set, cls);
	}
	case TC_SETUP_CLSMATCHALL: {
		struct tc_cls_matchall_offload *cls = data;

		if (cls->command == TC_CLSMATCHALL_REPLACE && !swsim_set_offloads(set))
			return -EOPNOTSUPP;
		return swsim_matchall(set, cls);
	}
	default:
		return -EOPNOTSUPP;
	}
}

/* The last reference to a bind is gone, and the rules were taken out before. */
static void swsim_nic_block_release(void *priv)
{
	struct swsim_ruleset *set = priv;
	struct swsim_port *port, *next;

	list_for_each_entry_safe(port, next, &set->ports, set_node[set->dir])
		swsim_set_detach(port, set->dir);
	synchronize_net();
	swsim_set_free(set);
}

static int swsim_nic_bind(struct swsim_port *port, struct flow_block_offload *f, enum swsim_dir dir)
{
	bool chip = swsim_one_callback();
	void *ident = chip ? (void *)&swsim_chip[dir] : (void *)&port->set[dir];
	struct flow_block_cb *cb;
	struct swsim_ruleset *set;

	if (rtnl_dereference(port->set[dir]))
		return -EBUSY;
	cb = chip ? flow_block_cb_lookup(f->block, swsim_nic_block_cb, ident) : NULL;
	if (cb) {
		flow_block_cb_incref(cb);
		swsim_set_attach(flow_block_cb_priv(cb), port);
		return 0;
	}
	set = swsim_set_new(port->inst, dir);
	if (IS_ERR(set))
		return PTR_ERR(set);
	set->chip = chip;
	cb = flow_block_cb_alloc(swsim_nic_block_cb, ident, set, swsim_nic_block_release);
	if (IS_ERR(cb)) {
		swsim_set_free(set);
		return PTR_ERR(cb);
	}
	flow_block_cb_incref(cb);
	swsim_set_attach(set, port);
	flow_block_cb_add(cb, f);
	list_add_tail(&cb->driver_list, &swsim_block_cbs);
	return 0;
}

/* The kernel takes the rules out and frees the bind after this has returned. */
static int swsim_nic_unbind(struct swsim_port *port, struct flow_block_offload *f,
			    enum swsim_dir dir)
{
	struct swsim_ruleset *set = rtnl_dereference(port->set[dir]);
	struct flow_block_cb *cb;

	if (!set)
		return -ENOENT;
	cb = flow_block_cb_lookup(f->block, swsim_nic_block_cb,
				  set->chip ? (void *)&swsim_chip[dir] : (void *)&port->set[dir]);
	if (!cb)
		return -ENOENT;
	swsim_set_detach(port, dir);
	if (flow_block_cb_decref(cb))
		return 0;
	flow_block_cb_remove(cb, f);
	list_del(&cb->driver_list);
	return 0;
}

static int swsim_nic_setup_tc(struct net_device *dev, enum tc_setup_type type, void *data)
{
	struct swsim_nic *nic = netdev_priv(dev);
	struct flow_block_offload *f = data;
	enum swsim_dir dir;

	if (type != TC_SETUP_BLOCK)
		return -EOPNOTSUPP;
	if (f->binder_type == FLOW_BLOCK_BINDER_TYPE_CLSACT_INGRESS)
		dir = SWSIM_INGRESS;
	else if (f->binder_type == FLOW_BLOCK_BINDER_TYPE_CLSACT_EGRESS)
		dir = SWSIM_EGRESS;
	else
		return -EOPNOTSUPP;
	f->driver_block_list = &swsim_block_cbs;
	switch (f->command) {
	case FLOW_BLOCK_BIND:
		return swsim_nic_bind(nic->port, f, dir);
	case FLOW_BLOCK_UNBIND:
		return swsim_nic_unbind(nic->port, f, dir);
	default:
		return -EOPNOTSUPP;
	}
}

static const struct net_device_ops swsim_nic_ops = {
	.ndo_open = swsim_nic_open,
	.ndo_stop = swsim_nic_stop,
	.ndo_start_xmit = swsim_nic_xmit,
	.ndo_get_stats64 = swsim_nic_stats64,
	.ndo_has_offload_stats = swsim_nic_has_offload_stats,
	.ndo_get_offload_stats = swsim_nic_offload_stats,
	.ndo_get_phys_port_name = swsim_nic_port_name,
	.ndo_set_features = swsim_nic_set_features,
	.ndo_setup_tc = swsim_nic_setup_tc,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

static void swsim_nic_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	strscpy(info->driver, "swsim", sizeof(info->driver));
	if (dev->dev.parent)
		strscpy(info->bus_info, dev_name(dev->dev.parent), sizeof(info->bus_info));
}

static const struct ethtool_ops swsim_nic_ethtool_ops = {
	.get_drvinfo = swsim_nic_drvinfo,
	.get_link = ethtool_op_get_link,
};

static void swsim_nic_setup(struct net_device *dev)
{
	ether_setup(dev);
	eth_hw_addr_random(dev);
	dev->netdev_ops = &swsim_nic_ops;
	dev->ethtool_ops = &swsim_nic_ethtool_ops;
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE | IFF_NO_QUEUE;
	dev->features |= NETIF_F_HW_TC;
	dev->hw_features |= NETIF_F_HW_TC;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = 9000;
}

/* The port of a NIC netdev, or NULL when it is none. */
struct swsim_port *swsim_nic_port(struct net_device *dev)
{
	struct swsim_nic *nic;

	if (dev->netdev_ops != &swsim_nic_ops)
		return NULL;
	nic = netdev_priv(dev);
	return nic->port;
}

static int swsim_nic_add(unsigned int i, unsigned int queues)
{
	struct swsim_port *port;
	struct swsim_nic *nic;
	char name[IFNAMSIZ];
	int err;

	snprintf(name, sizeof(name), "sim%u", i);
	nics[i].parent = platform_device_register_simple("swsim-nic", i, NULL, 0);
	if (IS_ERR(nics[i].parent)) {
		err = PTR_ERR(nics[i].parent);
		nics[i].parent = NULL;
		return err;
	}
	nics[i].inst = swsim_inst_new(name, &nics[i].parent->dev, 1);
	if (IS_ERR(nics[i].inst)) {
		err = PTR_ERR(nics[i].inst);
		nics[i].inst = NULL;
		return err;
	}
	port = swsim_port_new(nics[i].inst, 0, name);
	if (!port)
		return -ENOMEM;
	nics[i].inst->ports[0] = port;
	port->to_cpu = swsim_nic_to_cpu;
	port->link = swsim_nic_link;

	nics[i].dev =
		alloc_netdev_mqs(sizeof(*nic), name, NET_NAME_USER, swsim_nic_setup, queues, 1);
	if (!nics[i].dev)
		return -ENOMEM;
	nic = netdev_priv(nics[i].dev);
	nic->port = port;
	nics[i].inst->txqs = swsim_txqs_new(port, nics[i].dev, queues);
	if (!nics[i].inst->txqs) {
		free_netdev(nics[i].dev);
		nics[i].dev = NULL;
		return -ENOMEM;
	}
	SET_NETDEV_DEV(nics[i].dev, &nics[i].parent->dev);
	netif_carrier_off(nics[i].dev);
	err = register_netdev(nics[i].dev);
	if (err) {
		free_netdev(nics[i].dev);
		nics[i].dev = NULL;
		return err;
	}
	rcu_assign_pointer(port->dev, nics[i].dev);
	err = swsim_wire_add(port);
	if (err)
		return err;
	err = swsim_devlink_add(nics[i].inst, NULL);
	if (err)
		return err;
	swsim_debugfs_add(nics[i].inst);
	return 0;
}

/* Takes down what swsim_nic_add() has built, as far as it came. */
static void swsim_nic_del(unsigned int i)
{
	struct swsim_port *port = nics[i].inst ? nics[i].inst->ports[0] : NULL;

	if (nics[i].inst) {
		debugfs_remove_recursive(nics[i].inst->debugfs);
		swsim_devlink_del(nics[i].inst);
		swsim_wires_del(nics[i].inst);
	}
	if (nics[i].dev) {
		swsim_port_detach(port);
		unregister_netdev(nics[i].dev); /* unbinds its blocks, which empties the table */
		free_netdev(nics[i].dev);
	}
	if (nics[i].inst) {
		swsim_txqs_free(nics[i].inst->txqs);
		swsim_inst_free(nics[i].inst);
	}
	platform_device_unregister(nics[i].parent);
}

void swsim_nics_del(void)
{
	while (nr_nics)
		swsim_nic_del(--nr_nics);
	kfree(nics);
	nics = NULL;
}

/* Adds sim0 to sim<count - 1>, with that many transmit queues each; on an error, none. */
int swsim_nics_add(unsigned int count, unsigned int queues)
{
	unsigned int i;
	int err;

	nics = kcalloc(count, sizeof(*nics), GFP_KERNEL);
	if (count && !nics)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		nr_nics = i + 1;
		err = swsim_nic_add(i, queues);
		if (err) {
			swsim_nics_del();
			return err;
		}
	}
	return 0;
}
