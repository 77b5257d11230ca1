/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The nouns of the virtual switch, shared by all its files.
 *
 *   instance  one piece of hardware: a NIC port of its own (sim0) or one DSA switch (dsa0). It
 *             owns the rules and the limits that are imitated.
 *   port      one socket of an instance. It has a netdev towards the kernel and a wire.
 *   wire      the netdev at the other end of the cable.
 *   ruleset   what is looked up for a frame at a port in one direction: chains of groups.
 *   group     all rules of a ruleset with one chain, pref, protocol and mask.
 *   rule      what one tc filter became, whatever number of ports it is bound to.
 *   entry     one rule in one ruleset.
 *
 * Rules are changed under swsim_inst.lock (mostly with rtnl held as well) and read under RCU.
 */
#ifndef SWSIM_H
#define SWSIM_H

#include <linux/if_vlan.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rhashtable.h>
#include <linux/seq_file.h>
#include <linux/u64_stats_sync.h>
#include <net/flow_dissector.h>
#include <net/flow_offload.h>
#include <net/pkt_cls.h>

#include "compat.h"

enum swsim_dir {
	SWSIM_INGRESS,
	SWSIM_EGRESS,
	SWSIM_DIRS
};

/*
 * What a rule can match on, and what a frame is dissected into. These are the structs of the
 * kernel's flow dissector, so that the hardware sees in a frame what cls_flower sees in it.
 */
struct swsim_key {
	struct flow_dissector_key_control control;
	struct flow_dissector_key_basic basic;
	struct flow_dissector_key_eth_addrs eth;
	struct flow_dissector_key_vlan vlan;
	struct flow_dissector_key_vlan cvlan;
	union {
		struct flow_dissector_key_ipv4_addrs ipv4;
		struct flow_dissector_key_ipv6_addrs ipv6;
	};
	struct flow_dissector_key_ports tp;
	struct flow_dissector_key_tcp tcp;
	struct flow_dissector_key_ip ip;
	struct flow_dissector_key_icmp icmp;
	struct flow_dissector_key_arp arp;
	struct flow_dissector_key_num_of_vlans num_of_vlans;
} __aligned(8);

#define SWSIM_KEY_WORDS (sizeof(struct swsim_key) / sizeof(u64))

/* A range of ports, host byte order, both ends included; @on says whether there is one. */
struct swsim_range {
	u16 min, max;
	bool on;
};

enum swsim_act_id {
	SWSIM_ACT_DROP,
	SWSIM_ACT_PASS,
	SWSIM_ACT_TRAP,
	SWSIM_ACT_GOTO,
	SWSIM_ACT_REDIRECT,
	SWSIM_ACT_MIRROR,
	SWSIM_ACT_VLAN_PUSH,
	SWSIM_ACT_VLAN_POP,
	SWSIM_ACT_VLAN_MODIFY,
	SWSIM_ACT_PEDIT,
	SWSIM_ACT_CSUM,
	SWSIM_ACT_POLICE,
	SWSIM_ACTS
};

/* Which header the offset of a pedit counts from. */
enum swsim_base {
	SWSIM_BASE_ETH,
	SWSIM_BASE_IP4,
	SWSIM_BASE_IP6
};

struct swsim_action {
	enum swsim_act_id id;
	union {
		u32 chain;
		struct swsim_port *port; /* holds a reference */
		struct {
			__be16 proto;
			u16 vid;
			u8 prio; /* for modify, 0 keeps the priority of the frame */
		} vlan;
		struct { /* word = ((word + add) & mask) ^ val, as act_pedit has it */
			enum swsim_base base;
			u32 offset, mask, val;
			bool add;
		} pedit;
		struct swsim_policer *policer; /* holds a reference */
	};
};

struct swsim_rule {
	struct rhash_head by_cookie; /* in swsim_inst.rules */
	struct list_head node;	     /* in swsim_inst.rule_list */
	struct list_head entries;    /* of swsim_entry.peer: where it is installed */
	struct swsim_inst *inst;
	unsigned long cookie;
	u32 chain, pref;
	__be16 protocol;
	bool matchall;
	struct swsim_key key, mask; /* the key is masked already */
	struct swsim_range src, dst;
	atomic64_t packets, bytes, drops;
	unsigned long lastused;			  /* jiffies */
	u64 told_packets, told_bytes, told_drops; /* what the kernel was told */
	struct rcu_head rcu;
	unsigned int nactions;
	struct swsim_action actions[];
};

