// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/work.h"

#include "cli/conn.h"
#include "cli/json.h"
#include "cli/out_text.h"

#define LOOK_EVERY_MS 500
#define ERASE "\r\033[K"

static const char *task_words(const char *task)
{
	if (streq(task, "look"))
		return "looks what is to be done";
	if (streq(task, "measure"))
		return "measures what a doorbell costs";
	if (streq(task, "undo"))
		return "takes back what was done";
	return task;
}

const char *work_text(const struct cJSON *work, char to[WORK_TEXT])
{
	const char *task = task_words(json_text(work, "task"));
	char done[NUMBER_TEXT], total[NUMBER_TEXT], age[TIME_TEXT];
	char more[NUMBER_TEXT];
	uint64_t waiting = json_u64(work, "waiting");
	int n;

	text_age(json_u64(work, "for_ms"), age);
	text_number(json_digits(work, "done"), done);
	text_number(json_digits(work, "total"), total);
	if (json_u64(work, "total"))
		n = snprintf(to, WORK_TEXT, "%.40s, %s of %s steps, for %s", task, done, total,
			     age);
	else
		n = snprintf(to, WORK_TEXT, "%.40s, for %s", task, age);
	if (waiting)
		snprintf(to + n, WORK_TEXT - (size_t)n, "; %s more wait%s", text_u64(waiting, more),
			 waiting == 1 ? "s" : "");
	return to;
}

/* Best effort: whoever can't be asked now may be asked again. */
static void show_work(const struct cli *cli)
{
	_cleanup_(conn_closep) struct conn *c = NULL;
	_cleanup_reply_ struct reply r = { 0 };
	char text[WORK_TEXT];

	if (conn_open(cli->socket, &c) < 0 ||
	    conn_call(c, "io.swd.Switch.Status", NULL, false) < 0 ||
	    conn_reply(c, LOOK_EVERY_MS, &r) < 0 || r.error || !json_get(r.parameters, "work"))
		return;
	fprintf(stderr, ERASE "%s", work_text(json_get(r.parameters, "work"), text));
}

/* The next reply; meanwhile what the daemon is at, unless pieces tell that. */
static int watch(const struct cli *cli, struct conn *c, bool told, struct reply *ret)
{
	while (!conn_readable(c, LOOK_EVERY_MS))
		if (!told)
			show_work(cli);
	fputs(ERASE, stderr);
	return conn_follow(cli, c, CONN_FOR_EVER, ret);
}

int work_wait(const struct cli *cli, const char *method, const char *parameters, struct reply *ret)
{
	bool show = !cli->quiet && isatty(STDERR_FILENO);
	_cleanup_(conn_closep) struct conn *c = NULL;
	int code = conn_begin(cli, method, parameters, show, &c);

	if (code != CLI_DONE)
		return code;
	if (!show)
		return conn_follow(cli, c, CONN_FOR_EVER, ret);
	for (bool told = false;; told = true) {
		code = watch(cli, c, told, ret);
		if (code != CLI_DONE || !ret->continues)
			return code;
		fprintf(stderr, "%s", json_text(ret->parameters, "text"));
		reply_clear(ret);
	}
}
