// SPDX-License-Identifier: GPL-2.0-or-later
/* Filters as text: see filter_text.h. */
#include "filter_text.h"

#include <ctype.h>
#include <string.h>

#include "config/base/netaddr.h"
#include "daemon/kernel/settle.h"

#define WORDS 16

struct draft {
	struct filter key;
	struct match match;
	struct action actions[TCA_ACT_MAX_PRIO];
	size_t count;
};

static size_t split(char *line, char *words[WORDS])
{
	size_t n = 0;
	char *save, *w;

	for (w = strtok_r(line, " \t", &save); w && n < WORDS; w = strtok_r(NULL, " \t", &save))
		words[n++] = w;
	return n;
}

static uint32_t number(const char *s)
{
	return (uint32_t)strtoul(s, NULL, 0);
}

static bool read_key(char **w, size_t n, struct filter *f)
{
	for (size_t i = 1; i < n; i++) {
		const char *value = i + 1 < n ? w[i + 1] : "";

		if (streq(w[i], "flower")) {
			f->type = FILTER_FLOWER;
		} else if (streq(w[i], "matchall")) {
			f->type = FILTER_MATCHALL;
		} else if (streq(w[i], "skip_sw")) {
			f->flags |= TCA_CLS_FLAGS_SKIP_SW;
		} else if (streq(w[i], "skip_hw")) {
			f->flags |= TCA_CLS_FLAGS_SKIP_HW;
		} else if (streq(w[i], "in_hw")) {
			f->flags |= TCA_CLS_FLAGS_IN_HW;
		} else if (streq(w[i], "not_in_hw")) {
			f->flags |= TCA_CLS_FLAGS_NOT_IN_HW;
		} else if (streq(w[i], "other")) {
			f->type = FILTER_OTHER;
			COPY_NAME(f->other, value);
			i++;
		} else if (streq(w[i], "block")) {
			f->block = number(value);
			i++;
		} else if (streq(w[i], "chain")) {
			f->chain = number(value);
			i++;
		} else if (streq(w[i], "pref")) {
			f->pref = (uint16_t)number(value);
			i++;
		} else if (streq(w[i], "handle")) {
			f->handle = number(value);
			i++;
		} else if (streq(w[i], "in_hw_count")) {
			f->in_hw_count = number(value);
			i++;
		} else if (streq(w[i], "protocol")) {
			if (ethertype_parse(value, &f->protocol) < 0)
				return false;
			i++;
		} else {
			return false;
		}
	}
	return true;
}

static bool read_match(char **w, size_t n, struct match *m)
{
	const char *expected;
	uint16_t type;

	if (n != 3)
		return false;
	/* Two fields are for compile alone, and people have no words for them. */
	if (streq(w[1], "vlan-ethtype") || streq(w[1], "cvlan-ethtype")) {
		if (ethertype_parse(w[2], &type) < 0)
			return false;
		match_set_u16(m, w[1][0] == 'c' ? FIELD_CVLAN_ETHTYPE : FIELD_VLAN_ETHTYPE, type);
		return true;
	}
	return field_parse(w[1], w[2], m, &expected) == 0;
}

static bool read_vlan(char **w, size_t n, struct action *a)
{
	for (size_t i = 2; i + 1 < n; i += 2) {
		if (streq(w[i], "id"))
			a->vlan.id = (uint16_t)number(w[i + 1]);
		else if (streq(w[i], "protocol"))
			a->vlan.ethertype = (uint16_t)number(w[i + 1]);
		else if (streq(w[i], "prio")) {
			a->vlan.prio = (uint8_t)number(w[i + 1]);
			a->vlan.has_prio = 1;
		} else {
			return false;
		}
	}
	return true;
}

static bool read_action(char **w, size_t n, struct action *a)
{
	const char *one = n > 2 ? w[2] : "0", *two = n > 3 ? w[3] : "0",
		   *three = n > 4 ? w[4] : "0";

	for (int kind = 0; kind < ACTION_COUNT_; kind++) {
		if (!streq(action_name((enum action_kind)kind), w[1]))
			continue;
		a->kind = (uint8_t)kind;
		switch ((enum action_kind)kind) {
		case ACTION_PASS:
		case ACTION_DROP:
		case ACTION_TRAP:
		case ACTION_VLAN_POP:
			return n == 2;
		case ACTION_GOTO:
			a->chain = number(one);
			return true;
		case ACTION_REDIRECT:
		case ACTION_MIRROR:
			return COPY_NAME(a->dev, one);
		case ACTION_VLAN_PUSH:
		case ACTION_VLAN_MODIFY:
			return read_vlan(w, n, a);
		case ACTION_SET_SRC:
		case ACTION_SET_DST:
			return mac_parse(one, a->mac) == 0;
		case ACTION_DEC_TTL:
			a->ttl.family_v6 = streq(one, "ipv6");
			return true;
		case ACTION_CSUM:
			a->csum.flags = number(one);
			return true;
		case ACTION_POLICE:
			a->police.rate_bit = strtoull(one, NULL, 0);
			a->police.burst = number(two);
			a->police.mtu = number(three);
			return true;
		case ACTION_SAMPLE:
			a->sample.rate = number(one);
			a->sample.group = number(two);
			a->sample.truncate = number(three);
			return true;
		case ACTION_OTHER:
			memcpy(a->other.name, one, strnlen(one, sizeof(a->other.name) - 1));
			a->other.hash = strtoull(two, NULL, 0);
			return true;
		case ACTION_COUNT_:
			break;
		}
	}
	return false;
}

