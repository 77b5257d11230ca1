// SPDX-License-Identifier: GPL-2.0
/*
 * The transmit queues of a NIC port. As with real ones, a frame that the kernel hands over with the
 * promise of more waits in its queue until the doorbell is rung, and ringing costs time: the CPU
 * that does it waits for a write over the bus. So a doorbell that is forgotten leaves frames behind
 * here as it would there.
 *
 * The bell is rung for a frame without that promise, when the queue stops, and when a frame is
 * refused: nothing says then that another one will come.
 */
#include <linux/etherdevice.h>
#include <linux/slab.h>

#include "swsim.h"

struct swsim_txq {
	struct netdev_queue *queue;
	struct sk_buff_head waiting; /* for the bell; under the lock of the queue, as all below */
	struct hrtimer wake;	     /* ends a stop */
	unsigned int run;	     /* frames since it was last empty, which takes stop_us */
	u64 last_ns;		     /* when the last of them came */
	unsigned long frames, bells, stops, refused;
};

struct swsim_txqs {
	struct swsim_port *port;
	u32 doorbell_ns;
	atomic_t busy_good, busy_count; /* this many are taken, and then this many refused */
	u32 stop_every, stop_us;
	unsigned int count;
	struct swsim_txq queues[];
};

static enum hrtimer_restart swsim_txq_wake(struct hrtimer *timer)
{
	struct swsim_txq *q = container_of(timer, struct swsim_txq, wake);

	netif_tx_wake_queue(q->queue);
	return HRTIMER_NORESTART;
}

