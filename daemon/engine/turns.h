/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * turns: when which port is to be measured. One that is there, or whose link came up, has its turn
 * soon; after each try in vain the next is twice as far away, up to a limit. Nothing that happens
 * in between brings two tries of a port closer together than TURNS_GAP_NS. Pure: time comes from
 * the caller, monotonic.
 */
#ifndef SWD_ENGINE_TURNS_H
#define SWD_ENGINE_TURNS_H

#include <net/if.h>
#include <stddef.h>
#include <stdint.h>

#define TURNS_SOON_NS 2000000000ULL /* a link that just came up may go again */
#define TURNS_GAP_NS 30000000000ULL
#define TURNS_WHY 256

struct turn {
	char dev[IFNAMSIZ];
	uint64_t due_ns;
	uint64_t tried_ns;   /* 0: not yet */
	uint32_t times;	     /* in vain, since it was last well */
	char why[TURNS_WHY]; /* the last one was in vain; "" */
};

struct turns {
	struct turn *list;
	size_t count, space;
};

/* How far away the next try is. */
struct turns_pace {
	uint64_t first_ns, most_ns;
};

const struct turn *turns_find(const struct turns *t, const char *dev); /* NULL: it has none */
/* A turn at that time, unless it has one. 0 or -ENOMEM. */
int turns_begin(struct turns *t, const char *dev, uint64_t due_ns);
/* What it waited for has happened: if it has a turn, that is soon. */
void turns_hasten(struct turns *t, const char *dev, uint64_t now_ns);
/* It was tried. 0 or -ENOMEM. */
int turns_vain(struct turns *t, const char *dev, uint64_t now_ns, const struct turns_pace *pace,
	       const char *why);
void turns_end(struct turns *t, const char *dev);
/* 0 or -ENOMEM; `ret` is empty. */
int turns_copy(const struct turns *t, struct turns *ret);
void turns_clear(struct turns *t);

#endif
