// SPDX-License-Identifier: GPL-2.0
/*
 * A port: its lifetime, counters and carrier. Rules of other instances may redirect to a port, so
 * it is reference-counted and outlives its netdev; then frames sent to it are lost.
 */
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "swsim.h"

struct swsim_port *swsim_port_new(struct swsim_inst *inst, int index, const char *name)
{
	struct swsim_port *port;

	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return NULL;
	port->counts = netdev_alloc_pcpu_stats(struct swsim_pcpu);
	if (!port->counts) {
		kfree(port);
		return NULL;
	}
	kref_init(&port->ref);
	port->inst = inst;
	port->index = index;
	port->carrier = true;
	strscpy(port->name, name, sizeof(port->name));
	return port;
}

static void swsim_port_free_rcu(struct rcu_head *head)
{
	struct swsim_port *port = container_of(head, struct swsim_port, rcu);

	free_percpu(port->counts);
	kfree(port);
}

static void swsim_port_release(struct kref *ref)
{
	struct swsim_port *port = container_of(ref, struct swsim_port, ref);

	call_rcu(&port->rcu, swsim_port_free_rcu);
}

/* From any context. */
void swsim_port_put(struct swsim_port *port)
{
	kref_put(&port->ref, swsim_port_release);
}

/* The netdev is about to go: no frame finds it from here on, once RCU readers are through. */
void swsim_port_detach(struct swsim_port *port)
{
	RCU_INIT_POINTER(port->dev, NULL);
}

/* The port of a netdev, whatever its form, or NULL when it is none of ours. rtnl is held. */
struct swsim_port *swsim_port_of(struct net_device *dev)
{
	struct swsim_port *port = swsim_nic_port(dev);

	return port ? port : swsim_dsa_port(dev);
}

/* Can frames pass between @dev, the port's netdev, and the wire? */
bool swsim_port_up(const struct swsim_port *port, const struct net_device *dev)
{
	return dev && netif_running(dev) && READ_ONCE(port->carrier);
}

/* BH is off. */
void swsim_count(struct swsim_port *port, enum swsim_count what, unsigned int len)
{
	struct swsim_pcpu *counts = this_cpu_ptr(port->counts);

	u64_stats_update_begin(&counts->syncp);
	u64_stats_inc(&counts->packets[what]);
	u64_stats_add(&counts->bytes[what], len);
	u64_stats_update_end(&counts->syncp);
}

/* Sums of all CPUs; each array has SWSIM_COUNTS members, which are added to. */
void swsim_counts(const struct swsim_port *port, u64 *ret_packets, u64 *ret_bytes)
{
	u64 packets[SWSIM_COUNTS], bytes[SWSIM_COUNTS];
	unsigned int start;
	int cpu, i;

	for_each_possible_cpu(cpu) {
		const struct swsim_pcpu *counts = per_cpu_ptr(port->counts, cpu);

		do {
			start = u64_stats_fetch_begin(&counts->syncp);
			for (i = 0; i < SWSIM_COUNTS; i++) {
				packets[i] = u64_stats_read(&counts->packets[i]);
				bytes[i] = u64_stats_read(&counts->bytes[i]);
			}
		} while (u64_stats_fetch_retry(&counts->syncp, start));
		for (i = 0; i < SWSIM_COUNTS; i++) {
			ret_packets[i] += packets[i];
			ret_bytes[i] += bytes[i];
		}
	}
}

/* What the hardware counts: all that passed the socket, with what no CPU has seen. */
void swsim_port_stats(struct swsim_port *port, struct rtnl_link_stats64 *stats)
{
	u64 packets[SWSIM_COUNTS] = {}, bytes[SWSIM_COUNTS] = {};

	swsim_counts(port, packets, bytes);
	stats->rx_packets = packets[SWSIM_RX];
	stats->rx_bytes = bytes[SWSIM_RX];
	stats->tx_packets = packets[SWSIM_TX];
	stats->tx_bytes = bytes[SWSIM_TX];
	stats->rx_dropped = packets[SWSIM_DROP] + packets[SWSIM_LOST];
}

/* Plugs the cable in or out, for both ends. rtnl is held. */
void swsim_set_carrier(struct swsim_port *port, bool on)
{
	struct net_device *wire = rtnl_dereference(port->wire);

	WRITE_ONCE(port->carrier, on);
	if (wire && on)
		netif_carrier_on(wire);
	else if (wire)
		netif_carrier_off(wire);
	port->link(port);
}
