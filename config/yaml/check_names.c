// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check_names: a device need not be under ports or vlans to be named in a rule or a block, since
 * what is there without swd is nobody's to manage. But one that looks like a slip of one that is
 * would be waited for, for ever and in silence. So that is told, as a warning.
 */
#include <ctype.h>
#include <stdio.h>

#include "config/yaml/check.h"
#include "config/yaml/hint.h"

static const char *known_at(size_t i, void *data)
{
	const struct draft_root *root = data;
	const struct draft_port *ports = root->ports.at;
	const struct draft_vlan *vlans = root->vlans.at;

	if (i < root->ports.count)
		return ports[i].draft.name;
	i -= root->ports.count;
	return i < root->vlans.count ? vlans[i].draft.name : NULL;
}

static bool is_known(const struct draft_root *root, const char *name)
{
	const char *one;

	for (size_t i = 0; (one = known_at(i, (void *)root)); i++)
		if (streq(one, name))
			return true;
	return false;
}

/* lan3 beside lan2 is another port; lna2 is none. */
static bool differ_in_digits_only(const char *a, const char *b)
{
	for (;;) {
		while (isdigit((unsigned char)*a))
			a++;
		while (isdigit((unsigned char)*b))
			b++;
		if (*a != *b)
			return false;
		if (!*a)
			return true;
		a++;
		b++;
	}
}

/* What the name may have been meant as, or NULL. */
static const char *slip_of(const struct checker *c, const char *name)
{
	const char *near;

	if (is_known(c->root, name))
		return NULL;
	near = hint_word(name, known_at, (void *)c->root);
	return near && !differ_in_digits_only(name, near) ? near : NULL;
}

#define NOT_LISTED "%s is not under ports or vlans"

static void check_binds(const struct checker *c, const struct draft_block *b, const char *key,
			struct items binds)
{
	const struct draft_name *dev;
	char path[128];

	snprintf(path, sizeof(path), "blocks.%.80s.%s", b->draft.name, key);
	FOR_EACH_ITEM(dev, binds) {
		const char *near = slip_of(c, dev->name);

		if (near)
			diag_hint(diags_add(c->diags, DIAG_WARNING, node_origin(dev->node), path,
					    NOT_LISTED, dev->name),
				  "did you mean '%s'?", near);
	}
}

static void check_actions_of(const struct checker *c, const struct draft_block *b,
			     const struct draft_rule *r)
{
	for (size_t i = 0; i < r->actions.count; i++) {
		const struct action *a = &r->actions.list[i];
		const char *near;

		if (action_argument((enum action_kind)a->kind) != ACTION_ARGUMENT_DEV)
			continue;
		near = slip_of(c, a->dev);
		if (near)
			diag_hint(check_add_rule(c, DIAG_WARNING, b, r, action_at(r, i), NOT_LISTED,
						 a->dev),
				  "did you mean '%s'?", near);
	}
}

void check_names(const struct checker *c)
{
	const struct draft_block *b;
	const struct draft_rule *r;
	const struct draft_vlan *v;

	FOR_EACH_ITEM(v, c->root->vlans) {
		const char *near = HAS(v, VLAN_LINK) ? slip_of(c, v->link) : NULL;
		char path[128];

		/* A VLAN's own name is never what it rests on. */
		if (!near || streq(near, v->draft.name))
			continue;
		snprintf(path, sizeof(path), "vlans.%.80s.link", v->draft.name);
		diag_hint(diags_add(c->diags, DIAG_WARNING, draft_at(&v->draft, "link"), path,
				    NOT_LISTED, v->link),
			  "did you mean '%s'?", near);
	}
	FOR_EACH_ITEM(b, c->root->blocks) {
		check_binds(c, b, "bind", b->bind);
		check_binds(c, b, "bind-egress", b->bind_egress);
		FOR_EACH_ITEM(r, b->rules)
			check_actions_of(c, b, r);
	}
}
