// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * make_schema: prints the schema for editors. config/swd.schema.json is its output; a test
 * compares.
 */
#include <stdio.h>

#include "config/yaml/schema.h"

int main(void)
{
	_cleanup_free_ char *text = NULL;

	if (json_schema(&text) < 0) {
		fputs("out of memory\n", stderr);
		return 1;
	}
	return fputs(text, stdout) < 0 || fflush(stdout) != 0;
}
