/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * readback: the last look before a filter is removed or replaced. Others may have deleted ours and
 * put one of their own at its key since we saw it, and Linux deletes by key alone. What is still
 * open is the moment between this look and the request, for which the kernel has no word.
 */
#ifndef SWD_KERNEL_READBACK_H
#define SWD_KERNEL_READBACK_H

#include "daemon/kernel/kernel.h"

/* True for a request that is not to be sent before the last look. */
bool readback_needed(const struct kernel_request *r);
/*
 * Looks for those of the n requests that need it, many questions in one send, and settles each that
 * is not to be sent: what kernel.h says of it. The others are left as they are. 0, or -errno if the
 * socket failed.
 */
int readback(struct kernel *k, struct kernel_request *list, size_t n);
/* True if the request may go on, as far as readback() knows. */
bool readback_passed(const struct kernel_request *r);

#endif
