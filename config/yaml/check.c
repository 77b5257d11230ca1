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

int check_all(const struct draft_root *root, struct arena *arena, struct diags *d)
{
	struct checker c = { .root = root, .arena = arena, .diags = d };
	const struct draft_block *block;
	const struct draft_rule *rule;
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
		FOR_EACH_ITEM(rule, block->rules) {
			check_match(&c, block, rule);
			check_actions(&c, block, rule);
		}
	}
	return 0;
}
