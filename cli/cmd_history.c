// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * confirm, revert, history, export: generations that were, and which of them stays.
 */
#include "cli/cmd.h"
#include "cli/conn.h"
#include "cli/json.h"
#include "cli/out_json.h"
#include "cli/out_text.h"
#include "cli/work.h"
#include "config/base/jsonw.h"
#include "config/base/units.h"

/* {"generation": N}, or {} without one; and what --confirm and --why say. NULL after a complaint.
 */
static char *parameters(const struct cli *cli, const char *number, int *ret_code)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	uint64_t generation = 0;
	char *text = NULL;
	size_t size;

	if (number && parse_u64(number, 1, INT64_MAX >> 10, &generation) < 0) {
		cli_complain("expected the number of a generation, found '%s'", number);
		*ret_code = CLI_USAGE;
		return NULL;
	}
	*ret_code = CLI_FAILED;
	if (!w)
		return NULL;
	jsonw_object(w);
	if (number)
		jsonw_key_u64(w, "generation", generation);
	cmd_trial_parameters(cli, w);
	jsonw_object_end(w);
	if (jsonw_take(w, &text, &size) < 0)
		cli_complain("memory is short");
	return text;
}

static int ask(const struct cli *cli, const char *method, const char *number, struct reply *r)
{
	int code;
	_cleanup_free_ char *p = parameters(cli, number, &code);

	/* It waits behind what the engine does now. */
	return p ? work_wait(cli, method, p, r) : code;
}

int cmd_confirm(const struct cli *cli, int argc, char **argv)
{
	_cleanup_reply_ struct reply r = { 0 };
	int code = ask(cli, "io.swd.Switch.Confirm", NULL, &r);

	if (code != CLI_DONE)
		return code;
	if (cli->json)
		out_json(r.parameters);
	else if (!cli->quiet)
		printf("generation %s is confirmed\n", json_digits(r.parameters, "generation"));
	return CLI_DONE;
}

int cmd_revert(const struct cli *cli, int argc, char **argv)
{
	_cleanup_reply_ struct reply r = { 0 };
	int code = ask(cli, "io.swd.Switch.Revert", argc ? argv[0] : NULL, &r);

	if (code == CLI_DONE)
		cmd_print_applied(cli, &r);
	return code;
}

/* ---- export ---- */

int cmd_export(const struct cli *cli, int argc, char **argv)
{
	_cleanup_reply_ struct reply r = { 0 };
	int code = ask(cli, "io.swd.Switch.Export", argc ? argv[0] : NULL, &r);

	if (code != CLI_DONE)
		return code;
	if (cli->json)
		out_json(r.parameters);
	else
		fputs(json_text(r.parameters, "text"), stdout);
	return CLI_DONE;
}

/* ---- history ---- */

static void print_within(const struct cJSON *g)
{
	char within[64];

	if (json_get(g, "confirm_ms"))
		printf("  to be confirmed within %s\n",
		       text_left(json_u64(g, "confirm_ms"), within));
}

static int show(const struct cli *cli, const char *number)
{
	_cleanup_reply_ struct reply r = { 0 };
	int code = ask(cli, "io.swd.Switch.Generation", number, &r);
	const struct cJSON *g;
	char at[TIME_TEXT], changes[64];

	if (code != CLI_DONE)
		return code;
	if (cli->json) {
		out_json(r.parameters);
		return CLI_DONE;
	}
	g = json_get(r.parameters, "generation");
	printf("generation %s: %s%s\n", json_digits(g, "id"), json_text(g, "outcome"),
	       json_u64(g, "id") == json_u64(r.parameters, "current") ? ", in force" : "");
	if (json_get(g, "file"))
		printf("  %s, %s bytes\n", json_text(g, "file"), json_digits(g, "bytes"));
	printf("  %s by %s (uid %s)\n", text_time(json_u64(g, "at_ms"), at), json_text(g, "who"),
	       json_digits(g, "uid"));
	if (json_get(g, "why"))
		printf("  why: %s\n", json_text(g, "why"));
	print_within(g);
	if (json_get(g, "error"))
		printf("  %s\n", json_text(g, "error"));
	printf("  %s\n", text_count(json_u64(g, "changes"), "step", changes));
	if (json_text(r.parameters, "diff")[0])
		printf("\n%s", json_text(r.parameters, "diff"));
	return CLI_DONE;
}

static void add_row(struct table *t, const struct cJSON *g, uint64_t current)
{
	char at[TIME_TEXT];

	table_cellf(t, "%s%s", json_digits(g, "id"), json_u64(g, "id") == current ? "*" : " ");
	table_cell(t, text_time(json_u64(g, "at_ms"), at));
	table_cell(t, json_text(g, "who"));
	table_cell(t, json_text(g, "outcome"));
	table_cell(t, json_digits(g, "changes"));
	table_cell(t, json_text(g, "why"));
}

/* All pieces of the answer, into the table or into the JSON. */
static int take_pieces(const struct cli *cli, struct conn *conn, struct reply *r, struct table *t,
		       struct out_lists *json)
{
	for (;;) {
		const struct cJSON *list = json_get(r->parameters, "generations");
		bool last = !r->continues;
		int code;

		if (cli->json)
			out_lists_add(json, "generations", list);
		for (const struct cJSON *g = json_first(list); !cli->json && g; g = json_next(g))
			add_row(t, g, json_u64(r->parameters, "current"));
		if (last && cli->json)
			out_lists_member(json, "current", json_get(r->parameters, "current"));
		if (last)
			return CLI_DONE;
		reply_clear(r);
		code = conn_follow(cli, conn, CONN_PATIENCE_MS, r);
		if (code != CLI_DONE)
			return code;
	}
}

static int list(const struct cli *cli)
{
	static const char *const heads[] = {
		">ID ", "TIME", "WHO", "OUTCOME", ">STEPS", "WHY", NULL
	};
	_cleanup_(table_freep) struct table *t = table_new(heads);
	_cleanup_(conn_closep) struct conn *conn = NULL;
	_cleanup_reply_ struct reply r = { 0 };
	struct out_lists json;
	int code = conn_ask(cli, "io.swd.Switch.History", NULL, true, CONN_FOR_EVER, &conn, &r);

	if (code != CLI_DONE || !t)
		return code != CLI_DONE ? code : CLI_FAILED;
	if (cli->json)
		out_lists_begin(&json);
	code = take_pieces(cli, conn, &r, t, &json);
	if (code != CLI_DONE)
		return code;
	if (cli->json)
		out_lists_end(&json);
	else if (table_rows(t) == 0)
		printf("nothing was ever applied\n");
	else if (table_print(t, 0, cli->width, stdout) < 0)
		return CLI_FAILED;
	return CLI_DONE;
}

int cmd_history(const struct cli *cli, int argc, char **argv)
{
	if (argc == 0)
		return list(cli);
	if (argc == 2 && streq(argv[0], "show"))
		return show(cli, argv[1]);
	cli_complain("usage: sw-cli history [show N]");
	return CLI_USAGE;
}