/* @count queues for @dev, whose port is @port: before the device is registered. */
struct swsim_txqs *swsim_txqs_new(struct swsim_port *port, struct net_device *dev,
				  unsigned int count)
{
	struct swsim_txqs *txqs = kzalloc(struct_size(txqs, queues, count), GFP_KERNEL);
	unsigned int i;

	if (!txqs)
		return NULL;
	txqs->port = port;
	txqs->count = count;
	for (i = 0; i < count; i++) {
		struct swsim_txq *q = &txqs->queues[i];

		q->queue = netdev_get_tx_queue(dev, i);
		__skb_queue_head_init(&q->waiting);
		hrtimer_init(&q->wake, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
		q->wake.function = swsim_txq_wake;
	}
	return txqs;
}

/* The device is gone or was never there. */
void swsim_txqs_free(struct swsim_txqs *txqs)
{
	kfree(txqs);
}

/* The device goes down: what still waits for a bell is lost. rtnl is held. */
void swsim_txqs_down(struct swsim_txqs *txqs, struct net_device *dev)
{
	unsigned int i;

	netif_tx_disable(dev);
	for (i = 0; i < txqs->count; i++) {
		struct swsim_txq *q = &txqs->queues[i];
		struct sk_buff *skb;

		hrtimer_cancel(&q->wake);
		q->run = 0;
		while ((skb = __skb_dequeue(&q->waiting))) {
			local_bh_disable();
			swsim_count(txqs->port, SWSIM_LOST, skb->len);
			local_bh_enable();
			kfree_skb(skb);
		}
	}
}

/* The CPU waits for the write to arrive, and the hardware fetches what waits. */
static void swsim_txq_bell(struct swsim_txqs *txqs, struct swsim_txq *q)
{
	u32 cost = READ_ONCE(txqs->doorbell_ns);
	struct sk_buff *skb;

	q->bells++;
	if (cost) {
		u64 end = ktime_get_ns() + cost;

		while (ktime_get_ns() < end)
			cpu_relax();
	}
	while ((skb = __skb_dequeue(&q->waiting))) {
		skb_orphan(skb);
		skb_scrub_packet(skb, true);
		skb->priority = 0;
		skb->dev = q->queue->dev;
		swsim_cpu_tx(txqs->port, skb);
	}
}

/* One more frame is in the queue, which has room for @every: the last one stops it for a while. */
static void swsim_txq_fill(struct swsim_txqs *txqs, struct swsim_txq *q, u32 every)
{
	u64 now = ktime_get_ns(), empty = (u64)READ_ONCE(txqs->stop_us) * NSEC_PER_USEC;

	if (now - q->last_ns > empty)
		q->run = 0;
	q->last_ns = now;
	if (++q->run < every)
		return;
	q->run = 0;
	q->stops++;
	netif_tx_stop_queue(q->queue);
	hrtimer_start(&q->wake, ns_to_ktime(empty), HRTIMER_MODE_REL_SOFT);
}

static bool swsim_txq_refuses(struct swsim_txqs *txqs)
{
	return atomic_read(&txqs->busy_count) && atomic_dec_if_positive(&txqs->busy_good) < 0 &&
	       atomic_dec_if_positive(&txqs->busy_count) >= 0;
}

netdev_tx_t swsim_txqs_xmit(struct swsim_txqs *txqs, struct sk_buff *skb)
{
	struct swsim_txq *q = &txqs->queues[skb_get_queue_mapping(skb)];
	u32 every = READ_ONCE(txqs->stop_every);

	if (swsim_txq_refuses(txqs)) {
		q->refused++;
		if (!skb_queue_empty(&q->waiting))
			swsim_txq_bell(txqs, q);
		return NETDEV_TX_BUSY;
	}
	q->frames++;
	__skb_queue_tail(&q->waiting, skb);
	if (every)
		swsim_txq_fill(txqs, q, every);
	if (!netdev_xmit_more() || netif_xmit_stopped(q->queue))
		swsim_txq_bell(txqs, q);
	return NETDEV_TX_OK;
}

/* The knobs; swsim_inst.lock is held. A NIC port has them, a DSA switch has no queues. */
void swsim_show_tx_doorbell_ns(struct seq_file *seq, struct swsim_inst *inst)
{
	seq_printf(seq, "%u\n", inst->txqs->doorbell_ns);
}

int swsim_store_tx_doorbell_ns(struct swsim_inst *inst, char *text)
{
	u32 cost;
	int err = kstrtou32(text, 0, &cost);

	if (err)
		return err;
	if (cost > NSEC_PER_MSEC) /* with interrupts' bottom halves off, for each frame */
		return -ERANGE;
	WRITE_ONCE(inst->txqs->doorbell_ns, cost);
	return 0;
}

/* Two numbers and nothing behind them. */
static int swsim_two(const char *text, u32 *ret_a, u32 *ret_b)
{
	u32 a, b;
	int end = 0;

	if (sscanf(text, "%u %u%n", &a, &b, &end) != 2 || text[end] || a > INT_MAX || b > INT_MAX)
		return -EINVAL;
	*ret_a = a;
	*ret_b = b;
	return 0;
}

void swsim_show_tx_busy(struct seq_file *seq, struct swsim_inst *inst)
{
	seq_printf(seq, "%d %d\n", atomic_read(&inst->txqs->busy_good),
		   atomic_read(&inst->txqs->busy_count));
}

int swsim_store_tx_busy(struct swsim_inst *inst, char *text)
{
	u32 good, count;
	int err = swsim_two(text, &good, &count);

	if (err)
		return err;
	atomic_set(&inst->txqs->busy_count, 0); /* none is refused in between */
	atomic_set(&inst->txqs->busy_good, good);
	atomic_set(&inst->txqs->busy_count, count);
	return 0;
}

void swsim_show_tx_stop(struct seq_file *seq, struct swsim_inst *inst)
{
	seq_printf(seq, "%u %u\n", inst->txqs->stop_every, inst->txqs->stop_us);
}

int swsim_store_tx_stop(struct swsim_inst *inst, char *text)
{
	u32 every, us;
	unsigned int i;
	int err = swsim_two(text, &every, &us);

	if (err)
		return err;
	for (i = 0; i < inst->txqs->count; i++)
		WRITE_ONCE(inst->txqs->queues[i].run, 0);
	WRITE_ONCE(inst->txqs->stop_us, us);
	WRITE_ONCE(inst->txqs->stop_every, every);
	return 0;
}

void swsim_show_tx_queues(struct seq_file *seq, struct swsim_inst *inst)
{
	unsigned int i;

	for (i = 0; i < inst->txqs->count; i++) {
		const struct swsim_txq *q = &inst->txqs->queues[i];

		seq_printf(seq, "%u frames %lu bells %lu waiting %u stops %lu refused %lu\n", i,
			   READ_ONCE(q->frames), READ_ONCE(q->bells),
			   skb_queue_len_lockless(&q->waiting), READ_ONCE(q->stops),
			   READ_ONCE(q->refused));
	}
}
