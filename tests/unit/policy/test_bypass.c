// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The judgement on a block through stories: what happened to its filters, what is found there, and what
 * must be said of its bypass, with each ability of the kernel. Among them the story that the lab told on
 * 6.12: 50 rules, a software filter added to a pref and deleted again, and the bypass gone for good.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "daemon/kernel/cookie.h"
#include "daemon/policy/bypass.h"
#include "tests/unit/policy/dice.h"
#include "tests/unit/policy/make.h"

#define SKIP_SW (TCA_CLS_FLAGS_SKIP_SW | TCA_CLS_FLAGS_IN_HW)
#define DEAD TCA_CLS_FLAGS_SKIP_SW
#define SOFTWARE TCA_CLS_FLAGS_NOT_IN_HW

/* One block 10 and its filters: what the kernel has, and what was heard of it. */
struct story {
	struct bypass *b;
	struct state *found, *wanted;
	struct config *config;
	struct bypass_words words;
	struct bypass_report report;
};

static void begin(struct story *s, enum bypass_ability ability)
{
	*s = (struct story){ .b = bypass_new(ability), .found = state_new() };
	assert_non_null(s->b);
	assert_non_null(s->found);
	s->words.file = "swd.yaml";
	s->words.block_wanted = &make_block;
}

static void end(struct story *s)
{
	bypass_free(s->b);
	state_free(s->found);
	state_free(s->wanted);
	config_unref(s->config);
}

static struct filter *new_filter(uint32_t chain, uint16_t pref, uint16_t protocol, uint32_t handle,
				 uint32_t flags, const char *classifier, bool ours)
{
	const struct action pass = { .kind = ACTION_PASS };
	struct filter *f = filter_new((struct match_view){ 0 }, &pass, 1);

	assert_non_null(f);
	f->block = 10;
	f->chain = chain;
	f->pref = pref;
	f->protocol = protocol;
	f->handle = handle;
	f->flags = flags;
	f->owner = ours ? OWNER_OURS : OWNER_FOREIGN;
	f->type = streq(classifier, "flower")	? FILTER_FLOWER :
		  streq(classifier, "matchall") ? FILTER_MATCHALL :
						  FILTER_OTHER;
	if (f->type == FILTER_OTHER)
		COPY_NAME(f->other, classifier);
	if (ours) {
		cookie_make(f, 0, f->cookie);
		f->has_cookie = true;
	}
	return f;
}

/* The kernel takes a filter, and its event is heard. */
static void put(struct story *s, struct filter *f)
{
	assert_int_equal(bypass_filter_new(s->b, f), 0);
	assert_int_equal(state_put(s->found, f), 0);
}

static void flower(struct story *s, uint16_t pref, uint32_t handle, uint32_t flags, bool ours)
{
	put(s, new_filter(0, pref, 0x0800, handle, flags, "flower", ours));
}

static void gone(struct story *s, uint16_t pref, uint16_t protocol, uint32_t handle)
{
	struct filter key = { .obj.kind = KIND_FILTER, .block = 10, .pref = pref, .protocol = protocol,
			      .handle = handle };
	size_t first, last;

	bypass_filter_gone(s->b, &key);
	if (handle) {
		assert_true(state_remove(s->found, &key));
		return;
	}
	state_block_filters(s->found, 10, &first, &last);
	for (size_t i = last; i-- > first;) {
		const struct filter *f = state_at(s->found, KIND_FILTER, i);

		if (f->pref == pref && f->protocol == protocol)
			state_remove(s->found, f);
	}
}

static void judge(struct story *s)
{
	assert_int_equal(bypass_judge(s->b, 10, s->found, &s->words, &s->report), 0);
}

static void assert_state(struct story *s, enum bypass_state state, enum bypass_evidence evidence)
{
	judge(s);
	assert_string_equal(bypass_state_name(s->report.state), bypass_state_name(state));
	assert_string_equal(bypass_evidence_name(s->report.evidence), bypass_evidence_name(evidence));
}

static void assert_culprit(struct story *s, size_t i, const char *text, const char *mend)
{
	assert_true(i < s->report.culprit_count);
	assert_string_equal(s->report.culprits[i].text, text);
	assert_string_equal(s->report.culprits[i].mend, mend);
}

static size_t to_heal(struct story *s, struct bypass_proto *ret, size_t most)
{
	return bypass_to_heal(s->b, 10, s->found, ret, most);
}

