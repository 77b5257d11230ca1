// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rules: a hundred thousand of them come in pieces. Each piece becomes rows of a table, or JSON on
 * its way out, and is forgotten.
 */
#include "cli/cmd.h"
#include "cli/conn.h"
#include "cli/json.h"
#include "cli/out_json.h"
#include "cli/out_text.h"
#include "config/base/jsonw.h"

struct rules {
	const struct cli *cli;
	struct table *table, *others;
	char block[64]; /* whose rules are in the table */
	char age[TIME_TEXT];
	struct out_lists json;
};

/* Adds "NAME VALUE" to a match in words, of which `at` bytes are there; returns how many then. */
static size_t add_part(char *to, size_t size, size_t at, const char *name, const char *value)
{
	if (at >= size)
		return at;
	return at + (size_t)snprintf(to + at, size - at, "%s%s %s", at ? " " : "", name, value);
}

/* "dst 192.0.2.0/24 proto tcp: drop", of a rule or a filter */
static void meaning(const struct cJSON *r, char *to, size_t size)
{
	size_t at = 0;
	int n;

	if (json_text(r, "ethertype")[0])
		at = add_part(to, size, at, "ethertype", json_text(r, "ethertype"));
	for (const struct cJSON *m = json_first(json_get(r, "match")); m; m = json_next(m))
		at = add_part(to, size, at, json_name(m), json_string(m));
	if (streq(json_text(r, "tagging"), "none"))
		at = add_part(to, size, at, "tagging", "none");
	if (!at)
		at = (size_t)snprintf(to, size, "any");
	for (const struct cJSON *a = json_first(json_get(r, "actions")); a && at < size;
	     a = json_next(a)) {
		n = snprintf(to + at, size - at, "%s%s",
			     a == json_first(json_get(r, "actions")) ? ": " : ", ",
			     json_text(a, "text"));
		at += (size_t)n;
	}
}

static void counter_cells(struct table *t, const struct cJSON *r)
{
	char number[NUMBER_TEXT];

	table_cell(t, text_number(json_digits(r, "packets"), number));
	table_cell(t, text_number(json_digits(r, "hw_packets"), number));
	table_cell(t, text_number(json_digits(r, "bytes"), number));
}

static int print_block(struct rules *k)
{
	int err = 0;

	if (k->table && table_rows(k->table)) {
		printf("%s\n", k->block);
		err = table_print(k->table, 2, k->cli->width, stdout);
	}
	table_free(take(k->table));
	return err;
}

static int rule_row(struct rules *k, const struct cJSON *r)
{
	static const char *const heads[] = { "RULE",	  "STATE",  ">FILTERS", ">PACKETS",
					     ">HARDWARE", ">BYTES", "MEANING",	NULL };
	char block[64], text[2048];

	snprintf(block, sizeof(block), "%s (block %s)", json_text(r, "block"),
		 json_digits(r, "block_id"));
	if (!k->table || !streq(block, k->block)) {
		if (print_block(k) < 0)
			return -1;
		strcpy(k->block, block);
		k->table = table_new(heads);
		if (!k->table)
			return -1;
	}
	table_cell(k->table, json_text(r, "name"));
	table_cell(k->table, json_text(r, "state"));
	table_cellf(k->table, "%zu", json_count(json_get(r, "filters")));
	counter_cells(k->table, r);
	meaning(r, text, sizeof(text));
	table_cell(k->table, text);
	return 0;
}

static const char *flags_word(const struct cJSON *f)
{
	if (!json_true(f, "present"))
		return "missing";
	if (json_true(f, "in_hw"))
		return json_true(f, "skip_sw") ? "skip_sw in_hw" : "in_hw";
	if (json_true(f, "skip_sw"))
		return "skip_sw, in no hardware";
	return json_true(f, "skip_hw") ? "skip_hw" : "software";
}

