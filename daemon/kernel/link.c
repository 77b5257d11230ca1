// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Devices: ports, and the VLAN uppers that swd makes. One message of the kernel becomes one or the
 * other by IFLA_INFO_KIND. What netlink does not tell of a device (driver, offload, DSA) facts.c
 * adds.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/if_vlan.h>
#include <linux/rtnetlink.h>
#include <stdio.h>

#include "daemon/kernel/codec.h"

static const struct nla_policy link_policy[IFLA_MAX + 1] = {
	[IFLA_IFNAME] = { .type = NLA_STRING, .maxlen = IFNAMSIZ },
	[IFLA_MTU] = { .type = NLA_U32 },
	[IFLA_LINK] = { .type = NLA_U32 },
	[IFLA_LINK_NETNSID] = { .type = NLA_U32 },
	[IFLA_OPERSTATE] = { .type = NLA_U8 },
	[IFLA_CARRIER] = { .type = NLA_U8 },
	[IFLA_LINKINFO] = { .type = NLA_NESTED },
	[IFLA_PHYS_SWITCH_ID] = { .type = NLA_UNSPEC, .maxlen = 32 },
	[IFLA_PHYS_PORT_NAME] = { .type = NLA_STRING },
};

static const struct nla_policy info_policy[IFLA_INFO_MAX + 1] = {
	[IFLA_INFO_KIND] = { .type = NLA_STRING },
	[IFLA_INFO_DATA] = { .type = NLA_NESTED },
};

static const struct nla_policy vlan_policy[IFLA_VLAN_MAX + 1] = {
	[IFLA_VLAN_ID] = { .type = NLA_U16 },
	[IFLA_VLAN_PROTOCOL] = { .type = NLA_U16 },
};

/* ---- reading ---- */

static void read_facts(const struct ifinfomsg *ifi, struct nlattr **tb, struct nlattr **info,
		       const struct codec_names *names, struct link_facts *ret)
{
	const char *lower = NULL;

	ret->ifindex = (uint32_t)ifi->ifi_index;
	ret->flags = ifi->ifi_flags;
	ret->switch_index = -1;
	ret->port_number = -1;
	ret->offload = -1;
	if (tb[IFLA_CARRIER])
		ret->carrier = nla_get_u8(tb[IFLA_CARRIER]);
	if (tb[IFLA_OPERSTATE])
		ret->operstate = nla_get_u8(tb[IFLA_OPERSTATE]);
	if (tb[IFLA_ADDRESS] && nla_len(tb[IFLA_ADDRESS]) == sizeof(ret->mac))
		memcpy(ret->mac, nla_data(tb[IFLA_ADDRESS]), sizeof(ret->mac));
	codec_text(info[IFLA_INFO_KIND], ret->type, sizeof(ret->type));
	codec_text(tb[IFLA_PHYS_PORT_NAME], ret->port_name, sizeof(ret->port_name));
	if (tb[IFLA_PHYS_SWITCH_ID]) {
		const uint8_t *id = nla_data(tb[IFLA_PHYS_SWITCH_ID]);

		for (int i = 0; i < nla_len(tb[IFLA_PHYS_SWITCH_ID]); i++)
			snprintf(ret->switch_id + 2 * i, 3, "%02x", id[i]);
	}
	/* A number of another namespace's device says nothing here. */
	if (tb[IFLA_LINK] && !tb[IFLA_LINK_NETNSID]) {
		uint32_t index = nla_get_u32(tb[IFLA_LINK]);

		if (index != 0 && index != ret->ifindex)
			lower = names->name(index, names->data);
	}
	if (lower)
		COPY_NAME(ret->lower, lower);
}

static int read_vlan(const struct nlattr *data, struct vlan *ret)
{
	struct nlattr *tb[IFLA_VLAN_MAX + 1];
	int r = codec_attrs(tb, IFLA_VLAN_MAX, data, vlan_policy);

	if (r < 0)
		return r;
	if (tb[IFLA_VLAN_ID])
		ret->id = nla_get_u16(tb[IFLA_VLAN_ID]);
	ret->protocol =
		tb[IFLA_VLAN_PROTOCOL] ? ntohs(nla_get_u16(tb[IFLA_VLAN_PROTOCOL])) : ETH_P_8021Q;
	return 0;
}

