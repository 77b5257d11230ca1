// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/policy/alike.h"

#include "daemon/kernel/cookie.h"
#include "daemon/policy/payload.h"

void alike_begin(struct alike *a, const struct rule *r)
{
	struct match_entry e;
	size_t offset = 0;

	a->rule = r;
	a->count = a->value_count = 0;
	a->transport = false;
	while (match_next(rule_match(r), &offset, &e))
		a->transport |= field_row(e.field)->protos != NULL;
	form_make(rule_match(r), ~PAYLOAD_DECIDING, &a->form);
	a->fits_zeros = payload_fits_zeros(rule_match(r)) != NULL;
}

void alike_add(struct alike *a, const struct filter *f)
{
	struct match_view from = rule_match(a->rule), to = filter_match(f);
	struct alike_value *values = a->of[a->count].values;
	struct match_entry e;
	size_t offset = 0, n = 0;

	while (match_next(from, &offset, &e)) {
		const uint8_t *value;

		if (PAYLOAD_DECIDING & 1u << e.field || !match_get(to, e.field, &value, NULL))
			continue;
		values[n++] = (struct alike_value){
			.from = (uint16_t)(e.value - from.bytes),
			.to = (uint16_t)(value - to.bytes),
			.size = field_row(e.field)->size,
		};
	}
	a->value_count = n; /* the same for each: they have all that the rule says */
	a->of[a->count].filter = f;
	a->of[a->count++].hash = cookie_begin(f);
}

bool alike_fits(const struct alike *a, const struct rule *r)
{
	const struct rule *w = a->rule;

	return w && w->chain == r->chain && w->ethertype == r->ethertype &&
	       w->offload == r->offload && w->tagging == r->tagging &&
	       w->action_count == r->action_count &&
	       memcmp(rule_actions(w), rule_actions(r), w->action_count * sizeof(struct action)) ==
		       0 &&
	       form_fits(&a->form, rule_match(r)) &&
	       (!a->transport || a->fits_zeros == (payload_fits_zeros(rule_match(r)) != NULL));
}

struct filter *alike_filter(const struct alike *a, size_t i, const struct rule *r,
			    uint32_t instance)
{
	struct filter *f = filter_copy(a->of[i].filter);
	const uint8_t *from = rule_match(r).bytes;
	uint8_t *to;

	if (!f)
		return NULL;
	object_unref(take(f->rule));
	to = (uint8_t *)(uintptr_t)filter_match(f).bytes;
	for (size_t k = 0; k < a->value_count; k++) {
		const struct alike_value *v = &a->of[i].values[k];

		memcpy(to + v->to, from + v->from, v->size);
	}
	cookie_end(f, a->of[i].hash, instance, f->cookie);
	return f;
}
