// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/service/write.h"

#include "config/base/netaddr.h"
#include "daemon/service/tally.h"

void write_ms(struct jsonw *w, const char *key, uint64_t ns)
{
	jsonw_key_u64(w, key, ns / 1000000);
}

void write_null(struct jsonw *w, const char *key)
{
	jsonw_key(w, key);
	jsonw_null(w);
}

void write_text(struct jsonw *w, const char *key, const char *text)
{
	jsonw_key_string(w, key, text && text[0] ? text : NULL);
}

static void write_mac(struct jsonw *w, const uint8_t mac[6])
{
	char text[MAC_TEXT];

	mac_print(mac, text);
	jsonw_key_string(w, "mac", text);
}

static void write_vlan(struct jsonw *w, const struct action *a)
{
	char protocol[16];

	jsonw_key_u64(w, "vlan", a->vlan.id);
	if (a->vlan.ethertype) {
		ethertype_print(a->vlan.ethertype, protocol);
		jsonw_key_string(w, "protocol", protocol);
	}
	if (a->vlan.has_prio)
		jsonw_key_u64(w, "prio", a->vlan.prio);
}

static void write_argument(struct jsonw *w, const struct action *a)
{
	switch (action_argument((enum action_kind)a->kind)) {
	case ACTION_ARGUMENT_CHAIN:
		jsonw_key_u64(w, "chain", a->chain);
		return;
	case ACTION_ARGUMENT_DEV:
		jsonw_key_string(w, "dev", a->dev);
		return;
	case ACTION_ARGUMENT_VLAN:
		write_vlan(w, a);
		return;
	case ACTION_ARGUMENT_MAC:
		write_mac(w, a->mac);
		return;
	case ACTION_ARGUMENT_POLICE:
		jsonw_key_u64(w, "rate_bit", a->police.rate_bit);
		jsonw_key_u64(w, "burst", a->police.burst);
		if (a->police.mtu)
			jsonw_key_u64(w, "mtu", a->police.mtu);
		return;
	case ACTION_ARGUMENT_SAMPLE:
		jsonw_key_u64(w, "rate", a->sample.rate);
		jsonw_key_u64(w, "group", a->sample.group);
		if (a->sample.truncate)
			jsonw_key_u64(w, "truncate", a->sample.truncate);
		return;
	case ACTION_ARGUMENT_CSUM:
	case ACTION_ARGUMENT_OTHER:
	case ACTION_ARGUMENT_NONE:
		return;
	}
}

void write_actions(struct jsonw *w, const struct action *list, size_t n)
{
	char text[ACTIONS_TEXT];

	jsonw_array(w);
	for (size_t i = 0; i < n; i++) {
		jsonw_object(w);
		jsonw_key_string(w, "name", action_name((enum action_kind)list[i].kind));
		actions_print(&list[i], 1, text);
		jsonw_key_string(w, "text", text);
		write_argument(w, &list[i]);
		jsonw_object_end(w);
	}
	jsonw_array_end(w);
}

static const char *role_name(const struct filter *wanted, const struct filter *found)
{
	if (!wanted)
		return found->owner == OWNER_OURS ? "leftover" : "none";
	switch ((enum filter_role)wanted->role) {
	case FILTER_ROLE_RULE:
		return "rule";
	case FILTER_ROLE_SHORTCUT:
		return "shortcut";
	}
	return "?";
}

static void write_flags(struct jsonw *w, const struct filter *f, bool present)
{
	jsonw_key_bool(w, "skip_sw", f->flags & TCA_CLS_FLAGS_SKIP_SW);
	jsonw_key_bool(w, "skip_hw", f->flags & TCA_CLS_FLAGS_SKIP_HW);
	jsonw_key_bool(w, "in_hw", present && (f->flags & TCA_CLS_FLAGS_IN_HW));
	jsonw_key_bool(w, "not_in_hw", present && (f->flags & TCA_CLS_FLAGS_NOT_IN_HW));
	jsonw_key_u64(w, "in_hw_count", present ? f->in_hw_count : 0);
}

void write_filter(struct jsonw *w, const struct filter *wanted, const struct filter *found)
{
	const struct filter *f = found ? found : wanted;
	static const struct filter_stats none;
	const struct filter_stats *stats = found ? &found->stats : &none;
	char protocol[16];

	jsonw_object(w);
	jsonw_key_bool(w, "present", found);
	jsonw_key_bool(w, "as_wanted", wanted && found && tally_fits(wanted, found));
	jsonw_key_string(w, "owner", f->owner == OWNER_OURS ? "ours" : "foreign");
	jsonw_key_string(w, "role", role_name(wanted, found));
	jsonw_key_u64(w, "block", f->block);
	jsonw_key_u64(w, "chain", f->chain);
	jsonw_key_u64(w, "pref", f->pref);
	ethertype_print(f->protocol, protocol);
	jsonw_key_string(w, "protocol", protocol);
	jsonw_key_u64(w, "handle", f->handle);
	jsonw_key_string(w, "type", filter_type_name(f));
	write_flags(w, f, found);
	jsonw_key(w, "match");
	match_json(filter_match(f), w);
	jsonw_key(w, "actions");
	write_actions(w, filter_actions(f), f->action_count);
	jsonw_key_u64(w, "packets", stats->packets);
	jsonw_key_u64(w, "bytes", stats->bytes);
	jsonw_key_u64(w, "hw_packets", stats->hw_packets);
	jsonw_key_u64(w, "hw_bytes", stats->hw_bytes);
	jsonw_key_u64(w, "last_used_ms", stats->last_used_ms);
	jsonw_object_end(w);
}

void write_diags(struct jsonw *w, const struct diags *d)
{
	jsonw_key(w, "diags");
	diags_json(d, w);
}

void write_alert(struct jsonw *w, const struct alert *a)
{
	jsonw_object(w);
	jsonw_key_string(w, "id", a->id);
	jsonw_key_string(w, "about", a->about);
	jsonw_key_string(w, "text", a->text);
	write_ms(w, "since_ms", a->since_ns);
	jsonw_object_end(w);
}

static const char *ability_name(enum bypass_ability a)
{
	switch (a) {
	case BYPASS_ABILITY_UNKNOWN:
		return "unknown";
	case BYPASS_ABILITY_NONE:
		return "none";
	case BYPASS_ABILITY_MARKS:
		return "marks";
	case BYPASS_ABILITY_READBACK:
		return "read-back";
	}
	return "?";
}

void write_ability(struct jsonw *w, const struct snapshot *s)
{
	jsonw_key_string(w, "ability", ability_name(s->ability));
	jsonw_key_string(w, "ability_how", s->ability_how);
}
