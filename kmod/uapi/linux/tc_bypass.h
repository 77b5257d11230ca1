/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef _UAPI_LINUX_TC_BYPASS_H
#define _UAPI_LINUX_TC_BYPASS_H

/* Which tc filter blocks packets pass by, unclassified, because hardware has
 * all of their filters; and why not, where they do not. A generic netlink
 * family. Everyone may ask, each network namespace sees its own blocks.
 *
 * A block is listed while a qdisc is bound to it, if it is shared or the block
 * of an ingress or clsact qdisc. The blocks of other qdiscs' classes are never
 * bypassed and never listed.
 */

#define TC_BYPASS_GENL_NAME "tc_bypass"
#define TC_BYPASS_GENL_VERSION 1
#define TC_BYPASS_GENL_MCGRP_CHANGES "changes"

/**
 * enum tc_bypass_cmd - commands and notifications
 * @TC_BYPASS_CMD_UNSPEC: unused
 * @TC_BYPASS_CMD_GET: with NLM_F_DUMP all blocks, in the order of their ID.
 *	Without it one block: give TC_BYPASS_A_BLOCK, or TC_BYPASS_A_IFINDEX and
 *	TC_BYPASS_A_PARENT of a place (0xfffffff2 is ingress, 0xfffffff3 egress)
 *	to get the block that is bound there, shared or not. -ENOENT: there is
 *	none. Answers do not wait for rtnl.
 * @TC_BYPASS_CMD_CHANGED: to the group "changes": BYPASSED is another than
 *	before, or a qdisc was bound to the block or left it. Sent once for a
 *	request that changes many filters, and before the request is answered.
 *	The same attributes as the answer to a GET.
 * @TC_BYPASS_CMD_GONE: to the group "changes": no qdisc is bound to the block
 *	any more; its filters are removed. Says which block it was, GENERATION
 *	and PACKETS.
 */
enum tc_bypass_cmd {
	TC_BYPASS_CMD_UNSPEC,
	TC_BYPASS_CMD_GET,
	TC_BYPASS_CMD_CHANGED,
	TC_BYPASS_CMD_GONE,

	__TC_BYPASS_CMD_MAX,
	TC_BYPASS_CMD_MAX = __TC_BYPASS_CMD_MAX - 1,
};

/**
 * enum tc_bypass_attr - attributes
 * @TC_BYPASS_A_UNSPEC: unused
 * @TC_BYPASS_A_PAD: aligns 64-bit values
 * @TC_BYPASS_A_ID: u64, names a block for as long as it lives; never used twice
 * @TC_BYPASS_A_BLOCK: u32, index of a shared block; absent for others
 * @TC_BYPASS_A_IFINDEX: u32, device: of a block that is not shared, of a member
 * @TC_BYPASS_A_PARENT: u32, what tcm_parent of a filter is there
 * @TC_BYPASS_A_DIRECTION: u8, enum tc_bypass_direction
 * @TC_BYPASS_A_MEMBERS: u32, number of qdiscs bound to the block (a clsact that
 *	binds it in both directions is two)
 * @TC_BYPASS_A_MEMBER: nested, for each member: IFINDEX, PARENT, DIRECTION. In
 *	a dump these are left out of a block whose members do not fit into a
 *	message; MEMBERS is right all the same, and a GET of the block has them.
 * @TC_BYPASS_A_FILTERS: u32, filters in all chains. Hash tables of u32 are not
 *	filters. Classifiers that cannot be offloaded (all but bpf, flower,
 *	matchall and u32) are counted by pref: one, that needs software.
 * @TC_BYPASS_A_SW_FILTERS: u32, those of them that need software: all that are
 *	not skip_sw. While there is one, the block is not bypassed.
 * @TC_BYPASS_A_DEAD_FILTERS: u32, those of them that are skip_sw and in no
 *	hardware. They match no packet at all, bypass or not.
 * @TC_BYPASS_A_BYPASSED: u8, 1 if packets pass by the block. An empty block is
 *	bypassed.
 * @TC_BYPASS_A_PACKETS: u64, packets that passed by since the block was made.
 *	They are not in the counters of the qdisc. Packets that find chain 0 of
 *	the block without a filter are in neither.
 * @TC_BYPASS_A_GENERATION: u32, how often BYPASSED has changed; who sees a gap
 *	has missed a change
 */
enum tc_bypass_attr {
	TC_BYPASS_A_UNSPEC,
	TC_BYPASS_A_PAD,
	TC_BYPASS_A_ID,
	TC_BYPASS_A_BLOCK,
	TC_BYPASS_A_IFINDEX,
	TC_BYPASS_A_PARENT,
	TC_BYPASS_A_DIRECTION,
	TC_BYPASS_A_MEMBERS,
	TC_BYPASS_A_MEMBER,
	TC_BYPASS_A_FILTERS,
	TC_BYPASS_A_SW_FILTERS,
	TC_BYPASS_A_DEAD_FILTERS,
	TC_BYPASS_A_BYPASSED,
	TC_BYPASS_A_PACKETS,
	TC_BYPASS_A_GENERATION,

	__TC_BYPASS_A_MAX,
	TC_BYPASS_A_MAX = __TC_BYPASS_A_MAX - 1,
};

/**
 * enum tc_bypass_direction - where a block is asked
 * @TC_BYPASS_DIRECTION_OTHER: neither of these, like a qevent of RED; packets
 *	there never bypass the block
 * @TC_BYPASS_DIRECTION_INGRESS: for packets received
 * @TC_BYPASS_DIRECTION_EGRESS: for packets sent
 */
enum tc_bypass_direction {
	TC_BYPASS_DIRECTION_OTHER,
	TC_BYPASS_DIRECTION_INGRESS,
	TC_BYPASS_DIRECTION_EGRESS,
};

#endif /* _UAPI_LINUX_TC_BYPASS_H */
