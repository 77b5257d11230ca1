// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hint: what somebody may have meant; beside resemblance it knows what tc and others call our
 * things.
 */
#include "config/yaml/hint.h"

#include <ctype.h>

/* Words of tc and of other configuration languages, and ours. */
static const struct {
	const char *theirs, *ours;
} words[] = {
	{ "actions", "action" },     { "all", "any" },
	{ "skip-sw", "required" },   { "skip-hw", "off" },
	{ "dst-ip", "dst" },	     { "dst-port", "dport" },
	{ "eth-type", "ethertype" }, { "filters", "rules" },
	{ "index", "id" },	     { "interfaces", "ports" },
	{ "ip-proto", "proto" },     { "ip-tos", "tos" },
	{ "ip-ttl", "ttl" },	     { "matches", "match" },
	{ "prio", "pref" },	     { "priority", "pref" },
	{ "protocol", "proto" },     { "skip-hw", "offload" },
	{ "skip-sw", "offload" },    { "src-ip", "src" },
	{ "src-port", "sport" },     { "vid", "id" },
	{ "vlan-id", "vlan" },	     { "cvlan-id", "cvlan" },
	{ "accept", "pass" },	     { "allow", "pass" },
	{ "permit", "pass" },	     { "deny", "drop" },
	{ "discard", "drop" },	     { "reject", "drop" },
	{ "cpu", "trap" },	     { "punt", "trap" },
	{ "source", "src" },	     { "destination", "dst" },
	{ "dmac", "set-dst" },	     { "smac", "set-src" },
	{ "dmac", "dst-mac" },	     { "smac", "src-mac" },
};

static const char *their_word(size_t i, void *data)
{
	return i < ARRAY_SIZE(words) ? words[i].theirs : NULL;
}

static bool is_swapped(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return a[0] && a[1] && b[0] && a[0] == b[1] && a[1] == b[0] && streq(a + 2, b + 2);
}

static const char *known(const char *word, bool (*same)(const char *a, const char *b),
			 const char *(*name)(size_t i, void *data), void *data)
{
	const char *one;

	for (size_t i = 0; (one = name(i, data)); i++)
		if (same(word, one))
			return one;
	return NULL;
}

const char *hint_word(const char *word, const char *(*name)(size_t i, void *data), void *data)
{
	char usual[64];
	const char *near, *theirs;
	size_t n = 0;

	for (; word[n] && n < sizeof(usual) - 1; n++)
		usual[n] = word[n] == '_' ? '-' : (char)tolower((unsigned char)word[n]);
	usual[n] = 0;
	near = known(usual, is_swapped, name, data);
	if (!near)
		near = nearest_word(usual, name, data);
	if (near)
		return near;
	theirs = nearest_word(usual, their_word, NULL);
	for (size_t i = 0; theirs && i < ARRAY_SIZE(words) && !near; i++)
		if (streq(words[i].theirs, theirs))
			near = known(words[i].ours, streq, name, data);
	return near;
}

bool hint_lower(struct diag *diag, const char *text,
		bool (*fits)(const char *text, const void *data), const void *data)
{
	char lower[64];
	size_t n = 0;

	for (; text[n] && n < sizeof(lower) - 1; n++)
		lower[n] = (char)tolower((unsigned char)text[n]);
	lower[n] = 0;
	if (text[n] || !fits(lower, data))
		return false;
	if (diag)
		diag_hint(diag, "write %s", lower);
	return true;
}

void hint_number(struct diag *diag, const char *text)
{
	if (!diag)
		return;
	if (strchr(text, ':'))
		diag_hint(diag, "a number has no colon; if a text is meant here, quote it");
	else if (text[0] == '0' && text[1] >= '0' && text[1] <= '9' &&
		 strspn(text, "0123456789") == strlen(text))
		diag_hint(diag, "write %s; a leading zero reads as octal elsewhere",
			  text + MIN(strspn(text, "0"), strlen(text) - 1));
	else if (strpbrk(text, "_,"))
		diag_hint(diag, "write the digits alone");
}
