// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check: runs the checks over a draft, and what they share.
 */
#include "config/yaml/check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

struct diag *check_add_rule(const struct checker *c, enum diag_level level,
			    const struct draft_block *b, const struct draft_rule *r,
			    struct origin at, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	char path[128], word[SHOW_TEXT];
	va_list args;
	int len;

	snprintf(path, sizeof(path), "blocks.%s.rules[%zu]", show(b->draft.name, word),
		 (size_t)(r - (const struct draft_rule *)b->rules.at));
	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	return diags_add(c->diags, level, at, path, "%s", len < 0 ? "out of memory" : text);
}

/*
 * True if the checks of one match and its actions can only say the same of both. Neighbours in a
 * large file mostly are of one kind.
 */
static bool same_questions(const struct draft_rule *a, const struct draft_rule *b)
{
	return a->draft.has == b->draft.has && a->actions.list == b->actions.list &&
	       a->offload == b->offload && a->match.ethertype == b->match.ethertype &&
	       a->match.tagging == b->match.tagging && a->match.tags == b->match.tags &&
	       a->match.tags < 2 && a->match.carries == b->match.carries && a->match.carries &&
	       !a->match.needs_proto && !b->match.needs_proto;
}

static void check_each(const struct checker *c, const struct draft_block *b)
{
	const struct draft_rule *rule, *good = NULL;

	FOR_EACH_ITEM(rule, b->rules) {
		size_t before = diags_errors(c->diags);

		if (good && same_questions(rule, good))
			continue;
		check_match(c, b, rule);
		check_actions(c, b, rule);
		good = diags_errors(c->diags) == before ? rule : NULL;
	}
}

int check_all(const struct draft_root *root, struct arena *arena, struct diags *d)
{
	struct checker c = { .root = root, .arena = arena, .diags = d };
	const struct draft_block *block;
	int r;

	r = check_devices(&c);
	if (r < 0)
		return r;
	r = check_blocks(&c);
	if (r < 0)
		return r;
	check_names(&c);
	FOR_EACH_ITEM(block, root->blocks) {
		r = check_rules(&c, block);
		if (r < 0)
			return r;
		r = check_chains(&c, block);
		if (r < 0)
			return r;
		check_each(&c, block);
	}
	return 0;
}
