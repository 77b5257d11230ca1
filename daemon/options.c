// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The command line: see options.h.
 */
#include "daemon/options.h"

#include <getopt.h>
#include <stdio.h>

#include "config/base/log.h"

/* clang-format off */
static const char help[] =
	"Usage: swd [OPTION]...\n"
	"Keeps ports, VLAN legs and tc blocks as one YAML file says, and packets that reach the\n"
	"CPU out of rules that hardware holds.\n"
	"It stays in the foreground and logs to standard error.\n"
	"\n"
	"  --config FILE      what the switch should be (/etc/swd/swd.yaml)\n"
	"  --socket PATH      where clients find it (/run/swd/swd.sock)\n"
	"  --state DIR        where it keeps what must survive (/var/lib/swd)\n"
	"  --teardown         remove all that swd made and name what is left; none may run\n"
	"  --log-level LEVEL  error, warning, notice, info, debug; else as the file says\n"
	"  -V, --version      the version\n"
	"  -h, --help         this text\n"
	"\n"
	"SIGHUP reads the file again. SIGTERM and SIGINT end swd; the kernel keeps all.\n"
	"See swd(8), swd.yaml(5) and sw-cli(8).\n";
/* clang-format on */

enum {
	OPT_CONFIG = 1,
	OPT_SOCKET,
	OPT_STATE,
	OPT_TEARDOWN,
	OPT_LOG_LEVEL,
	OPT_VERSION = 'V',
	OPT_HELP = 'h'
};

static const struct option table[] = {
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "state", required_argument, NULL, OPT_STATE },
	{ "teardown", no_argument, NULL, OPT_TEARDOWN },
	{ "log-level", required_argument, NULL, OPT_LOG_LEVEL },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static int usage(const char *what, const char *word)
{
	if (what)
		fprintf(stderr, "swd: %s '%s'\n", what, word);
	fputs("Try 'swd --help'.\n", stderr);
	return 2;
}

int options_parse(int argc, char **argv, struct swd_options *ret)
{
	int opt;

	*ret = (struct swd_options){
		.config = "/etc/swd/swd.yaml",
		.socket = "/run/swd/swd.sock",
		.state = "/var/lib/swd",
		.log_level = -1,
	};
	while ((opt = getopt_long(argc, argv, "hV", table, NULL)) != -1) {
		switch (opt) {
		case OPT_CONFIG:
			ret->config = optarg;
			break;
		case OPT_SOCKET:
			ret->socket = optarg;
			break;
		case OPT_STATE:
			ret->state = optarg;
			break;
		case OPT_TEARDOWN:
			ret->teardown = true;
			break;
		case OPT_LOG_LEVEL:
			ret->log_level = log_level_parse(optarg);
			if (ret->log_level < 0)
				return usage("no such log level:", optarg);
			break;
		case OPT_VERSION:
			puts("swd " SWD_VERSION);
			return 0;
		case OPT_HELP:
			fputs(help, stdout);
			return 0;
		default: /* getopt has said why */
			return usage(NULL, NULL);
		}
	}
	if (optind < argc)
		return usage("no arguments are taken:", argv[optind]);
	return -1;
}
