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
#include "cli/work.h"
#include "config/base/jsonw.h"

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

/* Picoseconds as "53.1 ns". */
static const char *ns_text(const struct cJSON *o, const char *member, char to[40])
{
	uint64_t ps = json_u64(o, member);

	snprintf(to, 40, "%llu.%llu ns", (unsigned long long)(ps / 1000),
		 (unsigned long long)(ps % 1000 / 100));
	return to;
}

static void print_measured(const struct cJSON *p)
{
	char at[TIME_TEXT], bell[40], frame[40];

	for (const struct cJSON *e = json_first(json_get(p, "ports")); e; e = json_next(e)) {
		const struct cJSON *m = json_get(e, "measured");

		if (!m)
			continue;
		printf("%s: %s to a doorbell, measured %s%s: a doorbell takes %s, a frame %s\n",
		       json_text(m, "port"), json_digits(m, "frames"),
		       text_time(json_u64(m, "at_ms"), at),
		       json_true(m, "noisy") ? " with much noise" : "",
		       ns_text(m, "doorbell_ps", bell), ns_text(m, "frame_ps", frame));
	}
}

/* Why a port is not measured, or is to be measured again. */
static void print_waits(const struct cJSON *p)
{
	for (const struct cJSON *e = json_first(json_get(p, "ports")); e; e = json_next(e)) {
		const struct cJSON *wait = json_get(e, "waits");
		const char *todo = json_get(e, "measured") ? "measured again" : "measured";
		char age[TIME_TEXT];

		if (!wait)
			continue;
		printf("%s: to be %s: %s", json_text(e, "name"), todo, json_text(wait, "text"));
		if (json_u64(wait, "left_ms"))
			printf("; tried in %s", text_age(json_u64(wait, "left_ms"), age));
		printf("\n");
	}
}

static int tx_text(const struct cli *cli, const struct cJSON *p)
{
	static const char *const heads[] = { "PORT",	   "STATE",   ">FLUSH",	  ">RING",
					     ">USECS",	   ">FRAMES", "ADAPTIVE", ">LIMIT-MIN",
					     ">LIMIT-MAX", NULL };
	_cleanup_(table_freep) struct table *t = table_new(heads);
	int code;

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
	code = cmd_print_table(cli, t);
	if (code == CLI_DONE) {
		print_measured(p);
		print_waits(p);
	}
	return code;
}

static int tries_text(const struct cJSON *m)
{
	static const char *const heads[] = { ">FRAMES", ">TIME OF EACH", NULL };
	_cleanup_(table_freep) struct table *t = table_new(heads);
	char took[40];

	if (!t)
		return CLI_FAILED;
	for (const struct cJSON *e = json_first(json_get(m, "tries")); e; e = json_next(e)) {
		table_cell(t, json_digits(e, "frames"));
		table_cell(t, ns_text(e, "took_ps", took));
	}
	return table_print(t, 2, 0, stdout) == 0 ? CLI_DONE : CLI_FAILED;
}

static int cmd_measure(const struct cli *cli, const char *port)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	_cleanup_free_ char *parameters = NULL;
	_cleanup_reply_ struct reply r = { 0 };
	int code;

	if (w) {
		jsonw_object(w);
		jsonw_key_string(w, "port", port);
		if (cli->force)
			jsonw_key_bool(w, "force", true);
		jsonw_object_end(w);
	}
	if (!w || jsonw_take(w, &parameters, NULL) < 0) {
		cli_complain("memory is short");
		return CLI_FAILED;
	}
	code = work_wait(cli, "io.swd.Switch.MeasureTx", parameters, &r);
	if (code != CLI_DONE)
		return code;
	if (cli->json) {
		out_json(r.parameters);
		return CLI_DONE;
	}
	printf("%s: %s\n", port, json_text(r.parameters, "text"));
	return tries_text(json_get(r.parameters, "measured"));
}

int cmd_tx(const struct cli *cli, int argc, char **argv)
{
	if (argc == 2 && streq(argv[0], "measure"))
		return cmd_measure(cli, argv[1]);
	if (argc || cli->force) {
		cli_complain("usage: sw-cli tx [measure PORT [--force]]");
		return CLI_USAGE;
	}
	return cmd_show(cli, "io.swd.Switch.Tx", tx_text);
}
