// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What this kernel does with packets of a block that needs no software, found out by sending some.
 * Version, symbols and BTF do not tell: Debian's 6.1 has the accounting of the bypass and nobody
 * reads it.
 *
 * In a network namespace of its own, a veth pair gets a clsact with one pref in it that needs no
 * software: an empty u32 hash table. A kernel that bypasses it does not count the packets in the
 * qdisc; one that classifies counts every one.
 */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <pthread.h>
#include <sched.h>

#include "daemon/kernel/probe_packets.h"
#include "daemon/kernel/room.h"

#define NEAR "swdprobe0"
#define FAR "swdprobe1"
#define PACKETS 24
#define WAIT_MS 1000

struct probe {
	int result;
	enum bypass_ability ability;
	const char *how;
};

static int request(struct kernel *k, struct nl_msg *m)
{
	struct rtnl_call call = { .msg = m };
	int r = rtnl_exchange(k->request, &call, 1, NULL, NULL);

	free(call.words);
	if (r < 0)
		return r;
	return call.answered ? call.error : -ETIMEDOUT;
}

static int make_pair(struct kernel *k)
{
	_cleanup_(nl_msg_freep) struct nl_msg *m = nlmsg_alloc();
	/* Both down: a veth cannot be brought up before it knows its peer (veth_open(): ENOTCONN).
	 */
	struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC };
	struct nlattr *info, *data, *peer;

	if (!m || codec_begin(m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &ifi, sizeof(ifi)) < 0 ||
	    nla_put_string(m, IFLA_IFNAME, NEAR) < 0)
		return -ENOMEM;
	info = nla_nest_start(m, IFLA_LINKINFO);
	if (!info || nla_put_string(m, IFLA_INFO_KIND, "veth") < 0)
		return -ENOMEM;
	data = nla_nest_start(m, IFLA_INFO_DATA);
	peer = data ? nla_nest_start(m, VETH_INFO_PEER) : NULL;
	if (!peer || nlmsg_append(m, &ifi, sizeof(ifi), NLMSG_ALIGNTO) < 0 ||
	    nla_put_string(m, IFLA_IFNAME, FAR) < 0)
		return -ENOMEM;
	nla_nest_end(m, peer);
	nla_nest_end(m, data);
	nla_nest_end(m, info);
	return request(k, m);
}

static int change(struct kernel *k, enum kernel_op op, const void *wanted)
{
	struct kernel_request r = { .op = op, .wanted = wanted };
	int e = kernel_execute(k, &r, 1);

	if (e == 0 && r.outcome != KERNEL_DONE)
		e = r.error < 0 ? r.error : -EIO;
	kernel_request_clear(&r);
	return e;
}

static int bring_up(struct kernel *k, const char *name)
{
	_cleanup_object_ struct port *p = object_new(KIND_PORT, sizeof(*p));

	if (!p)
		return -ENOMEM;
	COPY_NAME(p->name, name);
	p->has = PORT_HAS_UP;
	p->up = 1;
	return change(k, KERNEL_CHANGE, p);
}

static struct qdisc *new_qdisc(void)
{
	struct qdisc *q = object_new(KIND_QDISC, sizeof(*q));

	if (!q)
		return NULL;
	COPY_NAME(q->dev, NEAR);
	COPY_NAME(q->type, "clsact");
	return q;
}

static uint32_t ingress_parent(void)
{
	return TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS);
}

/* "u32 handle 1: divisor 1": a table without filters; on kernels that count, it marks nothing. */
static int add_table(struct kernel *k)
{
	_cleanup_(nl_msg_freep) struct nl_msg *m = nlmsg_alloc();
	struct tcmsg tcm = {
		.tcm_family = AF_UNSPEC,
		.tcm_ifindex = (int)k->names.index(NEAR, k->names.data),
		.tcm_handle = 0x00100000,
		.tcm_parent = ingress_parent(),
		.tcm_info = TC_H_MAKE(1u << 16, htons(ETHERTYPE_ALL)),
	};
	struct nlattr *options;

	if (!m ||
	    codec_begin(m, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL, &tcm, sizeof(tcm)) < 0 ||
	    nla_put_string(m, TCA_KIND, "u32") < 0)
		return -ENOMEM;
	options = nla_nest_start(m, TCA_OPTIONS);
	if (!options || nla_put_u32(m, TCA_U32_DIVISOR, 1) < 0)
		return -ENOMEM;
	nla_nest_end(m, options);
	return request(k, m);
}

