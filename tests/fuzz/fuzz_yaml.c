// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_yaml: any bytes are loaded or refused. What is refused has an error, what is loaded can be
 * dumped, and the dump loads again and dumps to the same text. tests/fuzz/run builds and runs it.
 */
#include <errno.h>
#include <stdio.h>

#include "config/yaml/dump.h"
#include "config/yaml/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "fuzz_yaml: %s\n", what);
	abort();
}

static void check_round_trip(const struct config *c)
{
	_cleanup_(diags_freep) struct diags *d = diags_new("dump");
	_cleanup_(config_unrefp) struct config *again = NULL;
	_cleanup_free_ char *first = NULL, *second = NULL;
	size_t size;

	check(config_dump(c, &first, &size) == 0, "no dump");
	check(config_load(first, size, d, &again) == 0, "the dump is refused");
	check(config_dump(again, &second, &size) == 0, "no second dump");
	check(streq(first, second), "the dump dumps to another text");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(diags_freep) struct diags *d = diags_new("fuzz");
	_cleanup_(config_unrefp) struct config *c = NULL;
	int r = config_load((const char *)data, size, d, &c);

	check(r == 0 || r == -EINVAL || r == -ENOMEM, "another result");
	check((r == 0) == (diags_errors(d) == 0), "result and errors disagree");
	for (size_t i = 0; i < diags_count(d); i++) {
		_cleanup_free_ char *line = diag_line(d, diags_at(d, i));

		check(line && !strchr(line, '\n') && !strchr(line, 27),
		      "a message that is no line");
	}
	if (c)
		check_round_trip(c);
	return 0;
}
