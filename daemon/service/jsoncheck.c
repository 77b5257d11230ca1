// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One pass over the bytes with a small stack of open brackets. varlink.c calls it before it lets
 * cJSON see a message; tests/fuzz/fuzz_varlink.c checks that the two never disagree in the
 * dangerous direction.
 */
#include "daemon/service/jsoncheck.h"

#include <errno.h>
#include <stdint.h>

#include "config/base/util.h"

struct reader {
	const unsigned char *at, *end;
	const char *why;
};

static bool refuse(struct reader *r, const char *why)
{
	r->why = why;
	return false;
}

static void skip_space(struct reader *r)
{
	while (r->at < r->end &&
	       (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
		r->at++;
}

static int hex4(const unsigned char *p)
{
	int v = 0;

	for (int i = 0; i < 4; i++) {
		unsigned char c = p[i];

		v <<= 4;
		if (c >= '0' && c <= '9')
			v |= c - '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v |= (c | 0x20) - 'a' + 10;
		else
			return -1;
	}
	return v;
}

/* r->at stands behind "\u". */
static bool escape_u(struct reader *r)
{
	int high, low;

	if (r->end - r->at < 4)
		return refuse(r, "a \\u escape is cut short");
	high = hex4(r->at);
	if (high < 0)
		return refuse(r, "a \\u escape wants four hexadecimal digits");
	r->at += 4;
	if (high == 0)
		return refuse(r, "NUL in a string");
	if (high >= 0xdc00 && high <= 0xdfff)
		return refuse(r, "a lone surrogate");
	if (high < 0xd800 || high > 0xdbff)
		return true;
	if (r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u')
		return refuse(r, "a lone surrogate");
	low = hex4(r->at + 2);
	if (low < 0xdc00 || low > 0xdfff)
		return refuse(r, "a lone surrogate");
	r->at += 6;
	return true;
}

/*
 * One character of more than a byte: Table 3-7 of the Unicode standard, which leaves out overlong
 * forms, surrogates and what is above U+10FFFF.
 */
static bool utf8(struct reader *r)
{
	unsigned char first = *r->at, low = 0x80, high = 0xbf;
	size_t more;

	if (first >= 0xc2 && first <= 0xdf) {
		more = 1;
	} else if (first >= 0xe0 && first <= 0xef) {
		more = 2;
		if (first == 0xe0)
			low = 0xa0;
		if (first == 0xed)
			high = 0x9f;
	} else if (first >= 0xf0 && first <= 0xf4) {
		more = 3;
		if (first == 0xf0)
			low = 0x90;
		if (first == 0xf4)
			high = 0x8f;
	} else {
		return refuse(r, "not UTF-8");
	}
	if ((size_t)(r->end - r->at) <= more)
		return refuse(r, "not UTF-8");
	if (r->at[1] < low || r->at[1] > high)
		return refuse(r, "not UTF-8");
	for (size_t i = 2; i <= more; i++) {
		if (r->at[i] < 0x80 || r->at[i] > 0xbf)
			return refuse(r, "not UTF-8");
	}
	r->at += more + 1;
	return true;
}

/* r->at stands behind the opening quote. */
static bool string(struct reader *r)
{
	while (r->at < r->end) {
		unsigned char c = *r->at;

		if (c == '"') {
			r->at++;
			return true;
		}
		if (c < 0x20)
			return refuse(r, "a control character in a string");
		if (c >= 0x80) {
			if (!utf8(r))
				return false;
			continue;
		}
		r->at++;
		if (c != '\\')
			continue;
		if (r->at == r->end)
			break;
		c = *r->at++;
		if (c == 'u') {
			if (!escape_u(r))
				return false;
		} else if (!strchr("\"\\/bfnrt", c) || c == 0) {
			return refuse(r, "an unknown escape in a string");
		}
	}
	return r->why ? false : refuse(r, "a string without end");
}

static bool digit(const struct reader *r)
{
	return r->at < r->end && *r->at >= '0' && *r->at <= '9';
}

static bool number(struct reader *r)
{
	bool negative = *r->at == '-';
	uint64_t v = 0, limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;

	if (negative)
		r->at++;
	if (!digit(r))
		return refuse(r, "not a value");
	if (*r->at == '0') {
		r->at++;
		if (negative)
			return refuse(r, "-0 is no whole number");
		if (digit(r))
			return refuse(r, "a number with a leading zero");
	}
	while (digit(r)) {
		unsigned int d = *r->at++ - '0';

		if (v > (limit - d) / 10)
			return refuse(r, "a number outside of 64 bits");
		v = v * 10 + d;
	}
	if (r->at < r->end && (*r->at == '.' || (*r->at | 0x20) == 'e'))
		return refuse(r, "a number that is not whole");
	return true;
}

static bool word(struct reader *r, const char *w)
{
	size_t n = strlen(w);

	if ((size_t)(r->end - r->at) < n || memcmp(r->at, w, n) != 0)
		return refuse(r, "not a value");
	r->at += n;
	return true;
}

/* Name and colon of a member. */
static bool member_name(struct reader *r)
{
	skip_space(r);
	if (r->at == r->end || *r->at != '"')
		return refuse(r, "a member without a name");
	r->at++;
	if (!string(r))
		return false;
	skip_space(r);
	if (r->at == r->end || *r->at != ':')
		return refuse(r, "a name without a colon");
	r->at++;
	return true;
}

struct level {
	bool object;
	unsigned int members;
};

static bool scalar(struct reader *r)
{
	switch (*r->at) {
	case '"':
		r->at++;
		return string(r);
	case 't':
		return word(r, "true");
	case 'f':
		return word(r, "false");
	case 'n':
		return word(r, "null");
	default:
		return number(r);
	}
}

static bool document(struct reader *r)
{
	struct level stack[JSON_DEPTH_MAX];
	unsigned int depth = 0, values = 0;

	for (;;) {
		bool opened = false;

		/* A value begins here. */
		skip_space(r);
		if (r->at == r->end)
			return refuse(r, "a value is missing");
		if (++values > JSON_VALUES_MAX)
			return refuse(r, "too many values");
		if (*r->at == '{' || *r->at == '[') {
			if (depth == JSON_DEPTH_MAX)
				return refuse(r, "nested too deep");
			stack[depth++] = (struct level){ .object = *r->at == '{' };
			r->at++;
			opened = true;
		} else if (!scalar(r)) {
			return false;
		}

		/* Then brackets close, until a comma wants another value. */
		for (;;) {
			struct level *top = depth ? &stack[depth - 1] : NULL;

			skip_space(r);
			if (!top)
				return r->at == r->end ? true : refuse(r, "text behind the value");
			if (r->at == r->end)
				return refuse(r, "an open bracket");
			if (*r->at == (top->object ? '}' : ']')) {
				r->at++;
				depth--;
				opened = false;
				continue;
			}
			if (!opened) {
				if (*r->at != ',')
					return refuse(r, "a comma is missing");
				r->at++;
			}
			if (top->object) {
				if (++top->members > JSON_MEMBERS_MAX)
					return refuse(r, "too many members");
				if (!member_name(r))
					return false;
			}
			break;
		}
	}
}

int json_check(const char *text, size_t size, const char **ret_why)
{
	struct reader r = {
		.at = (const unsigned char *)text,
		.end = (const unsigned char *)text + size,
	};

	if (document(&r))
		return 0;
	*ret_why = r.why;
	return -EBADMSG;
}
