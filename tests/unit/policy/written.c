// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/policy/written.h"

#include <stdio.h>

#include "config/base/netaddr.h"

/* ---- verdicts ---- */

void verdict_add(struct verdict *v, enum deed_kind kind, uint32_t number)
{
	if (v->deed_count < VERDICT_DEEDS)
		v->deeds[v->deed_count++] = (struct deed){ kind, number };
}

static size_t deed_count(const struct verdict *v)
{
	return v->deed_count && v->deeds[v->deed_count - 1].kind == DEED_PASS ? v->deed_count - 1
									      : v->deed_count;
}

bool verdict_same(const struct verdict *a, const struct verdict *b)
{
	size_t n = deed_count(a);

	if (n != deed_count(b))
		return false;
	for (size_t i = 0; i < n; i++)
		if (a->deeds[i].kind != b->deeds[i].kind ||
		    a->deeds[i].number != b->deeds[i].number)
			return false;
	return true;
}

bool verdict_same_hits(const struct verdict *a, const struct verdict *b)
{
	return a->hit_count == b->hit_count &&
	       memcmp(a->hits, b->hits, a->hit_count * sizeof(a->hits[0])) == 0;
}

static const char *const deed_names[] = {
	[DEED_PASS] = "pass",	       [DEED_DROP] = "drop",	   [DEED_TRAP] = "trap",
	[DEED_REDIRECT] = "redirect",  [DEED_GOTO] = "goto",	   [DEED_MIRROR] = "mirror",
	[DEED_POLICE] = "police",      [DEED_SAMPLE] = "sample",   [DEED_PUSH] = "vlan-push",
	[DEED_MODIFY] = "vlan-modify", [DEED_POP] = "vlan-pop",	   [DEED_SET_SRC] = "set-src",
	[DEED_SET_DST] = "set-dst",    [DEED_DEC_TTL] = "dec-ttl",
};

void verdict_print(const struct verdict *v, char to[VERDICT_TEXT])
{
	FILE *f = fmemopen(to, VERDICT_TEXT, "w");

	for (size_t i = 0; i < v->deed_count; i++)
		fprintf(f, "%s %u, ", deed_names[v->deeds[i].kind], v->deeds[i].number);
	fprintf(f, "%s", v->hit_count ? "by rule" : "nothing matched");
	for (size_t i = 0; i < v->hit_count; i++)
		fprintf(f, " %u", v->hits[i]);
	fclose(f);
}

/* ---- YAML ---- */

struct pen {
	FILE *to;
	bool more;
};

static void key(struct pen *p, const char *name)
{
	fprintf(p->to, "%s%s: ", p->more ? ", " : "", name);
	p->more = true;
}

static void write_number(struct pen *p, const char *name, const struct written_number *n,
			 uint32_t all)
{
	if (!n->said)
		return;
	key(p, name);
	if ((n->mask & all) == all)
		fprintf(p->to, "%u", n->value);
	else
		fprintf(p->to, "%u/0x%x", n->value, n->mask);
}

static void write_bits(struct pen *p, const char *name, const struct written_number *n,
		       const char *const *names)
{
	const char *comma = "";

	if (!n->said)
		return;
	key(p, name);
	fputc('"', p->to);
	for (unsigned int i = 0; names[i]; i++) {
		if (!(n->mask >> i & 1))
			continue;
		fprintf(p->to, "%s%s%s", comma, n->value >> i & 1 ? "" : "!", names[i]);
		comma = ",";
	}
	fputc('"', p->to);
}

static void write_range(struct pen *p, const char *name, const struct written_range *r)
{
	if (!r->said)
		return;
	key(p, name);
	if (r->low == r->high)
		fprintf(p->to, "%u", r->low);
	else
		fprintf(p->to, "%u-%u", r->low, r->high);
}

static void write_net(struct pen *p, const char *name, const struct written_net *n)
{
	char text[NETADDR_TEXT];

	if (!n->family)
		return;
	key(p, name);
	ip_print(n->family, n->addr, text);
	fprintf(p->to, "\"%s/%u\"", text, n->len);
}

static void write_mac(struct pen *p, const char *name, const struct written_mac *m)
{
	char addr[MAC_TEXT], mask[MAC_TEXT];

	if (!m->said)
		return;
	key(p, name);
	mac_print(m->addr, addr);
	mac_print(m->mask, mask);
	fprintf(p->to, "\"%s/%s\"", addr, mask);
}

