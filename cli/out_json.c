// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/out_json.h"

#include "cli/json.h"

void out_json(const struct cJSON *value)
{
	json_print(value, 0, stdout);
	putchar('\n');
}

void out_lists_begin(struct out_lists *o)
{
	*o = (struct out_lists){ 0 };
	fputs("{", stdout);
}

static void close_list(struct out_lists *o)
{
	if (o->open)
		fputs(o->element ? "\n  ]" : "]", stdout);
	o->open = NULL;
}

static void open_member(struct out_lists *o, const char *name)
{
	close_list(o);
	printf("%s\n  ", o->member ? "," : "");
	json_print_string(name, stdout);
	fputs(": ", stdout);
	o->member = true;
}

void out_lists_add(struct out_lists *o, const char *name, const struct cJSON *elements)
{
	if (!o->open || !streq(o->open, name)) {
		open_member(o, name);
		putchar('[');
		o->open = name;
		o->element = false;
	}
	for (const struct cJSON *e = json_first(elements); e; e = json_next(e)) {
		fputs(o->element ? ",\n    " : "\n    ", stdout);
		json_print(e, 2, stdout);
		o->element = true;
	}
}

void out_lists_member(struct out_lists *o, const char *name, const struct cJSON *value)
{
	open_member(o, name);
	json_print(value, 1, stdout);
}

void out_lists_end(struct out_lists *o)
{
	close_list(o);
	fputs("\n}\n", stdout);
}
