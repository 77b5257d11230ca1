// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/cmd.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "config/base/diag.h"
#include "config/base/units.h"

static const struct command table[] = {
	{ "status", "", 0, 0, CMD_NOTHING, false, "everything on one screen", cmd_status },
	{ "ports", "", 0, 0, CMD_NOTHING, false,
	  "ports and VLAN legs: switch, port number, conduit, offload, block", cmd_ports },
	{ "tx", "[measure PORT]", 0, 2, CMD_MEASURE, false,
	  "how ports send: doorbell, ring, interrupts; measure: frames a doorbell", cmd_tx },
	{ "blocks", "", 0, 0, CMD_NOTHING, false, "tc blocks, where they are bound, their numbers",
	  cmd_blocks },
	{ "rules", "[BLOCK]", 0, 1, CMD_BLOCK, false, "rules, where they are, their counters",
	  cmd_rules },
	{ "bypass", "[BLOCK]", 0, 1, CMD_BLOCK, false,
	  "is software skipped, how do we know, what breaks it", cmd_bypass },
	{ "audit", "[BLOCK]", 0, 1, CMD_BLOCK, false,
	  "what should not be there, or not so; exit code 10 if anything", cmd_audit },
	{ "check", "FILE", 1, 1, CMD_FILE, false, "is this a good file? needs no daemon",
	  cmd_check },
	{ "plan", "[FILE]", 0, 1, CMD_FILE, false,
	  "what apply would do; exit code 10 if there is anything", cmd_plan },
	{ "apply", "[FILE]", 0, 1, CMD_FILE, false,
	  "make it so, all or nothing; without FILE the daemon's own", cmd_apply, true },
	{ "confirm", "", 0, 0, CMD_NOTHING, false, "keep what was applied with --confirm",
	  cmd_confirm },
	{ "revert", "[N]", 0, 1, CMD_NOTHING, false,
	  "back to generation N; without N to the one before", cmd_revert, true },
	{ "history", "[show N]", 0, 2, CMD_SHOW, false,
	  "generations: when, who, why; show: all of one, and its changes", cmd_history },
	{ "export", "[N]", 0, 1, CMD_NOTHING, false,
	  "the file of generation N, or of that in force, as it was given", cmd_export },
	{ "monitor", "", 0, 0, CMD_NOTHING, false, "events as they happen", cmd_monitor },
	{ "call", "METHOD [JSON]", 1, 2, CMD_METHOD, false,
	  "any method of the socket; --more for streams", cmd_call },
	{ "help", "[COMMAND]", 0, 1, CMD_COMMAND, false, "this, or the help of a command",
	  cmd_help },
	{ "version", "", 0, 0, CMD_NOTHING, false, "the version of sw-cli", cmd_version },
	{ "completion", "", 0, 0, CMD_NOTHING, true, "a completion script for bash",
	  cmd_completion },
};

const struct command *cmd_at(size_t i)
{
	return i < ARRAY_SIZE(table) ? &table[i] : NULL;
}

const struct command *cmd_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (streq(table[i].name, name))
			return &table[i];
	}
	return NULL;
}

static const char *name_at(size_t i, void *data)
{
	return i < ARRAY_SIZE(table) ? table[i].name : NULL;
}

void cli_complain(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fputs("sw-cli: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

static int terminal_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return 0;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

static int run(const struct cli *cli, int argc, char **argv)
{
	const struct command *c = cmd_find(argv[0]);
	const char *near;

	if (!c) {
		near = nearest_word(argv[0], name_at, NULL);
		if (near)
			cli_complain("no command '%s'; did you mean '%s'?", argv[0], near);
		else
			cli_complain("no command '%s'; see 'sw-cli help'", argv[0]);
		return CLI_USAGE;
	}
	if (argc - 1 < c->min || argc - 1 > c->max) {
		cli_complain("usage: sw-cli %s%s%s", c->name, c->args[0] ? " " : "", c->args);
		return CLI_USAGE;
	}
	if (!c->trial && (cli->confirm_ms || cli->why || cli->allow_gap)) {
		cli_complain("%s takes no %s", c->name,
			     cli->why	       ? "--why"
			     : cli->confirm_ms ? "--confirm"
					       : "--allow-gap");
		return CLI_USAGE;
	}
	if (cli->force && c->argument != CMD_MEASURE) {
		cli_complain("%s takes no --force", c->name);
		return CLI_USAGE;
	}
	return c->run(cli, argc - 1, argv + 1);
}

static bool read_confirm(const char *text, struct cli *cli)
{
	uint64_t ms;

	if (parse_duration_ms(text, &ms) < 0 || ms < CONFIRM_MIN_MS || ms > CONFIRM_MAX_MS) {
		cli_complain("--confirm: expected a time from 1s to 1d, with its unit (ms, s, m, h "
			     "or d), found '%s'",
			     text);
		return false;
	}
	cli->confirm_ms = (uint32_t)ms;
	return true;
}

static bool read_why(const char *text, struct cli *cli)
{
	if (!diag_text_valid(text, WHY_MAX)) {
		cli_complain("--why: expected at most %d bytes of UTF-8 on one line", WHY_MAX);
		return false;
	}
	cli->why = text;
	return true;
}

int cmd_main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "allow-gap", no_argument, NULL, 'g' },
		{ "confirm", required_argument, NULL, 'c' },
		{ "why", required_argument, NULL, 'w' },
		{ "force", no_argument, NULL, 'f' },
		{ "json", no_argument, NULL, 'j' },
		{ "more", no_argument, NULL, 'm' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "socket", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	struct cli cli = { .socket = "/run/swd/swd.sock", .width = terminal_width() };
	bool help = false;
	int option, code;

	signal(SIGPIPE, SIG_DFL);	/* sw-cli rules | head */
	argv[0] = (char[]){ "sw-cli" }; /* for getopt's messages */
	while ((option = getopt_long(argc, argv, "jqs:hV", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			cli.json = true;
			break;
		case 'f':
			cli.force = true;
			break;
		case 'g':
			cli.allow_gap = true;
			break;
		case 'c':
			if (!read_confirm(optarg, &cli))
				return CLI_USAGE;
			break;
		case 'w':
			if (!read_why(optarg, &cli))
				return CLI_USAGE;
			break;
		case 'm':
			cli.more = true;
			break;
		case 'q':
			cli.quiet = true;
			break;
		case 's':
			cli.socket = optarg;
			break;
		case 'h':
			help = true;
			break;
		case 'V':
			return cmd_version(&cli, 0, NULL);
		default:
			fputs("Try 'sw-cli help'.\n", stderr);
			return CLI_USAGE;
		}
	}
	if (help)
		return cmd_help(&cli, MIN(argc - optind, 1), argv + optind);
	if (optind == argc) {
		help_usage(stderr);
		return CLI_USAGE;
	}
	code = run(&cli, argc - optind, argv + optind);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		cli_complain("can't write: %s", strerror(errno));
		return code == CLI_DONE ? CLI_FAILED : code;
	}
	return code;
}
