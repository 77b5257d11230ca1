// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * name: what names may look like. Each answers NULL, or in words what such a name must be.
 */
#include <ctype.h>

#include "config/yaml/draft.h"

/* Letters and digits, and the marks that names may have. */
static const bool name_bytes[256] = {
	['0' ... '9'] = true, ['a' ... 'z'] = true, ['A' ... 'Z'] = true,
	['.'] = true,	      ['_'] = true,	    ['-'] = true,
};

/* A name of 1 to most - 1 bytes, in which `mark` may be as well. */
static bool made_of(const char *name, char mark, size_t most)
{
	const char *s = name;

	while (name_bytes[(unsigned char)*s] || (*s == mark && *s))
		s++;
	return !*s && s > name && s < name + most;
}

/*
 * The kernel's rule (dev_valid_name: not "." or "..", no slash, colon or space, below IFNAMSIZ) and
 * two of ours: '%' makes the kernel invent a number, and control characters garble every listing.
 */
const char *check_device_name(const char *name)
{
	static const char words[] =
		"a device name: 1 to 15 bytes without spaces, '/', ':' or '%', and not '.' or '..'";

	if (!*name || strlen(name) >= IFNAMSIZ || streq(name, ".") || streq(name, ".."))
		return words;
	for (const unsigned char *s = (const unsigned char *)name; *s; s++)
		if (*s <= ' ' || *s == 0x7f || strchr("/:%", *s))
			return words;
	return NULL;
}

_Static_assert(BLOCK_NAME_MAX == 32 && RULE_NAME_MAX == 64 && GROUP_NAME_MAX == 33,
	       "the words below say so");

const char *check_block_name(const char *name)
{
	if (!made_of(name, 0, BLOCK_NAME_MAX))
		return "a block name: 1 to 31 letters, digits, '.', '_' or '-'";
	return NULL;
}

const char *check_rule_name(const char *name)
{
	if (!made_of(name, ':', RULE_NAME_MAX))
		return "a rule name: 1 to 63 letters, digits, '.', '_', '-' or ':'";
	return NULL;
}

/* What useradd and groupadd take, loosely: the system decides in the end. */
const char *check_group_name(const char *name)
{
	if (!made_of(name, 0, GROUP_NAME_MAX) || name[0] == '-')
		return "a group name: 1 to 32 letters, digits, '.', '_' or '-'";
	return NULL;
}
