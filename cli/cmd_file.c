// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check, plan, apply: commands about a file. check reads it here and needs no daemon; plan and
 * apply send its text, since the daemon may not be allowed to read it.
 */
#include <errno.h>

#include "cli/cmd.h"
#include "cli/conn.h"
#include "cli/json.h"
#include "cli/out_json.h"
#include "cli/out_text.h"
#include "cli/work.h"
#include "config/base/jsonw.h"
#include "config/yaml/load.h"

static int read_input(char **ret, size_t *ret_size)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0, space = 0;

	for (;;) {
		ssize_t n;

		if (space - size < 65536) {
			space = space ? space * 2 : 131072;
			char *more = realloc(text, space);

			if (!more)
				return -ENOMEM;
			text = more;
		}
		n = read(STDIN_FILENO, text + size, space - size - 1);
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		size += (size_t)n;
		if (size > CONFIG_TEXT_MAX)
			return -EFBIG;
	}
	text[size] = 0;
	*ret = take(text);
	*ret_size = size;
	return 0;
}

static const char *display_name(const char *path)
{
	return streq(path, "-") ? "standard input" : path;
}

/* "-" is standard input. */
static int read_file(const char *path, char **ret, size_t *ret_size)
{
	int err = streq(path, "-") ? read_input(ret, ret_size)
				   : config_read_file(path, ret, ret_size);

	if (err < 0)
		cli_complain("%s: %s", path, strerror(-err));
	return err;
}

static size_t count(const struct config *c, enum kind kind)
{
	return c ? state_count(c->wanted, kind) : 0;
}

static int check_json(const char *file, const struct diags *d, const struct config *c)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	_cleanup_(json_freep) struct cJSON *j = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size;

	if (!w)
		return -ENOMEM;
	jsonw_object(w);
	jsonw_key_bool(w, "good", c);
	jsonw_key_string(w, "file", file);
	jsonw_key_u64(w, "errors", diags_errors(d));
	jsonw_key_u64(w, "ports", count(c, KIND_PORT));
	jsonw_key_u64(w, "vlans", count(c, KIND_VLAN));
	jsonw_key_u64(w, "blocks", count(c, KIND_BLOCK));
	jsonw_key_u64(w, "rules", count(c, KIND_RULE));
	jsonw_key(w, "diags");
	diags_json(d, w);
	jsonw_object_end(w);
	if (jsonw_take(w, &text, &size) < 0 || !(j = json_read(text)))
		return -ENOMEM;
	out_json(j);
	return 0;
}

static void check_text(const char *file, const struct diags *d, const struct config *c)
{
	char ports[64], vlans[64], blocks[64], rules[64], errors[64];

	if (c)
		printf("%s is good: %s, %s, %s, %s\n", file,
		       text_count(count(c, KIND_PORT), "port", ports),
		       text_count(count(c, KIND_VLAN), "vlan", vlans),
		       text_count(count(c, KIND_BLOCK), "block", blocks),
		       text_count(count(c, KIND_RULE), "rule", rules));
	else
		cli_complain("%s is refused: %s", file,
			     text_count(diags_errors(d), "error", errors));
}

int cmd_check(const struct cli *cli, int argc, char **argv)
{
	const char *file = display_name(argv[0]);
	_cleanup_(diags_freep) struct diags *d = diags_new(file);
	_cleanup_(config_unrefp) struct config *c = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size;
	int err;

	if (read_file(argv[0], &text, &size) < 0)
		return CLI_FAILED;
	err = d ? config_load(text, size, d, &c) : -ENOMEM;
	if (err == 0 || err == -EINVAL) {
		diags_sort(d);
		diags_print(d, stderr);
		if (!cli->json)
			check_text(file, d, c);
		else if (check_json(file, d, c) < 0)
			err = -ENOMEM;
	}
	if (err < 0 && err != -EINVAL)
		cli_complain("%s: %s", file, strerror(-err));
	return err == 0 ? CLI_DONE : CLI_FAILED;
}

void cmd_trial_parameters(const struct cli *cli, struct jsonw *w)
{
	if (cli->confirm_ms)
		jsonw_key_u64(w, "confirm_ms", cli->confirm_ms);
	if (cli->why)
		jsonw_key_string(w, "why", cli->why);
	if (cli->allow_gap)
		jsonw_key_bool(w, "allow_gap", true);
}

/* {"text": ..., "name": ...}, or {} without a file; and what --confirm and --why say. */
static int text_parameter(const struct cli *cli, int argc, char **argv, char **ret)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	_cleanup_free_ char *text = NULL;
	char name[DIAG_FILE_MAX + 1];
	size_t size;
	int err;

	if (!w)
		return -ENOMEM;
	jsonw_object(w);
	if (argc > 0) {
		err = read_file(argv[0], &text, &size);
		if (err < 0)
			return err;
		if (strlen(text) != size) {
			cli_complain("%s: a NUL byte in it", argv[0]);
			return -EINVAL;
		}
		jsonw_key_string(w, "text", text);
		diag_file_make(display_name(argv[0]), name);
		jsonw_key_string(w, "name", name);
	}
	cmd_trial_parameters(cli, w);
	jsonw_object_end(w);
	return jsonw_take(w, ret, &size);
}

#define OBJECTS_TEXT 512

