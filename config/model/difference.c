// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What kind_*.c compare to say "satisfied", told in words: see difference.h.
 */
#include "config/model/difference.h"

#include <stdarg.h>
#include <stdio.h>

#include "config/model/tx.h"

struct words {
	char *to;
	size_t at;
};

static void _printf_(2, 3) say(struct words *w, const char *fmt, ...)
{
	va_list args;
	int n;

	if (w->at) {
		n = snprintf(w->to + w->at, DIFFERENCE_TEXT - w->at, ", ");
		w->at = MIN(w->at + (size_t)n, (size_t)DIFFERENCE_TEXT - 1);
	}
	va_start(args, fmt);
	n = vsnprintf(w->to + w->at, DIFFERENCE_TEXT - w->at, fmt, args);
	va_end(args);
	w->at = MIN(w->at + (size_t)MAX(n, 0), (size_t)DIFFERENCE_TEXT - 1);
}

static void say_up(struct words *w, bool wanted, bool found)
{
	if (wanted != found)
		say(w, found ? "up instead of down" : "down instead of up");
}

static void say_mtu(struct words *w, uint32_t wanted, uint32_t found)
{
	if (wanted != found)
		say(w, "mtu %u instead of %u", found, wanted);
}

static void port_difference(struct words *w, const struct port *wanted, const struct port *found)
{
	if (wanted->has & PORT_HAS_UP)
		say_up(w, wanted->up, found->up);
	if (wanted->has & PORT_HAS_MTU)
		say_mtu(w, wanted->mtu, found->mtu);
	if (wanted->has & PORT_HAS_TC_OFFLOAD && wanted->tc_offload != found->tc_offload)
		say(w, "tc-offload is %s", found->tc_offload ? "on" : "off");
}

static void tx_difference(struct words *w, const struct tx *wanted, const struct tx *found)
{
	for (unsigned int i = 0; i < TX_VALUES; i++) {
		uint32_t queue = tx_other_queue(wanted, found, i);
		char is[TX_TEXT], was[TX_TEXT];
		const char *name;

		if (queue == TX_SAME)
			continue;
		tx_print(found, i, queue, is);
		tx_print(wanted, i, queue, was);
		name = tx_value_name((enum tx_part)found->part, i);
		if (streq(name, tx_part_name((enum tx_part)found->part)))
			say(w, "%s instead of %s", is, was);
		else
			say(w, "%s %s instead of %s", name, is, was);
	}
}

static void vlan_difference(struct words *w, const struct vlan *wanted, const struct vlan *found)
{
	if (wanted->has & PORT_HAS_UP)
		say_up(w, wanted->up, found->up);
	if (wanted->has & PORT_HAS_MTU)
		say_mtu(w, wanted->mtu, found->mtu);
	if (!streq(wanted->link, found->link))
		say(w, "on %s instead of %s", found->link, wanted->link);
	if (wanted->id != found->id)
		say(w, "id %u instead of %u", found->id, wanted->id);
	if (wanted->protocol != found->protocol)
		say(w, "protocol 0x%04x instead of 0x%04x", found->protocol, wanted->protocol);
}

static void filter_difference(struct words *w, const struct filter *wanted,
			      const struct filter *found)
{
	const uint32_t said = TCA_CLS_FLAGS_SKIP_SW | TCA_CLS_FLAGS_SKIP_HW;

	if (match_compare(filter_match(wanted), filter_match(found)) != 0)
		say(w, "another match");
	if (wanted->action_count != found->action_count ||
	    memcmp(filter_actions(wanted), filter_actions(found),
		   wanted->action_count * sizeof(struct action)) != 0)
		say(w, "other actions");
	if ((wanted->flags & said) != (found->flags & said))
		say(w, "another offload");
	if (!w->at && (wanted->has_cookie != found->has_cookie ||
		       memcmp(wanted->cookie, found->cookie, sizeof(wanted->cookie)) != 0))
		say(w, "of another rule");
}

void object_difference(const struct object *wanted, const struct object *found,
		       char to[DIFFERENCE_TEXT])
{
	struct words w = { .to = to };

	to[0] = '\0';
	switch ((enum kind)wanted->kind) {
	case KIND_PORT:
		port_difference(&w, (const struct port *)wanted, (const struct port *)found);
		return;
	case KIND_TX:
		tx_difference(&w, (const struct tx *)wanted, (const struct tx *)found);
		return;
	case KIND_VLAN:
		vlan_difference(&w, (const struct vlan *)wanted, (const struct vlan *)found);
		return;
	case KIND_FILTER:
		filter_difference(&w, (const struct filter *)wanted, (const struct filter *)found);
		return;
	case KIND_ADDRESS:
	case KIND_BLOCK:
	case KIND_QDISC:
	case KIND_RULE:
	case KIND_COUNT_:
		return;
	}
}
