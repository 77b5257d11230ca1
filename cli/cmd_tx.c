// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tx: how ports send, a column a value. What the file wants otherwise stands behind it in
 * parentheses.
 */
#include "cli/cmd.h"
#include "cli/conn.h"
#include "cli/json.h"
#include "cli/out_json.h"
#include "cli/out_text.h"

/* "on", "512/4096", "5.." where other queues have other limits; "" if the device has it not. */
static void value_text(const struct cJSON *v, const char *member, char to[40])
{
	const char *digits = json_digits(v, member), *most = json_digits(v, "most");
	bool found = streq(member, "found");

	if (streq(json_text(v, "name"), "adaptive-tx") && digits[0])
		snprintf(to, 40, "%s", streq(digits, "0") ? "off" : "on");
	else if (found && most[0])
		snprintf(to, 40, "%s/%s", digits, most);
	else
		snprintf(to, 40, "%s%s", digits,
			 found && json_true(v, "queues_differ") ? ".." : "");
}

static void value_cell(struct table *t, const struct cJSON *v)
{
	char found[40], wanted[40];

	value_text(v, "found", found);
	value_text(v, "wanted", wanted);
	if (json_true(v, "auto") && !wanted[0])
		table_cellf(t, "%s (auto)", found[0] ? found : "-");
	else if (json_true(v, "differs"))
		table_cellf(t, "%s (%s)", found[0] ? found : "-", wanted);
	else if (json_true(v, "auto"))
		table_cellf(t, "%s auto", found);
	else
		table_cell(t, found);
}

static int tx_text(const struct cli *cli, const struct cJSON *p)
{
	static const char *const heads[] = { "PORT",	   "STATE",   ">FLUSH",	  ">RING",
					     ">USECS",	   ">FRAMES", "ADAPTIVE", ">LIMIT-MIN",
					     ">LIMIT-MAX", NULL };
	_cleanup_(table_freep) struct table *t = table_new(heads);

	if (!t)
		return CLI_FAILED;
	for (const struct cJSON *e = json_first(json_get(p, "ports")); e; e = json_next(e)) {
		table_cell(t, json_text(e, "name"));
		table_cell(t, json_text(e, "state"));
		for (const struct cJSON *v = json_first(json_get(e, "values")); v; v = json_next(v))
			value_cell(t, v);
	}
	if (table_rows(t) == 0) {
		printf("no port's tx: says anything\n");
		return CLI_DONE;
	}
	if (table_print(t, 0, cli->width, stdout) == 0)
		return CLI_DONE;
	cli_complain("memory is short");
	return CLI_FAILED;
}

int cmd_tx(const struct cli *cli, int argc, char **argv)
{
	_cleanup_reply_ struct reply r = { 0 };
	int code = conn_ask(cli, "io.swd.Switch.Tx", NULL, false, CONN_PATIENCE_MS, NULL, &r);

	if (code != CLI_DONE)
		return code;
	if (!cli->json)
		return tx_text(cli, r.parameters);
	out_json(r.parameters);
	return CLI_DONE;
}
