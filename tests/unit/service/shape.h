/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shape: compares an answer with the interface text: every member there, none besides, each of its
 * type.
 */
#ifndef SWD_TESTS_SHAPE_H
#define SWD_TESTS_SHAPE_H

struct cJSON;

/* Fails the test if `parameters` is not what the text says that the method answers. */
void shape_check(const char *method, const struct cJSON *parameters);

#endif
