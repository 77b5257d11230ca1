// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * audit: what was found, by block, each with what it costs and what mends it.
 */
#include "cli/cmd.h"
#include "cli/conn.h"
#include "cli/json.h"
#include "cli/out_json.h"
#include "cli/out_text.h"

static bool same_block(const struct cJSON *a, const struct cJSON *b)
{
	return streq(json_digits(a, "block_id"), json_digits(b, "block_id"));
}

static void print_head(const struct cJSON *first)
{
	uint64_t n = 0;
	char count[64];

	for (const struct cJSON *f = first; f && same_block(f, first); f = json_next(f))
		n++;
	if (json_get(first, "block"))
		printf("%s (block %s): ", json_text(first, "block"),
		       json_digits(first, "block_id"));
	else
		printf("in no block of the file: ");
	printf("%s\n", text_count(n, "finding", count));
}

static void print_finding(const struct cJSON *f)
{
	char count[64];

	printf("  %s: %s", json_text(f, "kind"), json_text(f, "text"));
	if (json_u64(f, "filters") > 1)
		printf(", %s", text_count(json_u64(f, "filters"), "filter", count));
	if (json_get(f, "place"))
		printf(" (%s)", json_text(f, "place"));
	printf("\n");
	if (json_text(f, "risk")[0])
		printf("    %s\n", json_text(f, "risk"));
	printf("    mend: %s\n", json_text(f, "mend"));
}

static void print_findings(const struct cJSON *p)
{
	const struct cJSON *list = json_get(p, "findings"), *before = NULL;
	uint64_t all = json_u64(p, "count");

	for (const struct cJSON *f = json_first(list); f; f = json_next(f)) {
		if (!before || !same_block(before, f))
			print_head(f);
		print_finding(f);
		before = f;
	}
	if (all > json_count(list))
		printf("and %llu more\n", (unsigned long long)all - json_count(list));
	if (!before)
		printf("nothing found\n");
	if (!json_true(p, "settled"))
		printf("swd is at work: what it mends by itself may be among them\n");
}

int cmd_audit(const struct cli *cli, int argc, char **argv)
{
	_cleanup_free_ char *parameters = cmd_block_parameter(argc ? argv[0] : NULL);
	_cleanup_reply_ struct reply r = { 0 };
	int code;

	if (!parameters)
		return CLI_FAILED;
	code = conn_ask(cli, "io.swd.Switch.Audit", parameters, false, CONN_PATIENCE_MS, NULL, &r);
	if (code != CLI_DONE)
		return code;
	if (cli->json)
		out_json(r.parameters);
	else
		print_findings(r.parameters);
	return json_u64(r.parameters, "count") ? CLI_WORK : CLI_DONE;
}
