// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * action_args: reads and writes what actions are given. Those with several parts are sections with
 * tables of their own.
 */
#include "config/yaml/action_args.h"

#include <errno.h>
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/base/netaddr.h"
#include "config/yaml/draft.h"
#include "config/yaml/dump.h"
#include "config/yaml/walk.h"

static const struct key vlan_keys[] = {
	[VLAN_ACTION_ID] = {
		.name = "id", .type = &value_uint, .offset = offsetof(struct draft_vlan_action, id),
		.required = true, .min = 1, .max = 4094,
		.doc = "the VLAN id, 1 to 4094",
	},
	[VLAN_ACTION_PRIO] = {
		.name = "prio", .type = &value_uint,
		.offset = offsetof(struct draft_vlan_action, prio),
		.min = 0, .max = 7,
		.doc = "the priority in the tag",
	},
	[VLAN_ACTION_PROTOCOL] = {
		.name = "protocol", .type = &value_protocol,
		.offset = offsetof(struct draft_vlan_action, protocol),
		.doc = "802.1q or 802.1ad; if not said, push takes 802.1q and modify keeps what "
		       "is there",
	},
};

const struct section schema_vlan_action = { "a VLAN tag", vlan_keys, ARRAY_SIZE(vlan_keys),
					    sizeof(struct draft_vlan_action) };

static const struct key police_keys[] = {
	[POLICE_RATE] = {
		.name = "rate", .type = &value_rate, .offset = offsetof(struct draft_police, rate),
		.required = true, .min = 8, .max = 1000000000000000,
		.doc = "what passes, in bits per second, like 10mbit",
	},
	[POLICE_BURST] = {
		.name = "burst", .type = &value_size,
		.offset = offsetof(struct draft_police, burst),
		.required = true, .min = 1, .max = UINT32_MAX,
		.doc = "bytes that may pass at once, like 64k",
	},
	[POLICE_MTU] = {
		.name = "mtu", .type = &value_size, .offset = offsetof(struct draft_police, mtu),
		.min = 1, .max = UINT32_MAX,
		.doc = "frames of more bytes than this are dropped",
	},
};

const struct section schema_police = { "a policer", police_keys, ARRAY_SIZE(police_keys),
				       sizeof(struct draft_police) };

static const struct key sample_keys[] = {
	[SAMPLE_RATE] = {
		.name = "rate", .type = &value_uint, .offset = offsetof(struct draft_sample, rate),
		.required = true, .min = 1, .max = UINT32_MAX,
		.doc = "one frame of so many is sampled",
	},
	[SAMPLE_GROUP] = {
		.name = "group", .type = &value_uint,
		.offset = offsetof(struct draft_sample, group),
		.required = true, .min = 0, .max = UINT32_MAX,
		.doc = "the psample group that gets the samples",
	},
	[SAMPLE_TRUNCATE] = {
		.name = "truncate", .type = &value_uint,
		.offset = offsetof(struct draft_sample, truncate),
		.min = 1, .max = UINT32_MAX,
		.doc = "samples are cut to so many bytes",
	},
};

const struct section schema_sample = { "a sampler", sample_keys, ARRAY_SIZE(sample_keys),
				       sizeof(struct draft_sample) };

static int read_chain(struct reader *r, const struct node *n, struct action *a)
{
	return value_uint.read(r, &schema_rule.keys[RULE_CHAIN], n, &a->chain);
}

static int read_device(struct reader *r, const struct node *n, struct action *a)
{
	static const struct key device = { .name = "device", .check_name = check_device_name };
	const char *name;
	int err;

	err = value_name.read(r, &device, n, &name);
	if (err == 0)
		COPY_NAME(a->dev, name);
	return err;
}

static int read_mac(struct reader *r, const struct node *n, struct action *a)
{
	static const char what[] = "a MAC address like 02:00:00:00:00:09";
	uint8_t mac[6];

	if (!walk_scalar(r, n, what))
		return -EINVAL;
	if (mac_parse(n->text, mac) < 0) {
		walk_expected(r, n, what);
		return -EINVAL;
	}
	if (a->kind == ACTION_SET_SRC && mac[0] & 1) {
		walk_expected(r, n, "the MAC address of one station, not of a group");
		return -EINVAL;
	}
	memcpy(a->mac, mac, 6);
	return 0;
}

static int read_vlan(struct reader *r, const struct node *n, struct action *a)
{
	struct draft_vlan_action v = { .protocol = a->kind == ACTION_VLAN_PUSH ? 0x8100 : 0 };
	int err;

	if (n->kind == NODE_MAP)
		err = walk_section(r, &schema_vlan_action, n, &v);
	else
		err = value_uint.read(r, &vlan_keys[VLAN_ACTION_ID], n, &v.id);
	if (err < 0)
		return err;
	a->vlan.id = (uint16_t)v.id;
	a->vlan.ethertype = (uint16_t)v.protocol;
	a->vlan.has_prio = HAS(&v, VLAN_ACTION_PRIO);
	a->vlan.prio = (uint8_t)v.prio;
	return 0;
}

/*
 * The kernel keeps a burst as the time it takes at that rate, in 32 bits of 64 ns (tc_police.burst,
 * PSCHED_SHIFT): 274 seconds and no more.
 */
#define BURST_SECONDS_MAX 274

static int read_police(struct reader *r, const struct node *n, struct action *a)
{
	struct draft_police police = { 0 };
	int err;

	err = walk_section(r, &schema_police, n, &police);
	if (err < 0)
		return err;
	if (police.burst / (police.rate / 8) >= BURST_SECONDS_MAX) {
		walk_error(
			r, n,
			"a burst of %u bytes takes %llu seconds at that rate, expected less than "
			"%d",
			police.burst, (unsigned long long)(police.burst / (police.rate / 8)),
			BURST_SECONDS_MAX);
		return -EINVAL;
	}
	a->police.rate_bit = police.rate;
	a->police.burst = police.burst;
	a->police.mtu = police.mtu;
	return 0;
}