/* ---- marks (6.12) ---- */

static void fifty_rules(struct story *s)
{
	assert_int_equal(bypass_block_born(s->b, 10), 0);
	for (uint16_t i = 1; i <= 50; i++)
		flower(s, i, 1, SKIP_SW, true);
}

static void test_the_story_of_the_lab(void **state)
{
	struct story s;
	struct bypass_proto heal[4];
	char cost[BYPASS_COST];

	begin(&s, BYPASS_ABILITY_MARKS);
	fifty_rules(&s);
	assert_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.strategy, BYPASS_STRATEGY_KERNEL);
	assert_int_equal(s.report.filters, 50);
	assert_int_equal(to_heal(&s, heal, 4), 0);

	/* A software filter comes into pref 12 ... */
	flower(&s, 12, 2, SOFTWARE, false);
	assert_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.culprit_count, 1);
	assert_culprit(&s, 0, "pref 12 protocol ip flower handle 0x2, foreign: not skip_sw",
		       "tc filter del block 10 pref 12 protocol ip handle 0x2 flower, or foreign: evict "
		       "in swd.yaml:12");
	assert_int_equal(s.report.filters_sw, 1);
	bypass_cost(&s.report, cost);
	assert_string_equal(cost, "51 filters walked for each packet that reaches the CPU");
	assert_int_equal(to_heal(&s, heal, 4), 0);

	/* ... and goes. Nothing shows it, and the bypass stays off. */
	gone(&s, 12, 0x0800, 2);
	assert_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.culprit_count, 1);
	assert_culprit(&s, 0, "pref 12 protocol ip: marked by a filter that is gone", "swd rebuilds it");
	assert_int_equal(s.report.culprits[0].handle, 0);
	assert_int_equal(s.report.filters_sw, 0);
	assert_int_equal(to_heal(&s, heal, 4), 1);
	assert_int_equal(heal[0].pref, 12);
	assert_int_equal(heal[0].protocol, 0x0800);

	/* Healed: beside it first, then the old one goes, and its pref with it. */
	flower(&s, 112, 1, SKIP_SW, true);
	assert_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	gone(&s, 12, 0x0800, 1);
	assert_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	bypass_cost(&s.report, cost);
	assert_string_equal(cost, "");
	end(&s);
}

static void test_whole_pref_deleted(void **state)
{
	struct story s;

	begin(&s, BYPASS_ABILITY_MARKS);
	fifty_rules(&s);
	put(&s, new_filter(0, 1, ETHERTYPE_ALL, 1, SOFTWARE, "matchall", false));
	assert_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_culprit(&s, 0, "pref 1 protocol all matchall handle 0x1, foreign: not skip_sw",
		       "tc filter del block 10 pref 1, or foreign: evict in swd.yaml:12");
	gone(&s, 1, ETHERTYPE_ALL, 0);
	assert_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	/* A new proto in the old place is a new one. */
	flower(&s, 7, 9, SOFTWARE, true);
	gone(&s, 7, 0x0800, 0);
	flower(&s, 7, 1, SKIP_SW, true);
	assert_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	end(&s);
}

/* A replace by skip_sw in the same pref leaves the mark. */
static void test_replaced(void **state)
{
	struct story s;
	struct bypass_proto heal[1];

	begin(&s, BYPASS_ABILITY_MARKS);
	assert_int_equal(bypass_block_born(s.b, 10), 0);
	flower(&s, 5, 1, SOFTWARE, true);
	flower(&s, 5, 1, SKIP_SW, true);
	assert_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_culprit(&s, 0, "pref 5 protocol ip: marked by a filter that is gone", "swd rebuilds it");
	assert_int_equal(to_heal(&s, heal, 1), 1);
	end(&s);
}

/* An unbind takes in_hw away and marks nothing; those filters are nowhere at all, and are counted. */
static void test_lost_hardware(void **state)
{
	struct story s;

	begin(&s, BYPASS_ABILITY_MARKS);
	fifty_rules(&s);
	flower(&s, 3, 1, DEAD, true);
	assert_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.filters_dead, 1);
	/* One that comes that way would have marked. */
	flower(&s, 60, 1, DEAD, true);
	assert_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.filters_dead, 2);
	end(&s);
}

