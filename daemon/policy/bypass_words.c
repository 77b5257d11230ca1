// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sentences about what breaks a bypass. They name things the way tc takes them, so that a person
 * can paste them, and the line of the file where a person would change something.
 */
#include "daemon/policy/bypass_words.h"

#include <stdio.h>

#define PLACE_TEXT (DIAG_FILE_MAX + 12)

/* "swd.yaml:12", or "the configuration" where there is no place. */
static void print_place(const struct bypass_words *words, const struct object *o,
			char to[PLACE_TEXT])
{
	if (words->file && o && o->origin.line)
		snprintf(to, PLACE_TEXT, "%s:%u", words->file, o->origin.line);
	else
		snprintf(to, PLACE_TEXT, "the configuration");
}

/* "pref 1 protocol all", with the chain in front if it is not 0. */
static int print_proto(const struct filter *f, char *to, size_t size)
{
	char protocol[16];
	int n = 0;

	ethertype_print(f->protocol, protocol);
	if (f->chain)
		n = snprintf(to, size, "chain %u ", f->chain);
	return n + snprintf(to + n, size - (size_t)n, "pref %u protocol %s", f->pref, protocol);
}

static void set_key(const struct filter *f, uint32_t handle, struct bypass_culprit *ret)
{
	*ret = (struct bypass_culprit){ .chain = f->chain,
					.pref = f->pref,
					.protocol = f->protocol,
					.handle = handle,
					.owner = f->owner };
}

/* The command that takes it away: the whole pref, or one filter if others share the pref. */
static int print_delete(const struct filter *f, bool whole, char *to, size_t size)
{
	char proto[64];
	int n;

	if (!whole) {
		print_proto(f, proto, sizeof(proto));
		return snprintf(to, size, "tc filter del block %u %s handle 0x%x %s", f->block,
				proto, f->handle, filter_type_name(f));
	}
	n = snprintf(to, size, "tc filter del block %u", f->block);
	if (f->chain)
		n += snprintf(to + n, size - (size_t)n, " chain %u", f->chain);
	return n + snprintf(to + n, size - (size_t)n, " pref %u", f->pref);
}

void bypass_words_mend(const struct filter *f, bool alone, const struct bypass_words *words,
		       char to[BYPASS_MEND])
{
	const struct block *block = words->block_wanted;
	char place[PLACE_TEXT];
	int n = print_delete(f, alone, to, BYPASS_MEND);

	if (!block || n >= BYPASS_MEND)
		return;
	if (block->foreign == FOREIGN_EVICT) {
		snprintf(to, BYPASS_MEND, "swd evicts it");
		return;
	}
	print_place(words, &block->obj, place);
	snprintf(to + n, BYPASS_MEND - (size_t)n, ", or foreign: evict in %s", place);
}

/* The wanted filter with the key of a found one, if it is wanted. */
static const struct filter *wanted_for(const struct filter *f, const struct bypass_words *words)
{
	return words->filters ? state_find(words->filters, f) : NULL;
}

static void mend_ours(const struct filter *wanted, const struct bypass_words *words,
		      struct bypass_culprit *ret)
{
	char place[PLACE_TEXT];

	if (!wanted || !wanted->rule) {
		snprintf(ret->mend, sizeof(ret->mend), "swd removes it: it is not wanted any more");
		return;
	}
	if (wanted->flags & TCA_CLS_FLAGS_SKIP_SW) {
		snprintf(ret->mend, sizeof(ret->mend),
			 "swd puts it right: it is wanted as skip_sw");
		return;
	}
	print_place(words, &wanted->rule->obj, place);
	snprintf(ret->mend, sizeof(ret->mend), "offload: required for rule %s in %s",
		 wanted->rule->name, place);
}

