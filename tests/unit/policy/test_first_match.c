// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A rule means what it says, for every packet it says it for: random rule lists with chains, random
 * packets with no, one, two or three tags. The compiled filters, walked by pref as the kernel does,
 * must choose the very rule that a walk over the rules chooses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "daemon/policy/lower.h"
#include "tests/unit/policy/make.h"
#include "tests/unit/policy/packet.h"

#define ROUNDS 3000
#define RULES 8
#define PACKETS 64
#define CHAINS 3
#define MISS UINT32_MAX

static void set_masked(struct dice *d, struct match *m, enum field f, const void *value,
		       size_t bits)
{
	uint8_t mask[16] = { 0 };

	for (size_t i = 0; i < bits; i++)
		mask[i / 8] = (uint8_t)(mask[i / 8] | 0x80 >> i % 8);
	match_set(m, f, value, mask);
}

static void random_field(struct dice *d, struct match *m, enum field f)
{
	static const size_t lengths[] = { 1, 8, 16, 31, 32 };
	uint8_t bytes[16] = { 0 }, one[16] = { 0 };

	switch (f) {
	case FIELD_DST_MAC:
	case FIELD_SRC_MAC:
	case FIELD_ARP_SENDER_MAC:
	case FIELD_ARP_TARGET_MAC:
		random_mac(d, bytes);
		set_masked(d, m, f, bytes, dice_below(d, 2) ? 48 : 47);
		return;
	case FIELD_VLAN:
	case FIELD_CVLAN:
		match_set_u16(m, f, random_vlan(d));
		return;
	case FIELD_VLAN_PRIO:
	case FIELD_CVLAN_PRIO:
	case FIELD_ICMP_CODE:
		match_set_u8(m, f, (uint8_t)dice_below(d, 2));
		return;
	case FIELD_IP_PROTO:
		match_set_u8(m, f, random_proto(d));
		return;
	case FIELD_TOS:
	case FIELD_TTL:
		bytes[0] = (uint8_t)dice_below(d, 3);
		one[0] = dice_below(d, 2) ? 0xff : 0x01;
		match_set(m, f, bytes, one);
		return;
	case FIELD_IP_FLAGS:
		bytes[3] = (uint8_t)dice_below(d, 2);
		one[3] = 1;
		match_set(m, f, bytes, one);
		return;
	case FIELD_IPV4_SRC:
	case FIELD_IPV4_DST:
	case FIELD_IPV6_SRC:
	case FIELD_IPV6_DST:
	case FIELD_ARP_SENDER_IP:
	case FIELD_ARP_TARGET_IP:
		random_ip(d, bytes);
		set_masked(d, m, f, bytes, lengths[dice_below(d, ARRAY_SIZE(lengths))]);
		return;
	case FIELD_SPORT:
	case FIELD_DPORT:
		match_set_u16(m, f, random_port(d));
		return;
	case FIELD_SPORT_RANGE:
	case FIELD_DPORT_RANGE:
		bytes[0] = one[0] = 1000 >> 8;
		bytes[1] = (uint8_t)(1000 + dice_below(d, 4));
		one[1] = (uint8_t)(bytes[1] + 1 + dice_below(d, 4));
		match_set(m, f, bytes, one);
		return;
	case FIELD_TCP_FLAGS:
		bytes[1] = (uint8_t)(dice_below(d, 4));
		one[1] = 3;
		match_set(m, f, bytes, one);
		return;
	case FIELD_ICMP_TYPE:
		match_set_u8(m, f, (uint8_t)(7 + dice_below(d, 2)));
		return;
	case FIELD_ARP_OP:
		match_set_u8(m, f, (uint8_t)(1 + dice_below(d, 2)));
		return;
	case FIELD_VLAN_ETHTYPE:
	case FIELD_CVLAN_ETHTYPE:
	case FIELD_COUNT_:
		return;
	}
}

