/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * units: numbers with units as people write them: "60s", "1500ms", "10mbit", "64k". Decimal only; a
 * number never wraps and is never cut. All return 0, -EINVAL (not of this form) or -ERANGE.
 */
#ifndef SWD_BASE_UNITS_H
#define SWD_BASE_UNITS_H

#include <stdint.h>

/*
 * A plain whole number: digits alone, or 0x and hexadecimal digits. A leading zero ("010") is
 * refused: YAML 1.1 reads it as octal and people do not.
 */
int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret);
/* "250ms", "60s", "5m", "2h", "1d" -> milliseconds. The unit must be there. */
int parse_duration_ms(const char *s, uint64_t *ret_ms);
/* "64kbit", "10mbit", "2.5gbit", "8000bit" (powers of 1000) -> bits per second. Unit needed. */
int parse_rate_bit(const char *s, uint64_t *ret_bit_per_s);
/* "1500", "64k", "2m" (powers of 1024) -> bytes. */
int parse_size(const char *s, uint64_t *ret_bytes);

#define UNITS_TEXT 32
/* The shortest text that parses back to the same number. */
void print_duration_ms(uint64_t ms, char to[UNITS_TEXT]);
void print_rate_bit(uint64_t bit_per_s, char to[UNITS_TEXT]);
void print_size(uint64_t bytes, char to[UNITS_TEXT]);

#endif
