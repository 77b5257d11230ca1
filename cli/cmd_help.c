// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * help, version, completion: all from the table in cmd.c.
 */
#include "cli/cmd.h"

#define TRIAL_HELP                                                                             \
	"      --allow-gap       apply, revert: no rule may decide some frames for a moment\n" \
	"      --confirm TIME    apply, revert: back again unless confirmed by then\n"         \
	"      --why TEXT        apply, revert: what for; history shows it\n"

void help_usage(FILE *to)
{
	fputs("usage: sw-cli [OPTION...] COMMAND [ARGUMENT...]\n\n", to);
	for (size_t i = 0; cmd_at(i); i++) {
		const struct command *c = cmd_at(i);
		char head[40];

		if (c->hidden)
			continue;
		snprintf(head, sizeof(head), "%s %s", c->name, c->args);
		fprintf(to, "  %-20s  %s\n", head, c->help);
	}
	fputs("\n"
	      "  -j, --json            results as JSON\n" TRIAL_HELP
	      "  -q, --quiet           plan, apply, confirm, revert: the exit code alone\n"
	      "      --force           tx measure: also a port that others use\n"
	      "      --more            call: take replies until the last\n"
	      "  -s, --socket PATH     the daemon's socket (/run/swd/swd.sock)\n"
	      "  -h, --help            this, or the help of a command\n"
	      "  -V, --version         the version of sw-cli\n"
	      "\n"
	      "FILE may be - for standard input. See sw-cli(8), and swd.yaml(5) for the file.\n"
	      "Exit codes: 0 done, 1 refused or failed, 2 usage, 3 daemon not reachable,\n"
	      "4 not without --allow-gap,\n"
	      "10 (plan) there is something to do, (audit) something was found.\n",
	      to);
}

int cmd_help(const struct cli *cli, int argc, char **argv)
{
	const struct command *c = argc ? cmd_find(argv[0]) : NULL;

	if (argc && !c) {
		cli_complain("no command '%s'; see 'sw-cli help'", argv[0]);
		return CLI_USAGE;
	}
	if (c)
		printf("usage: sw-cli %s%s%s\n  %s\n%s", c->name, c->args[0] ? " " : "", c->args,
		       c->help, c->trial ? "\n" TRIAL_HELP : "");
	else
		help_usage(stdout);
	return CLI_DONE;
}

int cmd_version(const struct cli *cli, int argc, char **argv)
{
	printf("sw-cli %s\n", SWD_VERSION);
	return CLI_DONE;
}

/* "status|ports)": all commands with that kind of argument. */
static void print_pattern(enum cmd_argument argument)
{
	const char *between = "\t";

	for (size_t i = 0; cmd_at(i); i++) {
		if (cmd_at(i)->argument != argument || cmd_at(i)->hidden)
			continue;
		printf("%s%s", between, cmd_at(i)->name);
		between = "|";
	}
	printf(")\n");
}

static void print_commands(void)
{
	printf("\t\tCOMPREPLY=($(compgen -W '");
	for (size_t i = 0; cmd_at(i); i++) {
		if (!cmd_at(i)->hidden)
			printf("%s%s", i ? " " : "", cmd_at(i)->name);
	}
	printf("' -- \"$word\"))\n\t\t;;\n");
}

int cmd_completion(const struct cli *cli, int argc, char **argv)
{
	printf("# bash completion for sw-cli; made by 'sw-cli completion'\n"
	       "_sw_cli()\n{\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} command= words= i socket=()\n"
	       "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	       "\t\tcase ${COMP_WORDS[i]} in\n"
	       "\t\t-s|--socket) socket=(-s \"${COMP_WORDS[++i]}\") ;;\n"
	       "\t\t--confirm|--why) ((i++)) ;;\n"
	       "\t\t-*) ;;\n"
	       "\t\t*) command=${COMP_WORDS[i]}; break ;;\n"
	       "\t\tesac\n\tdone\n"
	       "\tCOMPREPLY=()\n"
	       "\tif [[ $word == -* ]]; then\n"
	       "\t\twords='--json --more --quiet --allow-gap --force --confirm --why --socket "
	       "--help --version'\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
	       "\t\treturn\n\tfi\n"
	       "\tcase $command in\n"
	       "\t'')\n");
	print_commands();
	print_pattern(CMD_BLOCK);
	printf("\t\twords=$(sw-cli \"${socket[@]}\" blocks 2>/dev/null | awk 'NR > 1 {print $1}')\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n\t\t;;\n");
	print_pattern(CMD_FILE);
	printf("\t\tCOMPREPLY=($(compgen -f -- \"$word\"))\n\t\t;;\n");
	print_pattern(CMD_METHOD);
	printf("\t\twords='Status Ports Tx MeasureTx Blocks Rules Bypass Check Plan Apply Confirm "
	       "Revert History Generation Export Monitor'\n"
	       "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n\t\t;;\n");
	print_pattern(CMD_SHOW);
	printf("\t\tCOMPREPLY=($(compgen -W show -- \"$word\"))\n\t\t;;\n");
	print_pattern(CMD_MEASURE);
	printf("\t\tCOMPREPLY=($(compgen -W measure -- \"$word\"))\n\t\t;;\n");
	print_pattern(CMD_COMMAND);
	print_commands();
	printf("\tesac\n}\n"
	       "complete -o filenames -F _sw_cli sw-cli\n");
	return CLI_DONE;
}
