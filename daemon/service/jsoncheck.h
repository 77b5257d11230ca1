/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jsoncheck: decides whether a text from outside is JSON that we want to read, before any library
 * builds a tree of it: its depth and the number of its values are bounded, its text is strict
 * UTF-8, its numbers are whole. Pure, without allocation and without recursion.
 *
 * Stricter than RFC 8259, because C strings and 64-bit integers are behind us: no NUL in strings,
 * no lone surrogates, no fractions, exponents or "-0", nothing outside of int64.
 */
#ifndef SWD_SERVICE_JSONCHECK_H
#define SWD_SERVICE_JSONCHECK_H

#include <stddef.h>

#define JSON_DEPTH_MAX 16    /* brackets within brackets */
#define JSON_VALUES_MAX 4096 /* in one message, names not counted */
#define JSON_MEMBERS_MAX                                                         \
	64 /* in one object: what reads it afterwards may compare each with each \
	    */

/*
 * `text` has `size` bytes and need not end with NUL. 0 if it is one such value with nothing but
 * white space around it; -EBADMSG, and *ret_why says in static words what is wrong.
 */
int json_check(const char *text, size_t size, const char **ret_why);

#endif
