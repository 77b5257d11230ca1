// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hash table a block, with an entry for each proto (handle 0: its mark) and one for each filter,
 * so that it is known when a proto loses its last. A proto's filters are tied to it by its birth
 * number: when it ends, theirs is no longer anybody's, and they are swept when the table grows.
 */
#include "daemon/policy/bypass_marks.h"

#include <errno.h>

struct entry {
	uint32_t chain, handle;
	uint16_t pref, protocol;
	uint8_t used, mark;
	uint32_t birth; /* of the proto, or of the proto the filter is in */
	uint32_t count; /* of the proto's filters */
};

struct marks {
	struct entry *list; /* open addressing; `space` is a power of two */
	size_t space, count;
	uint32_t births;
	bool stale;
	size_t marked; /* protos that are, or may be */
	struct marks_sum sum;
};

static bool can_offload(const struct filter *f)
{
	return f->type != FILTER_OTHER || streq(f->other, "u32") || streq(f->other, "bpf");
}

bool filter_is_table(const struct filter *f)
{
	if (f->type == FILTER_OTHER && streq(f->other, "u32"))
		return TC_U32_KEY(f->handle) == 0;
	return !f->handle && can_offload(f);
}

bool filter_needs_software(const struct filter *f)
{
	if (filter_is_table(f))
		return false;
	return !can_offload(f) || !(f->flags & TCA_CLS_FLAGS_SKIP_SW);
}

bool filter_is_dead(const struct filter *f)
{
	return !filter_is_table(f) && !filter_needs_software(f) &&
	       !(f->flags & TCA_CLS_FLAGS_IN_HW);
}

uint32_t filters_most_in_hw(const struct state *found, uint32_t block)
{
	uint32_t most = 0;
	size_t i, end;

	state_block_filters(found, block, &i, &end);
	for (; i < end; i++) {
		const struct filter *f = state_at(found, KIND_FILTER, i);

		most = MAX(most, f->in_hw_count);
	}
	return most;
}

bool filter_is_partly(const struct filter *found, uint32_t most)
{
	return found->flags & TCA_CLS_FLAGS_IN_HW && found->in_hw_count > 0 &&
	       found->in_hw_count < most;
}

struct marks *marks_new(void)
{
	return calloc(1, sizeof(struct marks));
}

void marks_free(struct marks *m)
{
	if (!m)
		return;
	free(m->list);
	free(m);
}

static void forget(struct marks *m)
{
	if (m->space)
		memset(m->list, 0, m->space * sizeof(*m->list));
	m->count = m->marked = 0;
	m->sum = (struct marks_sum){ 0 };
}

static struct entry key_of(uint32_t chain, uint16_t pref, uint16_t protocol, uint32_t handle)
{
	return (struct entry){
		.chain = chain, .pref = pref, .protocol = protocol, .handle = handle
	};
}

static uint64_t mix(uint32_t chain, uint16_t pref, uint16_t protocol)
{
	uint64_t h = (uint64_t)chain << 32 | (uint32_t)pref << 16 | protocol;

	return (h ^ h >> 29) * 0x9e3779b97f4a7c15ULL;
}

void marks_sum_add(struct marks_sum *s, const struct filter *f, int by)
{
	uint64_t h = mix(f->chain, f->pref, f->protocol);

	/* A proto's number must not be the sum of others'. */
	s->keys += (uint64_t)(int64_t)by * ((h ^ h >> 32) * 0x9e3779b97f4a7c15ULL);
	s->count += (uint32_t)by;
}

static size_t home(const struct marks *m, const struct entry *e)
{
	uint64_t h = mix(e->chain, e->pref, e->protocol);

	h = (h ^ e->handle ^ h >> 32) * 0x9e3779b97f4a7c15ULL;
	return (size_t)(h >> 32) & (m->space - 1);
}

/* The entry with that key, or NULL. */
static struct entry *find(const struct marks *m, const struct entry *key)
{
	size_t i = m->space ? home(m, key) : 0;

	for (; m->space && m->list[i].used; i = (i + 1) & (m->space - 1)) {
		struct entry *e = &m->list[i];

		if (e->chain == key->chain && e->pref == key->pref &&
		    e->protocol == key->protocol && e->handle == key->handle)
			return e;
	}
	return NULL;
}

static void put(struct marks *m, const struct entry *e)
{
	size_t i = home(m, e);

	while (m->list[i].used)
		i = (i + 1) & (m->space - 1);
	m->list[i] = *e;
	m->list[i].used = true;
	m->count++;
}

static struct entry *proto_of(const struct marks *m, const struct entry *e)
{
	struct entry key = key_of(e->chain, e->pref, e->protocol, 0);

	return find(m, &key);
}

/* Protos first, since a filter is only kept if its proto still lives. */
static int resize(struct marks *m)
{
	struct marks bigger = *m;

	bigger.count = 0;
	bigger.space = m->space ? m->space * 2 : 16;
	bigger.list = calloc(bigger.space, sizeof(*bigger.list));
	if (!bigger.list)
		return -ENOMEM;
	for (size_t i = 0; i < m->space; i++)
		if (m->list[i].used && !m->list[i].handle)
			put(&bigger, &m->list[i]);
	for (size_t i = 0; i < m->space; i++) {
		const struct entry *e = &m->list[i], *proto;

		if (!e->used || !e->handle)
			continue;
		proto = proto_of(&bigger, e);
		if (proto && proto->birth == e->birth)
			put(&bigger, e);
	}
	free(m->list);
	*m = bigger;
	return 0;
}

