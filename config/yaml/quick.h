/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * quick: the tree of a plain text, without the YAML library. A hundred thousand rules are some
 * seven megabytes, of which the library makes three thousand million instructions; nearly all such
 * files are generated, and need nothing of YAML but maps, lists and words.
 *
 * Plain is: ASCII; block maps and lists; flow maps and lists that end on their line; words, and
 * texts in quotes without escapes, on one line; comments. Whatever else stands there, an error too,
 * makes it not plain, and the library reads the text and says what is to be said. Where this reads
 * a text, the library makes the same tree of it, node by node: a test holds the two together. Items
 * of a list that differ from one above only in some values are kept as that (NODE_ALIKE).
 */
#ifndef SWD_YAML_QUICK_H
#define SWD_YAML_QUICK_H

#include "config/yaml/tree.h"

/* 1 and *ret; 0: not plain, with nothing said; -ENOMEM. */
int quick_parse(const char *text, size_t size, struct arena *a, const struct node **ret);

#endif
