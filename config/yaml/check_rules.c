// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check_rules: what the rules of one block must not say against each other: names, prefs, equal
 * matches.
 */
#include <errno.h>
#include <stdio.h>

#include "config/base/hash.h"
#include "config/yaml/check.h"

/* The rules of a block as pointers, to be sorted; the caller frees them. NULL: no memory. */
static const struct draft_rule **rule_list(const struct draft_block *b)
{
	const struct draft_rule **list = calloc(b->rules.count + 1, sizeof(*list));
	const struct draft_rule *rule;
	size_t n = 0;

	if (list)
		FOR_EACH_ITEM(rule, b->rules)
			list[n++] = rule;
	return list;
}

static uint32_t rule_line(const struct draft_rule *r)
{
	return node_origin(r->draft.node).line;
}

/* ---- names ---- */

static int by_name(const void *a, const void *b)
{
	const struct draft_rule *x = *(const struct draft_rule *const *)a;
	const struct draft_rule *y = *(const struct draft_rule *const *)b;
	int r;

	if (!x->name || !y->name)
		return CMP(!x->name, !y->name);
	r = strcmp(x->name, y->name);
	return r ? r : CMP(x, y);
}

static uint64_t name_hash(const void *rules, size_t i)
{
	const char *name = ((const struct draft_rule *)rules)[i].name;

	return name ? hash_text(name, strlen(name)) : 0;
}

static bool name_same(const void *rules, size_t a, size_t b)
{
	const struct draft_rule *x = (const struct draft_rule *)rules + a;
	const struct draft_rule *y = (const struct draft_rule *)rules + b;

	return x->name && y->name && streq(x->name, y->name);
}

static int check_rule_names(const struct checker *c, const struct draft_block *b)
{
	const struct hash_list all = { b->rules.at, b->rules.count, name_hash, name_same };
	_cleanup_free_ const struct draft_rule **list = NULL;
	int r = hash_any_twice(&all);

	if (r <= 0)
		return r;
	list = rule_list(b);
	if (!list)
		return -ENOMEM;
	qsort(list, b->rules.count, sizeof(*list), by_name);
	for (size_t i = 1; i < b->rules.count && list[i]->name; i++)
		if (streq(list[i]->name, list[i - 1]->name))
			check_add_rule(
				c, DIAG_ERROR, b, list[i], draft_at(&list[i]->draft, "name"),
				"another rule of this block is called '%s' (line %u), expected a "
				"name of its own",
				list[i]->name, rule_line(list[i - 1]));
	return 0;
}

/* ---- prefs ---- */

static int by_chain(const void *a, const void *b)
{
	const struct draft_rule *x = *(const struct draft_rule *const *)a;
	const struct draft_rule *y = *(const struct draft_rule *const *)b;

	return x->chain != y->chain ? CMP(x->chain, y->chain) : CMP(x, y);
}

static const char *rule_name(const struct draft_rule *r)
{
	return r->name ? r->name : "?";
}

/* The same pref: in tc that is one place for one protocol and one classifier. */
static void check_pref_shared(const struct checker *c, const struct draft_block *b,
			      const struct draft_rule *first, const struct draft_rule *second)
{
	const char *protocol[] = { match_protocol(&first->match), match_protocol(&second->match) };
	bool differ = HAS(first, RULE_MATCH) && HAS(second, RULE_MATCH) &&
		      !streq(protocol[0], protocol[1]);

	check_add_rule(c, DIAG_ERROR, b, second, draft_at(&second->draft, "pref"),
		       "rules '%s' (line %u) and '%s' share block %u chain %u pref %u%s%s%s%s%s, "
		       "expected a pref of its own for each",
		       rule_name(first), rule_line(first), rule_name(second), b->id, second->chain,
		       second->pref, differ ? " but differ in protocol (" : "",
		       differ ? protocol[0] : "", differ ? " and " : "", differ ? protocol[1] : "",
		       differ ? ")" : "");
}

/* One rule with a pref, after `last` (or NULL) and `between` rules without one. */
static void check_pref(const struct checker *c, const struct draft_block *b,
		       const struct draft_rule *last, const struct draft_rule *rule,
		       uint32_t between)
{
	struct origin at = draft_at(&rule->draft, "pref");
	uint32_t low = last ? last->pref : 0;

	if (last && rule->pref == last->pref)
		check_pref_shared(c, b, last, rule);
	else if (rule->pref < low)
		check_add_rule(
			c, DIAG_ERROR, b, rule, at,
			"pref %u comes before pref %u of rule '%s' (line %u), which stands above "
			"it in chain %u, expected more than %u or another order",
			rule->pref, low, rule_name(last), rule_line(last), rule->chain, low);
	else if (between && rule->pref - low == 1) /* where there is one, they may share it */
		check_add_rule(
			c, DIAG_ERROR, b, rule, at,
			"pref %u leaves no room in chain %u for the rules without a pref above it "
			"(%u), expected at least %u",
			rule->pref, rule->chain, between, low + 2);
}