void bypass_words_filter(const struct filter *f, bool alone, const struct bypass_words *words,
			 struct bypass_culprit *ret)
{
	const struct filter *wanted = f->owner == OWNER_OURS ? wanted_for(f, words) : NULL;
	const char *why =
		f->type == FILTER_OTHER && !streq(f->other, "u32") && !streq(f->other, "bpf")
			? "can't be offloaded"
			: "not skip_sw";
	char proto[64], whose[80];

	set_key(f, f->handle, ret);
	if (f->owner != OWNER_OURS)
		snprintf(whose, sizeof(whose), "foreign");
	else if (wanted && wanted->rule)
		snprintf(whose, sizeof(whose), "rule %s", wanted->rule->name);
	else
		snprintf(whose, sizeof(whose), "left over from swd");
	print_proto(f, proto, sizeof(proto));
	snprintf(ret->text, sizeof(ret->text), "%s %s handle 0x%x, %s: %s", proto,
		 filter_type_name(f), f->handle, whose, why);
	if (f->owner == OWNER_OURS)
		mend_ours(wanted, words, ret);
	else
		bypass_words_mend(f, alone, words, ret->mend);
}

void bypass_words_proto(const struct filter *f, const struct bypass_mark_words *mark,
			const struct bypass_words *words, struct bypass_culprit *ret)
{
	const struct filter *wanted = wanted_for(f, words);
	char proto[64], place[PLACE_TEXT];

	set_key(f, 0, ret);
	print_proto(f, proto, sizeof(proto));
	snprintf(ret->text, sizeof(ret->text), "%s: %s", proto,
		 mark->sure ? "marked by a filter that is gone"
			    : "may be marked by a filter that swd did not see");
	if (!mark->ours) {
		bypass_words_mend(f, true, words, ret->mend);
	} else if (!mark->healed) {
		print_place(words, words->block_wanted ? &words->block_wanted->obj : NULL, place);
		snprintf(ret->mend, sizeof(ret->mend), "bypass: %s in %s, so that swd rebuilds it",
			 mark->sure ? "preferred" : "required", place);
	} else if (wanted && wanted->rule && wanted->rule->pref && !mark->room) {
		/* In the same pref alone it could only be rebuilt with a gap. */
		print_place(words, &wanted->rule->obj, place);
		snprintf(ret->mend, sizeof(ret->mend),
			 "a free pref beside that of rule %s in %s, so that swd can rebuild it",
			 wanted->rule->name, place);
	} else {
		snprintf(ret->mend, sizeof(ret->mend), "swd rebuilds it");
	}
}

void bypass_words_shortcut(const struct filter *f, const struct filter *hidden, uint32_t block,
			   const struct bypass_words *words, struct bypass_culprit *ret)
{
	char proto[64];

	if (!f && hidden) {
		*ret = (struct bypass_culprit){ .owner = OWNER_OURS };
		print_proto(hidden, proto, sizeof(proto));
		snprintf(ret->text, sizeof(ret->text),
			 "block %u has no shortcut in front: it would hide %s %s handle 0x%x, "
			 "foreign, from software",
			 block, proto, filter_type_name(hidden), hidden->handle);
		snprintf(ret->mend, sizeof(ret->mend),
			 "swd puts it there once no such filter is left");
		return;
	}
	if (!f) {
		*ret = (struct bypass_culprit){ .owner = OWNER_OURS };
		snprintf(ret->text, sizeof(ret->text), "block %u has no shortcut in front", block);
		snprintf(ret->mend, sizeof(ret->mend),
			 "swd puts it there once every filter is skip_sw");
		return;
	}
	set_key(f, f->handle, ret);
	print_proto(f, proto, sizeof(proto));
	snprintf(ret->text, sizeof(ret->text), "%s %s handle 0x%x, %s: in front of the shortcut",
		 proto, filter_type_name(f), f->handle,
		 f->owner == OWNER_OURS ? "ours" : "foreign");
	if (f->owner != OWNER_OURS)
		bypass_words_mend(f, true, words, ret->mend);
}
