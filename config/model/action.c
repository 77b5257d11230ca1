/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/model/action.h"

#include <errno.h>
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/base/netaddr.h"
#include "config/base/units.h"
#include "config/model/fields.h"

static const struct {
	const char *name;
	enum action_argument argument;
	bool final;
	bool internal; /* people can't write it */
} rows[ACTION_COUNT_] = {
	[ACTION_PASS] = { "pass", .final = true },
	[ACTION_DROP] = { "drop", .final = true },
	[ACTION_TRAP] = { "trap", .final = true },
	[ACTION_GOTO] = { "goto", ACTION_ARGUMENT_CHAIN, .final = true },
	[ACTION_REDIRECT] = { "redirect", ACTION_ARGUMENT_DEV, .final = true },
	[ACTION_MIRROR] = { "mirror", ACTION_ARGUMENT_DEV },
	[ACTION_VLAN_PUSH] = { "vlan-push", ACTION_ARGUMENT_VLAN },
	[ACTION_VLAN_POP] = { "vlan-pop" },
	[ACTION_VLAN_MODIFY] = { "vlan-modify", ACTION_ARGUMENT_VLAN },
	[ACTION_SET_SRC] = { "set-src", ACTION_ARGUMENT_MAC },
	[ACTION_SET_DST] = { "set-dst", ACTION_ARGUMENT_MAC },
	[ACTION_DEC_TTL] = { "dec-ttl" },
	[ACTION_CSUM] = { "csum", ACTION_ARGUMENT_CSUM, .internal = true },
	[ACTION_POLICE] = { "police", ACTION_ARGUMENT_POLICE },
	[ACTION_SAMPLE] = { "sample", ACTION_ARGUMENT_SAMPLE },
	[ACTION_OTHER] = { "other", ACTION_ARGUMENT_OTHER, .internal = true },
};

const char *action_name(enum action_kind kind)
{
	return rows[kind].name;
}

int action_kind_parse(const char *name, enum action_kind *ret)
{
	for (size_t k = 0; k < ACTION_COUNT_; k++)
		if (!rows[k].internal && streq(rows[k].name, name)) {
			*ret = (enum action_kind)k;
			return 0;
		}
	return -ENOENT;
}

const char *action_name_at(size_t i)
{
	for (size_t k = 0; k < ACTION_COUNT_; k++)
		if (!rows[k].internal && i-- == 0)
			return rows[k].name;
	return NULL;
}

enum action_argument action_argument(enum action_kind kind)
{
	return rows[kind].argument;
}

bool action_is_final(enum action_kind kind)
{
	return rows[kind].final;
}

/* What an action is given, as text; "" for nothing. VLANs and police have more than one part. */
static void print_argument(const struct action *a, char *to, size_t size)
{
	char mac[MAC_TEXT], ethertype[16], rate[UNITS_TEXT], burst[UNITS_TEXT];
	int n;

	to[0] = '\0';
	switch (action_argument((enum action_kind)a->kind)) {
	case ACTION_ARGUMENT_NONE:
		return;
	case ACTION_ARGUMENT_CHAIN:
		snprintf(to, size, "%u", a->chain);
		return;
	case ACTION_ARGUMENT_DEV:
		snprintf(to, size, "%.*s", IFNAMSIZ, a->dev);
		return;
	case ACTION_ARGUMENT_VLAN:
		n = snprintf(to, size, "%u", a->vlan.id);
		if (a->vlan.has_prio)
			n += snprintf(to + n, size - (size_t)n, " prio %u", a->vlan.prio);
		if (a->vlan.ethertype && a->vlan.ethertype != 0x8100) {
			ethertype_print(a->vlan.ethertype, ethertype);
			snprintf(to + n, size - (size_t)n, " protocol %s", ethertype);
		}
		return;
	case ACTION_ARGUMENT_MAC:
		mac_print(a->mac, mac);
		snprintf(to, size, "%s", mac);
		return;
	case ACTION_ARGUMENT_CSUM:
		snprintf(to, size, "0x%x", a->csum.flags);
		return;
	case ACTION_ARGUMENT_POLICE:
		print_rate_bit(a->police.rate_bit, rate);
		print_size(a->police.burst, burst);
		snprintf(to, size, "rate %s burst %s", rate, burst);
		return;
	case ACTION_ARGUMENT_SAMPLE:
		snprintf(to, size, "rate %u group %u", a->sample.rate, a->sample.group);
		return;
	case ACTION_ARGUMENT_OTHER:
		snprintf(to, size, "%.8s", a->other.name);
		return;
	}
}

