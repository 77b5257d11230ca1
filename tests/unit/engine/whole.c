// SPDX-License-Identifier: GPL-2.0-or-later
#include "whole.h"

#include <stdio.h>

#include "config/yaml/load.h"
#include "daemon/policy/compile.h"

static bool one_in(struct dice *d, size_t n)
{
	return dice_below(d, n) == 0;
}

const char *whole_dev_name(size_t dev)
{
	static const char *const names[WHOLE_DEVS] = { "lan1", "lan2", "lan3", "lan4",
						       "lan5", "lan6", "eth0", "v0",
						       "v1",   "v2",   "v3" };

	return names[dev];
}

static bool is_vlan(size_t dev)
{
	return dev >= WHOLE_PORTS;
}

/* ---- YAML ---- */

/* What stands on which line, to take out what the language refuses. */
struct lines {
	struct {
		size_t dev, block, rule; /* SIZE_MAX: not about one */
	} at[800];
	size_t count;
};

static void line(struct lines *l, size_t dev, size_t block, size_t rule)
{
	if (l && l->count < ARRAY_SIZE(l->at)) {
		l->at[l->count].dev = dev;
		l->at[l->count].block = block;
		l->at[l->count].rule = rule;
		l->count++;
	}
}

static void write_addresses(size_t dev, uint8_t addresses, FILE *to)
{
	const char *comma = "";

	if (!addresses)
		return;
	fputs(", addresses: [", to);
	for (unsigned int i = 0; i < 4; i++) {
		if (!(addresses >> i & 1))
			continue;
		if (i == 3)
			fprintf(to, "%s\"2001:db8:%zu::1/64\"", comma, dev);
		else
			fprintf(to, "%s192.0.%zu.%u/24", comma, dev, i + 1);
		comma = ", ";
	}
	fputs("]", to);
}

static void write_dev(const struct whole *w, size_t i, FILE *to)
{
	const struct whole_dev *dev = &w->devs[i];

	fprintf(to, "  %s: { ", whole_dev_name(i));
	if (is_vlan(i))
		fprintf(to, "link: %s, id: %u, protocol: %s", whole_dev_name(dev->link), dev->id,
			dev->ad ? "802.1ad" : "802.1q");
	else /* so that a comma is always right */
		fprintf(to, "addresses: []");
	if (dev->up >= 0)
		fprintf(to, ", up: %s", dev->up ? "true" : "false");
	if (dev->mtu)
		fprintf(to, ", mtu: %u", dev->mtu);
	if (dev->offload >= 0 && !is_vlan(i))
		fprintf(to, ", tc-offload: %s", dev->offload ? "true" : "false");
	write_addresses(i, dev->addresses, to);
	fputs(" }\n", to);
}

static void write_devs(const struct whole *w, bool vlans, FILE *to, struct lines *l)
{
	bool any = false;

	for (size_t i = vlans ? WHOLE_PORTS : 0; i < (vlans ? WHOLE_DEVS : WHOLE_PORTS); i++) {
		if (!w->devs[i].said)
			continue;
		if (!any) {
			fprintf(to, "%s:\n", vlans ? "vlans" : "ports");
			line(l, SIZE_MAX, SIZE_MAX, SIZE_MAX);
		}
		any = true;
		write_dev(w, i, to);
		line(l, i, SIZE_MAX, SIZE_MAX);
	}
}

static void write_bind(const char *key, uint16_t bind, FILE *to)
{
	const char *comma = "";

	fprintf(to, "    %s: [", key);
	for (size_t i = 0; i < WHOLE_DEVS; i++) {
		if (!(bind >> i & 1))
			continue;
		fprintf(to, "%s%s", comma, whole_dev_name(i));
		comma = ", ";
	}
	fputs("]\n", to);
}

static void write_block(const struct whole_block *b, size_t i, FILE *to, struct lines *l)
{
	fprintf(to, "  block%zu:\n    id: %u\n", i, b->id);
	write_bind("bind", b->bind, to);
	write_bind("bind-egress", b->bind_egress, to);
	for (size_t k = 0; k < 4 + WRITTEN_HEAD; k++)
		line(l, SIZE_MAX, i, SIZE_MAX);
	written_print(&b->rules, to);
	for (size_t k = 0; k < b->rules.count; k++)
		line(l, SIZE_MAX, i, k);
}