static size_t random_actions(struct dice *d, uint32_t chain, struct action ret[3])
{
	size_t n = 0;

	if (!dice_below(d, 6))
		ret[n++] = (struct action){ .kind = ACTION_DEC_TTL };
	if (!dice_below(d, 8))
		ret[n++] = (struct action){ .kind = ACTION_VLAN_PUSH, .vlan.id = 5 };
	if (chain + 1 < CHAINS && !dice_below(d, 4))
		ret[n++] = (struct action){ .kind = ACTION_GOTO, .chain = chain + 1 };
	else
		ret[n++] = (struct action){ .kind = dice_below(d, 2) ? ACTION_DROP : ACTION_TRAP };
	return n;
}

static struct rule *random_rule(struct dice *d, uint32_t position)
{
	static const uint16_t ethertypes[] = { ETHERTYPE_ALL, 0x0800, 0x86dd, 0x0806,
					       0x8100,	      0x88a8, 0x88cc };
	uint32_t chain = (uint32_t)dice_below(d, CHAINS);
	struct action actions[3];
	struct match m = { 0 };
	size_t n = random_actions(d, chain, actions);
	struct rule *r;

	for (size_t fields = dice_below(d, 4); fields; fields--)
		random_field(d, &m, (enum field)dice_below(d, FIELD_COUNT_));
	/* Half of those that need a proto get one that may fit. */
	if ((match_has(match_view(&m), FIELD_SPORT) || match_has(match_view(&m), FIELD_DPORT) ||
	     match_has(match_view(&m), FIELD_SPORT_RANGE) ||
	     match_has(match_view(&m), FIELD_ICMP_TYPE) ||
	     match_has(match_view(&m), FIELD_DPORT_RANGE)) &&
	    dice_below(d, 4))
		random_field(d, &m, FIELD_IP_PROTO);
	r = rule_new(match_view(&m), actions, n);
	assert_non_null(r);
	snprintf(r->name, sizeof(r->name), "rule-%u", position);
	r->block = make_block.id;
	r->chain = chain;
	r->position = position;
	r->tagging = (uint8_t)dice_below(d, 4);
	if (!dice_below(d, 5))
		r->ethertype = ethertypes[dice_below(d, ARRAY_SIZE(ethertypes))];
	return r;
}

