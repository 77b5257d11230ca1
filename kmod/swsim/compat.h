/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only place where the two kernels we build for, 6.1 and 6.12, are told apart. Everybody else
 * includes this through swsim.h and uses one name for one thing.
 */
#ifndef SWSIM_COMPAT_H
#define SWSIM_COMPAT_H

#include <linux/netdevice.h>
#include <linux/version.h>
#include <net/dsa.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* DSA renamed its two ends in 6.7: slave became user, master became conduit. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
#define swsim_dsa_user(dp) ((dp)->user)
#define swsim_cpu_conduit(cpu_dp) ((cpu_dp)->conduit)
#define swsim_change_conduit_op port_change_conduit
#else
#define swsim_dsa_user(dp) ((dp)->slave)
#define swsim_cpu_conduit(cpu_dp) ((cpu_dp)->master)
#define swsim_change_conduit_op port_change_master
#endif

/* Transmit without the queue lock: a feature flag until 6.11, a bit of the device since 6.12. */
static inline void swsim_set_lltx(struct net_device *dev)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	dev->lltx = true;
#else
	dev->features |= NETIF_F_LLTX;
#endif
}

/* platform_driver.remove returns nothing since 6.11; before, its int was ignored. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define SWSIM_REMOVE_TYPE void
#define SWSIM_REMOVE_DONE return
#else
#define SWSIM_REMOVE_TYPE int
#define SWSIM_REMOVE_DONE return 0
#endif

#endif
