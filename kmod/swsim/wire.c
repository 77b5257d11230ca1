// SPDX-License-Identifier: GPL-2.0
/*
 * The wire: the netdev at the far end of a port's cable. A frame sent on it arrives at the port,
 * where exec.c looks at it; a frame that leaves the port is received here. It may move to another
 * network namespace. It has a receive queue with NAPI, as a card has, so that nothing recurses and
 * a queue that is full loses frames. As it stands the CPU that sent takes them in when it is done
 * with sending, and pays for it; with /sys/class/net/sim0w/threaded a thread does, as another
 * machine would.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>

#include "swsim.h"

/* Frames in the receive queue */
#define SWSIM_WIRE_ROOM 1024
#define SWSIM_WIRE_ROOM_MAX 32768

struct swsim_wire {
	struct swsim_port *port; /* holds a reference */
	struct napi_struct napi;
	struct sk_buff_head arriving;
	u32 room; /* frames there */
};

static netdev_tx_t swsim_wire_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct swsim_wire *wire = netdev_priv(dev);

	dev_sw_netstats_tx_add(dev, 1, skb->len);
	skb_orphan(skb);
	skb_scrub_packet(skb, true);
	skb->priority = 0;
	swsim_rx(wire->port, skb);
	return NETDEV_TX_OK;
}

static int swsim_wire_poll(struct napi_struct *napi, int budget)
{
	struct swsim_wire *wire = container_of(napi, struct swsim_wire, napi);
	struct sk_buff *skb;
	int done = 0;

	while (done < budget && (skb = skb_dequeue(&wire->arriving))) {
		netif_receive_skb(skb);
		done++;
	}
	if (done < budget)
		napi_complete_done(napi, done); /* goes on if one has come in between */
	return done;
}

static int swsim_wire_open(struct net_device *dev)
{
	struct swsim_wire *wire = netdev_priv(dev);

	napi_enable(&wire->napi);
	netif_start_queue(dev);
	wire->port->link(wire->port);
	return 0;
}

static int swsim_wire_stop(struct net_device *dev)
{
	struct swsim_wire *wire = netdev_priv(dev);

	netif_stop_queue(dev);
	napi_disable(&wire->napi);
	skb_queue_purge(&wire->arriving);
	wire->port->link(wire->port);
	return 0;
}

int swsim_tstats_init(struct net_device *dev)
{
	dev->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	return dev->tstats ? 0 : -ENOMEM;
}

void swsim_tstats_uninit(struct net_device *dev)
{
	free_percpu(dev->tstats);
	dev->tstats = NULL;
}

static const struct net_device_ops swsim_wire_ops = {
	.ndo_init = swsim_tstats_init,
	.ndo_uninit = swsim_tstats_uninit,
	.ndo_open = swsim_wire_open,
	.ndo_stop = swsim_wire_stop,
	.ndo_start_xmit = swsim_wire_xmit,
	.ndo_get_stats64 = dev_get_tstats64,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

static void swsim_wire_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	strscpy(info->driver, "swsim-wire", sizeof(info->driver));
}

static void swsim_wire_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
				 struct kernel_ethtool_ringparam *kring,
				 struct netlink_ext_ack *extack)
{
	struct swsim_wire *wire = netdev_priv(dev);

	ring->rx_max_pending = SWSIM_WIRE_ROOM_MAX;
	ring->rx_pending = wire->room;
}

/* The kernel has compared it with the most. */
static int swsim_wire_set_ringparam(struct net_device *dev, struct ethtool_ringparam *ring,
				    struct kernel_ethtool_ringparam *kring,
				    struct netlink_ext_ack *extack)
{
	struct swsim_wire *wire = netdev_priv(dev);

	if (!ring->rx_pending)
		return -EINVAL;
	WRITE_ONCE(wire->room, ring->rx_pending);
	return 0;
}

static const struct ethtool_ops swsim_wire_ethtool_ops = {
	.get_drvinfo = swsim_wire_drvinfo,
	.get_ringparam = swsim_wire_ringparam,
	.set_ringparam = swsim_wire_set_ringparam,
	.get_link = ethtool_op_get_link,
};

