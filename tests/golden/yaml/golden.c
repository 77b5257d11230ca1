// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * golden: what swd says to a file, pinned. For each NAME.yaml of a folder
 *
 *   NAME.diag  has all its diagnostics, errors and warnings; there is none if there are none
 *   NAME.dump  has what it means, in canonical form; there is none if the file is refused
 *
 * A dump is loaded again and must mean the same to the byte: as text, and object by object.
 *
 *   golden FOLDER [NAME...]     compares; prints what differs and returns 1
 *   golden --write FOLDER ...   writes what is so now, to be read before it is committed
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>

#include "config/base/jsonw.h"
#include "config/yaml/dump.h"
#include "config/yaml/load.h"

struct run {
	const char *folder;
	bool write;
	size_t files, failed;
};

static void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

static void fail(struct run *run, const char *name, const char *what)
{
	printf("FAIL %s: %s\n", name, what);
	run->failed++;
}

/* Compares a text with the file NAME.EXT; no text means no file. */
static void compare(struct run *run, const char *name, const char *ext, const char *got)
{
	_cleanup_free_ char *path = NULL, *wanted = NULL;
	size_t size;
	FILE *f;

	if (asprintf(&path, "%s/%s.%s", run->folder, name, ext) < 0)
		abort();
	if (run->write) {
		unlink(path);
		if (!got || !*got)
			return;
		f = fopen(path, "w");
		if (!f || fputs(got, f) < 0 || fclose(f) != 0)
			fail(run, name, "cannot be written");
		return;
	}
	if (config_read_file(path, &wanted, &size) < 0)
		wanted = strdup("");
	if (streq(wanted, got ? got : ""))
		return;
	fail(run, name, ext);
	printf("---- wanted\n%s---- got\n%s----\n", wanted, got ? got : "");
}

static char *diags_text(const struct diags *d)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		abort();
	diags_print(d, f);
	fclose(f);
	return text;
}

static void print_hex(FILE *f, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		fprintf(f, "%02x", ((const uint8_t *)bytes)[i]);
}

/* An object as JSON, but for its place in the file, which a dump changes. */
static void print_object(FILE *f, const struct object *o)
{
	_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
	_cleanup_free_ char *json = NULL;
	size_t size;
	char *line;

	kind_ops((enum kind)o->kind)->json(o, w);
	if (jsonw_take(w, &json, &size) < 0)
		abort();
	line = strstr(json, ",\"line\":");
	if (line)
		*line = 0; /* places come last */
	fprintf(f, "%s %s", kind_ops((enum kind)o->kind)->name, json);
}

/* Every object of a state, with what its JSON leaves out. */
static char *state_text(const struct config *c)
{
	char *all = NULL;
	size_t size;
	FILE *f = open_memstream(&all, &size);

	if (!f)
		abort();
	for (unsigned int kind = 0; kind < KIND_COUNT_; kind++)
		for (size_t i = 0; i < state_count(c->wanted, (enum kind)kind); i++) {
			const struct object *o = state_at(c->wanted, (enum kind)kind, i);

			print_object(f, o);
			if (kind == KIND_QDISC)
				fprintf(f, " takeover %u", ((const struct qdisc *)o)->takeover);
			if (kind == KIND_RULE) {
				const struct rule *r = (const struct rule *)o;

				fputc(' ', f);
				print_hex(f, rule_actions(r),
					  r->action_count * sizeof(struct action));
				fputc(' ', f);
				print_hex(f, rule_match(r).bytes, rule_match(r).size);
			}
			fputc('\n', f);
		}
	fclose(f);
	return all;
}

