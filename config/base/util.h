/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * util: the handful of macros every room uses. Ownership is visible: a variable that owns
 * something is declared with a cleanup attribute, and gives it away with take().
 */
#ifndef SWD_BASE_UTIL_H
#define SWD_BASE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define _cleanup_(func) __attribute__((cleanup(func)))
#define _printf_(fmt, args) __attribute__((format(printf, fmt, args)))
#define _unused_ __attribute__((unused))

/* Gives the pointer away: its value, and NULL stays behind. */
#define take(ptr)                               \
	({                                      \
		__typeof__(ptr) _taken = (ptr); \
		(ptr) = NULL;                   \
		_taken;                         \
	})

/* Makes NAMEp() for _cleanup_(NAMEp) out of a free function that accepts NULL. */
#define DEFINE_CLEANUP(type, func)            \
	static inline void func##p(type *ptr) \
	{                                     \
		if (*ptr)                     \
			func(*ptr);           \
	}                                     \
	struct _semicolon_

static inline void freep(void *ptr)
{
	free(*(void **)ptr);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define _cleanup_free_ _cleanup_(freep)
#define _cleanup_close_ _cleanup_(closep)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* -1, 0 or 1: what an ordering function returns. */
#define CMP(a, b) (((a) > (b)) - ((a) < (b)))

/* The first index of a list sorted by .member whose .member is not below `wanted`, or count. */
#define LOWER_BOUND(list, count, member, wanted)                 \
	({                                                       \
		size_t _low = 0, _high = (count);                \
		while (_low < _high) {                           \
			size_t _mid = _low + (_high - _low) / 2; \
			if ((list)[_mid].member < (wanted))      \
				_low = _mid + 1;                 \
			else                                     \
				_high = _mid;                    \
		}                                                \
		_low;                                            \
	})

static inline bool streq(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/*
 * Copies a text into an array and always ends it. Returns false, with the array emptied, if the
 * text does not fit: a name is never cut.
 */
bool copy_name(char *to, size_t size, const char *from);

#define COPY_NAME(array, from) copy_name((array), sizeof(array), (from))

/*
 * Makes room for one more element in a growing array: *array has space for *space elements of
 * `size` bytes, `count` are in use. Returns 0 or -ENOMEM, and then nothing has changed.
 */
int grow(void *array, size_t *space, size_t count, size_t size);

/*
 * The word of a list that resembles `word` most (edit distance of at most a third of its length),
 * or NULL. For "did you mean": `name(i)` gives the i-th candidate, NULL ends them.
 */
const char *nearest_word(const char *word, const char *(*name)(size_t i, void *data), void *data);

/* Bytes of the UTF-8 character at text, or 0 if there is none: shortest form, no surrogates. */
size_t utf8_length(const char *text);
/* Bytes of the control character (C0, DEL or C1) at text; 0 if there is none, or the end. */
size_t control_length(const char *text);

/* Monotonic and wall-clock time in nanoseconds. */
uint64_t now_monotonic_ns(void);
uint64_t now_realtime_ns(void);

#endif
