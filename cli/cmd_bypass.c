// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bypass: what it is, how we know, what it costs, and how to mend it.
 */
#include "cli/cmd.h"
#include "cli/conn.h"
#include "cli/json.h"
#include "cli/out_json.h"
#include "cli/out_text.h"

static const char *state_word(const char *state)
{
	return streq(state, "on") ? "ON" : streq(state, "off") ? "OFF" : "UNKNOWN";
}

static void print_on(const struct cJSON *b)
{
	uint64_t filters = json_u64(b, "filters"), in_hw = json_u64(b, "in_hw");
	char rules[64], count[64], age[TIME_TEXT];

	printf(", %s; %s, %s", json_text(b, "evidence"),
	       text_count(json_u64(b, "rules"), "rule", rules),
	       text_count(filters, "filter", count));
	if (in_hw >= filters)
		printf(", all in hardware\n");
	else
		printf(", %s in hardware\n", json_digits(b, "in_hw"));
	if (json_get(b, "recent_packets"))
		printf("  %s reached the CPU in %s and walked no filter\n",
		       text_count(json_u64(b, "recent_packets"), "packet", count),
		       text_age(json_u64(b, "recent_ms"), age));
	else if (json_get(b, "packets"))
		printf("  %s reached the CPU and walked no filter\n",
		       text_count(json_u64(b, "packets"), "packet", count));
	if (streq(json_text(b, "strategy"), "shortcut"))
		printf("  the kernel has no bypass: one filter of ours in front ends its walk\n");
}

static void print_culprits(const struct cJSON *b)
{
	bool off = streq(json_text(b, "state"), "off");
	const struct cJSON *list = json_get(b, "culprits");
	uint64_t all = json_u64(b, "culprit_count");

	for (const struct cJSON *c = json_first(list); c; c = json_next(c))
		printf("  %s it: %s\n", off ? "breaks" : "may break", json_text(c, "text"));
	if (all > json_count(list))
		printf("  and %llu others\n", (unsigned long long)all - json_count(list));
}

/* Each once: what mends one culprit often mends them all. */
static void print_mends(const struct cJSON *b)
{
	const struct cJSON *list = json_first(json_get(b, "culprits"));

	for (const struct cJSON *c = list; c; c = json_next(c)) {
		const char *mend = json_text(c, "mend");
		bool said = !mend[0];

		for (const struct cJSON *before = list; before != c; before = json_next(before))
			said |= streq(json_text(before, "mend"), mend);
		if (!said)
			printf("  mend: %s\n", mend);
	}
}

static void print_not_on(const struct cJSON *p, const struct cJSON *b)
{
	bool off = streq(json_text(b, "state"), "off");

	if (off && !streq(json_text(b, "evidence"), "nothing"))
		printf(", %s", json_text(b, "evidence"));
	printf("\n");
	if (streq(json_text(b, "wanted"), "off"))
		printf("  it is not wanted: bypass: off in the file\n");
	if (streq(json_text(b, "strategy"), "none"))
		printf("  the kernel: %s\n", json_text(p, "ability_how"));
	if (!off && streq(json_text(p, "ability"), "marks"))
		printf("  the kernel does not tell, and what swd did not see from its start may be "
		       "marked for good\n");
	print_culprits(b);
	printf("  cost: up to %s filters walked for each packet that reaches the CPU%s\n",
	       json_digits(b, "cost"), off ? "" : ", if it is off");
	print_mends(b);
}

static void print_block(const struct cJSON *p, const struct cJSON *b)
{
	const char *state = json_text(b, "state");
	char since[TIME_TEXT];

	printf("%s (block %s)  bypass %s", json_text(b, "block"), json_digits(b, "id"),
	       state_word(state));
	if (streq(state, "on"))
		printf(" (%s)", json_text(b, "strategy"));
	if (json_u64(b, "since_ms"))
		printf(" since %s", text_time(json_u64(b, "since_ms"), since));
	if (streq(state, "on"))
		print_on(b);
	else
		print_not_on(p, b);
}

int cmd_bypass(const struct cli *cli, int argc, char **argv)
{
	_cleanup_free_ char *parameters = cmd_block_parameter(argc ? argv[0] : NULL);
	_cleanup_reply_ struct reply r = { 0 };
	int code;

	if (!parameters)
		return CLI_FAILED;
	code = conn_ask(cli, "io.swd.Switch.Bypass", parameters, false, CONN_PATIENCE_MS, NULL, &r);
	if (code != CLI_DONE)
		return code;
	if (cli->json) {
		out_json(r.parameters);
		return CLI_DONE;
	}
	for (const struct cJSON *b = json_first(json_get(r.parameters, "blocks")); b;
	     b = json_next(b))
		print_block(r.parameters, b);
	if (!json_first(json_get(r.parameters, "blocks")))
		printf("no blocks\n");
	return CLI_DONE;
}