static bool says_a_pref(const struct draft_block *b)
{
	const struct draft_rule *rule;

	FOR_EACH_ITEM(rule, b->rules)
		if (HAS(rule, RULE_PREF))
			return true;
	return false;
}

static int check_prefs(const struct checker *c, const struct draft_block *b)
{
	_cleanup_free_ const struct draft_rule **list = NULL;
	const struct draft_rule *last = NULL;
	uint32_t between = 0;

	if (!says_a_pref(b))
		return 0;
	list = rule_list(b);
	if (!list)
		return -ENOMEM;
	qsort(list, b->rules.count, sizeof(*list), by_chain);
	for (size_t i = 0; i < b->rules.count; i++) {
		if (i > 0 && list[i]->chain != list[i - 1]->chain) {
			last = NULL;
			between = 0;
		}
		if (!HAS(list[i], RULE_PREF)) {
			between++;
			continue;
		}
		check_pref(c, b, last, list[i], between);
		if (!last || list[i]->pref > last->pref)
			last = list[i];
		between = 0;
	}
	return 0;
}

/* ---- equal matches ---- */

struct twin {
	const struct draft_rule *rule;
	enum tagging tagging;
};

static struct twin twin_of(const struct draft_block *b, const struct draft_rule *r)
{
	return (struct twin){ r, draft_tagging(b, r) };
}

static int compare_twins(const struct twin *x, const struct twin *y)
{
	if (x->rule->chain != y->rule->chain)
		return CMP(x->rule->chain, y->rule->chain);
	if (x->tagging != y->tagging)
		return CMP(x->tagging, y->tagging);
	if (x->rule->match.ethertype != y->rule->match.ethertype)
		return CMP(x->rule->match.ethertype, y->rule->match.ethertype);
	return match_compare(draft_match_view(&x->rule->match), draft_match_view(&y->rule->match));
}

static int by_match(const void *a, const void *b)
{
	const struct twin *x = a, *y = b;
	int r = compare_twins(x, y);

	return r ? r : CMP(x->rule, y->rule);
}

static const struct draft_rule *rule_at(const void *block, size_t i)
{
	return (const struct draft_rule *)((const struct draft_block *)block)->rules.at + i;
}

static uint64_t match_hash(const void *block, size_t i)
{
	const struct draft_rule *r = rule_at(block, i);

	return hash_text(draft_match_view(&r->match).bytes, r->match.size) + r->chain;
}

static bool match_same(const void *block, size_t i, size_t j)
{
	struct twin x = twin_of(block, rule_at(block, i)), y = twin_of(block, rule_at(block, j));

	return HAS(x.rule, RULE_MATCH) && HAS(y.rule, RULE_MATCH) && compare_twins(&x, &y) == 0;
}

static int check_equal_matches(const struct checker *c, const struct draft_block *b)
{
	const struct hash_list all = { b, b->rules.count, match_hash, match_same };
	_cleanup_free_ struct twin *list = NULL;
	const struct draft_rule *rule;
	size_t n = 0;
	int r = hash_any_twice(&all);

	if (r <= 0)
		return r;
	list = calloc(b->rules.count, sizeof(*list));
	if (!list)
		return -ENOMEM;
	FOR_EACH_ITEM(rule, b->rules)
		if (HAS(rule, RULE_MATCH))
			list[n++] = twin_of(b, rule);
	qsort(list, n, sizeof(*list), by_match);
	for (size_t i = 1, first = 0; i < n; i++) {
		const struct draft_rule *twin = list[first].rule;

		if (compare_twins(&list[i], &list[first]) != 0) {
			first = i;
			continue;
		}
		check_add_rule(
			c, DIAG_ERROR, b, list[i].rule, draft_at(&list[i].rule->draft, "match"),
			"rules '%s' (line %u) and '%s' have the same match in chain %u, so the "
			"second is never met, expected one rule for it",
			rule_name(twin), rule_line(twin), rule_name(list[i].rule), twin->chain);
	}
	return 0;
}

int check_rules(const struct checker *c, const struct draft_block *b)
{
	int r;

	r = check_rule_names(c, b);
	if (r < 0)
		return r;
	r = check_prefs(c, b);
	if (r < 0)
		return r;
	return check_equal_matches(c, b);
}
