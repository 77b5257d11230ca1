// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Moulds beside the codec: for each sample filter and others of its form, the same bytes go out;
 * what Linux says is read as the codec reads it, whatever byte of it is another. Argument: the file
 * of sample filters.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include "daemon/kernel/cookie.h"
#include "daemon/kernel/mould.h"
#include "filter_text.h"
#include "test_names.h"

static struct sample *samples;
static size_t sample_count;

/* Flower of ours, which is what moulds are for. */
static bool is_fit(const struct sample *s)
{
	for (size_t i = 0; i < s->filter->action_count; i++)
		if (filter_actions(s->filter)[i].kind == ACTION_OTHER)
			return false;
	return s->filter->type == FILTER_FLOWER;
}

static struct nl_msg *written(const struct filter *f)
{
	struct nl_msg *m = nlmsg_alloc_size(CODEC_MESSAGE_BYTES_MOST);

	assert_int_equal(codec_filter.put(m, KERNEL_ADD, &f->obj, NULL, &test_names), 0);
	return m;
}

/* Another of its form: other values where they do not decide, another key, its own cookie. */
static struct filter *other(const struct filter *f, unsigned int n)
{
	struct filter *o = filter_copy(f);
	struct match_view v = filter_match(o);
	struct match_entry e;
	size_t offset = 0;

	while (match_next(v, &offset, &e)) {
		const struct field_row *row = field_row(e.field);
		uint8_t *value = (uint8_t *)(uintptr_t)e.value;

		if (row->type == FIELD_TYPE_RANGE || e.field == FIELD_VLAN_ETHTYPE ||
		    e.field == FIELD_CVLAN_ETHTYPE || e.field == FIELD_IP_PROTO)
			continue;
		for (size_t i = 0; i < row->size; i++)
			value[i] = (uint8_t)(value[i] ^ n * (i + 3)) & e.mask[i];
	}
	o->pref = (uint16_t)(f->pref + n);
	o->handle = f->handle + 1000 * n;
	cookie_make(o, test_names.instance, o->cookie);
	return o;
}

static void the_same_bytes_go_out(void **state)
{
	size_t tried = 0;

	for (size_t i = 0; i < sample_count; i++) {
		struct moulds *moulds = moulds_new();
		struct nl_msg *m;

		if (!is_fit(&samples[i])) {
			moulds_free(moulds);
			continue;
		}
		m = written(samples[i].filter);
		mould_wrote(moulds, KERNEL_ADD, samples[i].filter, nlmsg_hdr(m));
		nlmsg_free(m);
		for (unsigned int n = 1; n < 9; n++) {
			struct filter *f = other(samples[i].filter, n);
			struct nl_msg *theirs = written(f), *ours = nlmsg_alloc_size(2048);

			assert_false(mould_write(moulds, KERNEL_CHANGE, f, ours));
			assert_true(mould_write(moulds, KERNEL_ADD, f, ours));
			assert_int_equal(nlmsg_hdr(ours)->nlmsg_len, nlmsg_hdr(theirs)->nlmsg_len);
			assert_memory_equal(nlmsg_hdr(ours), nlmsg_hdr(theirs),
					    nlmsg_hdr(theirs)->nlmsg_len);
			nlmsg_free(theirs);
			nlmsg_free(ours);
			object_unref(f);
			tried++;
		}
		moulds_free(moulds);
	}
	assert_in_range(tried, 200, SIZE_MAX);
}

/* A sample's mould writes another sample as the codec does, or not at all. */
static void a_mould_serves_its_own_form(void **state)
{
	for (size_t i = 0; i < sample_count; i++) {
		struct moulds *moulds = moulds_new();
		struct nl_msg *m;

		if (is_fit(&samples[i])) {
			m = written(samples[i].filter);
			mould_wrote(moulds, KERNEL_ADD, samples[i].filter, nlmsg_hdr(m));
			nlmsg_free(m);
		}
		for (size_t k = 0; k < sample_count; k++) {
			struct nl_msg *ours = nlmsg_alloc_size(2048);

			if (mould_write(moulds, KERNEL_ADD, samples[k].filter, ours)) {
				m = written(samples[k].filter);
				assert_memory_equal(nlmsg_hdr(ours), nlmsg_hdr(m),
						    nlmsg_hdr(m)->nlmsg_len);
				nlmsg_free(m);
			}
			nlmsg_free(ours);
		}
		moulds_free(moulds);
	}
}