void actions_print(const struct action *list, size_t n, char to[ACTIONS_TEXT])
{
	char argument[96];
	size_t used = 0;

	to[0] = '\0';
	for (size_t i = 0; i < n && used < ACTIONS_TEXT; i++) {
		print_argument(&list[i], argument, sizeof(argument));
		used += (size_t)snprintf(to + used, ACTIONS_TEXT - used, "%s%s%s%s",
					 used ? ", " : "",
					 action_name((enum action_kind)list[i].kind),
					 argument[0] ? " " : "", argument);
	}
}

static void vlan_json(const struct action *a, struct jsonw *w)
{
	/* A modify without a protocol keeps what is there; one with 802.1Q does not. */
	bool usual =
		!a->vlan.ethertype || (a->kind == ACTION_VLAN_PUSH && a->vlan.ethertype == 0x8100);
	char ethertype[16];

	if (!a->vlan.has_prio && usual) {
		jsonw_u64(w, a->vlan.id);
		return;
	}
	jsonw_object(w);
	jsonw_key_u64(w, "id", a->vlan.id);
	if (a->vlan.has_prio)
		jsonw_key_u64(w, "prio", a->vlan.prio);
	if (a->vlan.ethertype) {
		ethertype_print(a->vlan.ethertype, ethertype);
		jsonw_key_string(w, "protocol", ethertype);
	}
	jsonw_object_end(w);
}

static void police_json(const struct action *a, struct jsonw *w)
{
	char text[UNITS_TEXT];

	jsonw_object(w);
	print_rate_bit(a->police.rate_bit, text);
	jsonw_key_string(w, "rate", text);
	print_size(a->police.burst, text);
	jsonw_key_string(w, "burst", text);
	if (a->police.mtu)
		jsonw_key_u64(w, "mtu", a->police.mtu);
	jsonw_object_end(w);
}

static void sample_json(const struct action *a, struct jsonw *w)
{
	jsonw_object(w);
	jsonw_key_u64(w, "rate", a->sample.rate);
	jsonw_key_u64(w, "group", a->sample.group);
	if (a->sample.truncate)
		jsonw_key_u64(w, "truncate", a->sample.truncate);
	jsonw_object_end(w);
}

static void argument_json(const struct action *a, struct jsonw *w)
{
	char text[96];

	switch (action_argument((enum action_kind)a->kind)) {
	case ACTION_ARGUMENT_NONE:
		jsonw_null(w);
		return;
	case ACTION_ARGUMENT_CHAIN:
		jsonw_u64(w, a->chain);
		return;
	case ACTION_ARGUMENT_DEV:
	case ACTION_ARGUMENT_MAC:
	case ACTION_ARGUMENT_CSUM:
	case ACTION_ARGUMENT_OTHER:
		print_argument(a, text, sizeof(text));
		jsonw_string(w, text);
		return;
	case ACTION_ARGUMENT_VLAN:
		vlan_json(a, w);
		return;
	case ACTION_ARGUMENT_POLICE:
		police_json(a, w);
		return;
	case ACTION_ARGUMENT_SAMPLE:
		sample_json(a, w);
		return;
	}
}

static bool takes_argument(const struct action *a)
{
	char text[96];

	print_argument(a, text, sizeof(text));
	return text[0] != '\0';
}

void actions_json(const struct action *list, size_t n, struct jsonw *w)
{
	jsonw_array(w);
	for (size_t i = 0; i < n; i++) {
		const char *name = action_name((enum action_kind)list[i].kind);

		if (!takes_argument(&list[i])) {
			jsonw_string(w, name);
			continue;
		}
		jsonw_object(w);
		jsonw_key(w, name);
		argument_json(&list[i], w);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
}