static int other_row(struct rules *k, const struct cJSON *f)
{
	static const char *const heads[] = { ">BLOCK",	  ">CHAIN", ">PREF",   "PROTOCOL",
					     "FILTER",	  "WHOSE",  "STATE",   ">PACKETS",
					     ">HARDWARE", ">BYTES", "MEANING", NULL };
	char text[2048];

	if (!k->others)
		k->others = table_new(heads);
	if (!k->others)
		return -1;
	table_cell(k->others, json_digits(f, "block"));
	table_cell(k->others, json_digits(f, "chain"));
	table_cell(k->others, json_digits(f, "pref"));
	table_cell(k->others, json_text(f, "protocol"));
	table_cellf(k->others, "%s 0x%llx", json_text(f, "type"),
		    (unsigned long long)json_u64(f, "handle"));
	table_cellf(k->others, "%s%s%s", json_text(f, "owner"),
		    streq(json_text(f, "role"), "none") ? "" : ", ",
		    streq(json_text(f, "role"), "none") ? "" : json_text(f, "role"));
	table_cell(k->others, flags_word(f));
	counter_cells(k->others, f);
	meaning(f, text, sizeof(text));
	table_cell(k->others, text);
	return 0;
}

static int take_piece(struct rules *k, const struct reply *r)
{
	const struct cJSON *rules = json_get(r->parameters, "rules");
	const struct cJSON *others = json_get(r->parameters, "others");

	if (k->cli->json) {
		/* Rules come before others in all pieces, so that each list is opened once. */
		if (json_first(rules) || !k->json.member)
			out_lists_add(&k->json, "rules", rules);
		if (json_first(others) || !r->continues)
			out_lists_add(&k->json, "others", others);
		if (!r->continues)
			out_lists_member(&k->json, "counters_age_ms",
					 json_get(r->parameters, "counters_age_ms"));
		return 0;
	}
	for (const struct cJSON *e = json_first(rules); e; e = json_next(e)) {
		if (rule_row(k, e) < 0)
			return -1;
	}
	for (const struct cJSON *e = json_first(others); e; e = json_next(e)) {
		if (other_row(k, e) < 0)
			return -1;
	}
	text_age(json_u64(r->parameters, "counters_age_ms"), k->age);
	return 0;
}

static int finish(struct rules *k)
{
	if (k->cli->json) {
		out_lists_end(&k->json);
		return 0;
	}
	if (!k->block[0] && !k->others)
		printf("no rules\n");
	if (print_block(k) < 0)
		return -1;
	if (k->others) {
		printf("%sfilters that do no rule's work\n", k->block[0] ? "\n" : "");
		if (table_print(k->others, 2, k->cli->width, stdout) < 0)
			return -1;
	}
	if (k->block[0] || k->others)
		printf("counters are %s old\n", k->age);
	return 0;
}

static int all_pieces(struct rules *k, struct conn *conn, struct reply *r)
{
	if (k->cli->json)
		out_lists_begin(&k->json);
	for (;;) {
		bool last = !r->continues;
		int code;

		if (take_piece(k, r) < 0)
			break;
		if (last)
			return finish(k) < 0 ? CLI_FAILED : CLI_DONE;
		reply_clear(r);
		code = conn_follow(k->cli, conn, CONN_PATIENCE_MS, r);
		if (code != CLI_DONE)
			return code;
	}
	cli_complain("memory is short");
	return CLI_FAILED;
}

/* {"block": NAME}, to be freed; NULL: memory is short. */
char *cmd_block_parameter(const char *name)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	char *text = NULL;
	size_t size;

	if (!w)
		return NULL;
	jsonw_object(w);
	if (name)
		jsonw_key_string(w, "block", name);
	jsonw_object_end(w);
	return jsonw_take(w, &text, &size) < 0 ? NULL : text;
}

int cmd_rules(const struct cli *cli, int argc, char **argv)
{
	_cleanup_free_ char *parameters = cmd_block_parameter(argc ? argv[0] : NULL);
	_cleanup_(conn_closep) struct conn *conn = NULL;
	_cleanup_reply_ struct reply r = { 0 };
	struct rules k = { .cli = cli };
	int code;

	if (!parameters)
		return CLI_FAILED;
	code = conn_ask(cli, "io.swd.Switch.Rules", parameters, true, CONN_PATIENCE_MS, &conn, &r);
	if (code == CLI_DONE)
		code = all_pieces(&k, conn, &r);
	table_free(k.table);
	table_free(k.others);
	return code;
}