/* Filters of one rule or block that fare the same. Only filters have a block. */
static bool fare_alike(const struct cJSON *a, const struct cJSON *b)
{
	static const char *const texts[] = { "op", "reason", "port", "rule" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (!streq(json_text(a, texts[i]), json_text(b, texts[i])))
			return false;
	return json_digits(a, "block")[0] &&
	       streq(json_digits(a, "block"), json_digits(b, "block"));
}

/* How many entries from `first` on are one line: a rule may be many filters. */
static size_t count_alike(const struct cJSON *first)
{
	size_t n = 1;

	for (const struct cJSON *s = json_next(first); s && fare_alike(first, s); s = json_next(s))
		n++;
	return n;
}

/* "14 filters of block 10 (rule bgp)", or the one object. */
static const char *objects_text(const struct cJSON *first, size_t n, char to[OBJECTS_TEXT])
{
	const char *rule = json_text(first, "rule"), *what = json_text(first, "object");
	char count[64], many[128];

	if (n > 1) {
		snprintf(many, sizeof(many), "%s of block %s", text_count(n, "filter", count),
			 json_digits(first, "block"));
		what = many;
	}
	snprintf(to, OBJECTS_TEXT, rule[0] ? "%s (rule %s)" : "%s", what, rule);
	return to;
}

static const struct cJSON *skip(const struct cJSON *s, size_t n)
{
	while (n--)
		s = json_next(s);
	return s;
}

/* A line above the steps of one block or port; a block may have its turn more than once. */
static void print_group(const struct cJSON *s, const struct cJSON *before)
{
	const char *block = json_digits(s, "block"), *port = json_text(s, "port");

	if (before && streq(block, json_digits(before, "block")) &&
	    streq(port, json_text(before, "port")))
		return;
	if (block[0])
		printf("block %s\n", block);
	else
		printf("port %s\n", port);
}

static void print_steps(const struct cJSON *plan)
{
	const struct cJSON *before = NULL;
	char text[OBJECTS_TEXT];
	size_t n;

	for (const struct cJSON *s = json_first(json_get(plan, "steps")); s; s = skip(s, n)) {
		n = count_alike(s);
		print_group(s, before);
		if (n == 1)
			printf("  %s\n", json_text(s, "text"));
		else
			printf("  %c %s: %s\n", json_text(s, "text")[0], objects_text(s, n, text),
			       json_text(s, "reason"));
		before = s;
	}
	for (const struct cJSON *s = json_first(json_get(plan, "waiting")); s; s = skip(s, n)) {
		n = count_alike(s);
		printf("waits for port %s: %s\n", json_text(s, "port"), objects_text(s, n, text));
	}
	for (const struct cJSON *s = json_first(json_get(plan, "conflicts")); s; s = json_next(s))
		printf("can't: %s: %s\n", json_text(s, "object"), json_text(s, "text"));
	for (const struct cJSON *s = json_first(json_get(plan, "gaps")); s; s = json_next(s))
		printf("gap: %s: %s\n", objects_text(s, 1, text), json_text(s, "text"));
}

static void print_plan(const struct cli *cli, const struct reply *r)
{
	if (!cli->quiet)
		text_diags(json_get(r->parameters, "diags"));
	if (cli->json)
		out_json(r->parameters);
	else if (!cli->quiet)
		print_steps(json_get(r->parameters, "plan"));
}

void cmd_print_applied(const struct cli *cli, const struct reply *r)
{
	const struct cJSON *d = json_get(r->parameters, "deadline");
	const char *generation = json_digits(r->parameters, "generation");
	const char *later = json_text(r->parameters, "covered_by");
	char text[64];

	print_plan(cli, r);
	if (cli->json || cli->quiet)
		return;
	printf("generation %s: %s\n", generation,
	       text_count(json_u64(r->parameters, "steps"), "step", text));
	if (later[0])
		printf("that is what %s asked for, later: it covers this one\n", later);
	if (d)
		printf("generation %s comes back in %s, unless: sw-cli confirm\n",
		       json_digits(d, "back_to"), text_left(json_u64(d, "left_ms"), text));
	else if (cli->confirm_ms)
		printf("it is committed already: there is nothing to confirm\n");
}

static int ask(const struct cli *cli, const char *method, int argc, char **argv, struct reply *r)
{
	_cleanup_free_ char *parameters = NULL;

	if (text_parameter(cli, argc, argv, &parameters) < 0)
		return CLI_FAILED;
	return work_wait(cli, method, parameters, r);
}

int cmd_plan(const struct cli *cli, int argc, char **argv)
{
	_cleanup_reply_ struct reply r = { 0 };
	int code = ask(cli, "io.swd.Switch.Plan", argc, argv, &r);
	uint64_t steps;
	char text[64];

	if (code != CLI_DONE)
		return code;
	print_plan(cli, &r);
	steps = json_u64(r.parameters, "steps");
	if (!cli->json && !cli->quiet)
		printf("%s\n", steps ? text_count(steps, "step", text) : "nothing to do");
	return steps ? CLI_WORK : CLI_DONE;
}

int cmd_apply(const struct cli *cli, int argc, char **argv)
{
	_cleanup_reply_ struct reply r = { 0 };
	int code = ask(cli, "io.swd.Switch.Apply", argc, argv, &r);

	if (code == CLI_DONE)
		cmd_print_applied(cli, &r);
	return code;
}
