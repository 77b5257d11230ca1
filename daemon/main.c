// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The door. Everything behind it is a static library, so that tests link what users run.
 */
#include "daemon/swd.h"

int main(int argc, char **argv)
{
	return swd_main(argc, argv);
}
