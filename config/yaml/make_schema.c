// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * make_schema: writes the schema for editors to the file that is named, config/swd.schema.json. A
 * test compares that file with the tables.
 */
#include <stdio.h>

#include "config/yaml/schema.h"

int main(int argc, char **argv)
{
	_cleanup_free_ char *text = NULL;
	FILE *to;

	if (argc != 2) {
		fputs("usage: make_schema FILE\n", stderr);
		return 2;
	}
	to = fopen(argv[1], "w");
	if (!to) {
		perror(argv[1]);
		return 1;
	}
	if (json_schema(&text) < 0 || fputs(text, to) < 0 || fclose(to) != 0) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