/* Where a port stands depends on the protocol: a mould for TCP is none for UDP. */
static void what_decides_is_of_the_form(void **state)
{
	static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP };
	size_t tried = 0;

	for (size_t i = 0; i < sample_count * ARRAY_SIZE(protos); i++) {
		const struct filter *f = samples[i / ARRAY_SIZE(protos)].filter;
		uint8_t proto = 0, wanted = protos[i % ARRAY_SIZE(protos)];
		struct nl_msg *m, *ours;
		struct moulds *moulds;
		const uint8_t *value;
		struct filter *o;

		if (!match_has(filter_match(f), FIELD_SPORT) ||
		    !match_get_u8(filter_match(f), FIELD_IP_PROTO, &proto) || proto == wanted)
			continue;
		moulds = moulds_new();
		m = written(f);
		mould_wrote(moulds, KERNEL_ADD, f, nlmsg_hdr(m));
		nlmsg_free(m);
		o = filter_copy(f);
		match_get(filter_match(o), FIELD_IP_PROTO, &value, NULL);
		*(uint8_t *)(uintptr_t)value = wanted;
		ours = nlmsg_alloc_size(2048);
		assert_false(mould_write(moulds, KERNEL_ADD, o, ours));
		nlmsg_free(ours);
		object_unref(o);
		moulds_free(moulds);
		tried++;
	}
	assert_in_range(tried, 1, SIZE_MAX);
}

/* ---- answers ---- */

struct answer {
	uint8_t bytes[4096] __attribute__((aligned(8)));
};

static struct nlmsghdr *head(struct answer *a)
{
	return (struct nlmsghdr *)(void *)a->bytes;
}

static struct nlattr *find(void *data, size_t left, unsigned int type)
{
	for (struct nlattr *a = data; attr_ok(a, left);
	     a = (struct nlattr *)(uintptr_t)attr_next(a, &left))
		if (attr_type(a) == type)
			return a;
	return NULL;
}

static struct nlattr *find_in(struct nlattr *nest, unsigned int type)
{
	return find(nest + 1, attr_len(nest), type);
}

static struct nlattr *options_of(struct nlmsghdr *h)
{
	size_t before = NLMSG_HDRLEN + sizeof(struct tcmsg);

	return find((uint8_t *)h + before, h->nlmsg_len - before, TCA_OPTIONS);
}

/* What Linux told of tc's filter, as if it had been swd's: with the cookie. */
static void make_answer(const struct sample *s, struct answer *ret)
{
	struct nlattr *options, *list, *action, *cookie;
	size_t more = NLA_HDRLEN + COOKIE_SIZE;
	uint8_t *end;

	memcpy(ret->bytes, s->told.bytes, s->told.size);
	options = options_of(head(ret));
	list = find_in(options, TCA_FLOWER_ACT);
	action = find_in(list, 1);
	end = (uint8_t *)action + NLA_ALIGN(action->nla_len);
	memmove(end + more, end, (size_t)(ret->bytes + s->told.size - end));
	cookie = (struct nlattr *)(void *)end;
	*cookie = (struct nlattr){ .nla_len = (uint16_t)more, .nla_type = TCA_ACT_COOKIE };
	memcpy(cookie + 1, s->filter->cookie, COOKIE_SIZE);
	options->nla_len = (uint16_t)(options->nla_len + more);
	list->nla_len = (uint16_t)(list->nla_len + more);
	action->nla_len = (uint16_t)(action->nla_len + more);
	head(ret)->nlmsg_len += (uint32_t)more;
}

/* The same for another filter of its form: each attribute that swd sends is told with its value. */
static void change_answer(struct answer *a, const struct filter *f)
{
	struct nl_msg *m = written(f);
	struct nlattr *sent = options_of(nlmsg_hdr(m)), *told = options_of(head(a));
	struct tcmsg *tcm = nlmsg_data(head(a));
	size_t left = attr_len(sent);

	tcm->tcm_handle = f->handle;
	tcm->tcm_info = TC_H_MAKE((uint32_t)f->pref << 16, htons(f->protocol));
	for (const struct nlattr *x = sent + 1; attr_ok(x, left); x = attr_next(x, &left)) {
		struct nlattr *y = find_in(told, attr_type(x));

		/* Linux tells the innermost type, and flags of its own. */
		if (attr_type(x) != TCA_FLOWER_ACT && attr_type(x) != TCA_FLOWER_FLAGS &&
		    attr_type(x) != TCA_FLOWER_KEY_ETH_TYPE && y)
			memcpy(y + 1, x + 1, attr_len(x));
	}
	told = find_in(find_in(find_in(told, TCA_FLOWER_ACT), 1), TCA_ACT_COOKIE);
	memcpy(told + 1, f->cookie, COOKIE_SIZE);
	nlmsg_free(m);
}

static size_t all_of(const struct filter *f)
{
	return sizeof(*f) + f->action_count * sizeof(struct action) + f->match_size;
}

/* True if the mould read it; then the codec must have read the same. */
static bool read_both(struct moulds *moulds, const struct filter *f, struct answer *a)
{
	struct object *ours = NULL, *theirs = NULL;
	bool read = mould_read(moulds, f, head(a), &ours);

	if (read) {
		assert_int_equal(codec_filter.parse(head(a), &test_names, &theirs), 0);
		assert_non_null(theirs);
		assert_int_equal(all_of((struct filter *)ours), all_of((struct filter *)theirs));
		assert_memory_equal(ours, theirs, all_of((struct filter *)theirs));
		assert_true(kind_ops(KIND_FILTER)->satisfied(&f->obj, ours));
	}
	object_unref(ours);
	object_unref(theirs);
	return read;
}

