/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects, their kinds, and the ordered sets that own them. */
#include "tests/unit/check.h"

#include <errno.h>

#include "config/base/jsonw.h"
#include "config/model/config.h"

static struct filter *make_filter(uint32_t block, uint16_t pref, uint32_t handle)
{
	struct match m = { 0 };
	struct action drop = { .kind = ACTION_DROP };
	struct filter *f;

	match_set_u16(&m, FIELD_DPORT, pref);
	f = filter_new(match_view(&m), &drop, 1);
	assert_non_null(f);
	f->block = block;
	f->pref = pref;
	f->protocol = 0x0800;
	f->handle = handle;
	return f;
}

static void test_every_kind_has_its_row(void **state)
{
	for (size_t kind = 0; kind < KIND_COUNT_; kind++) {
		const struct kind_ops *ops = kind_ops((enum kind)kind);

		assert_non_null(ops);
		assert_non_null(ops->name);
		assert_non_null(ops->compare);
		assert_non_null(ops->satisfied);
		assert_non_null(ops->label);
		assert_non_null(ops->json);
	}
}

/* The same random walk over a state and over a plain array of flags. */
static void test_state_is_an_ordered_set(void **state)
{
	_cleanup_(state_freep) struct state *s = state_new();
	bool there[500] = { false };
	unsigned int seed = 1;
	size_t count = 0;

	for (int i = 0; i < 20000; i++) {
		uint16_t pref;
		struct filter *f;
		bool was;

		seed = seed * 1103515245u + 12345u;
		pref = (uint16_t)(seed >> 16) % ARRAY_SIZE(there);
		was = there[pref];
		f = make_filter(7, pref, 1);
		switch ((seed >> 8) % 3) {
		case 0:
			if (state_add(s, f, NULL) == -EEXIST) {
				assert_true(was);
				object_unref(f);
			}
			there[pref] = true;
			break;
		case 1:
			assert_int_equal(state_put(s, f), 0);
			there[pref] = true;
			break;
		default:
			assert_int_equal(state_remove(s, f), was);
			object_unref(f);
			there[pref] = false;
		}
		count += (size_t)there[pref] - (size_t)was;
		assert_int_equal(state_count(s, KIND_FILTER), count);
	}
	for (size_t pref = 0, at = 0; pref < ARRAY_SIZE(there); pref++) {
		const struct filter *f;

		if (!there[pref])
			continue;
		f = state_at(s, KIND_FILTER, at++);
		assert_int_equal(f->pref, pref);
	}
}

static void test_copies_share_objects(void **state)
{
	struct state *s = state_new();
	_cleanup_(state_freep) struct state *copy = NULL;
	struct filter *f = make_filter(1, 1, 1);

	assert_int_equal(state_add(s, f, NULL), 0);
	copy = state_copy(s);
	assert_ptr_equal(state_at(copy, KIND_FILTER, 0), f);
	assert_int_equal(f->obj.refs, 1); /* the place is shared, until one of them changes it */
	assert_int_equal(state_add(copy, make_filter(1, 2, 1), NULL), 0);
	assert_int_equal(f->obj.refs, 2);
	state_free(s);
	assert_int_equal(f->obj.refs, 1);
	assert_int_equal(state_count(copy, KIND_FILTER), 2);
}

/* What a copy holds is what the state held then, whatever happens to either of them. */
static void test_copies_stay_as_they_were(void **state)
{
	enum {
		KEYS = 3000,
		COPIES = 8
	};
	_cleanup_(state_freep) struct state *s = state_new();
	struct state *copies[COPIES] = { NULL };
	static bool there[KEYS], then[COPIES][KEYS];
	unsigned int seed = 7;

	for (size_t i = 0; i < 40000; i++) {
		uint16_t pref;
		struct filter *f;

		if (i % 5000 == 4999) {
			copies[i / 5000] = state_copy(s);
			memcpy(then[i / 5000], there, sizeof(there));
		}
		seed = seed * 1103515245u + 12345u;
		pref = (uint16_t)((seed >> 8) % KEYS);
		f = make_filter(7, pref, 1);
		if (there[pref] && seed >> 31) {
			assert_int_equal(state_remove(s, f), 1);
			object_unref(f);
			there[pref] = false;
		} else {
			assert_int_equal(state_put(s, f), 0);
			there[pref] = true;
		}
	}
	state_clear_kind(s, KIND_FILTER);
	for (size_t c = 0; c < COPIES; c++) {
		size_t at = 0;

		for (size_t pref = 0; pref < KEYS; pref++) {
			struct filter key = { .obj.kind = KIND_FILTER,
					      .block = 7,
					      .protocol = 0x0800,
					      .pref = (uint16_t)pref,
					      .handle = 1 };

			assert_true((state_find(copies[c], &key) != NULL) == then[c][pref]);
			if (then[c][pref])
				assert_int_equal(((const struct filter *)state_at(
							  copies[c], KIND_FILTER, at++))
							 ->pref,
						 pref);
		}
		assert_int_equal(state_count(copies[c], KIND_FILTER), at);
		state_free(copies[c]);
	}
}