static void test_unseen_history(void **state)
{
	struct story s;
	struct bypass_proto heal[64];
	char cost[BYPASS_COST];

	begin(&s, BYPASS_ABILITY_MARKS);
	for (uint16_t i = 1; i <= 3; i++)
		flower(&s, i, 1, SKIP_SW, i != 2);
	assert_state(&s, BYPASS_UNKNOWN, BYPASS_BY_NOTHING); /* not even dumped */
	assert_int_equal(bypass_block_found(s.b, 10, s.found), 0);
	assert_state(&s, BYPASS_UNKNOWN, BYPASS_BY_NOTHING);
	assert_int_equal(s.report.culprit_count, 3);
	assert_culprit(&s, 0, "pref 1 protocol ip: may be marked by a filter that swd did not see",
		       "swd rebuilds it");
	assert_culprit(&s, 1, "pref 2 protocol ip: may be marked by a filter that swd did not see",
		       "tc filter del block 10 pref 2, or foreign: evict in swd.yaml:12");
	bypass_cost(&s.report, cost);
	assert_string_equal(cost, "3 filters walked for each packet that reaches the CPU, if it is off");
	/* What is foreign is not ours to rebuild. */
	assert_int_equal(to_heal(&s, heal, 64), 2);
	assert_int_equal(heal[0].pref, 1);
	assert_int_equal(heal[1].pref, 3);
	/* Each proto that was rebuilt before our eyes is known. */
	flower(&s, 10, 1, SKIP_SW, true);
	gone(&s, 1, 0x0800, 1);
	flower(&s, 11, 1, SKIP_SW, true);
	gone(&s, 3, 0x0800, 0);
	assert_state(&s, BYPASS_UNKNOWN, BYPASS_BY_NOTHING);
	gone(&s, 2, 0x0800, 1);
	assert_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	end(&s);
}

/* A software filter in a dump proves the mark, whatever was not seen. */
static void test_found_with_software(void **state)
{
	struct story s;

	begin(&s, BYPASS_ABILITY_MARKS);
	flower(&s, 1, 1, SKIP_SW, true);
	flower(&s, 2, 1, SOFTWARE, false);
	flower(&s, 2, 2, SKIP_SW, true);
	assert_int_equal(bypass_block_found(s.b, 10, s.found), 0);
	assert_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.culprit_count, 2); /* that one for sure, pref 1 perhaps */
	gone(&s, 2, 0x0800, 1);
	assert_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_culprit(&s, 0, "pref 2 protocol ip: marked by a filter that is gone", "swd rebuilds it");
	end(&s);
}

static void test_lost_events(void **state)
{
	struct story s;

	begin(&s, BYPASS_ABILITY_MARKS);
	fifty_rules(&s);
	bypass_all_stale(s.b);
	assert_state(&s, BYPASS_UNKNOWN, BYPASS_BY_NOTHING);
	assert_int_equal(s.report.culprit_count, 50);
	/* Before the dump a proto that seems new may be an old one. */
	flower(&s, 70, 1, SKIP_SW, true);
	for (uint16_t i = 1; i <= 50; i++)
		gone(&s, i, 0x0800, 1);
	assert_state(&s, BYPASS_UNKNOWN, BYPASS_BY_NOTHING);
	assert_int_equal(s.report.culprit_count, 1);
	assert_int_equal(bypass_block_found(s.b, 10, s.found), 0);
	assert_state(&s, BYPASS_UNKNOWN, BYPASS_BY_NOTHING);
	flower(&s, 71, 1, SKIP_SW, true);
	gone(&s, 70, 0x0800, 1);
	assert_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	end(&s);
}

static void test_other_classifiers(void **state)
{
	struct story s;

	begin(&s, BYPASS_ABILITY_MARKS);
	assert_int_equal(bypass_block_born(s.b, 10), 0);
	/* A hash table of u32 marks nothing (the probe lives on that), its knodes by their flags. */
	put(&s, new_filter(0, 1, ETHERTYPE_ALL, 0x100000, 0, "u32", false));
	assert_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.filters, 0);
	put(&s, new_filter(0, 1, ETHERTYPE_ALL, 0x100800, SKIP_SW, "u32", false));
	put(&s, new_filter(0, 2, ETHERTYPE_ALL, 1, SKIP_SW, "bpf", false));
	assert_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.filters, 2);
	/* One that can't be offloaded marks by being there. */
	put(&s, new_filter(0, 3, 0x0800, 1, 0, "basic", false));
	assert_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_culprit(&s, 0, "pref 3 protocol ip basic handle 0x1, foreign: can't be offloaded",
		       "tc filter del block 10 pref 3, or foreign: evict in swd.yaml:12");
	gone(&s, 3, 0x0800, 1);
	assert_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	end(&s);
}

