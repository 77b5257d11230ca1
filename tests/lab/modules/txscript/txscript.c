// SPDX-License-Identifier: GPL-2.0
/* A network device that does what the frames it is given say, and keeps a log of them: so a test
 *has a busy driver, a change of queue or a lost carrier at the very frame it wants it, within one
 *send.
 *
 *	ip link add NAME numtxqueues N type txscript
 *
 * A frame that it takes waits in its queue until the doorbell is rung, as with hardware: for a
 *frame without the promise of more, when the queue stops, and when a frame is refused.
 */
#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>
#include <net/rtnetlink.h>

/* Behind the Ethernet header */
struct txscript_order {
	u8 queue;
	u8 what;
	__be16 times; /* that it is not taken */
	__be32 id;
} __packed;

enum txscript_what {
	TXSCRIPT_TAKE,	  /* it leaves with the next bell */
	TXSCRIPT_BUSY,	  /* refused that often, then taken */
	TXSCRIPT_ORPHAN,  /* the same, and its socket loses the refused frame */
	TXSCRIPT_FAIL,	  /* consumed with an error that often, then taken */
	TXSCRIPT_STOP,	  /* taken, and the queue stops */
	TXSCRIPT_CARRIER, /* taken, and the carrier is lost */
	TXSCRIPT_HOLD,	  /* taken, and done with only when released */
};

enum txscript_said {
	TXSCRIPT_TAKEN,
	TXSCRIPT_REFUSED,
	TXSCRIPT_FAILED,
	TXSCRIPT_LOST, /* it was taken, and no bell was rung for it */
};

struct txscript_entry {
	u32 id;
	u8 queue;
	u8 what;
	u8 said;
	u8 more;
	u32 bells; /* of the device, this frame's included */
};

struct txscript_queue {
	struct sk_buff_head waiting; /* for the bell; under the lock of the queue */
	u32 not_taken;		     /* a frame's id, and how often */
	u32 times;
};

struct txscript {
	struct txscript_queue *queues;
	struct sk_buff_head held;
	u32 bells;
	struct dentry *dir;
};

#define TXSCRIPT_ENTRIES (1 << 16)

static DEFINE_SPINLOCK(txscript_lock); /* of the log, and of bells */
static struct txscript_entry *txscript_log;
static unsigned int txscript_entries;
static struct dentry *txscript_root;

static void txscript_note(struct txscript *ts, const struct txscript_order *order, u8 said,
			  bool more, bool bell)
{
	spin_lock_bh(&txscript_lock);
	ts->bells += bell;
	if (txscript_entries < TXSCRIPT_ENTRIES)
		txscript_log[txscript_entries++] = (struct txscript_entry){
			.id = be32_to_cpu(order->id),
			.queue = order->queue,
			.what = order->what,
			.said = said,
			.more = more,
			.bells = ts->bells,
		};
	spin_unlock_bh(&txscript_lock);
}

static const struct txscript_order *txscript_order(const struct sk_buff *skb,
						   struct txscript_order *space)
{
	static const struct txscript_order none;
	const struct txscript_order *order =
		skb_header_pointer(skb, ETH_HLEN, sizeof(*space), space);

	return order ?: &none;
}

static u16 txscript_select(struct net_device *dev, struct sk_buff *skb, struct net_device *sb_dev)
{
	struct txscript_order space;

	/* A device that goes has none left. */
	return txscript_order(skb, &space)->queue % (dev->real_num_tx_queues ?: 1);
}

static void txscript_bell(struct txscript *ts, struct txscript_queue *q)
{
	struct txscript_order space;
	struct sk_buff *skb;

	while ((skb = __skb_dequeue(&q->waiting))) {
		if (txscript_order(skb, &space)->what == TXSCRIPT_HOLD)
			skb_queue_tail(&ts->held, skb);
		else
			dev_consume_skb_any(skb);
	}
}

/* A frame is not taken, so it does not keep the promise of those before it. */
static netdev_tx_t txscript_not(struct txscript *ts, struct txscript_queue *q, struct sk_buff *skb,
				const struct txscript_order *order)
{
	bool fail = order->what == TXSCRIPT_FAIL;

	txscript_note(ts, order, fail ? TXSCRIPT_FAILED : TXSCRIPT_REFUSED, netdev_xmit_more(),
		      !skb_queue_empty(&q->waiting));
	txscript_bell(ts, q);
	q->not_taken = be32_to_cpu(order->id);
	q->times++;
	if (fail) {
		dev_kfree_skb_any(skb);
		return (netdev_tx_t)-EIO;
	}
	if (order->what == TXSCRIPT_ORPHAN)
		skb_orphan(skb);
	return NETDEV_TX_BUSY;
}

static netdev_tx_t txscript_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct netdev_queue *txq = skb_get_tx_queue(dev, skb);
	struct txscript *ts = netdev_priv(dev);
	struct txscript_queue *q = &ts->queues[skb_get_queue_mapping(skb)];
	struct txscript_order space;
	const struct txscript_order *order = txscript_order(skb, &space);
	bool more = netdev_xmit_more(), bell;

	if (be32_to_cpu(order->id) != q->not_taken)
		q->times = 0;
	switch ((enum txscript_what)order->what) {
	case TXSCRIPT_BUSY:
	case TXSCRIPT_ORPHAN:
	case TXSCRIPT_FAIL:
		if (q->times < be16_to_cpu(order->times))
			return txscript_not(ts, q, skb, order);
		break;
	case TXSCRIPT_STOP:
		netif_tx_stop_queue(txq);
		break;
	case TXSCRIPT_CARRIER:
		netif_carrier_off(dev);
		break;
	case TXSCRIPT_TAKE:
	case TXSCRIPT_HOLD:
		break;
	}
	dev_sw_netstats_tx_add(dev, 1, skb->len);
	q->times = 0;
	bell = !more || netif_xmit_stopped(txq);
	txscript_note(ts, order, TXSCRIPT_TAKEN, more, bell);
	__skb_queue_tail(&q->waiting, skb);
	if (bell)
		txscript_bell(ts, q);
	return NETDEV_TX_OK;
}