/* A mould of what the codec reads in the sample's answer. */
static struct moulds *learn(const struct sample *s, struct answer *ret)
{
	struct moulds *moulds = moulds_new();
	struct object *said = NULL;

	make_answer(s, ret);
	assert_int_equal(codec_filter.parse(head(ret), &test_names, &said), 0);
	mould_was_read(moulds, s->filter, head(ret), (struct filter *)said);
	object_unref(said);
	return moulds;
}

static bool has_answer(const struct sample *s)
{
	return is_fit(s) && s->told.size > 0;
}

static void answers_are_read_as_the_codec_reads_them(void **state)
{
	size_t tried = 0;

	for (size_t i = 0; i < sample_count; i++) {
		struct answer a;
		struct moulds *moulds;

		if (!has_answer(&samples[i]))
			continue;
		moulds = learn(&samples[i], &a);
		for (unsigned int n = 1; n < 9; n++) {
			struct filter *f = other(samples[i].filter, n);
			struct filter *g = other(samples[i].filter, n + 1);

			change_answer(&a, f);
			assert_true(read_both(moulds, f, &a));
			/* Told of another. */
			assert_false(read_both(moulds, g, &a));
			object_unref(f);
			object_unref(g);
			tried++;
		}
		moulds_free(moulds);
	}
	assert_in_range(tried, 100, SIZE_MAX);
}

/* One bit is another: then the codec is asked, but where nobody looks at it. */
static void whatever_else_is_told_goes_to_the_codec(void **state)
{
	for (size_t i = 0; i < sample_count; i++) {
		size_t read = 0, unseen;
		struct moulds *moulds;
		struct answer a;

		if (!has_answer(&samples[i]))
			continue;
		moulds = learn(&samples[i], &a);
		/* Flags, sequence number and port; the number of each action. */
		unseen = 8 * (2 + 4 + 4 + 4 * samples[i].filter->action_count);
		for (size_t bit = 0; bit < 8 * (size_t)head(&a)->nlmsg_len; bit++) {
			a.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
			read += read_both(moulds, samples[i].filter, &a);
			a.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		assert_int_equal(read, unseen);
		moulds_free(moulds);
	}
}

static void what_is_not_as_wanted_makes_no_mould(void **state)
{
	for (size_t i = 0; i < sample_count; i++) {
		struct moulds *moulds = moulds_new();
		struct object *said = NULL;
		struct filter *f;
		struct answer a;

		if (!has_answer(&samples[i])) {
			moulds_free(moulds);
			continue;
		}
		make_answer(&samples[i], &a);
		f = other(samples[i].filter, 1);
		assert_int_equal(codec_filter.parse(head(&a), &test_names, &said), 0);
		mould_was_read(moulds, f, head(&a), (struct filter *)said);
		assert_false(read_both(moulds, f, &a));
		object_unref(said);
		object_unref(f);
		moulds_free(moulds);
	}
}

static void a_device_in_doubt_drops_what_names_one(void **state)
{
	size_t dropped = 0;

	for (size_t i = 0; i < sample_count; i++) {
		const struct filter *f = samples[i].filter;
		bool names = false, kept;
		struct moulds *moulds;
		struct answer a;

		if (!has_answer(&samples[i]))
			continue;
		for (size_t k = 0; k < f->action_count; k++)
			names |= filter_actions(f)[k].kind == ACTION_REDIRECT ||
				 filter_actions(f)[k].kind == ACTION_MIRROR;
		moulds = learn(&samples[i], &a);
		assert_true(read_both(moulds, f, &a));
		moulds_doubt_devices(moulds);
		kept = read_both(moulds, f, &a);
		assert_int_equal(kept, !names);
		dropped += !kept;
		moulds_clear(moulds);
		assert_false(read_both(moulds, f, &a));
		moulds_free(moulds);
	}
	assert_in_range(dropped, 1, SIZE_MAX);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_bytes_go_out),
		cmocka_unit_test(a_mould_serves_its_own_form),
		cmocka_unit_test(what_decides_is_of_the_form),
		cmocka_unit_test(answers_are_read_as_the_codec_reads_them),
		cmocka_unit_test(whatever_else_is_told_goes_to_the_codec),
		cmocka_unit_test(what_is_not_as_wanted_makes_no_mould),
		cmocka_unit_test(a_device_in_doubt_drops_what_names_one),
	};
	int r;

	samples = argc > 1 ? samples_load(argv[1], &sample_count) : NULL;
	if (!samples)
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	samples_free(samples, sample_count);
	return r;
}