static char *print(const struct whole *w, struct lines *l)
{
	bool any = false;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	fputs("version: 1\n", to);
	line(l, SIZE_MAX, SIZE_MAX, SIZE_MAX);
	write_devs(w, false, to, l);
	write_devs(w, true, to, l);
	for (size_t i = 0; i < WHOLE_BLOCKS; i++) {
		if (!w->blocks[i].said)
			continue;
		if (!any) {
			fputs("blocks:\n", to);
			line(l, SIZE_MAX, SIZE_MAX, SIZE_MAX);
		}
		any = true;
		write_block(&w->blocks[i], i, to, l);
	}
	fclose(to);
	return text;
}

char *whole_yaml(const struct whole *w)
{
	return print(w, NULL);
}

/* ---- what the language takes ---- */

static void take_block(struct whole_block *b)
{
	free(b->rules.rules);
	*b = (struct whole_block){ 0 };
}

static bool take_line(struct whole *w, const struct lines *l, size_t number)
{
	if (number == 0 || number > l->count)
		return false;
	if (l->at[number - 1].dev != SIZE_MAX)
		w->devs[l->at[number - 1].dev].said = false;
	else if (l->at[number - 1].rule != SIZE_MAX)
		written_take(&w->blocks[l->at[number - 1].block].rules, l->at[number - 1].rule);
	else if (l->at[number - 1].block != SIZE_MAX)
		take_block(&w->blocks[l->at[number - 1].block]);
	else
		return false;
	return true;
}

static int by_line_falling(const void *a, const void *b)
{
	return -CMP(*(const uint32_t *)a, *(const uint32_t *)b);
}

static bool compiles(const struct config *c, struct diags *d)
{
	_cleanup_(state_freep) struct state *s = state_new();
	struct compile_input in = { .config = c, .profile = PROFILE_WIDE };

	return compile(&in, d, s) == 0;
}

static void settle(struct whole *w)
{
	while (true) {
		_cleanup_(diags_freep) struct diags *d = diags_new("swd.yaml");
		_cleanup_(config_unrefp) struct config *config = NULL;
		_cleanup_free_ char *yaml = NULL;
		uint32_t bad[1000], n = 0;
		struct lines l = { 0 };
		bool taken = false;

		yaml = print(w, &l);
		if (config_load(yaml, strlen(yaml), d, &config) == 0 && compiles(config, d))
			return;
		for (size_t i = 0; i < diags_count(d) && n < 1000; i++)
			if (diags_at(d, i)->level == DIAG_ERROR)
				bad[n++] = diags_at(d, i)->at.line;
		qsort(bad, n, sizeof(bad[0]), by_line_falling);
		for (size_t i = 0; i < n; i++)
			if (i == 0 || bad[i] != bad[i - 1])
				taken |= take_line(w, &l, bad[i]);
		if (taken)
			continue;
		fputs(yaml, stderr);
		diags_print(d, stderr);
		abort();
	}
}

/* ---- by chance ---- */

static void random_dev(struct dice *d, struct whole_dev *dev, size_t i)
{
	dev->said = true;
	dev->up = (int8_t)dice_below(d, 3) - 1;
	dev->offload = one_in(d, 3) ? (int8_t)dice_below(d, 2) : -1;
	dev->mtu = one_in(d, 3) ? (uint16_t)(1400 + dice_below(d, 3) * 50) : 0;
	dev->addresses = one_in(d, 2) ? (uint8_t)dice_below(d, 16) : 0;
	if (!is_vlan(i))
		return;
	dev->link = (uint8_t)(one_in(d, 3) ? WHOLE_PORTS + dice_below(d, WHOLE_VLANS)
					   : dice_below(d, 2) * 6);
	dev->id = (uint16_t)(10 + dice_below(d, 3));
	dev->ad = one_in(d, 6);
	dev->up = one_in(d, 4) ? 0 : (int8_t)(one_in(d, 2) - 1);
}

/* What no other block has: a device meets one block on its way in, and one on its way out. */
static void random_binds(struct dice *d, struct whole *w, size_t i)
{
	uint16_t in = 0, out = 0;

	for (size_t k = 0; k < WHOLE_BLOCKS; k++) {
		in |= k != i && w->blocks[k].said ? w->blocks[k].bind : 0;
		out |= k != i && w->blocks[k].said ? w->blocks[k].bind_egress : 0;
	}
	w->blocks[i].bind = (uint16_t)(dice_roll(d) & dice_roll(d) & 0x7ff & ~in);
	w->blocks[i].bind_egress =
		one_in(d, 3) ? (uint16_t)(dice_roll(d) & dice_roll(d) & 0x7ff & ~out) : 0;
}

