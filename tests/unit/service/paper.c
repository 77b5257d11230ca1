// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A daemon of paper for tests of clients: the real service over fake.c's engine and sample.c's
 * device. Prints the path of its socket, and ends when its standard input does. With an argument,
 * that many rules more.
 */
#include "tests/unit/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/service/fake.h"

static void send_event(struct fake *f)
{
	struct engine_event e = { .type = ENGINE_EVENT_FOREIGN, .at_ns = 1700000000123000000ULL };

	strcpy(e.about, "block edge");
	strcpy(e.text, "pref 1 protocol all matchall handle 0x1 appeared");
	service_event(f->service, &e);
}

int main(int argc, char **argv)
{
	int c;

	fake_start(&fake, sample_snapshot_rules(argc > 1 ? strtoul(argv[1], NULL, 10) : 0), NULL);
	printf("%s\n", fake.path);
	fflush(stdout);
	while ((c = getchar()) != EOF) {
		if (c == 'e')
			fake_in_loop(&fake, send_event);
	}
	fake_stop(&fake);
	return 0;
}
