// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tx.txt: what swd asks Linux of how a device sends is byte for byte what ethtool asks for the same
 * words, and what Linux answered to that reads as what it is.
 */
#include <linux/ethtool_netlink.h>
#include <stdio.h>

#include "config/model/tx.h"
#include "daemon/kernel/tx.h"

static const struct family family = { .id = 20, .version = ETHTOOL_GENL_VERSION };

static int fails, entries, judged;

static void complain(const char *words, const char *what)
{
	printf("FAIL %s: %s\n", words, what);
	fails++;
}

/* ---- words ---- */

/* The value that ethtool calls so, or -1. */
static int value_of(const struct tx *t, const char *word)
{
	for (unsigned int i = 0; i < TX_VALUES && tx_value_name((enum tx_part)t->part, i); i++)
		if (streq(word, t->part == TX_RING ? "tx" : tx_value_name(TX_COALESCE, i)))
			return (int)i;
	return -1;
}

/* "tx-usecs 50 adaptive-tx on", "tx 512 of 4096". False: these are no such words. */
static bool read_values(const char *words, struct tx *t)
{
	char name[32], text[32];
	int n;

	for (; sscanf(words, " %31s %31s%n", name, text, &n) == 2; words += n) {
		uint32_t v = streq(text, "on") ? 1 : (uint32_t)strtoul(text, NULL, 10);
		int i = value_of(t, name);

		if (streq(name, "of")) {
			t->most = v;
			continue;
		}
		if (i < 0)
			return false;
		t->has |= (uint8_t)(1u << i);
		t->value[i] = v;
	}
	return words[strspn(words, " ")] == '\0';
}

/* ---- bytes ---- */

static size_t read_hex(const char *text, uint8_t *to, size_t space)
{
	unsigned int byte;
	size_t n = 0;

	for (; n < space && sscanf(text, "%2x", &byte) == 1; text += 2)
		to[n++] = (uint8_t)byte;
	return n;
}

static void judge_asked(const char *words, const char *hex)
{
	bool set = words[1] < 'a', ring = (words[1] | 0x20) == 'g';
	_cleanup_object_ struct tx *wanted = tx_new("dev3", ring ? TX_RING : TX_COALESCE, 0);
	struct nl_msg *m = nlmsg_alloc();
	uint8_t command = ring ? (set ? ETHTOOL_MSG_RINGS_SET : ETHTOOL_MSG_RINGS_GET)
			       : (set ? ETHTOOL_MSG_COALESCE_SET : ETHTOOL_MSG_COALESCE_GET);
	uint8_t bytes[256];
	size_t size = read_hex(hex, bytes, sizeof(bytes));

	if (!read_values(words + strlen("-G dev3"), wanted))
		complain(words, "words that nobody knows");
	family_begin(&family, m, command);
	if ((set ? tx_put_set(m, wanted, NULL) : tx_put_get(m, wanted->dev)) < 0)
		complain(words, "can't be written");
	if (nlmsg_hdr(m)->nlmsg_len != NLMSG_HDRLEN + size ||
	    memcmp(nlmsg_data(nlmsg_hdr(m)), bytes, size) != 0)
		complain(words, "ethtool says it in other bytes");
	nlmsg_free(m);
	judged++;
}

static bool same(const struct tx *a, const struct tx *b)
{
	return streq(a->dev, b->dev) && a->part == b->part && a->has == b->has &&
	       a->most == b->most && memcmp(a->value, b->value, sizeof(a->value)) == 0;
}

static void judge_answer(const char *words, const char *hex, const char *is)
{
	_cleanup_object_ struct tx *meant =
		tx_new("dev3", words[1] == 'g' ? TX_RING : TX_COALESCE, 0);
	_cleanup_object_ struct tx *found = NULL;
	uint64_t buffer[128]; /* aligned as a message is */
	struct nlmsghdr *h = (struct nlmsghdr *)buffer;
	size_t size = read_hex(hex, (uint8_t *)nlmsg_data(h), sizeof(buffer) - NLMSG_HDRLEN);

	*h = (struct nlmsghdr){ .nlmsg_len = (uint32_t)(NLMSG_HDRLEN + size),
				.nlmsg_type = family.id };
	if (!read_values(is, meant))
		complain(words, "`is` has words that nobody knows");
	if (tx_parse(h, &found) < 0 || !found || !same(found, meant))
		complain(words, "Linux's answer reads as something else");
	judged++;
}

static const char *behind(const char *line, const char *word)
{
	size_t n = strlen(word);

	return strncmp(line, word, n) == 0 && line[n] == ' ' ? line + n + 1 : NULL;
}

int main(int argc, char **argv)
{
	char line[1024], words[1024] = "", is[1024] = "";
	FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;

	if (!f)
		return 2;
	while (fgets(line, sizeof(line), f)) {
		const char *rest;

		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '-') {
			strcpy(words, line);
			entries++;
		} else if ((rest = behind(line, "is"))) {
			strcpy(is, rest);
		} else if ((rest = behind(line, "asked"))) {
			judge_asked(words, rest);
		} else if ((rest = behind(line, "answer"))) {
			judge_answer(words, rest, is);
		} else if (line[0] && line[0] != '#') {
			complain(line, "what is that?");
		}
	}
	fclose(f);
	if (judged < entries)
		complain(argv[1], "an entry has no bytes");
	printf("%s: %d commands, %d messages, %d complaints\n", argv[1], entries, judged, fails);
	return fails || !entries;
}