static void test_counter_disproves(void **state)
{
	struct story s;

	begin(&s, BYPASS_ABILITY_MARKS);
	fifty_rules(&s);
	bypass_disproved(s.b, 10);
	assert_state(&s, BYPASS_OFF, BYPASS_BY_COUNTERS);
	flower(&s, 51, 1, SKIP_SW, true);
	assert_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	end(&s);
}

static void test_chains(void **state)
{
	struct story s;

	begin(&s, BYPASS_ABILITY_MARKS);
	assert_int_equal(bypass_block_born(s.b, 10), 0);
	flower(&s, 1, 1, SKIP_SW, true);
	put(&s, new_filter(5, 1, 0x0800, 1, SOFTWARE, "flower", false));
	assert_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.walked, 1);
	assert_culprit(&s, 0, "chain 5 pref 1 protocol ip flower handle 0x1, foreign: not skip_sw",
		       "tc filter del block 10 chain 5 pref 1, or foreign: evict in swd.yaml:12");
	end(&s);
}

/* ---- words about our own rules ---- */

static void test_our_own_rule(void **state)
{
	const struct make_rule rules[] = {
		{ .name = "fast", .match = "dst=10.0.0.1" },
		{ .name = "slow", .match = "dst=10.0.0.2", .offload = OFFLOAD_PREFERRED },
		{ .name = "there", .match = "dst=10.0.0.3", .pref = 900 },
	};
	struct story s;

	begin(&s, BYPASS_ABILITY_MARKS);
	s.config = make_config(&make_block, rules, 3);
	s.wanted = make_filters(s.config, NULL);
	s.words.filters = s.wanted;
	assert_int_equal(bypass_block_born(s.b, 10), 0);
	for (size_t i = 0; i < 3; i++) {
		struct filter *f = filter_copy(state_at(s.wanted, KIND_FILTER, i));

		f->flags |= i == 1 ? TCA_CLS_FLAGS_NOT_IN_HW : TCA_CLS_FLAGS_IN_HW;
		put(&s, f);
	}
	assert_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.culprit_count, 1);
	/* In front of a pref that a rule says, numbers count down from it: 772, 836, 900. */
	assert_culprit(&s, 0, "pref 836 protocol ip flower handle 0x1, rule slow: not skip_sw",
		       "offload: required for rule slow in swd.yaml:21");
	/* A mark in a pref that the file says can't be rebuilt elsewhere. */
	flower(&s, 900, 2, SOFTWARE, false);
	gone(&s, 900, 0x0800, 2);
	judge(&s);
	assert_culprit(&s, 1, "pref 900 protocol ip: marked by a filter that is gone",
		       "another pref for rule there in swd.yaml:22, or none, so that swd can rebuild it");
	/* Of ours, and not wanted any more. */
	flower(&s, 5, 1, SOFTWARE, true);
	judge(&s);
	assert_culprit(&s, 0, "pref 5 protocol ip flower handle 0x1, left over from swd: not skip_sw",
		       "swd removes it: it is not wanted any more");
	end(&s);
}

static void test_foreign_evicted(void **state)
{
	struct block evict = make_block;
	struct story s;

	evict.foreign = FOREIGN_EVICT;
	begin(&s, BYPASS_ABILITY_MARKS);
	s.words.block_wanted = &evict;
	assert_int_equal(bypass_block_born(s.b, 10), 0);
	flower(&s, 1, 1, SOFTWARE, false);
	judge(&s);
	assert_culprit(&s, 0, "pref 1 protocol ip flower handle 0x1, foreign: not skip_sw",
		       "swd evicts it");
	end(&s);
}

static void test_more_culprits_than_fit(void **state)
{
	struct story s;

	begin(&s, BYPASS_ABILITY_MARKS);
	assert_int_equal(bypass_block_born(s.b, 10), 0);
	for (uint16_t i = 1; i <= 20; i++)
		flower(&s, i, 1, SOFTWARE, false);
	assert_state(&s, BYPASS_OFF, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.culprit_count, 20);
	assert_int_equal(s.report.culprits[BYPASS_CULPRITS - 1].pref, BYPASS_CULPRITS);
	end(&s);
}