struct swsim_group {
	struct list_head node;	 /* in swsim_chain.groups, ascending by pref, then by age */
	struct rb_node rb;	 /* in swsim_chain.tree, same order */
	struct list_head ranged; /* of swsim_entry.ranged: when the rules have port ranges */
	struct swsim_key mask;
	bool src_range, dst_range;
	u16 start, words; /* the part of the key that has bits in the mask, u32 words */
	u32 pref;
	u32 id; /* ascending in a ruleset */
	__be16 protocol;
	unsigned int entries;
	struct rcu_head rcu;
};

struct swsim_chain {
	struct hlist_node node; /* in swsim_ruleset.chains */
	u32 index;
	struct list_head groups;
	struct rb_root tree;
	struct rcu_head rcu;
};

struct swsim_entry {
	struct rhlist_head by_key; /* in swsim_ruleset.keys, unless the group has ranges */
	struct list_head ranged;
	struct list_head peer;
	struct swsim_ruleset *set;
	struct swsim_chain *chain;
	struct swsim_group *group;
	struct swsim_rule *rule;
	struct rcu_head rcu;
};

#define SWSIM_CHAIN_BUCKETS 64

struct swsim_ruleset {
	struct swsim_inst *inst;
	enum swsim_dir dir;
	bool chip; /* one offload callback for several ports */
	unsigned int entries;
	u32 next_group;
	struct list_head ports; /* of swsim_port.set_node[dir] */
	struct rhltable keys;
	struct hlist_head chains[SWSIM_CHAIN_BUCKETS];
};

/* Counters of a port; frames and bytes without the frame check sequence. */
enum swsim_count {
	SWSIM_RX,	/* came from the wire */
	SWSIM_TX,	/* went out on the wire */
	SWSIM_CPU_RX,	/* handed to the kernel */
	SWSIM_CPU_TX,	/* given by the kernel */
	SWSIM_FORWARD,	/* came from the wire and were redirected by a rule */
	SWSIM_MIRRORED, /* copies made by a rule */
	SWSIM_DROP,	/* dropped by a rule or a policer */
	SWSIM_LOST,	/* nobody could take them: no carrier, port down, queue full */
	SWSIM_COUNTS
};

struct swsim_pcpu {
	u64_stats_t packets[SWSIM_COUNTS];
	u64_stats_t bytes[SWSIM_COUNTS];
	struct u64_stats_sync syncp;
};

struct swsim_port {
	struct kref ref;
	struct swsim_inst *inst; /* valid until the port is taken down, under rtnl or the lock */
	char name[IFNAMSIZ];
	int index;
	struct net_device __rcu *dev;  /* towards the kernel; NULL when the port is gone */
	struct net_device __rcu *wire; /* NULL when the port is gone */
	bool carrier;		       /* the cable is in: knob of debugfs */
	bool link_up;		       /* cable in and wire up, as the link saw it last */
	/* takes the frame (data at the network header) into the kernel, and owns it */
	void (*to_cpu)(struct swsim_port *port, struct net_device *dev, struct sk_buff *skb);
	/* the link has changed; called with rtnl held */
	void (*link)(struct swsim_port *port);
	struct swsim_ruleset __rcu *set[SWSIM_DIRS];
	struct list_head set_node[SWSIM_DIRS];
	/* DSA alone: the matchall rules that its core hands down without a place in the order */
	struct swsim_port __rcu *mirror[SWSIM_DIRS];
	struct swsim_policer __rcu *policer;
	struct dsa_port *dp;
	struct swsim_pcpu __percpu *counts;
	struct rcu_head rcu;
};

/* What is imitated of narrow hardware; written through debugfs, see README.md. */
struct swsim_limits {
	u32 table_size;
	u32 pref_min, pref_max;
	u32 chain_max;
	u64 deny_fields;  /* bits: rows of fields.c */
	u32 deny_actions; /* bits: enum swsim_act_id */
	bool deny_replace, deny_equal_key;
	u32 fail_good;	/* this many installs still work ... */
	u32 fail_count; /* ... and then this many fail ... */
	int fail_errno; /* ... with this errno, positive */
	u32 install_delay_ms;
};

struct swsim_inst {
	char name[16];
	struct list_head node; /* in the list of all instances */
	struct mutex lock;
	struct rhashtable rules;
	struct list_head rule_list;
	struct list_head policers;
	u32 nrules;
	struct swsim_limits limits;
	struct dentry *debugfs;
	struct swsim_txqs *txqs; /* NULL for a DSA switch */
	struct devlink *devlink;
	bool own_devlink; /* false: it is DSA's */
	struct device *dev;
	unsigned int nports;
	struct swsim_port **ports; /* by index; NULL where there is no user port */
};

/* instance.c */
struct swsim_inst *swsim_inst_new(const char *name, struct device *dev, unsigned int nports);
void swsim_inst_free(struct swsim_inst *inst);