static int link_parse(const struct nlmsghdr *h, const struct codec_names *names,
		      struct object **ret)
{
	struct nlattr *tb[IFLA_MAX + 1], *info[IFLA_INFO_MAX + 1] = { NULL };
	struct link_facts facts = { 0 };
	struct ifinfomsg ifi;
	char name[IFNAMSIZ];
	uint32_t mtu;
	int r = codec_message(h, sizeof(ifi), tb, IFLA_MAX, link_policy);

	if (r < 0)
		return r;
	memcpy(&ifi, nlmsg_data(h), sizeof(ifi));
	*ret = NULL;
	/* A bridge tells of its ports in messages of family AF_BRIDGE; DEL then means "left it". */
	if (ifi.ifi_family != AF_UNSPEC)
		return 0;
	if (!codec_text(tb[IFLA_IFNAME], name, sizeof(name)) || ifi.ifi_index <= 0)
		return -EBADMSG;
	if (tb[IFLA_LINKINFO]) {
		r = codec_attrs(info, IFLA_INFO_MAX, tb[IFLA_LINKINFO], info_policy);
		if (r < 0)
			return r;
	}
	read_facts(&ifi, tb, info, names, &facts);
	mtu = tb[IFLA_MTU] ? nla_get_u32(tb[IFLA_MTU]) : 0;

	if (streq(facts.type, "vlan")) {
		_cleanup_object_ struct vlan *v = object_new(KIND_VLAN, sizeof(*v));

		if (!v)
			return -ENOMEM;
		COPY_NAME(v->name, name);
		COPY_NAME(v->link, facts.lower);
		v->has = PORT_HAS_UP | PORT_HAS_MTU;
		v->mtu = mtu;
		v->up = !!(ifi.ifi_flags & IFF_UP);
		v->facts = facts;
		if (info[IFLA_INFO_DATA]) {
			r = read_vlan(info[IFLA_INFO_DATA], v);
			if (r < 0)
				return r;
		}
		*ret = &take(v)->obj;
	} else {
		struct port *p = object_new(KIND_PORT, sizeof(*p));

		if (!p)
			return -ENOMEM;
		COPY_NAME(p->name, name);
		p->has = PORT_HAS_UP | PORT_HAS_MTU;
		p->mtu = mtu;
		p->up = !!(ifi.ifi_flags & IFF_UP);
		p->facts = facts;
		*ret = &p->obj;
	}
	return 0;
}

/* ---- writing ---- */

static int link_dump(struct nl_msg *m, uint32_t block)
{
	struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC };
	int r = codec_begin(m, RTM_GETLINK, 0, &ifi, sizeof(ifi));

	/* Statistics are two thirds of a link's message, and nobody asks for them here. */
	return r < 0 ? r : codec_fit(nla_put_u32(m, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS));
}

static const char *link_name(const struct object *o)
{
	return o->kind == KIND_VLAN ? ((const struct vlan *)o)->name
				    : ((const struct port *)o)->name;
}

static int link_get(struct nl_msg *m, const struct object *key, const struct codec_names *names)
{
	struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC };
	int r = codec_begin(m, RTM_GETLINK, 0, &ifi, sizeof(ifi));

	if (r < 0)
		return r;
	r = codec_fit(nla_put_string(m, IFLA_IFNAME, link_name(key)));
	return r < 0 ? r : codec_fit(nla_put_u32(m, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS));
}