/* ---- our patch ---- */

static void test_read_back(void **state)
{
	struct bypass_reading reading = { .block = 10, .members = 2, .bypassed = 1, .filters = 1 };
	struct story s;
	uint64_t since;

	begin(&s, BYPASS_ABILITY_READBACK);
	flower(&s, 1, 1, SKIP_SW, true);
	assert_state(&s, BYPASS_UNKNOWN, BYPASS_BY_NOTHING);
	assert_int_equal(bypass_read(s.b, &reading), 0);
	assert_state(&s, BYPASS_ON, BYPASS_BY_READBACK);
	assert_int_equal(s.report.reading.members, 2);
	since = s.report.since_ns;
	assert_true(since > 0);
	judge(&s);
	assert_int_equal(s.report.since_ns, since);

	/* The kernel's word wins, the filters explain it. */
	flower(&s, 2, 1, SOFTWARE, false);
	assert_state(&s, BYPASS_ON, BYPASS_BY_READBACK);
	assert_int_equal(s.report.culprit_count, 0);
	reading.bypassed = 0;
	assert_int_equal(bypass_read(s.b, &reading), 0);
	assert_state(&s, BYPASS_OFF, BYPASS_BY_READBACK);
	assert_int_equal(s.report.culprit_count, 1);
	assert_true(s.report.since_ns > since);
	gone(&s, 2, 0x0800, 1);
	reading.bypassed = 1;
	assert_int_equal(bypass_read(s.b, &reading), 0);
	assert_state(&s, BYPASS_ON, BYPASS_BY_READBACK); /* nothing to heal there */
	assert_int_equal(bypass_to_heal(s.b, 10, s.found, NULL, 0), 0);
	end(&s);
}

/* ---- the shortcut ---- */

static void test_shortcut(void **state)
{
	struct block off = make_block;
	struct story s;

	begin(&s, BYPASS_ABILITY_NONE);
	flower(&s, 64, 1, SKIP_SW, true);
	flower(&s, 128, 1, SKIP_SW, true);
	assert_state(&s, BYPASS_OFF, BYPASS_BY_FILTERS);
	assert_int_equal(s.report.strategy, BYPASS_STRATEGY_SHORTCUT);
	assert_culprit(&s, 0, "block 10 has no shortcut in front",
		       "swd puts it there once every filter is skip_sw");
	put(&s, new_filter(0, 2, ETHERTYPE_ALL, 1, TCA_CLS_FLAGS_SKIP_HW | SOFTWARE, "matchall", true));
	assert_state(&s, BYPASS_ON, BYPASS_BY_FILTERS);
	assert_int_equal(s.report.filters, 2);
	assert_int_equal(s.report.filters_sw, 0);

	/* A foreign filter behind it that would have needed software. */
	flower(&s, 200, 1, SOFTWARE, false);
	assert_state(&s, BYPASS_OFF, BYPASS_BY_FILTERS);
	assert_int_equal(s.report.culprit_count, 1);
	gone(&s, 200, 0x0800, 1);
	/* And one in front, harmless but for its place. */
	flower(&s, 1, 1, SKIP_SW, false);
	assert_state(&s, BYPASS_OFF, BYPASS_BY_FILTERS);
	gone(&s, 1, 0x0800, 1);
	assert_state(&s, BYPASS_ON, BYPASS_BY_FILTERS);

	/* The same without our cookie is somebody else's. */
	put(&s, new_filter(0, 2, ETHERTYPE_ALL, 1, TCA_CLS_FLAGS_SKIP_HW | SOFTWARE, "matchall",
			   false));
	assert_state(&s, BYPASS_OFF, BYPASS_BY_FILTERS);

	/* Not wanted: then there is none. */
	off.bypass = BYPASS_WANT_OFF;
	s.words.block_wanted = &off;
	assert_state(&s, BYPASS_OFF, BYPASS_BY_NOTHING);
	assert_int_equal(s.report.strategy, BYPASS_STRATEGY_NONE);
	end(&s);
}

static void test_unknown_ability(void **state)
{
	struct story s;

	begin(&s, BYPASS_ABILITY_UNKNOWN);
	flower(&s, 64, 1, SKIP_SW, true);
	assert_state(&s, BYPASS_UNKNOWN, BYPASS_BY_NOTHING);
	assert_int_equal(s.report.strategy, BYPASS_STRATEGY_NONE);
	end(&s);
}

