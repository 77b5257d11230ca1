// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Capabilities belong to a thread, and glibc has no word for them: see privilege.h.
 */
#include "daemon/kernel/privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int privilege_drop(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
	const unsigned int mask = ~CAP_TO_MASK(CAP_SYS_ADMIN);
	const int at = CAP_TO_INDEX(CAP_SYS_ADMIN);

	/* Under the unit this is refused and not needed: with NoNewPrivileges no program gets more
	 * than is permitted now. */
	prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0);
	if (syscall(SYS_capget, &head, sets) < 0)
		return -errno;
	sets[at].effective &= mask;
	sets[at].permitted &= mask;
	sets[at].inheritable &= mask; /* what is not inheritable is not ambient either */
	return syscall(SYS_capset, &head, sets) < 0 ? -errno : 0;
}