static int counted(struct kernel *k, const struct qdisc *key, uint64_t *ret)
{
	struct object *o = NULL;
	int r = kernel_get(k, &key->obj, &o);

	if (r < 0)
		return r;
	*ret = ((struct qdisc *)o)->packets;
	object_unref(o);
	return 0;
}

/* Our patch also has to own up to the packets that it let pass. */
static bool reads_back(struct kernel *k)
{
	struct bypass_reading reading;
	uint32_t ifindex = k->names.index(NEAR, k->names.data);

	if (!k->bypass ||
	    bypass_genl_read_place(k->bypass, ifindex, ingress_parent(), &reading) < 0)
		return false;
	return reading.bypassed && reading.packets >= PACKETS;
}

static void judge(struct probe *p, struct kernel *k, uint64_t seen)
{
	p->result = 0;
	if (seen >= PACKETS && k->bypass) {
		p->ability = BYPASS_ABILITY_NONE;
		p->how = "packets of a block that needs no software were classified, "
			 "although the kernel has the tc_bypass family";
	} else if (seen >= PACKETS) {
		p->ability = BYPASS_ABILITY_NONE;
		p->how = "packets of a block that needs no software were all classified";
	} else if (seen > 0) {
		p->result = -EAGAIN;
		p->how = "some packets of a block that needs no software were classified, some not";
	} else if (reads_back(k)) {
		p->ability = BYPASS_ABILITY_READBACK;
		p->how = "packets of a block that needs no software passed it by, "
			 "and the tc_bypass family counted them";
	} else {
		p->ability = BYPASS_ABILITY_MARKS;
		p->how = "packets of a block that needs no software passed it by, "
			 "and nothing can be read back";
	}
}

static void run(struct probe *p)
{
	_cleanup_(kernel_closep) struct kernel *k = NULL;
	_cleanup_object_ struct qdisc *q = new_qdisc();
	uint64_t before = 0, after = 0;
	int r = q ? 0 : -ENOMEM;

	p->how = "the probe's network namespace could not be set up";
	if (r == 0)
		r = kernel_open(&k);
	if (r == 0)
		r = make_pair(k);
	if (r == 0)
		r = bring_up(k, NEAR);
	if (r == 0)
		r = bring_up(k, FAR);
	if (r == 0)
		r = change(k, KERNEL_ADD, q);
	if (r == 0) {
		r = add_table(k);
		if (r < 0)
			p->how =
				"the kernel took no u32 table, so the probe had nothing to pass by";
	}
	if (r == 0)
		r = counted(k, q, &before);
	if (r == 0) {
		r = probe_packets(FAR, NEAR, PACKETS, WAIT_MS);
		if (r < 0)
			p->how = "the probe's packets did not arrive";
	}
	if (r == 0)
		r = counted(k, q, &after);
	if (r < 0)
		p->result = r;
	else
		judge(p, k, after - before);
}

static void *thread(void *data)
{
	struct probe *p = data;

	if (unshare(CLONE_NEWNET) < 0) {
		p->result = -errno;
		p->how = errno == EPERM ? "no right to make a network namespace (CAP_SYS_ADMIN)"
					: "no network namespace could be made";
		return NULL;
	}
	/* All sockets are closed when run() is over, and the namespace ends with the thread. */
	run(p);
	return NULL;
}

int kernel_probe_bypass(enum bypass_ability *ret, const char **ret_how)
{
	struct probe p = { .ability = BYPASS_ABILITY_UNKNOWN };
	pthread_t id;
	int r = pthread_create(&id, NULL, thread, &p);

	if (r != 0) {
		*ret = BYPASS_ABILITY_UNKNOWN;
		*ret_how = "no thread could be started";
		return -r;
	}
	pthread_join(id, NULL);
	*ret = p.ability;
	*ret_how = p.how;
	return p.result;
}