static int read_sample(struct reader *r, const struct node *n, struct action *a)
{
	struct draft_sample sample = { 0 };
	int err;

	err = walk_section(r, &schema_sample, n, &sample);
	if (err < 0)
		return err;
	a->sample.rate = sample.rate;
	a->sample.group = sample.group;
	a->sample.truncate = sample.truncate;
	return 0;
}

/* {key: value, ...} of a draft made from an action. */
static void print_flow(struct printer *p, const struct section *s, const void *draft)
{
	const char *comma = "";

	dump_raw(p, "{");
	for (uint32_t i = 0; i < s->count; i++) {
		if (!(((const struct draft *)draft)->has & 1u << i))
			continue;
		dump_rawf(p, "%s%s: ", comma, s->keys[i].name);
		s->keys[i].type->print(p, &s->keys[i], (const char *)draft + s->keys[i].offset);
		comma = ", ";
	}
	dump_raw(p, "}");
}

static void print_vlan(struct printer *p, const struct action *a)
{
	struct draft_vlan_action v = { .draft.has = 1u << VLAN_ACTION_ID,
				       .id = a->vlan.id,
				       .prio = a->vlan.prio,
				       .protocol = a->vlan.ethertype };
	bool usual = a->kind == ACTION_VLAN_PUSH ? a->vlan.ethertype == 0x8100 : !a->vlan.ethertype;

	if (usual && !a->vlan.has_prio) {
		dump_rawf(p, "%u", a->vlan.id);
		return;
	}
	if (a->vlan.has_prio)
		v.draft.has |= 1u << VLAN_ACTION_PRIO;
	if (!usual)
		v.draft.has |= 1u << VLAN_ACTION_PROTOCOL;
	print_flow(p, &schema_vlan_action, &v);
}

static void print_chain(struct printer *p, const struct action *a)
{
	dump_rawf(p, "%u", a->chain);
}

static void print_device(struct printer *p, const struct action *a)
{
	dump_text(p, a->dev);
}

static void print_mac(struct printer *p, const struct action *a)
{
	char mac[MAC_TEXT];

	mac_print(a->mac, mac);
	dump_value(p, mac);
}

static void print_police(struct printer *p, const struct action *a)
{
	struct draft_police police = { .draft.has = 1u << POLICE_RATE | 1u << POLICE_BURST |
						    (a->police.mtu ? 1u << POLICE_MTU : 0),
				       .rate = a->police.rate_bit,
				       .burst = a->police.burst,
				       .mtu = a->police.mtu };

	print_flow(p, &schema_police, &police);
}

static void print_sample(struct printer *p, const struct action *a)
{
	struct draft_sample sample = { .draft.has =
					       1u << SAMPLE_RATE | 1u << SAMPLE_GROUP |
					       (a->sample.truncate ? 1u << SAMPLE_TRUNCATE : 0),
				       .rate = a->sample.rate,
				       .group = a->sample.group,
				       .truncate = a->sample.truncate };

	print_flow(p, &schema_sample, &sample);
}

static void write_chain(struct jsonw *w)
{
	value_uint.schema(w, &schema_rule.keys[RULE_CHAIN]);
}

static void write_string(struct jsonw *w)
{
	jsonw_key_string(w, "type", "string");
}

static void write_vlan(struct jsonw *w)
{
	jsonw_key(w, "anyOf");
	jsonw_array(w);
	jsonw_object(w);
	value_uint.schema(w, &vlan_keys[VLAN_ACTION_ID]);
	jsonw_object_end(w);
	jsonw_object(w);
	json_schema_section(w, &schema_vlan_action);
	jsonw_object_end(w);
	jsonw_array_end(w);
}

static void write_police(struct jsonw *w)
{
	json_schema_section(w, &schema_police);
}

static void write_sample(struct jsonw *w)
{
	json_schema_section(w, &schema_sample);
}

/* Those that people may write. */
static const struct {
	const char *needs;
	int (*read)(struct reader *r, const struct node *n, struct action *a);
	void (*print)(struct printer *p, const struct action *a);
	void (*schema)(struct jsonw *w);
} rows[] = {
	[ACTION_ARGUMENT_CHAIN] = { "a chain", read_chain, print_chain, write_chain },
	[ACTION_ARGUMENT_DEV] = { "a device", read_device, print_device, write_string },
	[ACTION_ARGUMENT_VLAN] = { "a VLAN id, or {id, prio, protocol}", read_vlan, print_vlan,
				   write_vlan },
	[ACTION_ARGUMENT_MAC] = { "a MAC address", read_mac, print_mac, write_string },
	[ACTION_ARGUMENT_POLICE] = { "{rate, burst, mtu}", read_police, print_police,
				     write_police },
	[ACTION_ARGUMENT_SAMPLE] = { "{rate, group, truncate}", read_sample, print_sample,
				     write_sample },
	[ACTION_ARGUMENT_OTHER] = { NULL },
};

const char *action_needs(enum action_kind kind)
{
	return rows[action_argument(kind)].needs;
}

int action_read_argument(struct reader *r, const struct node *n, struct action *a)
{
	return rows[action_argument((enum action_kind)a->kind)].read(r, n, a);
}

void action_print_argument(struct printer *p, const struct action *a)
{
	rows[action_argument((enum action_kind)a->kind)].print(p, a);
}

void action_argument_schema(struct jsonw *w, enum action_kind kind)
{
	rows[action_argument(kind)].schema(w);
}
