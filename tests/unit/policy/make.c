// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/policy/make.h"

#include <stdio.h>

#include "config/base/netaddr.h"

const struct block make_block = {
	.obj = { .kind = KIND_BLOCK, .refs = 1, .origin = { 12, 3 } },
	.id = 10,
	.name = "edge",
	.offload = OFFLOAD_REQUIRED,
	.foreign = FOREIGN_REPORT,
	.tagging = TAGGING_NONE,
	.bypass = BYPASS_WANT_PREFERRED,
};

static void must(bool true_here, const char *what, const char *text)
{
	if (true_here)
		return;
	fprintf(stderr, "make: %s: %s\n", what, text);
	abort();
}

void make_match(const char *text, struct match *m)
{
	char copy[512], *save = NULL;

	*m = (struct match){ 0 };
	must(COPY_NAME(copy, text ? text : ""), "too long", text);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *value = strchr(word, '=');

		must(value, "no value", word);
		*value++ = '\0';
		must(field_parse(word, value, m, NULL) == 0, word, value);
	}
}

size_t make_actions(const char *text, struct action *ret, size_t most)
{
	char copy[512], *save = NULL;
	size_t n = 0;

	must(COPY_NAME(copy, text ? text : "drop"), "too long", text);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *value = strchr(word, '=');
		struct action a = { 0 };
		enum action_kind kind;

		if (value)
			*value++ = '\0';
		must(action_kind_parse(word, &kind) == 0 && n < most, "action", word);
		a.kind = (uint8_t)kind;
		if (kind == ACTION_GOTO)
			a.chain = (uint32_t)strtoul(value, NULL, 0);
		else if (kind == ACTION_VLAN_PUSH || kind == ACTION_VLAN_MODIFY)
			a.vlan.id = (uint16_t)strtoul(value, NULL, 0);
		else if (kind == ACTION_SET_SRC || kind == ACTION_SET_DST)
			must(mac_parse(value, a.mac) == 0, word, value);
		else if (value)
			must(COPY_NAME(a.dev, value), word, value);
		ret[n++] = a;
	}
	return n;
}

static void add(struct state *s, void *object)
{
	must(object && state_add(s, object, NULL) == 0, "state_add", "failed");
}

struct config *make_config(const struct block *defaults, const struct make_rule *rules, size_t n)
{
	struct config *c = config_new("swd.yaml");
	struct block *block = object_new(KIND_BLOCK, sizeof(*block));
	struct object head;

	must(c && block, "memory", "short");
	head = block->obj;
	*block = *defaults;
	block->obj = head;
	block->obj.origin = defaults->obj.origin;
	add(c->wanted, block);
	for (size_t i = 0; i < n; i++) {
		struct action actions[ACTIONS_MAX];
		struct match match;
		size_t count = make_actions(rules[i].actions, actions, ACTIONS_MAX);
		struct rule *r;

		make_match(rules[i].match, &match);
		r = rule_new(match_view(&match), actions, count);
		must(r, "memory", "short");
		r->obj.origin = (struct origin){ (uint32_t)(20 + i), 9 };
		r->block = block->id;
		r->chain = rules[i].chain;
		r->position = (uint32_t)i;
		r->pref = rules[i].pref;
		r->offload = (uint8_t)rules[i].offload;
		r->tagging = (uint8_t)rules[i].tagging;
		if (rules[i].ethertype)
			must(ethertype_parse(rules[i].ethertype, &r->ethertype) == 0, "ethertype",
			     rules[i].ethertype);
		must(COPY_NAME(r->name, rules[i].name), "name", rules[i].name);
		add(c->wanted, r);
	}
	return c;
}

struct state *make_filters(const struct config *c, const struct state *before)
{
	struct compile_input in = { .config = c, .before = before, .profile = PROFILE_WIDE };
	_cleanup_(diags_freep) struct diags *d = diags_new("swd.yaml");
	struct state *s = state_new();

	must(d && s, "memory", "short");
	if (compile(&in, d, s) < 0) {
		diags_print(d, stderr);
		must(false, "compile", "failed");
	}
	return s;
}

char *make_diags(const struct config *c)
{
	struct compile_input in = { .config = c, .profile = PROFILE_WIDE };
	_cleanup_(diags_freep) struct diags *d = diags_new("swd.yaml");
	_cleanup_(state_freep) struct state *s = state_new();
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int r;

	must(d && s && f, "memory", "short");
	r = compile(&in, d, s);
	must((r < 0) == (diags_errors(d) > 0), "compile", "result and diags differ");
	diags_print(d, f);
	fclose(f);
	return text;
}

struct state *make_found(const struct state *s, enum owner owner)
{
	struct state *found = state_new();

	if (!found)
		abort();
	for (size_t i = 0; i < state_count(s, KIND_FILTER); i++) {
		struct filter *f = filter_copy(state_at(s, KIND_FILTER, i));

		if (!f)
			abort();
		object_unref(f->rule);
		f->rule = NULL;
		f->role = FILTER_ROLE_RULE;
		f->owner = (uint8_t)owner;
		f->flags |= TCA_CLS_FLAGS_IN_HW;
		if (state_add(found, f, NULL) < 0)
			abort();
	}
	return found;
}
