// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Courses by chance, and what is left of one that fails when all that it does not need is gone.
 */
#include "tests/unit/policy/course.h"

#include <stdio.h>

#include "config/yaml/load.h"
#include "daemon/policy/compile.h"

static bool one_in(struct dice *d, size_t n)
{
	return dice_below(d, n) == 0;
}

/* ---- lists ---- */

/* Takes out the rules that errors name; one of the last, if they name none. */
static void take_refused(struct written_block *b, const struct diags *d)
{
	size_t before = b->count;

	for (size_t i = b->count; i-- > 0;) {
		bool bad = false;

		for (size_t k = 0; k < diags_count(d) && !bad; k++)
			bad = diags_at(d, k)->level == DIAG_ERROR &&
			      diags_at(d, k)->at.line == WRITTEN_LINE + i;
		if (bad)
			written_take(b, i);
	}
	if (b->count == before && b->count)
		b->count--;
}

/* Until the language and the profile take the list. */
static void settle(struct written_block *b, const struct course *c)
{
	while (true) {
		_cleanup_(diags_freep) struct diags *d = diags_new("swd.yaml");
		_cleanup_(config_unrefp) struct config *config = NULL;
		_cleanup_(state_freep) struct state *s = state_new();
		_cleanup_free_ char *yaml = written_yaml(b);
		struct compile_input in = { .shortcut = c->shortcut, .profile = c->profile };
		int r = config_load(yaml, strlen(yaml), d, &config);

		in.config = config;
		if (r == 0)
			r = compile(&in, d, s);
		if (r == 0)
			return;
		if (!b->count) {
			diags_print(d, stderr);
			abort();
		}
		take_refused(b, d);
	}
}

/* Some prefs that people chose, rising, with room between them for some filters. */
static void choose_prefs(struct dice *d, struct written_block *b, const struct profile *profile)
{
	for (uint32_t chain = 0; chain < 4; chain++) {
		uint32_t pref = profile->pref_min;

		for (size_t i = 0; i < b->count; i++) {
			struct written *w = &b->rules[i];

			if (w->chain != chain)
				continue;
			pref += (uint32_t)dice_below(d, 40);
			if (one_in(d, 4) && pref <= profile->pref_max)
				w->pref = (uint16_t)pref++;
		}
	}
}

static struct written_block random_list(struct dice *d, const struct course *c, uint32_t *id)
{
	size_t n = 1 + dice_below(d, one_in(d, 3) ? 40 : 12);
	struct written_block list;

	if (one_in(d, 500))
		n = 200 + dice_below(d, 300);
	list = written_list(d, n, id);
	if (one_in(d, 6))
		choose_prefs(d, &list, &c->profile);
	return list;
}

static struct profile random_profile(struct dice *d)
{
	uint16_t low = (uint16_t)(1 + dice_below(d, 2) * dice_below(d, 60000));

	switch (dice_below(d, 10)) {
	case 0:
		return (struct profile){ .pref_min = low, .pref_max = low };
	case 1:
	case 2:
		return (struct profile){ .pref_min = low, .pref_max = (uint16_t)(low + 15) };
	case 3:
		return (struct profile){ .pref_min = low,
					 .pref_max = (uint16_t)(low + dice_below(d, 200)) };
	}
	return PROFILE_WIDE;
}

void course_random(struct dice *d, struct course *ret)
{
	uint32_t id = 0;

	*ret = (struct course){ .profile = random_profile(d) };
	ret->shortcut = ret->profile.pref_max > ret->profile.pref_min + 1 && one_in(d, 4);
	ret->count = 1 + dice_below(d, 3);
	ret->lists[0] = random_list(d, ret, &id);
	settle(&ret->lists[0], ret);
	for (size_t i = 1; i < ret->count; i++) {
		if (one_in(d, 12)) {
			ret->lists[i] = random_list(d, ret, &id);
		} else {
			ret->lists[i] = written_copy(&ret->lists[i - 1]);
			for (size_t n = 1 + dice_below(d, one_in(d, 3) ? 6 : 1); n; n--)
				written_edit(d, &ret->lists[i], &id);
		}
		settle(&ret->lists[i], ret);
	}
	for (ret->packet_count = 0; ret->packet_count < COURSE_PACKETS; ret->packet_count++) {
		const struct written_block *b = &ret->lists[dice_below(d, ret->count)];
		struct packet *p = &ret->packets[ret->packet_count];

		*p = b->count && !one_in(d, 8)
			     ? written_packet(d, &b->rules[dice_below(d, b->count)])
			     : packet_random(d);
	}
}

void course_clear(struct course *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->lists[i].rules);
	c->count = 0;
}