static void write_match(struct pen *p, const struct written *w)
{
	static const char *const tcp[] = { "fin", "syn", "rst", "psh", "ack",
					   "urg", "ece", "cwr", NULL };
	static const char *const ip[] = { "frag", "first-frag", NULL };
	char name[16];

	if (w->ethertype) {
		ethertype_print(w->ethertype, name);
		key(p, "ethertype");
		fputs(name, p->to);
	}
	if (w->tagging) {
		key(p, "tagging");
		fputs(w->tagging == TAGGING_ANY ? "any" : "none", p->to);
	}
	write_net(p, "src", &w->src);
	write_net(p, "dst", &w->dst);
	write_number(p, "proto", &w->proto, 0xff);
	write_range(p, "sport", &w->sport);
	write_range(p, "dport", &w->dport);
	write_bits(p, "tcp-flags", &w->tcp_flags, tcp);
	write_number(p, "icmp-type", &w->icmp_type, 0xff);
	write_number(p, "icmp-code", &w->icmp_code, 0xff);
	write_number(p, "ttl", &w->ttl, 0xff);
	write_number(p, "tos", &w->tos, 0xff);
	write_bits(p, "ip-flags", &w->ip_flags, ip);
	write_number(p, "vlan", &w->vlan, 0xfff);
	write_number(p, "vlan-prio", &w->vlan_prio, 7);
	write_number(p, "cvlan", &w->cvlan, 0xfff);
	write_number(p, "cvlan-prio", &w->cvlan_prio, 7);
	write_mac(p, "src-mac", &w->src_mac);
	write_mac(p, "dst-mac", &w->dst_mac);
	write_number(p, "arp-op", &w->arp_op, 0xff);
	write_net(p, "arp-sender", &w->arp_sender);
	write_net(p, "arp-target", &w->arp_target);
	write_mac(p, "arp-sender-mac", &w->arp_sender_mac);
	write_mac(p, "arp-target-mac", &w->arp_target_mac);
}

static void write_deed(FILE *to, const struct deed *d)
{
	switch (d->kind) {
	case DEED_PASS:
	case DEED_DROP:
	case DEED_TRAP:
	case DEED_POP:
	case DEED_DEC_TTL:
		fprintf(to, "%s", deed_names[d->kind]);
		return;
	case DEED_REDIRECT:
	case DEED_MIRROR:
		fprintf(to, "{ %s: lan%u }", deed_names[d->kind], d->number);
		return;
	case DEED_GOTO:
	case DEED_PUSH:
	case DEED_MODIFY:
		fprintf(to, "{ %s: %u }", deed_names[d->kind], d->number);
		return;
	case DEED_POLICE:
		fprintf(to, "{ police: { rate: %umbit, burst: 64k } }", d->number);
		return;
	case DEED_SAMPLE:
		fprintf(to, "{ sample: { rate: 100, group: %u } }", d->number);
		return;
	case DEED_SET_SRC:
	case DEED_SET_DST:
		fprintf(to, "{ %s: \"02:00:00:00:00:%02x\" }", deed_names[d->kind], d->number);
		return;
	}
}

static void write_rule(FILE *to, const struct written *w)
{
	struct pen p = { to, false };

	fprintf(to, "      - { name: r%u, ", w->id);
	if (w->chain)
		fprintf(to, "chain: %u, ", w->chain);
	if (w->pref)
		fprintf(to, "pref: %u, ", w->pref);
	if (w->offload)
		fprintf(to, "offload: %s, ", offload_name(w->offload));
	fputs("match: {", to);
	write_match(&p, w);
	fputs("}, action: [", to);
	for (size_t i = 0; i < w->deed_count; i++) {
		fputs(i ? ", " : "", to);
		write_deed(to, &w->deeds[i]);
	}
	fputs("] }\n", to);
}

void written_print(const struct written_block *b, FILE *to)
{
	fprintf(to,
		"    tagging: %s\n"
		"    offload: %s\n"
		"    bypass: %s\n"
		"    foreign: report\n"
		"    rules:%s\n",
		tagging_name(b->tagging), offload_name(b->offload), bypass_want_name(b->bypass),
		b->count ? "" : " []");
	for (size_t i = 0; i < b->count; i++)
		write_rule(to, &b->rules[i]);
}

char *written_yaml(const struct written_block *b)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	fputs("version: 1\n"
	      "ports: { lan1: {}, lan2: {}, lan3: {}, lan4: {},\n"
	      "  lan5: {}, lan6: {} }\n"
	      "blocks:\n"
	      "  edge:\n"
	      "    id: 10\n"
	      "    bind: [lan1]\n",
	      to);
	written_print(b, to);
	fclose(to);
	return text;
}