static int txscript_open(struct net_device *dev)
{
	netif_tx_start_all_queues(dev);
	netif_carrier_on(dev);
	return 0;
}

/* Nobody is sending: what waits for a bell now has waited in vain. */
static void txscript_lose(struct net_device *dev)
{
	struct txscript *ts = netdev_priv(dev);
	struct txscript_order space;
	struct sk_buff *skb;
	unsigned int i;

	for (i = 0; i < dev->num_tx_queues; i++) {
		struct netdev_queue *txq = netdev_get_tx_queue(dev, i);

		__netif_tx_lock_bh(txq);
		while ((skb = __skb_dequeue(&ts->queues[i].waiting))) {
			txscript_note(ts, txscript_order(skb, &space), TXSCRIPT_LOST, false, false);
			dev_kfree_skb_any(skb);
		}
		__netif_tx_unlock_bh(txq);
	}
}

static int txscript_stop(struct net_device *dev)
{
	struct txscript *ts = netdev_priv(dev);

	netif_tx_disable(dev);
	txscript_lose(dev);
	skb_queue_purge(&ts->held);
	return 0;
}

static ssize_t txscript_log_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	return simple_read_from_buffer(to, size, at, txscript_log,
				       READ_ONCE(txscript_entries) * sizeof(*txscript_log));
}

static ssize_t txscript_log_write(struct file *file, const char __user *from, size_t size,
				  loff_t *at)
{
	WRITE_ONCE(txscript_entries, 0);
	return size;
}

static const struct file_operations txscript_log_fops = {
	.owner = THIS_MODULE,
	.read = txscript_log_read,
	.write = txscript_log_write,
};

/* All queues run again, the carrier is back, and what is held is done with. */
static ssize_t txscript_release_write(struct file *file, const char __user *from, size_t size,
				      loff_t *at)
{
	struct net_device *dev = file_inode(file)->i_private;
	struct txscript *ts = netdev_priv(dev);

	txscript_lose(dev);
	if (netif_running(dev)) {
		netif_tx_wake_all_queues(dev);
		netif_carrier_on(dev);
	}
	skb_queue_purge(&ts->held);
	return size;
}

static const struct file_operations txscript_release_fops = {
	.owner = THIS_MODULE,
	.write = txscript_release_write,
};

static int txscript_init(struct net_device *dev)
{
	struct txscript *ts = netdev_priv(dev);
	unsigned int i;

	ts->queues = kcalloc(dev->num_tx_queues, sizeof(*ts->queues), GFP_KERNEL);
	dev->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	if (!ts->queues || !dev->tstats) {
		kfree(ts->queues);
		free_percpu(dev->tstats);
		return -ENOMEM;
	}
	for (i = 0; i < dev->num_tx_queues; i++)
		__skb_queue_head_init(&ts->queues[i].waiting);
	skb_queue_head_init(&ts->held);
	ts->dir = debugfs_create_dir(dev->name, txscript_root);
	debugfs_create_file("release", 0200, ts->dir, dev, &txscript_release_fops);
	return 0;
}

static void txscript_uninit(struct net_device *dev)
{
	struct txscript *ts = netdev_priv(dev);

	debugfs_remove_recursive(ts->dir);
	kfree(ts->queues);
	free_percpu(dev->tstats);
}

static const struct net_device_ops txscript_ops = {
	.ndo_init = txscript_init,
	.ndo_uninit = txscript_uninit,
	.ndo_open = txscript_open,
	.ndo_stop = txscript_stop,
	.ndo_start_xmit = txscript_xmit,
	.ndo_select_queue = txscript_select,
	.ndo_get_stats64 = dev_get_tstats64,
};

static void txscript_setup(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &txscript_ops;
	dev->needs_free_netdev = true;
	dev->priv_flags |= IFF_NO_QUEUE;
	dev->features |= NETIF_F_SG | NETIF_F_HIGHDMA;
	dev->hw_features |= NETIF_F_SG;
	eth_hw_addr_random(dev);
}

static struct rtnl_link_ops txscript_link = {
	.kind = "txscript",
	.priv_size = sizeof(struct txscript),
	.setup = txscript_setup,
};

static int __init txscript_start(void)
{
	int err;

	txscript_log = vzalloc(array_size(TXSCRIPT_ENTRIES, sizeof(*txscript_log)));
	if (!txscript_log)
		return -ENOMEM;
	txscript_root = debugfs_create_dir("txscript", NULL);
	debugfs_create_file("log", 0600, txscript_root, NULL, &txscript_log_fops);
	err = rtnl_link_register(&txscript_link);
	if (err) {
		debugfs_remove_recursive(txscript_root);
		vfree(txscript_log);
	}
	return err;
}
module_init(txscript_start);

static void __exit txscript_end(void)
{
	rtnl_link_unregister(&txscript_link);
	debugfs_remove_recursive(txscript_root);
	vfree(txscript_log);
}
module_exit(txscript_end);

MODULE_ALIAS_RTNL_LINK("txscript");
MODULE_DESCRIPTION("A transmit side that does what frames say, for the lab");
MODULE_LICENSE("GPL");