static void swsim_wire_destroy(struct net_device *dev)
{
	struct swsim_wire *wire = netdev_priv(dev);

	skb_queue_purge(&wire->arriving);
	swsim_port_put(wire->port);
}

static void swsim_wire_setup(struct net_device *dev)
{
	ether_setup(dev);
	eth_hw_addr_random(dev);
	dev->netdev_ops = &swsim_wire_ops;
	dev->ethtool_ops = &swsim_wire_ethtool_ops;
	dev->priv_flags &= ~IFF_TX_SKB_SHARING; /* frames are changed on their way */
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE | IFF_NO_QUEUE;
	dev->needed_headroom = 16; /* room for a DSA tag and a VLAN */
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = 9216;
	swsim_set_lltx(dev);
}

/* Adds the wire of a port, named after it. */
int swsim_wire_add(struct swsim_port *port)
{
	struct swsim_wire *wire;
	struct net_device *dev;
	char name[IFNAMSIZ];
	int err;

	if (snprintf(name, sizeof(name), "%sw", port->name) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	dev = alloc_netdev(sizeof(*wire), name, NET_NAME_USER, swsim_wire_setup);
	if (!dev)
		return -ENOMEM;
	wire = netdev_priv(dev);
	wire->port = port;
	wire->room = SWSIM_WIRE_ROOM;
	skb_queue_head_init(&wire->arriving);
	netif_napi_add(dev, &wire->napi, swsim_wire_poll);
	kref_get(&port->ref);
	rtnl_lock();
	err = register_netdevice(dev);
	if (!err) {
		dev->needs_free_netdev = true;
		dev->priv_destructor = swsim_wire_destroy;
		rcu_assign_pointer(port->wire, dev);
	}
	rtnl_unlock();
	if (err) {
		swsim_port_put(port);
		free_netdev(dev);
	}
	return err;
}

/*
 * Takes the wires of all ports of an instance away, in whatever namespaces they are: together,
 * since one by one takes seconds with 52 of them. Takes rtnl.
 */
void swsim_wires_del(struct swsim_inst *inst)
{
	LIST_HEAD(kill);
	unsigned int i;

	rtnl_lock();
	for (i = 0; i < inst->nports; i++) {
		struct swsim_port *port = inst->ports[i];
		struct net_device *dev = port ? rtnl_dereference(port->wire) : NULL;

		if (!dev)
			continue;
		RCU_INIT_POINTER(port->wire, NULL);
		unregister_netdevice_queue(dev, &kill);
	}
	unregister_netdevice_many(&kill); /* waits for RCU, so that no frame is on its way here */
	rtnl_unlock();			  /* frees them */
}

/* Is the other end of the cable up? rtnl is held. */
bool swsim_wire_up(const struct swsim_port *port)
{
	const struct net_device *dev = rtnl_dereference(port->wire);

	return dev && netif_running(dev) && port->carrier;
}

/*
 * A frame leaves the port: data at the network header, BH off, RCU read lock held. Owns the frame.
 * The length that the port counts includes a VLAN tag that is kept beside the data.
 */
void swsim_wire_out(struct swsim_port *port, struct sk_buff *skb)
{
	struct net_device *dev = rcu_dereference(port->wire);
	struct swsim_wire *wire;
	unsigned int len;

	__skb_push(skb, -skb_mac_offset(skb));
	len = skb->len + (skb_vlan_tag_present(skb) ? VLAN_HLEN : 0);
	if (!dev || !netif_running(dev) || !READ_ONCE(port->carrier)) {
		swsim_count(port, SWSIM_LOST, len);
		kfree_skb(skb);
		return;
	}
	swsim_count(port, SWSIM_TX, len);
	skb->pkt_type = PACKET_HOST;
	skb->protocol = eth_type_trans(skb, dev);
	wire = netdev_priv(dev);
	if (skb_queue_len_lockless(&wire->arriving) >= READ_ONCE(wire->room)) {
		dev_core_stats_rx_dropped_inc(dev);
		kfree_skb(skb);
		return;
	}
	dev_sw_netstats_rx_add(dev, len);
	skb_queue_tail(&wire->arriving, skb);
	napi_schedule(&wire->napi);
}
