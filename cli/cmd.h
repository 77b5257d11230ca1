/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd: the table of commands. Usage, help and completion are made from it; a new command is a new
 * row.
 */
#ifndef SWD_CLI_CMD_H
#define SWD_CLI_CMD_H

#include "cli/cli.h"

enum cmd_argument { /* what completion offers */
	CMD_NOTHING,
	CMD_BLOCK,
	CMD_FILE,
	CMD_METHOD,
	CMD_COMMAND,
	CMD_SHOW,
	CMD_MEASURE,
};

struct command {
	const char *name;
	const char *args; /* "[BLOCK]", or "" */
	int min, max;	  /* how many arguments */
	enum cmd_argument argument;
	bool hidden;						  /* not in help */
	const char *help;					  /* one line */
	int (*run)(const struct cli *cli, int argc, char **argv); /* returns an enum cli_exit */
	bool trial;						  /* takes what TRIAL_HELP lists */
};

/* What --confirm may say, in milliseconds, and --why in bytes. */
#define CONFIRM_MIN_MS 1000
#define CONFIRM_MAX_MS 86400000
#define WHY_MAX 200

const struct command *cmd_at(size_t i); /* NULL behind the last */
const struct command *cmd_find(const char *name);
/* Reads the options and runs the command; returns the exit code. */
int cmd_main(int argc, char **argv);

/* cmd_show.c */
struct cJSON;
struct table;
/* Prints the answer's parameters for people; returns an enum cli_exit. */
typedef int (*cmd_text_fn)(const struct cli *cli, const struct cJSON *p);
/* Calls a method that is answered at once, and prints the answer: as JSON, or by text. */
int cmd_show(const struct cli *cli, const char *method, cmd_text_fn text);
int cmd_print_table(const struct cli *cli, const struct table *t);
int cmd_status(const struct cli *cli, int argc, char **argv);
int cmd_ports(const struct cli *cli, int argc, char **argv);
int cmd_blocks(const struct cli *cli, int argc, char **argv);
/* cmd_tx.c */
int cmd_tx(const struct cli *cli, int argc, char **argv);
/* cmd_rules.c */
char *cmd_block_parameter(const char *name); /* {"block": NAME} or {}, to be freed */
int cmd_rules(const struct cli *cli, int argc, char **argv);
/* cmd_bypass.c */
int cmd_bypass(const struct cli *cli, int argc, char **argv);
/* cmd_audit.c */
int cmd_audit(const struct cli *cli, int argc, char **argv);
/* cmd_file.c */
int cmd_check(const struct cli *cli, int argc, char **argv);
int cmd_plan(const struct cli *cli, int argc, char **argv);
int cmd_apply(const struct cli *cli, int argc, char **argv);
/* The members confirm_ms and why of a call, and what came of it. */
struct jsonw;
struct reply;
void cmd_trial_parameters(const struct cli *cli, struct jsonw *w);
void cmd_print_applied(const struct cli *cli, const struct reply *r);
/* cmd_history.c */
int cmd_confirm(const struct cli *cli, int argc, char **argv);
int cmd_revert(const struct cli *cli, int argc, char **argv);
int cmd_history(const struct cli *cli, int argc, char **argv);
int cmd_export(const struct cli *cli, int argc, char **argv);
/* cmd_call.c */
int cmd_monitor(const struct cli *cli, int argc, char **argv);
int cmd_call(const struct cli *cli, int argc, char **argv);
/* cmd_help.c */
int cmd_help(const struct cli *cli, int argc, char **argv);
int cmd_version(const struct cli *cli, int argc, char **argv);
int cmd_completion(const struct cli *cli, int argc, char **argv);
void help_usage(FILE *to);

#endif
