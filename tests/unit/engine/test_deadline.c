// SPDX-License-Identifier: GPL-2.0-or-later
/* A deadline by two clocks: a wall clock that is set does not move it, a reboot does not stop it.
 */
#include "../check.h"

#include "daemon/engine/deadline.h"

#define S 1000000000ULL

static const struct moment start = { "boot 1", 100 * S, 1700000000 * S };
static struct deadline d;

static int setup(void **state)
{
	deadline_begin(&d, 8, 60000, &start);
	return 0;
}

static uint64_t left_s(const char *boot, uint64_t boot_s, int64_t wall_s)
{
	struct moment now = { .boot_ns = boot_s * S, .wall_ns = (uint64_t)wall_s * S };

	strcpy(now.boot, boot);
	return deadline_left(&d, &now) / S;
}

static void the_same_boot_counts_by_its_own_clock(void **state)
{
	assert_int_equal(left_s("boot 1", 100, 1700000000), 60);
	assert_int_equal(left_s("boot 1", 140, 1700000040), 20);
	assert_int_equal(left_s("boot 1", 140, 1800000000), 20); /* set far ahead */
	assert_int_equal(left_s("boot 1", 140, 0), 20);		 /* and back to 1970 */
	assert_int_equal(left_s("boot 1", 160, 1700000060), 0);
	assert_int_equal(left_s("boot 1", 100000, 0), 0);
}

static void over_a_reboot_the_wall_clock_counts(void **state)
{
	assert_int_equal(left_s("boot 2", 5, 1700000040), 20);
	assert_int_equal(left_s("boot 2", 5, 1700000060), 0);
	assert_int_equal(left_s("boot 2", 500, 1700000040), 20); /* uptime means nothing */
	/* A clock that fell back, as without a battery: never longer than it was given. */
	assert_int_equal(left_s("boot 2", 5, 0), 60);
}

/* Without a name for the boot it might be any: the wall clock then, on both sides. */
static void an_unknown_boot_is_another(void **state)
{
	struct moment nameless = start;

	nameless.boot[0] = '\0';
	deadline_begin(&d, 8, 60000, &nameless);
	assert_int_equal(left_s("", 5, 1700000040), 20);
	assert_int_equal(left_s("", 100000, 1700000040), 20);
}

static void rebase_follows_the_clocks(void **state)
{
	struct moment now = { "boot 1", 130 * S, 1700000030 * S };

	assert_false(deadline_rebase(&d, &now));
	now.wall_ns += S / 2; /* NTP slews */
	assert_false(deadline_rebase(&d, &now));
	/* Set an hour ahead: a reboot must not take that for an hour that went by. */
	now.wall_ns += 3600 * S;
	assert_true(deadline_rebase(&d, &now));
	assert_false(deadline_rebase(&d, &now));
	assert_int_equal(left_s("boot 1", 130, 1700003630), 30);
	assert_int_equal(left_s("boot 2", 4, 1700003640), 20);
	/* After a reboot it is one of that boot. */
	now = (struct moment){ "boot 2", 4 * S, 1700003640 * S };
	assert_true(deadline_rebase(&d, &now));
	assert_int_equal(left_s("boot 2", 14, 0), 10);
	assert_int_equal(d.generation, 8);
	assert_int_equal(d.confirm_ms, 60000);
}

static void moments_come_from_the_kernel(void **state)
{
	struct moment a, b;

	clock_now(&a);
	usleep(2000);
	clock_now(&b);
	assert_int_equal(strlen(a.boot), 36);
	assert_string_equal(a.boot, b.boot);
	assert_true(b.boot_ns >= a.boot_ns + 2000000);
	assert_true(b.wall_ns > 1600000000 * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_same_boot_counts_by_its_own_clock, setup),
		cmocka_unit_test_setup(over_a_reboot_the_wall_clock_counts, setup),
		cmocka_unit_test_setup(an_unknown_boot_is_another, setup),
		cmocka_unit_test_setup(rebase_follows_the_clocks, setup),
		cmocka_unit_test(moments_come_from_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
