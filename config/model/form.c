// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/model/form.h"

_Static_assert(FIELD_COUNT_ <= 32, "a bit for each field");

void form_make(struct match_view v, uint32_t free, struct form *ret)
{
	struct match_entry e;
	size_t offset = 0;

	ret->size = v.size;
	if (v.size)
		memcpy(ret->bytes, v.bytes, v.size);
	memset(ret->fixed, 0xff, v.size);
	while (match_next(v, &offset, &e))
		if (free & 1u << e.field)
			memset(ret->fixed + (e.value - v.bytes), 0, field_row(e.field)->size);
}

bool form_fits(const struct form *f, struct match_view v)
{
	uint64_t ours, theirs, fixed, differ = 0;
	size_t i = 0;

	if (f->size != v.size)
		return false;
	for (; i + sizeof(ours) <= v.size; i += sizeof(ours)) {
		memcpy(&ours, f->bytes + i, sizeof(ours));
		memcpy(&theirs, v.bytes + i, sizeof(theirs));
		memcpy(&fixed, f->fixed + i, sizeof(fixed));
		differ |= (ours ^ theirs) & fixed;
	}
	for (; i < v.size; i++)
		differ |= (f->bytes[i] ^ v.bytes[i]) & f->fixed[i];
	return differ == 0;
}