/* port.c: ports, their counters, and the road of a frame between wire, table and kernel */
struct swsim_port *swsim_port_new(struct swsim_inst *inst, int index, const char *name);
void swsim_port_put(struct swsim_port *port);
void swsim_port_detach(struct swsim_port *port);
struct swsim_port *swsim_port_of(struct net_device *dev);
bool swsim_port_up(const struct swsim_port *port, const struct net_device *dev);
void swsim_count(struct swsim_port *port, enum swsim_count what, unsigned int len);
void swsim_counts(const struct swsim_port *port, u64 *ret_packets, u64 *ret_bytes);
void swsim_port_stats(struct swsim_port *port, struct rtnl_link_stats64 *stats);
void swsim_set_carrier(struct swsim_port *port, bool on);

/* wire.c */
int swsim_wire_add(struct swsim_port *port);
void swsim_wires_del(struct swsim_inst *inst);
bool swsim_wire_up(const struct swsim_port *port);
void swsim_wire_out(struct swsim_port *port, struct sk_buff *skb);
int swsim_tstats_init(struct net_device *dev); /* ndo_init and ndo_uninit of what has dev->tstats */
void swsim_tstats_uninit(struct net_device *dev);

/* txq.c: the transmit queues of a NIC port; xmit is under the lock of the frame's queue */
struct swsim_txqs *swsim_txqs_new(struct swsim_port *port, struct net_device *dev,
				  unsigned int count);
void swsim_txqs_free(struct swsim_txqs *txqs);
void swsim_txqs_down(struct swsim_txqs *txqs, struct net_device *dev);
netdev_tx_t swsim_txqs_xmit(struct swsim_txqs *txqs, struct sk_buff *skb);
void swsim_show_tx_doorbell_ns(struct seq_file *seq, struct swsim_inst *inst);
int swsim_store_tx_doorbell_ns(struct swsim_inst *inst, char *text);
void swsim_show_tx_busy(struct seq_file *seq, struct swsim_inst *inst);
int swsim_store_tx_busy(struct swsim_inst *inst, char *text);
void swsim_show_tx_stop(struct seq_file *seq, struct swsim_inst *inst);
int swsim_store_tx_stop(struct swsim_inst *inst, char *text);
void swsim_show_tx_queues(struct seq_file *seq, struct swsim_inst *inst);

/* nic.c, dsa.c */
int swsim_nics_add(unsigned int count, unsigned int queues);
void swsim_nics_del(void);
struct swsim_port *swsim_nic_port(struct net_device *dev);
int swsim_dsa_init(unsigned int ports);
void swsim_dsa_exit(void);
struct swsim_port *swsim_dsa_port(struct net_device *dev);
bool swsim_one_callback(void);
void swsim_set_one_callback(bool on);

/* conduit.c */
int swsim_conduits_init(bool pdata);
void swsim_conduits_exit(void);
int swsim_conduit_join(struct net_device *dev, unsigned int index, struct swsim_inst *inst);
void swsim_conduit_leave(struct net_device *dev, unsigned int index);

/* dsa_cpu.c: the CPU ports of a tree */
int swsim_dsa_join(struct dsa_switch *ds, struct swsim_inst *inst);
void swsim_dsa_leave(struct dsa_switch *ds);
int swsim_dsa_change_conduit(struct dsa_switch *ds, int port, struct net_device *conduit,
			     struct netlink_ext_ack *extack);
int swsim_dsa_lag_join(struct dsa_switch *ds, int port, struct dsa_lag lag,
		       struct netdev_lag_upper_info *info, struct netlink_ext_ack *extack);
int swsim_dsa_lag_leave(struct dsa_switch *ds, int port, struct dsa_lag lag);
int swsim_dsa_far_lag_join(struct dsa_switch *ds, int sw, int port, struct dsa_lag lag,
			   struct netdev_lag_upper_info *info, struct netlink_ext_ack *extack);
int swsim_dsa_far_lag_leave(struct dsa_switch *ds, int sw, int port, struct dsa_lag lag);

/* dsa_tag.c: tags between the switch and its conduit */
void swsim_dsa_to_cpu(struct swsim_port *port, struct net_device *dev, struct sk_buff *skb);
struct sk_buff *swsim_dsa_untag(struct sk_buff *skb, enum dsa_tag_protocol proto,
				unsigned int *ret_switch, unsigned int *ret_port);

/* table.c: changes under swsim_inst.lock */
struct swsim_ruleset *swsim_set_new(struct swsim_inst *inst, enum swsim_dir dir);
void swsim_set_free(struct swsim_ruleset *set);
void swsim_set_attach(struct swsim_ruleset *set, struct swsim_port *port);
void swsim_set_detach(struct swsim_port *port, enum swsim_dir dir);
int swsim_set_add(struct swsim_ruleset *set, struct swsim_rule *rule);
void swsim_entry_del(struct swsim_entry *entry);
struct swsim_chain *swsim_chain_find(const struct swsim_ruleset *set, u32 index);
bool swsim_set_has_equal(const struct swsim_ruleset *set, const struct swsim_rule *rule,
			 bool same_pref);

