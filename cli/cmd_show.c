// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * status, ports, blocks: one call, one answer, from the daemon's memory.
 */
#include "cli/cmd.h"
#include "cli/conn.h"
#include "cli/json.h"
#include "cli/out_json.h"
#include "cli/out_text.h"
#include "cli/work.h"

int cmd_show(const struct cli *cli, const char *method, cmd_text_fn text)
{
	_cleanup_reply_ struct reply r = { 0 };
	int code = conn_ask(cli, method, NULL, false, CONN_PATIENCE_MS, NULL, &r);

	if (code != CLI_DONE)
		return code;
	if (!cli->json)
		return text(cli, r.parameters);
	out_json(r.parameters);
	return CLI_DONE;
}

int cmd_print_table(const struct cli *cli, const struct table *t)
{
	if (table_print(t, 0, cli->width, stdout) == 0)
		return CLI_DONE;
	cli_complain("memory is short");
	return CLI_FAILED;
}

/* ", 3 of them waiting", or nothing for 0. */
static void and_some(const struct cJSON *p, const char *name, const char *before,
		     const char *behind)
{
	char number[NUMBER_TEXT];

	if (json_u64(p, name))
		printf("%s%s%s", before, text_number(json_digits(p, name), number), behind);
}

/* What the kernel can do for blocks that need no software, in words. */
static const char *ability_words(const char *ability)
{
	if (streq(ability, "read-back"))
		return "bypasses blocks and tells so";
	if (streq(ability, "marks"))
		return "bypasses blocks and tells nothing";
	if (streq(ability, "none"))
		return "has no bypass";
	return "not known whether it has a bypass";
}

/* Settled is a daemon that has nothing to do: what waits for its port may still be missing. */
static const char *settled_words(const struct cJSON *p)
{
	if (!json_true(p, "settled"))
		return "not all as wanted yet";
	if (json_u64(p, "ports_waiting") || json_u64(p, "missing"))
		return "as wanted except what waits";
	return "all as wanted";
}

static void status_own_file(const struct cJSON *p)
{
	const char *state = json_text(p, "own_file_state"), *file = json_text(p, "own_file");

	if (streq(state, "other"))
		printf("%s says something else: 'sw-cli plan' shows what a start or reload "
		       "changes\n",
		       file);
	else if (streq(state, "gone"))
		printf("%s can't be read: the next start takes this generation again\n", file);
}

static void status_applied(const struct cJSON *p)
{
	const struct cJSON *d = json_get(p, "deadline");
	char at[TIME_TEXT], left[64], work[WORK_TEXT];

	printf("swd %s, Linux %s: %s\n", json_text(p, "version"), json_text(p, "kernel"),
	       ability_words(json_text(p, "ability")));
	if (json_u64(p, "generation"))
		printf("generation %s of %s, %s\n", json_digits(p, "generation"),
		       json_text(p, "file"), settled_words(p));
	else
		printf("nothing is in force yet\n");
	status_own_file(p);
	if (d)
		printf("it waits for 'sw-cli confirm': in %s generation %s comes back\n",
		       text_left(json_u64(d, "left_ms"), left), json_digits(d, "back_to"));
	if (json_get(p, "work"))
		printf("at work: %s\n", work_text(json_get(p, "work"), work));
	printf("last apply %s: %s\n", text_time(json_u64(p, "last_apply_ms"), at),
	       json_text(p, "last_outcome"));
	if (json_get(p, "last_error"))
		printf("  %s\n", json_text(p, "last_error"));
}

static int status_text(const struct cli *cli, const struct cJSON *p)
{
	char ports[64], blocks[64], rules[64], filters[64], at[TIME_TEXT];

	status_applied(p);
	text_count(json_u64(p, "ports"), "port", ports);
	text_count(json_u64(p, "blocks"), "block", blocks);
	text_count(json_u64(p, "rules"), "rule", rules);
	text_count(json_u64(p, "filters"), "filter", filters);
	printf("\n%s", ports);
	and_some(p, "ports_waiting", ", ", " not there");
	printf("\n%s, bypass on in %s\n", blocks, json_digits(p, "bypass_on"));
	printf("%s, %s", rules, filters);
	if (json_u64(p, "in_hw") != json_u64(p, "filters"))
		printf(": %s in hardware", json_digits(p, "in_hw"));
	else if (json_u64(p, "filters"))
		printf(": all in hardware");
	and_some(p, "missing", ", ", " missing");
	and_some(p, "foreign_filters", "; ", " foreign");
	printf("\nrepairs since start: %s\n", json_digits(p, "repairs"));
	if (json_first(json_get(p, "alerts")))
		printf("\n");
	for (const struct cJSON *a = json_first(json_get(p, "alerts")); a; a = json_next(a))
		printf("! %s, %s, since %s: %s\n", json_text(a, "id"), json_text(a, "about"),
		       text_time(json_u64(a, "since_ms"), at), json_text(a, "text"));
	return CLI_DONE;
}

