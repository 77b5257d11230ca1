// SPDX-License-Identifier: GPL-2.0
/*
 * The conduit: the netdev (cpu0) through which the kernel and the switches of one tree exchange
 * tagged frames. What the kernel sends on it is untagged here and goes to the port that the tag
 * names; the other way is swsim_dsa_to_cpu().
 */
#include <linux/etherdevice.h>
#include <linux/idr.h>
#include <linux/of.h>
#include <linux/platform_device.h>

#include "swsim.h"

struct swsim_conduit {
	struct swsim_inst __rcu *switches[32]; /* by index in the tree */
	int number;			       /* of the name */
};

static DEFINE_IDA(swsim_conduit_ida);
static int first_of; /* number of the first conduit from a device tree */

static netdev_tx_t swsim_conduit_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct swsim_conduit *conduit = netdev_priv(dev);
	unsigned int sw, index, len = skb->len;
	struct dsa_port *cpu_dp = READ_ONCE(dev->dsa_ptr);
	struct swsim_inst *inst;
	struct swsim_port *port;

	if (!cpu_dp || !cpu_dp->tag_ops) {
		kfree_skb(skb);
		goto error;
	}
	skb_orphan(skb);
	skb_scrub_packet(skb, true);
	skb->priority = 0;
	skb = swsim_dsa_untag(skb, cpu_dp->tag_ops->proto, &sw, &index);
	if (!skb)
		goto error;
	dev_sw_netstats_tx_add(dev, 1, len);
	rcu_read_lock();
	inst = rcu_dereference(conduit->switches[sw]);
	port = inst && index < inst->nports ? inst->ports[index] : NULL;
	if (port)
		swsim_cpu_tx(port, skb);
	else
		kfree_skb(skb);
	rcu_read_unlock();
	return NETDEV_TX_OK;
error:
	DEV_STATS_INC(dev, tx_errors);
	return NETDEV_TX_OK;
}

static const struct net_device_ops swsim_conduit_ops = {
	.ndo_init = swsim_tstats_init,
	.ndo_uninit = swsim_tstats_uninit,
	.ndo_start_xmit = swsim_conduit_xmit,
	.ndo_get_stats64 = dev_get_tstats64,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
};

static void swsim_conduit_setup(struct net_device *dev)
{
	ether_setup(dev);
	eth_hw_addr_random(dev);
	dev->netdev_ops = &swsim_conduit_ops;
	dev->priv_flags &= ~IFF_TX_SKB_SHARING;
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE | IFF_NO_QUEUE;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = 9216; /* jumbo frames and the tag */
	swsim_set_lltx(dev);
}

static int swsim_conduit_probe(struct platform_device *pdev)
{
	struct swsim_conduit *conduit;
	struct net_device *dev;
	char name[IFNAMSIZ];
	int number, err;

	/* cpu0 is the conduit of the module parameters, when there is one */
	number = pdev->dev.of_node ? ida_alloc_min(&swsim_conduit_ida, first_of, GFP_KERNEL)
				   : ida_alloc(&swsim_conduit_ida, GFP_KERNEL);
	if (number < 0)
		return number;
	snprintf(name, sizeof(name), "cpu%d", number);
	dev = alloc_netdev(sizeof(*conduit), name, NET_NAME_USER, swsim_conduit_setup);
	if (!dev) {
		ida_free(&swsim_conduit_ida, number);
		return -ENOMEM;
	}
	SET_NETDEV_DEV(dev, &pdev->dev);
	dev->dev.of_node = pdev->dev.of_node;
	conduit = netdev_priv(dev);
	conduit->number = number;
	err = register_netdev(dev);
	if (err) {
		free_netdev(dev);
		ida_free(&swsim_conduit_ida, number);
		return err;
	}
	platform_set_drvdata(pdev, dev);
	return 0;
}

static SWSIM_REMOVE_TYPE swsim_conduit_remove(struct platform_device *pdev)
{
	struct net_device *dev = platform_get_drvdata(pdev);
	struct swsim_conduit *conduit = netdev_priv(dev);
	int number = conduit->number;

	unregister_netdev(dev);
	free_netdev(dev);
	ida_free(&swsim_conduit_ida, number);
	SWSIM_REMOVE_DONE;
}

/* Frames for switch @index of the tree behind this conduit go to @inst from now on. */
int swsim_conduit_join(struct net_device *dev, unsigned int index, struct swsim_inst *inst)
{
	struct swsim_conduit *conduit;

	if (!dev || dev->netdev_ops != &swsim_conduit_ops)
		return -EINVAL;
	conduit = netdev_priv(dev);
	if (index >= ARRAY_SIZE(conduit->switches))
		return -ERANGE;
	rcu_assign_pointer(conduit->switches[index], inst);
	return 0;
}

/* The caller waits for RCU readers before it frees the instance. */
void swsim_conduit_leave(struct net_device *dev, unsigned int index)
{
	struct swsim_conduit *conduit;

	if (!dev || dev->netdev_ops != &swsim_conduit_ops)
		return;
	conduit = netdev_priv(dev);
	if (index < ARRAY_SIZE(conduit->switches))
		RCU_INIT_POINTER(conduit->switches[index], NULL);
}

static const struct of_device_id swsim_conduit_of[] = { { .compatible = "swd,swsim-conduit" }, {} };

static struct platform_driver swsim_conduit_driver = {
	.probe = swsim_conduit_probe,
	.remove = swsim_conduit_remove,
	.driver = { .name = "swsim-conduit", .of_match_table = swsim_conduit_of },
};

/* @pdata: cpu0 is kept for the switch of the module parameters. */
int swsim_conduits_init(bool pdata)
{
	first_of = pdata;
	return platform_driver_register(&swsim_conduit_driver);
}

void swsim_conduits_exit(void)
{
	platform_driver_unregister(&swsim_conduit_driver);
	ida_destroy(&swsim_conduit_ida);
}
