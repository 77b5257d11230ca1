// SPDX-License-Identifier: GPL-2.0
/*
 * Token buckets. Rules that share a police action (one index in tc) share its bucket within an
 * instance. Bytes are those of the frame with its Ethernet header and tags, without the FCS.
 */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "swsim.h"

struct swsim_policer {
	struct kref ref;
	struct list_head node; /* in swsim_inst.policers while it can be shared */
	u32 index;
	u64 rate_bytes, rate_packets; /* a second; 0: no limit */
	u64 burst_ns, burst_packets_ns;
	u32 mtu;
	spinlock_t lock;	   /* protects what follows */
	u64 then;		   /* ns */
	s64 tokens, packet_tokens; /* ns of sending at the rate */
};

static DEFINE_SPINLOCK(policers_lock); /* protects all lists of policers */

static u64 swsim_ns(u64 amount, u64 rate)
{
	return rate ? mul_u64_u64_div_u64(amount, NSEC_PER_SEC, rate) : 0;
}

/* The instance's bucket for police action @index, or a new one; 0 is never shared. */
struct swsim_policer *swsim_policer_get(struct swsim_inst *inst, u32 index, u64 rate_bytes,
					u32 burst, u64 rate_packets, u64 burst_packets, u32 mtu)
{
	struct swsim_policer *policer;

	spin_lock_bh(&policers_lock);
	list_for_each_entry(policer, &inst->policers, node)
		if (index && policer->index == index && policer->rate_bytes == rate_bytes &&
		    policer->rate_packets == rate_packets &&
		    policer->burst_ns == swsim_ns(burst, rate_bytes) && policer->mtu == mtu &&
		    kref_get_unless_zero(&policer->ref)) {
			spin_unlock_bh(&policers_lock);
			return policer;
		}
	spin_unlock_bh(&policers_lock);

	policer = kzalloc(sizeof(*policer), GFP_KERNEL);
	if (!policer)
		return NULL;
	kref_init(&policer->ref);
	spin_lock_init(&policer->lock);
	policer->index = index;
	policer->rate_bytes = rate_bytes;
	policer->rate_packets = rate_packets;
	policer->burst_ns = swsim_ns(burst, rate_bytes);
	policer->burst_packets_ns = swsim_ns(burst_packets, rate_packets);
	policer->mtu = mtu;
	policer->then = ktime_get_ns();
	policer->tokens = policer->burst_ns;
	policer->packet_tokens = policer->burst_packets_ns;
	spin_lock_bh(&policers_lock);
	list_add(&policer->node, &inst->policers);
	spin_unlock_bh(&policers_lock);
	return policer;
}

static void swsim_policer_release(struct kref *ref)
{
	struct swsim_policer *policer = container_of(ref, struct swsim_policer, ref);

	spin_lock_bh(&policers_lock);
	list_del(&policer->node);
	spin_unlock_bh(&policers_lock);
	kfree(policer);
}

void swsim_policer_put(struct swsim_policer *policer)
{
	kref_put(&policer->ref, swsim_policer_release);
}

/* Does a frame of @len bytes conform? Takes its tokens if so. BH is off. */
bool swsim_policer_pass(struct swsim_policer *policer, unsigned int len)
{
	bool ret = false;
	s64 bytes, packets;
	u64 now;

	if (len > policer->mtu)
		return false;
	spin_lock(&policer->lock);
	now = ktime_get_ns();
	bytes = min_t(u64, policer->tokens + (now - policer->then), policer->burst_ns);
	packets = min_t(u64, policer->packet_tokens + (now - policer->then),
			policer->burst_packets_ns);
	policer->then = now;
	bytes -= swsim_ns(len, policer->rate_bytes);
	packets -= swsim_ns(1, policer->rate_packets);
	if (bytes >= 0 && packets >= 0) {
		policer->tokens = bytes;
		policer->packet_tokens = packets;
		ret = true;
	} else {
		policer->tokens = bytes + swsim_ns(len, policer->rate_bytes);
		policer->packet_tokens = packets + swsim_ns(1, policer->rate_packets);
	}
	spin_unlock(&policer->lock);
	return ret;
}