static void random_block(struct dice *d, struct whole *w, size_t i, uint32_t *id)
{
	struct whole_block *b = &w->blocks[i];

	free(b->rules.rules);
	b->said = true;
	b->id = (uint32_t)(10 + dice_below(d, 4));
	random_binds(d, w, i);
	b->rules = written_list(d, dice_below(d, 10), id);
}

/* Each has the other's name. */
static void swap_devs(struct whole_dev *a, struct whole_dev *b)
{
	struct whole_dev was = *a;

	*a = *b;
	*b = was;
}

static void edit(struct dice *d, struct whole *w, uint32_t *id)
{
	size_t dev = dice_below(d, WHOLE_DEVS), block = dice_below(d, WHOLE_BLOCKS), other;

	switch (dice_below(d, 10)) {
	case 0:
	case 1:
		random_dev(d, &w->devs[dev], dev);
		return;
	case 2:
		w->devs[dev].said = !w->devs[dev].said;
		return;
	case 3:
		dev = WHOLE_PORTS + dice_below(d, WHOLE_VLANS);
		other = WHOLE_PORTS + dice_below(d, WHOLE_VLANS);
		swap_devs(&w->devs[dev], &w->devs[other]);
		return;
	case 4:
		random_block(d, w, block, id);
		return;
	case 5:
		random_binds(d, w, block);
		return;
	default:
		if (w->blocks[block].said)
			written_edit(d, &w->blocks[block].rules, id);
	}
}

void whole_random(struct dice *d, const struct whole *after, uint32_t *id, struct whole *ret)
{
	*ret = after ? whole_copy(after) : (struct whole){ 0 };
	if (after) {
		for (size_t n = 1 + dice_below(d, 6); n; n--)
			edit(d, ret, id);
	} else {
		for (size_t i = 0; i < WHOLE_DEVS; i++)
			if (!one_in(d, 3))
				random_dev(d, &ret->devs[i], i);
		for (size_t i = 0; i < WHOLE_BLOCKS; i++)
			if (one_in(d, 2))
				random_block(d, ret, i, id);
	}
	settle(ret);
	for (size_t i = 0; i < WHOLE_PACKETS; i++) {
		const struct written_block *b = &ret->blocks[dice_below(d, WHOLE_BLOCKS)].rules;

		ret->packets[i] = b->count ? written_packet(d, &b->rules[dice_below(d, b->count)])
					   : packet_random(d);
	}
}

struct whole whole_copy(const struct whole *w)
{
	struct whole copy = *w;

	for (size_t i = 0; i < WHOLE_BLOCKS; i++)
		if (w->blocks[i].said)
			copy.blocks[i].rules = written_copy(&w->blocks[i].rules);
	return copy;
}

void whole_clear(struct whole *w)
{
	for (size_t i = 0; i < WHOLE_BLOCKS; i++)
		take_block(&w->blocks[i]);
}

/* ---- a smaller one ---- */

static bool take_of_dev(struct whole_dev *dev, size_t what)
{
	if (what == 0)
		dev->said = false;
	else if (what == 1)
		dev->up = -1;
	else if (what == 2)
		dev->mtu = 0;
	else if (what == 3)
		dev->offload = -1;
	else
		dev->addresses &= (uint8_t) ~(1u << (what - 4));
	return true;
}

bool whole_take(struct whole *w, size_t i)
{
	for (size_t k = 0; k < WHOLE_BLOCKS; k++) {
		if (!w->blocks[k].said)
			continue;
		if (i-- == 0) {
			take_block(&w->blocks[k]);
			return true;
		}
		if (i < w->blocks[k].rules.count) {
			written_take(&w->blocks[k].rules, i);
			return true;
		}
		i -= w->blocks[k].rules.count;
		if (i < 2 * WHOLE_DEVS) {
			uint16_t bit = (uint16_t)(1u << i % WHOLE_DEVS);

			if (i < WHOLE_DEVS)
				w->blocks[k].bind &= (uint16_t)~bit;
			else
				w->blocks[k].bind_egress &= (uint16_t)~bit;
			return true;
		}
		i -= 2 * WHOLE_DEVS;
	}
	return i < 8 * WHOLE_DEVS && take_of_dev(&w->devs[i / 8], i % 8);
}
