/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * privilege: what a thread may do to the kernel, and gives up. CAP_SYS_ADMIN is there for the
 * bypass probe's network namespace alone; each thread that has it drops it as soon as it will start
 * no probe any more.
 */
#ifndef SWD_KERNEL_PRIVILEGE_H
#define SWD_KERNEL_PRIVILEGE_H

/*
 * Takes CAP_SYS_ADMIN from the calling thread, for good: effective, permitted, inheritable and
 * ambient; and from its bounding set if it may change that (CAP_SETPCAP). Threads that it starts
 * have it no more. 0 or -errno.
 */
int privilege_drop(void);

#endif