int cmd_status(const struct cli *cli, int argc, char **argv)
{
	return cmd_show(cli, "io.swd.Switch.Status", status_text);
}

static const char *link_word(const struct cJSON *p)
{
	if (!json_get(p, "up"))
		return "";
	if (!json_true(p, "up"))
		return "down";
	return json_true(p, "carrier") ? "up" : "no carrier";
}

static const char *offload_word(const struct cJSON *p)
{
	if (!json_get(p, "tc_offload"))
		return "";
	return json_true(p, "tc_offload") ? "on" : "off";
}

/* "10", "10 out 11" */
static void block_cell(struct table *t, const struct cJSON *p)
{
	const char *in = json_digits(p, "ingress_block"), *out = json_digits(p, "egress_block");

	if (out[0])
		table_cellf(t, "%s%sout %s", in, in[0] ? " " : "", out);
	else
		table_cell(t, in);
}

/* "73776400/1": the switch's tree, and its place in it; switches of one tree share the first. */
static void switch_cell(struct table *t, const struct cJSON *p)
{
	const char *place = json_digits(p, "switch_index");

	table_cellf(t, "%s%s%s", json_text(p, "switch"), place[0] ? "/" : "", place);
}

static void conduit_cell(struct table *t, const struct cJSON *p)
{
	if (json_get(p, "vlan"))
		table_cellf(t, "%s vlan %s", json_text(p, "link"), json_digits(p, "vlan"));
	else
		table_cell(t, json_text(p, "conduit"));
}

static int ports_text(const struct cli *cli, const struct cJSON *p)
{
	static const char *const heads[] = { "PORT",  "STATE",	"LINK",	   ">MTU",   "SWITCH",
					     ">NR",   "NAME",	"CONDUIT", "TAGGER", "OFFLOAD",
					     "BLOCK", "DRIVER", NULL };
	_cleanup_(table_freep) struct table *t = table_new(heads);

	if (!t)
		return CLI_FAILED;
	for (const struct cJSON *e = json_first(json_get(p, "ports")); e; e = json_next(e)) {
		table_cell(t, json_text(e, "name"));
		table_cell(t, json_text(e, "state"));
		table_cell(t, link_word(e));
		table_cell(t, json_digits(e, "mtu"));
		switch_cell(t, e);
		table_cell(t, json_digits(e, "port_number"));
		table_cell(t, json_text(e, "port_name"));
		conduit_cell(t, e);
		table_cell(t, json_text(e, "tagger"));
		table_cell(t, offload_word(e));
		block_cell(t, e);
		table_cell(t, json_text(e, "driver"));
	}
	return cmd_print_table(cli, t);
}

int cmd_ports(const struct cli *cli, int argc, char **argv)
{
	return cmd_show(cli, "io.swd.Switch.Ports", ports_text);
}

/* "lan1 lan2(waiting) lan3(egress)" */
static void bindings_text(const struct cJSON *list, char *to, size_t size)
{
	size_t at = 0;

	to[0] = 0;
	for (const struct cJSON *b = json_first(list); b && at < size; b = json_next(b)) {
		bool bound = streq(json_text(b, "state"), "bound");
		bool egress = streq(json_text(b, "direction"), "egress");
		int n = snprintf(to + at, size - at, "%s%s%s%s%s%s%s", at ? " " : "",
				 json_text(b, "port"), bound && !egress ? "" : "(",
				 egress ? "egress" : "", egress && !bound ? " " : "",
				 bound ? "" : json_text(b, "state"), bound && !egress ? "" : ")");

		at += n > 0 ? (size_t)n : 0;
	}
}

static int blocks_text(const struct cli *cli, const struct cJSON *p)
{
	static const char *const heads[] = { "BLOCK",  ">ID",	   ">RULES",   ">FILTERS",
					     ">IN HW", ">MISSING", ">FOREIGN", "OFFLOAD",
					     "BYPASS", "PORTS",	   NULL };
	_cleanup_(table_freep) struct table *t = table_new(heads);
	char ports[4096];

	if (!t)
		return CLI_FAILED;
	for (const struct cJSON *e = json_first(json_get(p, "blocks")); e; e = json_next(e)) {
		table_cell(t, json_text(e, "name"));
		table_cell(t, json_digits(e, "id"));
		table_cell(t, json_digits(e, "rules"));
		table_cell(t, json_digits(e, "filters"));
		table_cell(t, json_digits(e, "in_hw"));
		table_cell(t, json_digits(e, "missing"));
		table_cell(t, json_digits(e, "foreign_filters"));
		table_cell(t, json_text(e, "offload"));
		table_cell(t, json_text(e, "bypass"));
		bindings_text(json_get(e, "bindings"), ports, sizeof(ports));
		table_cell(t, ports);
	}
	return cmd_print_table(cli, t);
}

int cmd_blocks(const struct cli *cli, int argc, char **argv)
{
	return cmd_show(cli, "io.swd.Switch.Blocks", blocks_text);
}
