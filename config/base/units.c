/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/base/units.h"

#include <errno.h>
#include <stdio.h>

#include "config/base/util.h"

struct unit {
	const char *name;
	uint64_t factor;
};

/* Largest first: printing takes the first that divides evenly. */
static const struct unit durations[] = {
	{ "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 }, { "ms", 1 },
};
static const struct unit rates[] = {
	{ "tbit", 1000000000000 }, { "gbit", 1000000000 }, { "mbit", 1000000 },
	{ "kbit", 1000 },	   { "bit", 1 },
};
static const struct unit sizes[] = {
	{ "g", 1 << 30 },
	{ "m", 1 << 20 },
	{ "k", 1 << 10 },
	{ "", 1 },
};

/* Digits of the base; *end is left behind the last. -EINVAL if there is none. */
static int read_digits(const char *s, unsigned int base, uint64_t *ret, const char **end)
{
	uint64_t value = 0;
	const char *at;

	for (at = s; *at; at++) {
		unsigned int digit;

		if (*at >= '0' && *at <= '9')
			digit = (unsigned int)(*at - '0');
		else if (base == 16 && (*at | 0x20) >= 'a' && (*at | 0x20) <= 'f')
			digit = (unsigned int)((*at | 0x20) - 'a') + 10;
		else
			break;
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return -ERANGE;
	}
	if (at == s)
		return -EINVAL;
	*ret = value;
	*end = at;
	return 0;
}

int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');
	uint64_t value;
	const char *end;
	int r;

	if (!hex && s[0] == '0' && s[1])
		return -EINVAL;
	r = read_digits(hex ? s + 2 : s, hex ? 16 : 10, &value, &end);
	if (r < 0)
		return r;
	if (*end)
		return -EINVAL;
	if (value < min || value > max)
		return -ERANGE;
	*ret = value;
	return 0;
}

/* "2.5gbit": whole, fraction and unit. The result must be whole. */
static int parse_unit(const char *s, const struct unit *units, size_t n, uint64_t *ret)
{
	uint64_t whole, fraction = 0, scale = 1, value;
	const char *end, *digits;
	int r;

	if (s[0] == '0' && s[1] >= '0' && s[1] <= '9')
		return -EINVAL;
	r = read_digits(s, 10, &whole, &end);
	if (r < 0)
		return r;
	if (*end == '.') {
		digits = end + 1;
		r = read_digits(digits, 10, &fraction, &end);
		if (r < 0)
			return r;
		if (end - digits > 9)
			return -ERANGE;
		for (; digits < end; digits++)
			scale *= 10;
	}
	for (size_t i = 0; i < n; i++) {
		if (!streq(end, units[i].name))
			continue;
		if (__builtin_mul_overflow(whole, units[i].factor, &value) ||
		    __builtin_mul_overflow(fraction, units[i].factor, &fraction))
			return -ERANGE;
		if (fraction % scale)
			return -EINVAL;
		if (__builtin_add_overflow(value, fraction / scale, &value))
			return -ERANGE;
		*ret = value;
		return 0;
	}
	return -EINVAL;
}

static void print_unit(uint64_t v, const struct unit *units, size_t n, char to[UNITS_TEXT])
{
	size_t i = 0;

	while (i < n - 1 && (v == 0 || v % units[i].factor))
		i++;
	snprintf(to, UNITS_TEXT, "%llu%s", (unsigned long long)(v / units[i].factor),
		 units[i].name);
}

int parse_duration_ms(const char *s, uint64_t *ret_ms)
{
	return parse_unit(s, durations, ARRAY_SIZE(durations), ret_ms);
}

int parse_rate_bit(const char *s, uint64_t *ret_bit_per_s)
{
	return parse_unit(s, rates, ARRAY_SIZE(rates), ret_bit_per_s);
}

int parse_size(const char *s, uint64_t *ret_bytes)
{
	return parse_unit(s, sizes, ARRAY_SIZE(sizes), ret_bytes);
}

void print_duration_ms(uint64_t ms, char to[UNITS_TEXT])
{
	print_unit(ms, durations, ARRAY_SIZE(durations), to);
}

void print_rate_bit(uint64_t bit_per_s, char to[UNITS_TEXT])
{
	print_unit(bit_per_s, rates, ARRAY_SIZE(rates), to);
}

void print_size(uint64_t bytes, char to[UNITS_TEXT])
{
	print_unit(bytes, sizes, ARRAY_SIZE(sizes), to);
}
