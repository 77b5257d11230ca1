// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages and the places of values in them: see mould.h. The places are found by the attributes
 * the codec uses; a message in which one of them is not there exactly once makes no mould.
 */
#include "daemon/kernel/mould.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>

#include "config/model/form.h"
#include "daemon/kernel/actions.h"
#include "daemon/kernel/cookie.h"
#include "daemon/kernel/flower_keys.h"

#define MOULDS 4		       /* of each direction */
#define COOKIE_FIXED (COOKIE_SIZE / 2) /* magic and instance */

struct spot {
	uint16_t from, at; /* in the match, in the message */
	const struct field_row *row;
};

struct mould {
	struct filter *filter; /* a reference: whose message it is; NULL: none */
	struct filter *said;   /* a reference: what it says; NULL: a request */
	enum kernel_op op;     /* of a request */
	struct form form;
	struct spot spots[FIELD_COUNT_];
	size_t spot_count;
	uint16_t cookie;
	uint16_t numbers[TCA_ACT_MAX_PRIO]; /* that the kernel gave the actions: of an answer */
	size_t number_count;
	size_t size;
	uint8_t bytes[CODEC_MESSAGE_BYTES] __attribute__((aligned(8)));
};

struct shelf {
	struct mould list[MOULDS];
	size_t last; /* used */
};

struct moulds {
	struct shelf sent, told;
};

/* ---- keeping them ---- */

struct moulds *moulds_new(void)
{
	return calloc(1, sizeof(struct moulds));
}

static void mould_drop(struct mould *m)
{
	object_unref(take(m->filter));
	object_unref(take(m->said));
}

static bool names_device(const struct filter *f)
{
	for (size_t i = 0; i < f->action_count; i++)
		if (action_argument((enum action_kind)filter_actions(f)[i].kind) ==
		    ACTION_ARGUMENT_DEV)
			return true;
	return false;
}

static void shelf_drop(struct shelf *s, bool all)
{
	for (size_t i = 0; i < MOULDS; i++)
		if (s->list[i].filter && (all || names_device(s->list[i].filter)))
			mould_drop(&s->list[i]);
}

void moulds_clear(struct moulds *m)
{
	shelf_drop(&m->sent, true);
	shelf_drop(&m->told, true);
}

void moulds_doubt_devices(struct moulds *m)
{
	shelf_drop(&m->sent, false);
	shelf_drop(&m->told, false);
}

void moulds_free(struct moulds *m)
{
	if (!m)
		return;
	moulds_clear(m);
	free(m);
}

/* ---- using one ---- */

/* True if f's messages differ from the mould's in key, values, and the hash in the cookie alone. */
static bool fits(const struct mould *m, enum kernel_op op, const struct filter *f)
{
	const struct filter *w = m->filter;

	return w && m->op == op && w->block == f->block && w->chain == f->chain &&
	       w->protocol == f->protocol && w->type == f->type && w->flags == f->flags &&
	       f->has_cookie && memcmp(w->cookie, f->cookie, COOKIE_FIXED) == 0 &&
	       w->action_count == f->action_count &&
	       memcmp(filter_actions(w), filter_actions(f),
		      w->action_count * sizeof(struct action)) == 0 &&
	       form_fits(&m->form, filter_match(f));
}

static struct mould *find(struct shelf *s, enum kernel_op op, const struct filter *f)
{
	for (size_t i = 0; i < MOULDS; i++) {
		size_t at = (s->last + i) % MOULDS;

		if (!fits(&s->list[at], op, f))
			continue;
		s->last = at;
		return &s->list[at];
	}
	return NULL;
}

static void fill(struct mould *m, const struct filter *f)
{
	struct tcmsg *tcm = (struct tcmsg *)(void *)(m->bytes + NLMSG_HDRLEN);
	const uint8_t *match = filter_match(f).bytes;

	tcm->tcm_handle = f->handle;
	tcm->tcm_info = TC_H_MAKE((uint32_t)f->pref << 16, htons(f->protocol));
	for (size_t i = 0; i < m->spot_count; i++) {
		const struct spot *s = &m->spots[i];

		memcpy(m->bytes + s->at, match + s->from, s->row->size);
		flower_turn(s->row, m->bytes + s->at);
	}
	memcpy(m->bytes + m->cookie, f->cookie, COOKIE_SIZE);
}

bool mould_write(struct moulds *moulds, enum kernel_op op, const struct filter *wanted,
		 struct nl_msg *m)
{
	struct mould *mould = find(&moulds->sent, op, wanted);

	/* A key with a hole is the codec's to refuse. */
	if (!mould || !wanted->pref || !wanted->handle || nlmsg_get_max_size(m) < mould->size)
		return false;
	fill(mould, wanted);
	memcpy(nlmsg_hdr(m), mould->bytes, mould->size);
	return true;
}

static struct object *said_of(const struct mould *m, const struct filter *f)
{
	struct filter *said = filter_copy(m->said);

	if (!said)
		return NULL;
	said->pref = f->pref;
	said->handle = f->handle;
	memcpy(said->cookie, f->cookie, sizeof(said->cookie));
	memcpy((uint8_t *)(uintptr_t)filter_match(said).bytes, filter_match(f).bytes,
	       f->match_size);
	return &said->obj;
}

bool mould_read(struct moulds *moulds, const struct filter *wanted, const struct nlmsghdr *h,
		struct object **ret)
{
	struct mould *m = find(&moulds->told, KERNEL_ADD, wanted);
	const uint8_t *there = (const uint8_t *)h;
	struct object *o;