/* -1: wrong, 0: not one of our lines, 1: taken. */
static int read_line(char *line, struct draft *d)
{
	char *w[WORDS];
	size_t n = split(line, w);

	if (n == 0)
		return 0;
	if (streq(w[0], "filter"))
		return read_key(w, n, &d->key) ? 1 : -1;
	if (streq(w[0], "match"))
		return read_match(w, n, &d->match) ? 1 : -1;
	if (streq(w[0], "action") && n > 1 && d->count < ARRAY_SIZE(d->actions))
		return read_action(w, n, &d->actions[d->count++]) ? 1 : -1;
	return 0;
}

static struct filter *make_filter(struct draft *d)
{
	struct filter *f;

	for (size_t i = 0; i < d->count; i++)
		if (action_settle(&d->actions[i], d->key.protocol) < 0)
			return NULL;
	f = filter_new(match_view(&d->match), d->actions, d->count);
	if (!f)
		return NULL;
	f->block = d->key.block;
	f->chain = d->key.chain;
	f->pref = d->key.pref;
	f->protocol = d->key.protocol;
	f->handle = d->key.handle;
	f->type = d->key.type;
	f->flags = d->key.flags;
	f->in_hw_count = d->key.in_hw_count;
	COPY_NAME(f->other, d->key.other);
	return f;
}

struct filter *filter_text_parse(const char *text)
{
	struct draft d = { .count = 0 };

	while (*text) {
		char line[256] = "";
		size_t n = strcspn(text, "\n");

		memcpy(line, text, MIN(n, sizeof(line) - 1));
		text += n + (text[n] == '\n');
		if (read_line(line, &d) < 0) {
			fprintf(stderr, "not understood: %s\n", line);
			return NULL;
		}
	}
	return make_filter(&d);
}

/* ---- the file of samples ---- */

static bool read_hex(const char *s, struct sample_bytes *to)
{
	for (; isxdigit((unsigned char)s[0]) && isxdigit((unsigned char)s[1]); s += 2) {
		char pair[3] = { s[0], s[1], '\0' };

		if (to->size == sizeof(to->bytes))
			return false;
		to->bytes[to->size++] = (uint8_t)strtoul(pair, NULL, 16);
	}
	return *s == '\0' || *s == '\n';
}

static bool sample_line(char *line, struct draft *d, struct sample *s)
{
	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "tc ", 3) == 0)
		return snprintf(s->tc, sizeof(s->tc), "%s", line + 3) < (int)sizeof(s->tc);
	if (strncmp(line, "add ", 4) == 0)
		return read_hex(line + 4, &s->add);
	if (strncmp(line, "sent ", 5) == 0)
		return read_hex(line + 5, &s->sent);
	if (strncmp(line, "told ", 5) == 0)
		return read_hex(line + 5, &s->told);
	return read_line(line, d) == 1;
}

static bool finish(struct draft *d, struct sample *s, size_t number)
{
	if (d->key.block == 0)
		d->key.block = 10;
	if (d->key.pref == 0)
		d->key.pref = (uint16_t)number;
	if (d->key.handle == 0)
		d->key.handle = (uint32_t)number;
	s->filter = make_filter(d);
	if (!s->filter)
		return false;
	if (s->filter->action_count > 0) {
		s->filter->owner = OWNER_OURS;
		s->filter->has_cookie = 1;
		memcpy(s->filter->cookie, "swd1\0\0\0\1", 8);
		memset(s->filter->cookie + 8, 0, 7);
		s->filter->cookie[15] = (uint8_t)number;
	}
	memset(d, 0, sizeof(*d));
	return true;
}

struct sample *samples_load(const char *path, size_t *ret_count)
{
	FILE *file = fopen(path, "re");
	struct sample *list = calloc(SAMPLES_MOST, sizeof(*list));
	struct draft d = { .count = 0 };
	char line[16384];
	size_t n = 0;
	bool open = false, good = file && list;

	for (size_t number = 1; good && fgets(line, sizeof(line), file); number++) {
		bool empty = line[0] == '\n';

		if (line[0] == '#')
			continue;
		if (empty && open)
			good = finish(&d, &list[n], n + 1) && ++n < SAMPLES_MOST;
		else if (!empty)
			good = sample_line(line, &d, &list[n]);
		open = !empty;
		if (!good)
			fprintf(stderr, "%s:%zu: not understood\n", path, number);
	}
	if (good && open)
		good = finish(&d, &list[n], n + 1) && ++n;
	if (file)
		fclose(file);
	if (!good) {
		fprintf(stderr, "%s: cannot be read\n", path);
		free(list);
		return NULL;
	}
	*ret_count = n;
	return list;
}

void samples_free(struct sample *list, size_t count)
{
	for (size_t i = 0; list && i < count; i++)
		object_unref(list[i].filter);
	free(list);
}
