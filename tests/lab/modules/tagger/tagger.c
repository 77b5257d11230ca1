// SPDX-License-Identifier: GPL-2.0
/* Hands a conduit's tagger one frame again and again, and times each call: what it costs to find
 * the port of a frame, without all that a frame costs besides. On demand the caches are filled with
 * other things before each call, as they are when a router's frames are a microsecond's work apart.
 *
 * debugfs tagger/frame: write one tagged Ethernet frame. tagger/run: write "DEVICE CALLS KIB", KIB
 * of memory read between two calls. Read it for the picoseconds of a call, from which what the
 * clock's own reading took has been taken.
 */
#include <linux/bottom_half.h>
#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>
#include <net/dsa.h>

#define TAGGER_MOST_CALLS 1000000
#define TAGGER_MOST_KIB 65536
#define TAGGER_LINE 64
#define TAGGER_ODD 20 /* one of so many at either end: something else had the CPU */

static u8 tagger_frame[ETH_FRAME_LEN];
static size_t tagger_length;
static u64 tagger_took;

static u64 tagger_clock(void)
{
	u32 low, high;

	asm volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high)::"memory");
	return (u64)high << 32 | low;
}

/* The frame as a driver leaves it: data behind the Ethernet header. */
static void tagger_renew(struct sk_buff *skb, struct net_device *dev)
{
	memcpy(skb_mac_header(skb), tagger_frame, tagger_length);
	skb->data = skb_mac_header(skb) + ETH_HLEN;
	skb->len = tagger_length - ETH_HLEN;
	skb->dev = dev;
}

static int tagger_compare(const void *a, const void *b)
{
	return *(const s32 *)a < *(const s32 *)b ? -1 : *(const s32 *)a > *(const s32 *)b;
}

static int tagger_calls(struct net_device *dev, s32 *samples, u32 count, u8 *other, size_t size)
{
	struct dsa_port *cpu_dp = dev->dsa_ptr;
	struct sk_buff *skb = netdev_alloc_skb(dev, sizeof(tagger_frame));
	int ret = 0;
	u32 i;

	if (!skb)
		return -ENOMEM;
	skb_put(skb, tagger_length);
	skb_reset_mac_header(skb);
	for (i = 0; i < count && !ret; i++) {
		u64 start, between;
		size_t at;

		for (at = 0; at < size; at += TAGGER_LINE)
			READ_ONCE(other[at]);
		local_bh_disable();
		rcu_read_lock();
		tagger_renew(skb, dev);
		start = tagger_clock();
		between = tagger_clock();
		ret = cpu_dp->rcv(skb, dev) ? 0 : -ENOENT;
		samples[i] = min_t(u64, tagger_clock() - between, S32_MAX) - (between - start);
		rcu_read_unlock();
		local_bh_enable();
		cond_resched();
	}
	skb->dev = NULL;
	kfree_skb(skb);
	return ret;
}

/* The mean, and not the median: the clock's steps may be longer than what is looked for. */
static u64 tagger_mean(s32 *samples, u32 count)
{
	u32 i, odd = count / TAGGER_ODD;
	s64 sum = 0;

	sort(samples, count, sizeof(*samples), tagger_compare, NULL);
	for (i = odd; i < count - odd; i++)
		sum += samples[i];
	return div_u64(max_t(s64, sum, 0) * 1000, count - 2 * odd);
}

static int tagger_measure(struct net_device *dev, u32 count, size_t size)
{
	s32 *samples = vmalloc(array_size(count, sizeof(*samples)));
	u8 *other = vzalloc(size ?: 1);
	u64 ns = ktime_get_ns(), clocks = tagger_clock();
	int ret = -ENOMEM;

	if (samples && other) {
		rtnl_lock();
		ret = netdev_uses_dsa(dev) ? tagger_calls(dev, samples, count, other, size)
					   : -EINVAL;
		rtnl_unlock();
	}
	if (!ret) {
		ns = ktime_get_ns() - ns;
		clocks = tagger_clock() - clocks;
		tagger_took = mul_u64_u64_div_u64(tagger_mean(samples, count), ns, clocks);
	}
	vfree(other);
	vfree(samples);
	return ret;
}

static ssize_t tagger_run_write(struct file *file, const char __user *from, size_t size,
				loff_t *pos)
{
	char line[64], name[IFNAMSIZ];
	struct net_device *dev;
	u32 count, kib;
	int ret;

	if (size >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, size))
		return -EFAULT;
	line[size] = '\0';
	if (sscanf(line, "%15s %u %u", name, &count, &kib) != 3 || !count ||
	    count > TAGGER_MOST_CALLS || kib > TAGGER_MOST_KIB || !tagger_length)
		return -EINVAL;
	dev = dev_get_by_name(current->nsproxy->net_ns, name);
	if (!dev)
		return -ENODEV;
	ret = tagger_measure(dev, count, kib * 1024ul);
	dev_put(dev);
	return ret ?: size;
}

static ssize_t tagger_run_read(struct file *file, char __user *to, size_t size, loff_t *pos)
{
	char line[24];

	return simple_read_from_buffer(to, size, pos, line,
				       scnprintf(line, sizeof(line), "%llu\n", tagger_took));
}

static ssize_t tagger_frame_write(struct file *file, const char __user *from, size_t size,
				  loff_t *pos)
{
	if (size < ETH_ZLEN || size > sizeof(tagger_frame))
		return -EINVAL;
	tagger_length = copy_from_user(tagger_frame, from, size) ? 0 : size;
	return tagger_length ? size : -EFAULT;
}

static const struct file_operations tagger_run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = tagger_run_read,
	.write = tagger_run_write,
};

static const struct file_operations tagger_frame_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = tagger_frame_write,
};

static struct dentry *tagger_dir;

static int __init tagger_init(void)
{
	tagger_dir = debugfs_create_dir("tagger", NULL);
	debugfs_create_file("run", 0600, tagger_dir, NULL, &tagger_run_fops);
	debugfs_create_file("frame", 0200, tagger_dir, NULL, &tagger_frame_fops);
	return 0;
}
module_init(tagger_init);

static void __exit tagger_exit(void)
{
	debugfs_remove_recursive(tagger_dir);
}
module_exit(tagger_exit);

MODULE_DESCRIPTION("A conduit's tagger, called and timed, for benchmarks");
MODULE_LICENSE("GPL");
