// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/cmd.h"

int main(int argc, char **argv)
{
	return cmd_main(argc, argv);
}