/* ---- the model against a slow one ---- */

#define MODEL_PREFS 6
#define MODEL_HANDLES 4

/* The kernel of 6.12 in a few lines: prefs with a mark and a set of filters. */
struct model {
	struct {
		bool marked, there[MODEL_HANDLES], software[MODEL_HANDLES];
		size_t count;
	} protos[MODEL_PREFS];
};

static bool model_bypassed(const struct model *m)
{
	for (size_t i = 0; i < MODEL_PREFS; i++)
		if (m->protos[i].count && m->protos[i].marked)
			return false;
	return true;
}

static void model_step(struct story *s, struct model *m, struct dice *d)
{
	size_t p = dice_below(d, MODEL_PREFS), h = dice_below(d, MODEL_HANDLES);

	if (dice_below(d, 3)) {
		bool software = !dice_below(d, 8);

		if (!m->protos[p].count)
			m->protos[p].marked = false;
		m->protos[p].count += !m->protos[p].there[h];
		m->protos[p].there[h] = true;
		m->protos[p].marked |= software;
		flower(s, (uint16_t)(p + 1), (uint32_t)h + 1, software ? SOFTWARE : SKIP_SW, true);
	} else if (m->protos[p].there[h]) {
		bool whole = !dice_below(d, 3);

		m->protos[p].count = whole ? 0 : m->protos[p].count - 1;
		for (size_t i = 0; i < MODEL_HANDLES; i++)
			m->protos[p].there[i] &= !whole && i != h;
		gone(s, (uint16_t)(p + 1), 0x0800, whole ? 0 : (uint32_t)h + 1);
	}
}

static void test_against_the_model(void **state)
{
	struct dice dice = dice_new("marks");
	size_t on = 0, off = 0;

	for (size_t round = 0; round < 200; round++) {
		struct model m = { 0 };
		struct story s;

		begin(&s, BYPASS_ABILITY_MARKS);
		assert_int_equal(bypass_block_born(s.b, 10), 0);
		for (size_t step = 0; step < 200; step++) {
			bool bypassed;

			model_step(&s, &m, &dice);
			bypassed = model_bypassed(&m);
			assert_state(&s, bypassed ? BYPASS_ON : BYPASS_OFF, BYPASS_BY_HISTORY);
			on += bypassed;
			off += !bypassed;
		}
		end(&s);
	}
	print_message("40,000 steps: %zu on, %zu off\n", on, off);
	assert_true(on > 1000 && off > 1000);
}

/* 60,000 prefs and as many handles in one: the table grows, and loses none. */
static void test_large(void **state)
{
	struct story s;
	struct bypass_proto heal[2];

	begin(&s, BYPASS_ABILITY_MARKS);
	assert_int_equal(bypass_block_born(s.b, 10), 0);
	for (uint32_t i = 1; i <= 60000; i++)
		flower(&s, (uint16_t)i, 1, SKIP_SW, true);
	for (uint32_t i = 2; i <= 60000; i++)
		flower(&s, 60000, i, SKIP_SW, true);
	assert_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.filters, 119999);
	flower(&s, 30000, 2, SOFTWARE, false);
	gone(&s, 30000, 0x0800, 2);
	assert_int_equal(to_heal(&s, heal, 2), 1);
	assert_int_equal(heal[0].pref, 30000);
	for (uint32_t i = 60000; i >= 1; i--)
		gone(&s, 60000, 0x0800, i);
	gone(&s, 30000, 0x0800, 1);
	assert_state(&s, BYPASS_ON, BYPASS_BY_HISTORY);
	assert_int_equal(s.report.filters, 59998);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_story_of_the_lab),
		cmocka_unit_test(test_whole_pref_deleted),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_lost_hardware),
		cmocka_unit_test(test_unseen_history),
		cmocka_unit_test(test_found_with_software),
		cmocka_unit_test(test_lost_events),
		cmocka_unit_test(test_other_classifiers),
		cmocka_unit_test(test_counter_disproves),
		cmocka_unit_test(test_chains),
		cmocka_unit_test(test_our_own_rule),
		cmocka_unit_test(test_foreign_evicted),
		cmocka_unit_test(test_more_culprits_than_fit),
		cmocka_unit_test(test_read_back),
		cmocka_unit_test(test_shortcut),
		cmocka_unit_test(test_unknown_ability),
		cmocka_unit_test(test_against_the_model),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