/* What is to change of a device that is there; -ENODATA: nothing. */
static int put_change(struct nl_msg *m, const char *name, uint32_t has, uint8_t up, uint32_t mtu,
		      const uint8_t *found_up, const uint32_t *found_mtu,
		      const struct codec_names *names)
{
	struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC };
	bool set_up = has & PORT_HAS_UP && (!found_up || !*found_up != !up);
	bool set_mtu = has & PORT_HAS_MTU && (!found_mtu || *found_mtu != mtu);
	int r;

	if (!set_up && !set_mtu)
		return -ENODATA;
	ifi.ifi_index = (int)names->index(name, names->data);
	if (ifi.ifi_index == 0)
		return -ENODEV;
	if (set_up) {
		ifi.ifi_change = IFF_UP;
		ifi.ifi_flags = up ? IFF_UP : 0;
	}
	r = codec_begin(m, RTM_NEWLINK, 0, &ifi, sizeof(ifi));
	if (r == 0 && set_mtu)
		r = codec_fit(nla_put_u32(m, IFLA_MTU, mtu));
	return r;
}

static int port_put(struct nl_msg *m, enum kernel_op op, const struct object *wanted,
		    const struct object *found, const struct codec_names *names)
{
	const struct port *w = (const struct port *)wanted, *f = (const struct port *)found;

	if (op != KERNEL_CHANGE)
		return -EOPNOTSUPP; /* ports are there without us */
	return put_change(m, w->name, w->has, w->up, w->mtu, f ? &f->up : NULL, f ? &f->mtu : NULL,
			  names);
}

static int vlan_add(struct nl_msg *m, const struct vlan *v, const struct codec_names *names)
{
	struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC };
	uint32_t link = names->index(v->link, names->data);
	struct nlattr *info, *data;
	int r;

	if (link == 0)
		return -ENODEV;
	if (v->has & PORT_HAS_UP) {
		ifi.ifi_change = IFF_UP;
		ifi.ifi_flags = v->up ? IFF_UP : 0;
	}
	r = codec_begin(m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &ifi, sizeof(ifi));
	if (r < 0)
		return r;
	if (nla_put_string(m, IFLA_IFNAME, v->name) < 0 || nla_put_u32(m, IFLA_LINK, link) < 0)
		return -EMSGSIZE;
	if (v->has & PORT_HAS_MTU && nla_put_u32(m, IFLA_MTU, v->mtu) < 0)
		return -EMSGSIZE;
	info = nla_nest_start(m, IFLA_LINKINFO);
	if (!info || nla_put_string(m, IFLA_INFO_KIND, "vlan") < 0)
		return -EMSGSIZE;
	data = nla_nest_start(m, IFLA_INFO_DATA);
	if (!data || nla_put_u16(m, IFLA_VLAN_ID, v->id) < 0 ||
	    nla_put_u16(m, IFLA_VLAN_PROTOCOL, htons(v->protocol)) < 0)
		return -EMSGSIZE;
	nla_nest_end(m, data);
	nla_nest_end(m, info);
	return 0;
}

static int vlan_put(struct nl_msg *m, enum kernel_op op, const struct object *wanted,
		    const struct object *found, const struct codec_names *names)
{
	const struct vlan *w = (const struct vlan *)wanted, *f = (const struct vlan *)found;
	struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC };

	switch (op) {
	case KERNEL_ADD:
		return vlan_add(m, w, names);
	case KERNEL_CHANGE:
		/* Id, protocol and link of a VLAN cannot change: the engine removes and adds. */
		if (f && (f->id != w->id || f->protocol != w->protocol || !streq(f->link, w->link)))
			return -EOPNOTSUPP;
		return put_change(m, w->name, w->has, w->up, w->mtu, f ? &f->up : NULL,
				  f ? &f->mtu : NULL, names);
	case KERNEL_REMOVE:
		ifi.ifi_index = (int)names->index(f->name, names->data);
		if (ifi.ifi_index == 0)
			return -ENODEV;
		return codec_begin(m, RTM_DELLINK, 0, &ifi, sizeof(ifi));
	}
	return -EINVAL;
}

const struct codec codec_port = { port_put, link_dump, link_get, link_parse };
const struct codec codec_vlan = { vlan_put, link_dump, link_get, link_parse };
