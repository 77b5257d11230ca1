/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hash: a number from bytes, and the question whether anything is there twice. A long list that
 * should hold each thing once is asked by hash, for a few steps an item; only where something is
 * there twice need it be sorted, to tell what.
 */
#ifndef SWD_BASE_HASH_H
#define SWD_BASE_HASH_H

#include "config/base/util.h"

/* FNV-1a, 64 bits; start with HASH_START. */
#define HASH_START 0xcbf29ce484222325ULL
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size);

/* The same for long texts, eight bytes a step; another number. */
uint64_t hash_text(const void *text, size_t size);

struct hash_list {
	const void *list; /* what hash() and same() know; they get indexes below count */
	size_t count;
	uint64_t (*hash)(const void *list, size_t i);
	bool (*same)(const void *list, size_t a, size_t b);
};

/* 1: some two are the same; 0: none are; -ENOMEM. */
int hash_any_twice(const struct hash_list *l);

#endif