/* Adds an entry that is not there; NULL: memory short. Pointers to other entries are void then. */
static struct entry *add(struct marks *m, const struct entry *key)
{
	if (m->count * 4 >= m->space * 3 && resize(m) < 0)
		return NULL;
	put(m, key);
	return find(m, key);
}

/* Takes an entry out and moves back those behind it that would not be found any more. */
static void drop(struct marks *m, struct entry *e)
{
	size_t hole = (size_t)(e - m->list), mask = m->space - 1;

	m->list[hole].used = false;
	m->count--;
	for (size_t i = (hole + 1) & mask; m->list[i].used; i = (i + 1) & mask) {
		size_t distance = (i - home(m, &m->list[i])) & mask;

		if (distance < ((i - hole) & mask))
			continue;
		m->list[hole] = m->list[i];
		m->list[i].used = false;
		hole = i;
	}
}

static void add_up(struct marks *m, const struct entry *e, int by)
{
	const struct filter f = { .chain = e->chain, .pref = e->pref, .protocol = e->protocol };

	marks_sum_add(&m->sum, &f, by);
}

/* With all filters that are in it. */
static void drop_proto(struct marks *m, struct entry *proto)
{
	m->marked -= proto->mark != MARK_NONE;
	add_up(m, proto, -(int)proto->count);
	drop(m, proto);
}

static struct entry *proto_born(struct marks *m, const struct filter *f, enum mark mark)
{
	struct entry key = key_of(f->chain, f->pref, f->protocol, 0), *proto;

	key.birth = ++m->births;
	key.mark = (uint8_t)mark;
	proto = add(m, &key);
	m->marked += proto && mark != MARK_NONE;
	return proto;
}

/* Notes the filter in its proto; *ret_known: it was there. The proto may have been moved. */
static int note_filter(struct marks *m, const struct filter *f, uint32_t birth, bool *ret_known)
{
	struct entry key = key_of(f->chain, f->pref, f->protocol, f->handle), *e = find(m, &key);

	*ret_known = e && e->birth == birth;
	if (e) {
		e->birth = birth;
		return 0;
	}
	key.birth = birth;
	return add(m, &key) ? 0 : -ENOMEM;
}

static int note(struct marks *m, const struct filter *f, enum mark newborn)
{
	struct entry key = key_of(f->chain, f->pref, f->protocol, 0), *proto = find(m, &key);
	bool known = false, sets;
	int r;

	if (!proto)
		proto = proto_born(m, f, newborn);
	if (!proto)
		return -ENOMEM;
	if (f->handle && !filter_is_table(f)) {
		r = note_filter(m, f, proto->birth, &known);
		if (r < 0)
			return r;
		proto = find(m, &key);
		proto->count += !known;
		add_up(m, proto, !known);
	}
	/* A known one lost its hardware in an unbind: a change would have been refused. */
	sets = filter_needs_software(f) || (filter_is_dead(f) && !known && newborn == MARK_NONE);
	if (sets) {
		m->marked += proto->mark == MARK_NONE;
		proto->mark = MARK_SET;
	}
	return 0;
}

int marks_filter_new(struct marks *m, const struct filter *f)
{
	return note(m, f, m->stale ? MARK_MAYBE : MARK_NONE);
}

int marks_found(struct marks *m, uint32_t block, const struct state *found)
{
	size_t first, end;
	int r;

	forget(m);
	m->stale = false;
	state_block_filters(found, block, &first, &end);
	for (size_t i = first; i < end; i++) {
		r = note(m, state_at(found, KIND_FILTER, i), MARK_MAYBE);
		if (r < 0)
			return r;
	}
	return 0;
}

void marks_stale(struct marks *m)
{
	m->stale = true;
	for (size_t i = 0; i < m->space; i++) {
		struct entry *e = &m->list[i];

		if (!e->used || e->handle)
			continue;
		m->marked += e->mark == MARK_NONE;
		e->mark = MARK_MAYBE;
	}
}

static void chain_gone(struct marks *m, uint32_t chain)
{
	/* Taking one out may move another into its place. */
	for (size_t i = 0; i < m->space;) {
		struct entry *e = &m->list[i];

		if (e->used && !e->handle && e->chain == chain)
			drop_proto(m, e);
		else
			i++;
	}
}

void marks_filter_gone(struct marks *m, const struct filter *f)
{
	struct entry key = key_of(f->chain, f->pref, f->protocol, 0), *proto, *e;
	uint32_t birth;

	if (!f->pref) {
		chain_gone(m, f->chain);
		return;
	}
	proto = find(m, &key);
	if (!proto)
		return;
	if (!f->handle) {
		drop_proto(m, proto);
		return;
	}
	birth = proto->birth;
	key.handle = f->handle;
	e = find(m, &key);
	if (e && e->birth == birth) {
		proto->count--;
		add_up(m, proto, -1);
		drop(m, e);
		key.handle = 0;
		proto = find(m, &key);
	}
	if (!proto->count)
		drop_proto(m, proto);
}

bool marks_clean(const struct marks *m, const struct marks_sum *found)
{
	return !m->marked && m->sum.count == found->count && m->sum.keys == found->keys;
}

enum mark marks_get(const struct marks *m, uint32_t chain, uint16_t pref, uint16_t protocol)
{
	struct entry key = key_of(chain, pref, protocol, 0);
	const struct entry *e = find(m, &key);

	return e ? (enum mark)e->mark : MARK_MAYBE;
}