static void test_filters_of_a_block(void **state)
{
	_cleanup_(state_freep) struct state *s = state_new();
	size_t first, end;

	for (uint32_t block = 9; block < 12; block++)
		for (uint16_t pref = 1; pref <= block; pref++)
			assert_int_equal(state_add(s, make_filter(block, pref, 1), NULL), 0);
	assert_int_equal(state_add(s, make_filter(UINT32_MAX, 1, 1), NULL), 0);
	state_block_filters(s, 10, &first, &end);
	assert_int_equal(first, 9);
	assert_int_equal(end, 19);
	state_block_filters(s, UINT32_MAX, &first, &end);
	assert_int_equal(end - first, 1);
	state_block_filters(s, 5, &first, &end);
	assert_int_equal(first, end);
}

static void test_filter_key_is_not_its_content(void **state)
{
	_cleanup_object_ struct filter *a = make_filter(1, 5, 1), *b = make_filter(1, 5, 1);
	_cleanup_object_ struct filter *other = filter_copy(a);

	const struct kind_ops *ops = kind_ops(KIND_FILTER);

	assert_true(ops->satisfied(&a->obj, &b->obj));
	b->flags = TCA_CLS_FLAGS_IN_HW; /* what only the kernel says does not count */
	assert_true(ops->satisfied(&a->obj, &b->obj));
	b->flags = TCA_CLS_FLAGS_SKIP_SW;
	assert_false(ops->satisfied(&a->obj, &b->obj));
	assert_int_equal(ops->compare(&a->obj, &b->obj), 0);
	other->handle = 2;
	assert_int_not_equal(ops->compare(&a->obj, &other->obj), 0);
}

static void test_presence_is_not_value(void **state)
{
	struct port wanted = { .obj.kind = KIND_PORT, .name = "lan1" };
	struct port found = { .obj.kind = KIND_PORT, .name = "lan1", .up = 1, .mtu = 1500 };
	const struct kind_ops *ops = kind_ops(KIND_PORT);

	assert_true(ops->satisfied(&wanted.obj, &found.obj));
	wanted.has = PORT_HAS_UP;
	assert_false(ops->satisfied(&wanted.obj, &found.obj));
	wanted.up = 1;
	wanted.has |= PORT_HAS_MTU;
	assert_false(ops->satisfied(&wanted.obj, &found.obj));
	wanted.mtu = 1500;
	assert_true(ops->satisfied(&wanted.obj, &found.obj));
}

static void test_labels_and_json_of_all_kinds(void **state)
{
	for (size_t kind = 0; kind < KIND_COUNT_; kind++) {
		_cleanup_object_ struct object *o = object_new((enum kind)kind, 1024);
		_cleanup_(jsonw_freep) struct jsonw *w = jsonw_new();
		_cleanup_free_ char *text = NULL;
		char label[OBJECT_LABEL];

		object_label(o, label);
		assert_true(strlen(label) > 3);
		kind_ops((enum kind)kind)->json(o, w);
		assert_int_equal(jsonw_take(w, &text, NULL), 0);
		assert_int_equal(text[0], '{');
	}
}

static void test_rule_holds_its_parts(void **state)
{
	struct match m = { 0 };
	struct action list[] = { { .kind = ACTION_DEC_TTL },
				 { .kind = ACTION_REDIRECT, .dev = "lan2" } };
	_cleanup_object_ struct rule *r = NULL;

	match_set_u8(&m, FIELD_IP_PROTO, 6);
	r = rule_new(match_view(&m), list, ARRAY_SIZE(list));
	assert_non_null(r);
	assert_memory_equal(rule_actions(r), list, sizeof(list));
	assert_int_equal(match_compare(rule_match(r), match_view(&m)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_has_its_row),
		cmocka_unit_test(test_state_is_an_ordered_set),
		cmocka_unit_test(test_copies_share_objects),
		cmocka_unit_test(test_copies_stay_as_they_were),
		cmocka_unit_test(test_filters_of_a_block),
		cmocka_unit_test(test_filter_key_is_not_its_content),
		cmocka_unit_test(test_presence_is_not_value),
		cmocka_unit_test(test_labels_and_json_of_all_kinds),
		cmocka_unit_test(test_rule_holds_its_parts),
	};

	return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