/* ---- a smaller failure ---- */

static struct course course_copy(const struct course *c)
{
	struct course copy = *c;

	for (size_t i = 0; i < c->count; i++)
		copy.lists[i] = written_copy(&c->lists[i]);
	return copy;
}

/* Takes the smaller one if that fails as well. */
static bool adopt(struct course *c, struct course *smaller, struct course_failure *f)
{
	struct course_tally t = { 0 };
	struct course_failure other;

	if (course_run(smaller, &t, &other) != COURSE_FAILS) {
		course_clear(smaller);
		return false;
	}
	course_clear(c);
	*c = *smaller;
	*f = other;
	return true;
}

static void shrink_lists(struct course *c, struct course_failure *f)
{
	for (size_t i = c->count; i-- > 0 && c->count > 1;) {
		struct course smaller = course_copy(c);

		free(smaller.lists[i].rules);
		memmove(&smaller.lists[i], &smaller.lists[i + 1],
			(smaller.count - i - 1) * sizeof(smaller.lists[0]));
		smaller.count--;
		adopt(c, &smaller, f);
	}
}

/* From every list, the rules [first, first + n) of list k, by their names. */
static bool shrink_rules(struct course *c, struct course_failure *f, size_t k, size_t first,
			 size_t n)
{
	struct course smaller = course_copy(c);

	for (size_t r = first; r < first + n && r < c->lists[k].count; r++)
		for (size_t i = 0; i < smaller.count; i++)
			for (size_t at = smaller.lists[i].count; at-- > 0;)
				if (smaller.lists[i].rules[at].id == c->lists[k].rules[r].id)
					written_take(&smaller.lists[i], at);
	return adopt(c, &smaller, f);
}

static void forget(struct written *w, size_t what)
{
	struct written_number *numbers[] = { &w->ttl,	    &w->tos,	   &w->icmp_type,
					     &w->icmp_code, &w->tcp_flags, &w->ip_flags,
					     &w->arp_op,    &w->cvlan,	   &w->cvlan_prio,
					     &w->vlan_prio, &w->vlan };
	struct written_mac *macs[] = { &w->src_mac, &w->dst_mac, &w->arp_sender_mac,
				       &w->arp_target_mac };

	if (what < ARRAY_SIZE(numbers))
		numbers[what]->said = false;
	else if (what < ARRAY_SIZE(numbers) + ARRAY_SIZE(macs))
		*macs[what - ARRAY_SIZE(numbers)] = (struct written_mac){ 0 };
	else if (what == 15)
		w->src.family = 0;
	else if (what == 16)
		w->dst.family = 0;
	else if (what == 17)
		w->sport.said = w->dport.said = false;
	else if (what == 18)
		w->deed_count = w->deed_count ? (w->deeds[0] = w->deeds[w->deed_count - 1], 1) : 0;
	else if (what == 19)
		w->pref = 0;
}

static void shrink_fields(struct course *c, struct course_failure *f)
{
	for (size_t k = 0; k < c->count; k++) {
		for (size_t r = 0; r < c->lists[k].count; r++) {
			for (size_t what = 0; what < 20; what++) {
				struct course smaller = course_copy(c);

				for (size_t i = 0; i < c->count; i++)
					for (size_t at = 0; at < smaller.lists[i].count; at++)
						if (smaller.lists[i].rules[at].id ==
						    c->lists[k].rules[r].id)
							forget(&smaller.lists[i].rules[at], what);
				adopt(c, &smaller, f);
			}
		}
	}
}

void course_shrink(struct course *c, struct course_failure *f)
{
	struct course smaller = course_copy(c);

	smaller.packets[0] = c->packets[f->packet];
	smaller.packet_count = 1;
	adopt(c, &smaller, f);
	shrink_lists(c, f);
	for (size_t n = 64; n; n /= 2)
		for (size_t k = 0; k < c->count; k++)
			for (size_t at = 0; at < c->lists[k].count;)
				if (!shrink_rules(c, f, k, at, n))
					at += n;
	shrink_lists(c, f);
	shrink_fields(c, f);
}

void course_print(const struct course *c, const struct course_failure *f, FILE *to)
{
	fprintf(to, "prefs %u to %u%s\n", c->profile.pref_min, c->profile.pref_max,
		c->shortcut ? ", with a shortcut" : "");
	for (size_t i = 0; i < c->count; i++) {
		_cleanup_free_ char *yaml = written_yaml(&c->lists[i]);

		fprintf(to, "--- list %zu\n%s", i, strstr(yaml, "    tagging"));
	}
	packet_print(&c->packets[f->packet], to);
	fprintf(to, "list %zu, %s\n", f->list, f->text);
}