	if (!m || h->nlmsg_type != RTM_NEWTFILTER || h->nlmsg_len != m->size)
		return false;
	fill(m, wanted);
	for (size_t i = 0; i < m->number_count; i++)
		memcpy(m->bytes + m->numbers[i], there + m->numbers[i], sizeof(uint32_t));
	/* Port, sequence number and flags tell of the request, and not of the filter. */
	if (memcmp(m->bytes + NLMSG_HDRLEN, there + NLMSG_HDRLEN, m->size - NLMSG_HDRLEN) != 0)
		return false;
	o = said_of(m, wanted);
	if (!o)
		return false;
	*ret = o;
	return true;
}

/* ---- making one ---- */

struct nest {
	const void *data;
	size_t size;
};

static struct nest inside(const struct nlattr *a)
{
	return (struct nest){ attr_data(a), attr_len(a) };
}

/* The attribute of that type, if it is there once. */
static const struct nlattr *only(struct nest n, unsigned int type)
{
	const struct nlattr *found = NULL;

	for (const struct nlattr *a = n.data; attr_ok(a, n.size); a = attr_next(a, &n.size)) {
		if (attr_type(a) != type)
			continue;
		if (found)
			return NULL;
		found = a;
	}
	return found;
}

static uint16_t place_of(const struct nlattr *a, const struct nlmsghdr *h)
{
	return (uint16_t)((const uint8_t *)attr_data(a) - (const uint8_t *)h);
}

static bool note_values(struct mould *m, const struct nlmsghdr *h, struct nest options)
{
	struct match_view match = filter_match(m->filter);
	struct flower_context c = flower_context(m->filter->protocol, match);
	struct match_entry e;
	size_t offset = 0;

	m->spot_count = 0;
	while (match_next(match, &offset, &e)) {
		const struct field_row *row = field_row(e.field);
		const struct nlattr *a = NULL;
		uint16_t attr, mask;
		uint8_t value[16];

		if (flower_key(&c, e.field, &attr, &mask))
			a = only(options, attr);
		memcpy(value, e.value, row->size);
		flower_turn(row, value);
		if (!a || attr_len(a) != row->size || memcmp(attr_data(a), value, row->size) != 0)
			return false;
		m->spots[m->spot_count++] = (struct spot){
			.from = (uint16_t)(e.value - match.bytes),
			.at = place_of(a, h),
			.row = row,
		};
	}
	return true;
}

/* The number of an action is where its parameters begin (actions.h). */
static bool note_number(struct mould *m, const struct nlmsghdr *h, const struct nlattr *action,
			enum action_kind kind)
{
	const struct action_codec *codec = action_codec_of(kind);
	const struct nlattr *options = only(inside(action), TCA_ACT_OPTIONS), *parms = NULL;

	if (codec && options)
		parms = only(inside(options), (unsigned int)codec->parms_attr);
	if (!parms || attr_len(parms) < sizeof(struct action_head))
		return false;
	m->numbers[m->number_count++] = place_of(parms, h);
	return true;
}

static bool note_actions(struct mould *m, const struct nlmsghdr *h, struct nest options)
{
	const struct filter *f = m->filter;
	const struct nlattr *list = only(options, TCA_FLOWER_ACT), *cookie = NULL;

	m->number_count = 0;
	for (size_t i = 0; list && i < f->action_count; i++) {
		const struct nlattr *a = only(inside(list), (unsigned int)i + 1);

		if (!a ||
		    (m->said && !note_number(m, h, a, (enum action_kind)filter_actions(f)[i].kind)))
			return false;
		if (i == 0)
			cookie = only(inside(a), TCA_ACT_COOKIE);
	}
	if (!cookie || attr_len(cookie) != COOKIE_SIZE ||
	    memcmp(attr_data(cookie), f->cookie, COOKIE_SIZE) != 0)
		return false;
	m->cookie = place_of(cookie, h);
	return true;
}

/* Takes the place of the one after that used last. */
static void make(struct shelf *s, enum kernel_op op, const struct filter *f,
		 const struct nlmsghdr *h, const struct filter *said)
{
	struct mould *old = find(s, op, f), *m = old ? old : &s->list[(s->last + 1) % MOULDS];
	size_t head = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct tcmsg));
	const struct nlattr *options = NULL;

	if (f->type != FILTER_FLOWER || !f->has_cookie || h->nlmsg_len > sizeof(m->bytes))
		return;
	if (h->nlmsg_len > head)
		options = only((struct nest){ (const uint8_t *)h + head, h->nlmsg_len - head },
			       TCA_OPTIONS);
	mould_drop(m);
	m->filter = object_ref(f);
	m->said = object_ref(said);
	m->op = op;
	m->size = h->nlmsg_len;
	memcpy(m->bytes, h, m->size);
	form_make(filter_match(f), ~FLOWER_DECIDING, &m->form);
	if (!options || !note_values(m, h, inside(options)) || !note_actions(m, h, inside(options)))
		mould_drop(m);
	else
		s->last = (size_t)(m - s->list);
}

void mould_wrote(struct moulds *moulds, enum kernel_op op, const struct filter *wanted,
		 const struct nlmsghdr *h)
{
	make(&moulds->sent, op, wanted, h, NULL);
}

void mould_was_read(struct moulds *moulds, const struct filter *wanted, const struct nlmsghdr *h,
		    const struct filter *said)
{
	const struct kind_ops *ops = kind_ops(KIND_FILTER);

	if (h->nlmsg_type == RTM_NEWTFILTER && ops->compare(&wanted->obj, &said->obj) == 0 &&
	    ops->satisfied(&wanted->obj, &said->obj))
		make(&moulds->told, KERNEL_ADD, wanted, h, said);
}