static void check_round_trip(struct run *run, const char *name, const struct config *c,
			     const char *dump)
{
	_cleanup_(diags_freep) struct diags *d = diags_new("dump");
	_cleanup_(config_unrefp) struct config *again = NULL;
	_cleanup_free_ char *second = NULL, *a = NULL, *b = NULL;
	size_t size;

	if (config_load(dump, strlen(dump), d, &again) < 0) {
		fail(run, name, "its dump is refused");
		diags_print(d, stdout);
		return;
	}
	if (config_dump(again, &second, &size) < 0)
		abort();
	if (!streq(dump, second))
		fail(run, name, "its dump dumps to another text");
	a = state_text(c);
	b = state_text(again);
	if (!streq(a, b)) {
		fail(run, name, "its dump makes other objects");
		printf("---- of the file\n%s---- of the dump\n%s----\n", a, b);
	}
	if (memcmp(&c->daemon, &again->daemon, sizeof(c->daemon)) != 0)
		fail(run, name, "its dump makes other settings");
}

static void check_words(struct run *run, const char *name, const struct diags *d)
{
	for (size_t i = 0; i < diags_count(d); i++) {
		const struct diag *diag = diags_at(d, i);

		if (strcasestr(diag->text, "invalid"))
			fail(run, name, "a message that says invalid, and not what was expected");
		if (diag->at.line == 0)
			fail(run, name, "a message without a place");
	}
}

static void run_file(struct run *run, const char *name)
{
	_cleanup_(diags_freep) struct diags *d = NULL;
	_cleanup_(config_unrefp) struct config *c = NULL;
	_cleanup_free_ char *path = NULL, *text = NULL, *file = NULL, *diag = NULL, *dump = NULL;
	size_t size;
	int r;

	if (asprintf(&path, "%s/%s.yaml", run->folder, name) < 0 ||
	    asprintf(&file, "%s.yaml", name) < 0)
		abort();
	run->files++;
	if (config_read_file(path, &text, &size) < 0) {
		fail(run, name, "cannot be read");
		return;
	}
	d = diags_new(file);
	r = config_load(text, size, d, &c);
	if ((r == 0) != (diags_errors(d) == 0))
		fail(run, name, "the result and the number of errors disagree");
	if (r == 0 && config_dump(c, &dump, &size) < 0)
		abort();
	diag = diags_text(d);
	compare(run, name, "diag", diag);
	compare(run, name, "dump", dump);
	check_words(run, name, d);
	if (dump)
		check_round_trip(run, name, c, dump);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_yaml(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 5 && streq(e->d_name + n - 5, ".yaml");
}

static bool is_expectation(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && (streq(dot, ".diag") || streq(dot, ".dump"));
}

/* An expectation whose file is gone would be checked by nobody. */
static void check_orphans(struct run *run)
{
	_cleanup_(closedirp) DIR *dir = opendir(run->folder);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		_cleanup_free_ char *path = NULL;
		const char *dot = strrchr(e->d_name, '.');

		if (!is_expectation(e->d_name))
			continue;
		if (asprintf(&path, "%s/%.*s.yaml", run->folder, (int)(dot - e->d_name),
			     e->d_name) < 0)
			abort();
		if (access(path, R_OK) < 0)
			fail(run, e->d_name, "has no .yaml");
	}
}

static void run_folder(struct run *run)
{
	struct dirent **list;
	int n = scandir(run->folder, &list, is_yaml, by_name);

	for (int i = 0; i < n; i++) {
		list[i]->d_name[strlen(list[i]->d_name) - 5] = 0;
		run_file(run, list[i]->d_name);
		free(list[i]);
	}
	if (n >= 0)
		free(list);
	check_orphans(run);
}

int main(int argc, char **argv)
{
	struct run run = { 0 };
	int at = 1;

	if (at < argc && streq(argv[at], "--write")) {
		run.write = true;
		at++;
	}
	if (at >= argc) {
		fputs("usage: golden [--write] FOLDER [NAME...]\n", stderr);
		return 2;
	}
	run.folder = argv[at++];
	if (at == argc)
		run_folder(&run);
	for (; at < argc; at++)
		run_file(&run, argv[at]);
	printf("%zu files, %zu failures\n", run.files, run.failed);
	return run.failed || !run.files;
}
