# SPDX-License-Identifier: GPL-2.0-or-later
"""Published figures that ours stand beside: (before, after).

BYPASS, in kpps: "net/sched: make skip_sw actually skip software", router on a stick, Xeon D-1518 2.2 GHz, ConnectX-6 Dx
2x100G, 64-byte packets: https://lore.kernel.org/netdev/20240306165813.656931-1-ast@fiberby.net/
"""

BYPASS = {
    ("no-qdisc", 0): (3589.3, 3587.9),
    ("empty", 0): (3042.9, 3063.6),
    ("hardware", 1): (37024.7, 37028.4),
    ("software", 1): (3245.0, 3245.3),
    ("none-match", 1): (2694.7, 3058.7), ("none-match", 5): (1958.2, 3061.3),
    ("none-match", 10): (1466.3, 3062.8), ("none-match", 25): (838.5, 3058.9),
    ("none-match", 50): (488.1, 3054.7),
    ("trap", 1): (2611.2, 3323.1), ("trap", 5): (1911.9, 3327.0), ("trap", 10): (1444.3, 3317.9),
    ("trap", 25): (824.5, 3323.1), ("trap", 50): (484.9, 3318.5),
    ("no-chain", 1): (2886.8, 2945.9), ("no-chain", 5): (2883.1, 2947.5),
    ("no-chain", 10): (2883.1, 2939.5), ("no-chain", 25): (2875.8, 2944.7),
    ("no-chain", 50): (2884.1, 2939.7),
}

# An array instead of the walk over a DSA tree's ports, LS1028A, 2 ports, 64-byte UDP forwarding.
DSA = (684.0, 650.0)

# trafgen, one CPU, PACKET_QDISC_BYPASS with a flush every 8 frames and for each: (before, after) in pps,
# and the same through the qdisc. What is saved makes the doorbell some 53 ns.
RING = (1562539, 1683746)
RING_CASE = (53, 8)     # ns, frames
RING_QDISC = (1371307, 1345999)

# In pps: "net/sched: retpoline wrappers for tc", pktgen with 64-byte UDP on a dummy device with clsact and
# that many matchall filters. A Ryzen 9 5950X (Zen 3) uses retpolines; of a Xeon 6230R, which has IBRS and
# uses none, only the change is known.
DIRECT = {1: (4237838, 4412241), 100: (313469, 633303)}
DIRECT_NO_RETPOLINES = {1: 1.0, 100: 0.979}
