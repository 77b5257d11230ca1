// SPDX-License-Identifier: GPL-2.0
/* Hands frames to the stack as a port's driver does, and times it: what pktgen's netif_receive mode
 * does, and beside that frames which hardware left in a chain of its rules, as a switch does that
 * jumps to a chain it does not have, and frames without a tag whose port stands in metadata beside
 * them, as a card has it that takes the tags of a switch off.
 *
 * debugfs inject/frame: write one Ethernet frame. inject/run: write "DEVICE FRAMES [chain N | port
 * N]"; the write returns when all of them were received. Read it for the nanoseconds this took.
 */
#include <linux/bottom_half.h>
#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <net/dst_metadata.h>
#include <net/pkt_cls.h>

#define INJECT_BATCH 64	   /* frames between two looks at what else wants the CPU, as NAPI has it */
#define INJECT_MOST 10000000

static DEFINE_MUTEX(inject_lock);
static u8 inject_frame[ETH_FRAME_LEN + VLAN_HLEN];
static size_t inject_length;
static u64 inject_took;

static struct sk_buff *inject_build(struct net_device *dev, u32 chain, struct metadata_dst *port)
{
	struct sk_buff *skb = netdev_alloc_skb_ip_align(dev, inject_length);

	if (!skb)
		return NULL;
	skb_put_data(skb, inject_frame, inject_length);
	skb->protocol = eth_type_trans(skb, dev);
	if (chain) {
		struct tc_skb_ext *ext = tc_skb_ext_alloc(skb);

		if (!ext) {
			kfree_skb(skb);
			return NULL;
		}
		ext->chain = chain;
	}
	if (port) {
		dst_hold(&port->dst);
		skb_dst_set(skb, &port->dst);
	}
	return skb;
}

static int inject_all(struct net_device *dev, u32 count, u32 chain, struct metadata_dst *port)
{
	u64 start = ktime_get_ns();

	while (count) {
		u32 batch = min_t(u32, count, INJECT_BATCH);

		count -= batch;
		local_bh_disable();
		for (; batch; batch--) {
			struct sk_buff *skb = inject_build(dev, chain, port);

			if (!skb) {
				local_bh_enable();
				return -ENOMEM;
			}
			netif_receive_skb(skb);
		}
		local_bh_enable();
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	inject_took = ktime_get_ns() - start;
	return 0;
}

static int inject_from_port(struct net_device *dev, u32 count, u32 number)
{
	struct metadata_dst *port = metadata_dst_alloc(0, METADATA_HW_PORT_MUX, GFP_KERNEL);
	int ret;

	if (!port)
		return -ENOMEM;
	port->u.port_info.port_id = number;
	ret = inject_all(dev, count, 0, port);
	dst_release(&port->dst); /* frames may be on their way */
	return ret;
}

static ssize_t inject_run_write(struct file *file, const char __user *from, size_t size,
				loff_t *pos)
{
	char line[64], name[IFNAMSIZ], what[8] = "chain";
	u32 count, number = 0;
	struct net_device *dev;
	bool port;
	int ret;

	if (size >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, size))
		return -EFAULT;
	line[size] = '\0';
	ret = sscanf(line, "%15s %u %7s %u", name, &count, what, &number);
	port = !strcmp(what, "port");
	if ((ret != 2 && ret != 4) || count > INJECT_MOST || (!port && strcmp(what, "chain")))
		return -EINVAL;

	dev = dev_get_by_name(current->nsproxy->net_ns, name);
	if (!dev)
		return -ENODEV;
	mutex_lock(&inject_lock);
	if (!(dev->flags & IFF_UP))
		ret = -ENETDOWN;
	else if (!inject_length)
		ret = -ENODATA;
	else if (port)
		ret = inject_from_port(dev, count, number);
	else
		ret = inject_all(dev, count, number, NULL);
	mutex_unlock(&inject_lock);
	dev_put(dev);
	return ret ? ret : size;
}

static ssize_t inject_run_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	char line[24];

	return simple_read_from_buffer(to, size, pos, line,
				       scnprintf(line, sizeof(line), "%llu\n", inject_took));
}

static ssize_t inject_frame_write(struct file *file, const char __user *from, size_t size,
				  loff_t *pos)
{
	int ret = 0;

	if (size < ETH_ZLEN || size > sizeof(inject_frame))
		return -EINVAL;
	mutex_lock(&inject_lock);
	inject_length = size;
	if (copy_from_user(inject_frame, from, size)) {
		inject_length = 0;
		ret = -EFAULT;
	}
	mutex_unlock(&inject_lock);
	return ret ? ret : size;
}

static const struct file_operations inject_run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = inject_run_read,
	.write = inject_run_write,
};

static const struct file_operations inject_frame_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = inject_frame_write,
};

static struct dentry *inject_dir;

static int __init inject_init(void)
{
	tc_skb_ext_tc_enable();
	inject_dir = debugfs_create_dir("inject", NULL);
	debugfs_create_file("run", 0600, inject_dir, NULL, &inject_run_fops);
	debugfs_create_file("frame", 0200, inject_dir, NULL, &inject_frame_fops);
	return 0;
}
module_init(inject_init);

static void __exit inject_exit(void)
{
	debugfs_remove_recursive(inject_dir);
	tc_skb_ext_tc_disable();
}
module_exit(inject_exit);

MODULE_DESCRIPTION("Frames at a port's receive path, for benchmarks");
MODULE_LICENSE("GPL");
