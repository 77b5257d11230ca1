// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/out_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "config/base/units.h"

#define COLUMNS_MAX 16

struct table {
	const char *heads[COLUMNS_MAX];
	bool right[COLUMNS_MAX];
	size_t columns;
	char **cells; /* row by row */
	size_t count, space;
	bool failed;
};

struct table *table_new(const char *const *heads)
{
	struct table *t = calloc(1, sizeof(*t));

	for (; t && heads[t->columns] && t->columns < COLUMNS_MAX; t->columns++) {
		const char *head = heads[t->columns];

		t->right[t->columns] = head[0] == '>';
		t->heads[t->columns] = head + (head[0] == '>');
	}
	return t;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->count; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t);
}

void table_cell(struct table *t, const char *text)
{
	char *copy = strdup(text[0] ? text : "-");

	if (!copy || grow(&t->cells, &t->space, t->count, sizeof(*t->cells)) < 0) {
		free(copy);
		t->failed = true;
		return;
	}
	t->cells[t->count++] = copy;
}

void table_cellf(struct table *t, const char *fmt, ...)
{
	char text[2048];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	table_cell(t, text);
}

size_t table_rows(const struct table *t)
{
	return t->columns ? t->count / t->columns : 0;
}

/* Characters, not bytes: UTF-8 bytes that continue one are not counted. */
static int columns_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/*
 * Prints at most `most` characters; what is cut ends in "...". A line feed would break the table,
 * and other control characters, which names of devices may have, the terminal.
 */
static void put_text(const char *text, int most, FILE *to)
{
	bool cut = most >= 0 && columns_of(text) > most;
	int left = cut ? MAX(most - 3, 0) : -1;

	for (; *text; text++) {
		if (((unsigned char)*text & 0xc0) != 0x80 && left-- == 0)
			break;
		if (control_length(text)) {
			fputc('?', to);
			text += control_length(text) - 1;
		} else {
			fputc(*text, to);
		}
	}
	if (cut)
		fputs("...", to);
}

static void print_row(const struct table *t, const char *const *cells, const int *widths,
		      int indent, int width, FILE *to)
{
	int at = indent;

	fprintf(to, "%*s", indent, "");
	for (size_t i = 0; i < t->columns; i++) {
		int pad = widths[i] - columns_of(cells[i]);
		bool last = i + 1 == t->columns;

		if (t->right[i])
			fprintf(to, "%*s", pad, "");
		put_text(cells[i], last && width ? MAX(width - at, 8) : -1, to);
		if (!last)
			fprintf(to, "%*s", (t->right[i] ? 0 : pad) + 2, "");
		at += widths[i] + 2;
	}
	fputc('\n', to);
}

int table_print(const struct table *t, int indent, int width, FILE *to)
{
	int widths[COLUMNS_MAX];

	if (t->failed)
		return -ENOMEM;
	for (size_t i = 0; i < t->columns; i++)
		widths[i] = columns_of(t->heads[i]);
	for (size_t i = 0; i < t->count; i++)
		widths[i % t->columns] = MAX(widths[i % t->columns], columns_of(t->cells[i]));
	print_row(t, t->heads, widths, indent, width, to);
	for (size_t row = 0; row < table_rows(t); row++)
		print_row(t, (const char *const *)t->cells + row * t->columns, widths, indent,
			  width, to);
	return 0;
}

const char *text_number(const char *digits, char to[NUMBER_TEXT])
{
	size_t n = strlen(digits), at = 0;

	for (size_t i = 0; i < n && at < NUMBER_TEXT - 2; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			to[at++] = ',';
		to[at++] = digits[i];
	}
	to[at] = 0;
	return to;
}

const char *text_u64(uint64_t v, char to[NUMBER_TEXT])
{
	char digits[NUMBER_TEXT];

	snprintf(digits, sizeof(digits), "%" PRIu64, v);
	return text_number(digits, to);
}

const char *text_time(uint64_t ms, char to[TIME_TEXT])
{
	time_t then = (time_t)(ms / 1000), now = time(NULL);
	struct tm a, b;

	if (ms == 0)
		return strcpy(to, "never");
	localtime_r(&then, &a);
	localtime_r(&now, &b);
	strftime(to, TIME_TEXT,
		 a.tm_year == b.tm_year && a.tm_yday == b.tm_yday ? "%H:%M:%S"
								  : "%Y-%m-%d %H:%M:%S",
		 &a);
	return to;
}

const char *text_age(uint64_t ms, char to[TIME_TEXT])
{
	static const struct {
		const char *unit;
		uint64_t ms;
	} units[] = {
		{ "d", 86400000 },
		{ "h", 3600000 },
		{ "min", 60000 },
		{ "s", 1000 },
	};

	snprintf(to, TIME_TEXT, "%" PRIu64 " ms", ms);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (ms >= units[i].ms) {
			snprintf(to, TIME_TEXT, "%" PRIu64 " %s", ms / units[i].ms, units[i].unit);
			break;
		}
	}
	return to;
}

const char *text_left(uint64_t ms, char to[64])
{
	char text[UNITS_TEXT];

	print_duration_ms((ms + 999) / 1000 * 1000, text);
	snprintf(to, 64, "%s", text);
	return to;
}

const char *text_count(uint64_t n, const char *noun, char to[64])
{
	char number[NUMBER_TEXT];

	snprintf(to, 64, "%s %s%s", text_u64(n, number), noun, n == 1 ? "" : "s");
	return to;
}

void text_diags(const struct cJSON *diags)
{
	fflush(stdout);
	for (const struct cJSON *d = json_first(diags); d; d = json_next(d))
		fprintf(stderr, "%s\n", json_text(d, "message"));
}

static const char *outcome_words(const char *outcome)
{
	if (streq(outcome, "refused"))
		return "nothing was changed";
	if (streq(outcome, "reverted"))
		return "what was before is back";
	return "and not all could be undone: see 'sw-cli status'";
}

void text_error(const char *error, const struct cJSON *parameters)
{
	const char *name = strrchr(error, '.') ? strrchr(error, '.') + 1 : error;
	const char *text = json_text(parameters, "text");

	text_diags(json_get(parameters, "diags"));
	if (streq(name, "AccessDenied"))
		cli_complain("%s is not for you: members of group swd may ask; root and the groups "
			     "in daemon.writers may do all",
			     json_text(parameters, "method"));
	else if (streq(name, "NoSuchBlock"))
		cli_complain("no block '%s'", json_text(parameters, "block"));
	else if (streq(name, "BadConfig"))
		cli_complain("the file is refused; nothing was changed");
	else if (streq(name, "Refused"))
		cli_complain("refused: %s; %s", text,
			     outcome_words(json_text(parameters, "outcome")));
	else if (streq(name, "Armed") || streq(name, "NotArmed") ||
		 streq(name, "NoSuchGeneration") || streq(name, "NeedsGap") ||
		 streq(name, "NotMeasured"))
		cli_complain("%s", text);
	else if (streq(name, "MethodNotFound") || streq(name, "InterfaceNotFound"))
		cli_complain("the daemon does not know that: %s%s", json_text(parameters, "method"),
			     json_text(parameters, "interface"));
	else if (streq(name, "InvalidParameter"))
		cli_complain("wrong or missing parameter '%s'", json_text(parameters, "parameter"));
	else if (streq(name, "ExpectedMore"))
		cli_complain("the answer comes in pieces: use --more");
	else if (streq(name, "Stopping"))
		cli_complain("the daemon is stopping");
	else if (text[0])
		cli_complain("%s: %s", name, text);
	else
		cli_complain("%s", name);
}
