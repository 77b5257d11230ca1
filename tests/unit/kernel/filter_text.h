/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filter_text: filters as text, for tests. One filter a block of lines:
 *
 *	filter block 10 chain 0 pref 11 protocol ip handle 0x1 flower skip_sw
 *	match dst 192.0.2.0/24
 *	match vlan-ethtype ip
 *	action set-dst 02:00:00:00:00:09
 *	action drop
 *
 * Words behind "action" stand for the members of struct action, so that a test says what it means
 * and not what a YAML loader would make of it. Actions are settled (daemon/kernel/settle.h).
 * tests/golden/codec/filters.txt is a file of such blocks, with more lines that it explains.
 */
#ifndef SWD_TESTS_FILTER_TEXT_H
#define SWD_TESTS_FILTER_TEXT_H

#include <stdio.h>

#include "config/model/object.h"

/* A new filter, or NULL with words about the line on stderr. */
struct filter *filter_text_parse(const char *text);

#define SAMPLES_MOST 128

struct sample_bytes {
	size_t size;
	uint8_t bytes[4096];
};

/* An entry of filters.txt. */
struct sample {
	struct filter *filter; /* ours, with a cookie; block 10 and pref and handle by its number */
	char tc[1024];	       /* how tc says it, or "" */
	struct sample_bytes add, sent, told;
};

/* NULL with words on stderr. */
struct sample *samples_load(const char *path, size_t *ret_count);
void samples_free(struct sample *list, size_t count);

#endif