/* lookup.c */
struct swsim_lookup_key {
	const struct swsim_group *group;
	const struct swsim_key *key; /* masked */
};

extern const struct rhashtable_params swsim_key_params;
void swsim_key_extent(const struct swsim_key *mask, u16 *ret_start, u16 *ret_words);
void swsim_dissect(struct sk_buff *skb, struct swsim_key *ret);
struct swsim_rule *swsim_lookup(struct swsim_ruleset *set, u32 chain, __be16 protocol,
				const struct swsim_key *key);
int swsim_lookup_init(void);

/* rule.c */
extern const struct rhashtable_params swsim_cookie_params;
struct swsim_rule *swsim_rule_find(struct swsim_inst *inst, unsigned long cookie);
struct swsim_entry *swsim_rule_entry(struct swsim_rule *rule, const struct swsim_ruleset *set);
struct swsim_rule *swsim_rule_new(struct swsim_inst *inst, unsigned int nactions);
int swsim_rule_link(struct swsim_rule *rule);
void swsim_rule_unlink(struct swsim_rule *rule);
void swsim_rule_free(struct swsim_rule *rule); /* one that was never linked */
void swsim_rule_told(struct swsim_rule *rule, struct flow_stats *stats);
bool swsim_rule_same_actions(const struct swsim_rule *a, const struct swsim_rule *b);

/* policer.c */
struct swsim_policer *swsim_policer_get(struct swsim_inst *inst, u32 index, u64 rate_bytes,
					u32 burst, u64 rate_packets, u64 burst_packets, u32 mtu);
void swsim_policer_put(struct swsim_policer *policer); /* from any context */
bool swsim_policer_pass(struct swsim_policer *policer, unsigned int len);

/* fields.c: fields and actions by name; a set of fields is a set of rows of its table */
u64 swsim_fields_by_name(const char *name); /* 0: no such field */
u64 swsim_fields_of(const struct swsim_rule *rule);
void swsim_fields_print(struct seq_file *seq, u64 fields);
const char *swsim_fields_denied(u64 fields); /* the sentence for the first of them */
int swsim_act_by_name(const char *name);     /* -EINVAL: no such action */
const char *swsim_act_name(enum swsim_act_id id);
const char *swsim_act_denied(enum swsim_act_id id);
void swsim_rule_print(struct seq_file *seq, struct swsim_rule *rule);

/* parse_flower.c, parse_actions.c: -EOPNOTSUPP with a sentence for what cannot be exact */
int swsim_parse_match(const struct flow_match *match, struct swsim_rule *rule,
		      struct netlink_ext_ack *extack);
int swsim_parse_actions(const struct flow_action *actions, struct swsim_rule *rule,
			struct netlink_ext_ack *extack);

/* limits.c */
int swsim_limits_check(struct swsim_ruleset *set, const struct swsim_rule *rule, bool counted,
		       struct netlink_ext_ack *extack);
int swsim_limits_fail(struct swsim_inst *inst, struct netlink_ext_ack *extack);

/* offload.c: the kernel's requests; rtnl is held */
int swsim_flower(struct swsim_ruleset *set, struct flow_cls_offload *cls);
int swsim_matchall(struct swsim_ruleset *set, struct tc_cls_matchall_offload *cls);

/* exec.c */
void swsim_rx(struct swsim_port *port, struct sk_buff *skb);	 /* from the wire */
void swsim_cpu_tx(struct swsim_port *port, struct sk_buff *skb); /* from the kernel */

/* edit.c: data at the MAC header; -errno: the frame is to be dropped, but still the caller's */
int swsim_edit_pedit(struct sk_buff *skb, const struct swsim_action *act);
int swsim_edit_csum(struct sk_buff *skb);
int swsim_edit_vlan(struct sk_buff *skb, const struct swsim_action *act);

/* debugfs.c, devlink.c */
void swsim_debugfs_init(void);
void swsim_debugfs_exit(void);
void swsim_debugfs_add(struct swsim_inst *inst);
int swsim_devlink_add(struct swsim_inst *inst, struct devlink *dsa);
void swsim_devlink_del(struct swsim_inst *inst);
void swsim_devlink_resize(struct swsim_inst *inst);

/* An error with its reason; @msg must be a literal. 6.1 has no formatted messages. */
static inline int swsim_refuse(struct netlink_ext_ack *extack, int err, const char *msg)
{
	if (extack)
		extack->_msg = msg;
	return err;
}

#endif
