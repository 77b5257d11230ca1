// SPDX-License-Identifier: GPL-2.0-or-later
/* When which port is measured: see turns.h. Times in seconds. */
#include "../check.h"

#include "config/base/util.h"
#include "daemon/engine/turns.h"

#define S 1000000000ULL

static const struct turns_pace pace = { 60 * S, 3600 * S };

static uint64_t due(const struct turns *t, const char *dev)
{
	return turns_find(t, dev)->due_ns / S;
}

static void each_try_in_vain_doubles_the_wait(void **state)
{
	static const uint64_t waits[] = { 60, 120, 240, 480, 960, 1920, 3600, 3600 };
	struct turns t = { 0 };
	uint64_t now = 1000;

	assert_int_equal(turns_begin(&t, "a", now * S), 0);
	assert_int_equal(due(&t, "a"), 1000);
	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		assert_int_equal(turns_vain(&t, "a", now * S, &pace, "others use it"), 0);
		assert_int_equal(due(&t, "a"), now + waits[i]);
		now += waits[i];
	}
	/* It has one already. */
	assert_int_equal(turns_begin(&t, "a", 0), 0);
	assert_int_equal(due(&t, "a"), now);
	assert_string_equal(turns_find(&t, "a")->why, "others use it");
	/* Once it was well it begins anew. */
	turns_end(&t, "a");
	assert_null(turns_find(&t, "a"));
	assert_int_equal(turns_vain(&t, "a", now * S, &pace, "x"), 0);
	assert_int_equal(due(&t, "a"), now + 60);
	turns_clear(&t);
}

/* After so many years the doubling must not go round. */
static void there_is_a_limit(void **state)
{
	struct turns t = { 0 };

	for (int i = 0; i < 200; i++)
		turns_vain(&t, "a", 5 * S, &pace, "");
	assert_int_equal(due(&t, "a"), 3605);
	turns_clear(&t);
}

static void news_bring_it_forward(void **state)
{
	struct turns t = { 0 };

	turns_hasten(&t, "nobody", 7 * S);
	assert_int_equal(t.count, 0);
	turns_begin(&t, "a", 500 * S);
	turns_hasten(&t, "a", 100 * S);
	assert_int_equal(due(&t, "a"), 102);
	/* Never back. */
	turns_hasten(&t, "a", 101 * S);
	assert_int_equal(due(&t, "a"), 102);
	/* Not close to the last try, however often there are news. */
	for (int i = 0; i < 5; i++)
		turns_vain(&t, "a", 102 * S, &pace, "");
	turns_hasten(&t, "a", 103 * S);
	assert_int_equal(due(&t, "a"), 132);
	turns_clear(&t);
}

static void each_has_its_own(void **state)
{
	struct turns t = { 0 }, copy = { 0 };

	turns_begin(&t, "a", 1 * S);
	turns_begin(&t, "b", 2 * S);
	turns_begin(&t, "c", 3 * S);
	assert_int_equal(turns_copy(&t, &copy), 0);
	turns_end(&t, "a");
	turns_end(&t, "nobody");
	assert_int_equal(due(&t, "b"), 2);
	assert_int_equal(due(&t, "c"), 3);
	assert_int_equal(t.count, 2);
	assert_int_equal(due(&copy, "a"), 1);
	turns_clear(&t);
	turns_clear(&copy);
	assert_int_equal(turns_copy(&t, &copy), 0);
	assert_null(turns_find(&copy, "a"));
	turns_clear(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_try_in_vain_doubles_the_wait),
		cmocka_unit_test(there_is_a_limit),
		cmocka_unit_test(news_bring_it_forward),
		cmocka_unit_test(each_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
