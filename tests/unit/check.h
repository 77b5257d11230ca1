/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every unit test includes: cmocka wants these four in front of it. */
#ifndef SWD_TESTS_UNIT_CHECK_H
#define SWD_TESTS_UNIT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
