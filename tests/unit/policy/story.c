// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/policy/story.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "daemon/kernel/cookie.h"

void story_begin(struct story *s, enum bypass_ability ability)
{
	*s = (struct story){ .b = bypass_new(ability), .found = state_new() };
	assert_non_null(s->b);
	assert_non_null(s->found);
	s->words.file = "swd.yaml";
	s->words.block_wanted = &make_block;
}

void story_end(struct story *s)
{
	bypass_free(s->b);
	state_free(s->found);
	state_free(s->wanted);
	config_unref(s->config);
}

struct filter *story_filter(uint32_t chain, uint16_t pref, uint16_t protocol, uint32_t handle,
			    uint32_t flags, const char *classifier, bool ours)
{
	const struct action pass = { .kind = ACTION_PASS };
	struct filter *f = filter_new((struct match_view){ 0 }, &pass, 1);

	assert_non_null(f);
	f->block = 10;
	f->chain = chain;
	f->pref = pref;
	f->protocol = protocol;
	f->handle = handle;
	f->flags = flags;
	f->owner = ours ? OWNER_OURS : OWNER_FOREIGN;
	f->type = FILTER_OTHER;
	if (streq(classifier, "flower"))
		f->type = FILTER_FLOWER;
	else if (streq(classifier, "matchall"))
		f->type = FILTER_MATCHALL;
	else
		COPY_NAME(f->other, classifier);
	if (ours) {
		cookie_make(f, 0, f->cookie);
		f->has_cookie = true;
	}
	return f;
}

void story_put(struct story *s, struct filter *f)
{
	assert_int_equal(bypass_filter_new(s->b, f), 0);
	assert_int_equal(state_put(s->found, f), 0);
}

void story_flower(struct story *s, uint16_t pref, uint32_t handle, uint32_t flags, bool ours)
{
	story_put(s, story_filter(0, pref, 0x0800, handle, flags, "flower", ours));
}

void story_gone(struct story *s, uint16_t pref, uint16_t protocol, uint32_t handle)
{
	struct filter key = { .obj.kind = KIND_FILTER,
			      .block = 10,
			      .pref = pref,
			      .protocol = protocol,
			      .handle = handle };
	size_t first, last;

	bypass_filter_gone(s->b, &key);
	if (handle) {
		assert_true(state_remove(s->found, &key));
		return;
	}
	state_block_filters(s->found, 10, &first, &last);
	for (size_t i = last; i-- > first;) {
		const struct filter *f = state_at(s->found, KIND_FILTER, i);

		if (f->pref == pref && f->protocol == protocol)
			state_remove(s->found, f);
	}
}

void story_judge(struct story *s)
{
	assert_int_equal(bypass_judge(s->b, 10, s->found, &s->words, &s->report), 0);
}

void story_state(struct story *s, enum bypass_state state, enum bypass_evidence evidence)
{
	story_judge(s);
	assert_string_equal(bypass_state_name(s->report.state), bypass_state_name(state));
	assert_string_equal(bypass_evidence_name(s->report.evidence),
			    bypass_evidence_name(evidence));
}

void story_culprit(struct story *s, size_t i, const char *text, const char *mend)
{
	assert_true(i < s->report.culprit_count);
	assert_string_equal(s->report.culprits[i].text, text);
	assert_string_equal(s->report.culprits[i].mend, mend);
}

size_t story_heal(struct story *s, struct bypass_proto *ret, size_t most)
{
	return bypass_to_heal(s->b, 10, s->found, ret, most);
}
