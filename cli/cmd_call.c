// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * monitor and call: the socket as it is.
 */
#include "cli/cmd.h"
#include "cli/conn.h"
#include "cli/json.h"
#include "cli/out_json.h"
#include "cli/out_text.h"

static void print_event(const struct cli *cli, const struct cJSON *e)
{
	char at[TIME_TEXT];

	if (cli->json) {
		json_print(e, -1, stdout);
		putchar('\n');
	} else {
		printf("%s  %-9s  %s: %s\n", text_time(json_u64(e, "at_ms"), at),
		       json_text(e, "type"), json_text(e, "about"), json_text(e, "text"));
	}
	fflush(stdout);
}

int cmd_monitor(const struct cli *cli, int argc, char **argv)
{
	_cleanup_(conn_closep) struct conn *conn = NULL;
	_cleanup_reply_ struct reply r = { 0 };
	int code = conn_ask(cli, "io.swd.Switch.Monitor", NULL, true, CONN_PATIENCE_MS, &conn, &r);

	while (code == CLI_DONE) {
		bool last = !r.continues;

		print_event(cli, json_get(r.parameters, "event"));
		if (last)
			return CLI_DONE;
		reply_clear(&r);
		code = conn_follow(cli, conn, CONN_FOR_EVER, &r);
	}
	return code;
}

int cmd_call(const struct cli *cli, int argc, char **argv)
{
	_cleanup_(conn_closep) struct conn *conn = NULL;
	_cleanup_reply_ struct reply r = { 0 };
	_cleanup_(json_freep) struct cJSON *check = NULL;
	struct cli as_json = *cli;
	char method[160];
	int code;

	as_json.json = true; /* an error reply is a result too */
	if (argc > 1 && !(check = json_read(argv[1]))) {
		cli_complain("the parameters are not JSON");
		return CLI_USAGE;
	}
	snprintf(method, sizeof(method), "%s%s", strchr(argv[0], '.') ? "" : "io.swd.Switch.",
		 argv[0]);
	code = conn_ask(&as_json, method, argc > 1 ? argv[1] : NULL, cli->more, CONN_FOR_EVER,
			&conn, &r);
	while (code == CLI_DONE) {
		bool last = !r.continues;

		out_json(r.parameters);
		fflush(stdout);
		if (last)
			return CLI_DONE;
		reply_clear(&r);
		code = conn_follow(&as_json, conn, CONN_FOR_EVER, &r);
	}
	return code;
}