/* True if compile takes the rule. */
static bool accepted(const struct rule *r, const struct block *b, struct diags *d)
{
	struct action actions[LOWERED_MAX];
	struct variant variants[VARIANTS_MAX];
	size_t n, count;

	if (expand(r, b, d, variants, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (lower(r, b, &variants[i], TCA_CLS_FLAGS_SKIP_SW, d, actions, &count) < 0)
			return false;
	return true;
}

static const struct action *last_action(const struct action *list, size_t n)
{
	return &list[n - 1];
}

static uint32_t walk_rules(const struct state *wanted, const struct block *b,
			   const struct packet *p)
{
	uint32_t chain = 0, hit = MISS;

	for (size_t i = 0; i < state_count(wanted, KIND_RULE); i++) {
		const struct rule *r = state_at(wanted, KIND_RULE, i);
		const struct action *last = last_action(rule_actions(r), r->action_count);

		if (r->chain != chain || !rule_speaks_of(r, b, p))
			continue;
		if (last->kind != ACTION_GOTO)
			return r->position;
		chain = last->chain;
		hit = MISS;
		i = SIZE_MAX; /* from the start, in the other chain */
	}
	return hit;
}

static uint32_t walk_filters(const struct state *filters, const struct packet *p)
{
	uint32_t chain = 0;

	/* In a state filters stand by chain and pref, as the kernel walks them. */
	for (size_t i = 0; i < state_count(filters, KIND_FILTER); i++) {
		const struct filter *f = state_at(filters, KIND_FILTER, i);
		const struct action *last = last_action(filter_actions(f), f->action_count);

		if (f->chain != chain || !filter_matches(f, p))
			continue;
		if (last->kind != ACTION_GOTO)
			return f->rule->position;
		chain = last->chain;
		i = SIZE_MAX;
	}
	return MISS;
}

static void report(const struct state *wanted, const struct state *filters, const struct packet *p)
{
	char text[MATCH_TEXT], label[OBJECT_LABEL];

	for (size_t i = 0; i < state_count(wanted, KIND_RULE); i++) {
		const struct rule *r = state_at(wanted, KIND_RULE, i);

		match_print(rule_match(r), text);
		print_error("rule %u chain %u ethertype 0x%x tagging %s: %s\n", r->position,
			    r->chain, r->ethertype, tagging_name((enum tagging)r->tagging), text);
	}
	for (size_t i = 0; i < state_count(filters, KIND_FILTER); i++) {
		const struct filter *f = state_at(filters, KIND_FILTER, i);

		match_print(filter_match(f), text);
		object_label(&f->obj, label);
		print_error("%s: rule %u: %s\n", label, f->rule->position, text);
	}
	print_error("packet: %zu tags (%04x %u, %04x %u), ethertype %04x proto %u frag %u\n",
		    p->tag_count, p->tags[0].ethertype, p->tags[0].id, p->tags[1].ethertype,
		    p->tags[1].id, p->ethertype, p->proto, p->frag);
}

struct tally {
	size_t refused, rules, filters, hits, misses, tagged_hits, chained;
};

static void one_round(struct dice *d, struct tally *t)
{
	struct block block = make_block;
	_cleanup_(config_unrefp) struct config *c = NULL;
	_cleanup_(state_freep) struct state *filters = NULL;
	_cleanup_(diags_freep) struct diags *refused = diags_new("swd.yaml");

	block.tagging = dice_below(d, 2) ? TAGGING_ANY : TAGGING_NONE;
	c = make_config(&block, NULL, 0);
	for (uint32_t n = 0; n < RULES;) {
		struct rule *r = random_rule(d, n);

		if (!accepted(r, &block, refused)) {
			t->refused++;
			object_unref(r);
			continue;
		}
		assert_int_equal(state_add(c->wanted, r, NULL), 0);
		n++;
	}
	filters = make_filters(c, NULL);
	t->rules += RULES;
	t->filters += state_count(filters, KIND_FILTER);
	for (size_t i = 0; i < PACKETS; i++) {
		struct packet p = packet_random(d);
		uint32_t wanted = walk_rules(c->wanted, &block, &p),
			 got = walk_filters(filters, &p);

		if (wanted != got)
			report(c->wanted, filters, &p);
		assert_int_equal(got, wanted);
		t->hits += got != MISS;
		t->misses += got == MISS;
		t->tagged_hits += got != MISS && p.tag_count;
		if (got != MISS) {
			const struct rule *r = state_at(c->wanted, KIND_RULE, got);

			t->chained += r->chain != 0;
		}
	}
}

static void test_filters_decide_as_the_rules(void **state)
{
	struct dice dice = dice_new("first match");
	struct tally t = { 0 };

	for (size_t i = 0; i < ROUNDS; i++)
		one_round(&dice, &t);
	print_message(
		"%zu rules (%zu more refused), %zu filters, %zu packets: %zu hits (%zu tagged, "
		"%zu in chains), %zu misses\n",
		t.rules, t.refused, t.filters, t.hits + t.misses, t.hits, t.tagged_hits, t.chained,
		t.misses);
	/* A test in which nothing meets anything would prove nothing. */
	assert_true(t.hits > ROUNDS * 5 && t.misses > ROUNDS * 5);
	assert_true(t.tagged_hits > ROUNDS * 3 && t.chained > ROUNDS);
}

/* The two judges must be able to differ: a filter that flower would read too widely is caught. */
static void test_judges_can_differ(void **state)
{
	struct dice dice = dice_new("judges");
	struct match m;
	_cleanup_object_ struct filter *f = NULL;
	_cleanup_object_ struct rule *r = NULL;
	const struct action drop = { .kind = ACTION_DROP };
	size_t wider = 0, escaped = 0;

	make_match("dport=1000", &m); /* without a proto: flower drops the key */
	r = rule_new(match_view(&m), &drop, 1);
	f = filter_new(match_view(&m), &drop, 1);
	assert_non_null(r);
	assert_non_null(f);
	r->tagging = TAGGING_ANY;
	f->protocol = 0x0800;
	for (size_t i = 0; i < 2000; i++) {
		struct packet p = packet_random(&dice);

		wider += filter_matches(f, &p) && !rule_speaks_of(r, &make_block, &p);
		escaped += !filter_matches(f, &p) && rule_speaks_of(r, &make_block, &p);
	}
	assert_true(wider > 50);
	assert_true(escaped > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filters_decide_as_the_rules),
		cmocka_unit_test(test_judges_can_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
