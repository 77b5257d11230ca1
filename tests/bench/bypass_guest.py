#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of `bypass` that runs in the guest: prints one JSON line a case, with its samples.

A router on a stick: frames for VLAN 10 are received on sim0 and routed out of its VLAN 20. Each case is a
block of its own, held by a port of its own, so that its rules stay; a run binds one block to sim0. All
cases take turns, round after round, in one boot.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from benchkit.pktgen import Injector        # noqa: E402

SIZES = (1, 5, 10, 25, 50)
LARGE = (1000, 10000)
RUN_NS = 100e6          # how long one run should take: short ones, many of them
SHORTCUT = "filter add block {block} pref 1 protocol all matchall skip_hw action ok\n"
# Needs software, and no frame of ours ever reaches it: what is left is the cost of no bypass.
SPOILER = "filter add block {block} pref 65000 protocol 0x9999 flower skip_hw action ok\n"


def tc(batch):
    done = subprocess.run(["tc", "-batch", "-"], input=batch, text=True, capture_output=True,
                          check=False)
    if done.returncode:
        sys.exit(f"tc: {done.stderr.strip().splitlines()[:3]}")


def sh(command):
    subprocess.run(command, shell=True, check=True)


def rule(block, pref, match, action):
    # Behind the tag: frames arrive with VLAN 10.
    return (f"filter add block {block} chain 0 pref {pref} protocol 802.1q flower skip_sw "
            f"vlan_ethtype ip {match} action {action}\n")


def rules(case, n, block):
    """n skip_sw rules in as many prefs, in front of which the shortcut has room."""
    first = {"none-match": rule(block, 2, "dst_ip 10.99.0.1/32", "drop"),
             "trap": rule(block, 2, "dst_ip 10.2.0.9/32", "trap"),
             "no-chain": rule(block, 2, "dst_ip 10.2.0.9/32", "goto chain 7")}[case]
    batch = [first]
    for i in range(1, n):
        batch.append(rule(block, i + 2, f"dst_ip 10.{100 + (i >> 16)}.{i >> 8 & 255}.{i & 255}/"
                          f"{32 - i % 8 if i & 255 == 0 else 32}", "drop"))
    return "".join(batch)


class Case:
    def __init__(self, strategy, case, count):
        self.strategy, self.case, self.rules = strategy, case, count
        self.block = None
        self.samples = []
        self.frames = 500

    def build(self, block):
        self.block = block
        batch = f"qdisc add dev sim{block} ingress_block {block} clsact\n"
        if self.case == "software":
            batch += (f"filter add block {block} pref 2 protocol 802.1q flower skip_hw vlan_id 10 "
                      "action vlan modify id 20 pipe action mirred egress redirect dev sim0\n")
        elif self.case != "empty":
            spoiled = self.strategy == "none" and args.bypasses
            batch += rules(self.case, self.rules - spoiled, block) if self.rules > spoiled else ""
            if spoiled:
                batch += SPOILER.format(block=block)
            if self.strategy == "shortcut":
                batch += SHORTCUT.format(block=block)
        tc(batch)

    def run(self, injector):
        if self.block:
            tc(f"qdisc add dev sim0 ingress_block {self.block} clsact\n")
        try:
            kpps, ns = injector.run(self.frames)
        finally:
            if self.block:
                tc("qdisc del dev sim0 clsact\n")
        self.frames = max(500, min(2000000, int(RUN_NS / ns)))
        return kpps


def cases():
    """no-qdisc and empty are what others are compared with, so they are there once."""
    yield Case("none", "no-qdisc", 0)
    yield Case("none", "empty", 0)
    if not args.quick:
        yield Case("none", "software", 1)
    for strategy in args.strategies.split(","):
        for case in ("none-match", "trap", "no-chain"):
            large = LARGE if case != "no-chain" and not args.quick else ()
            for n in (SIZES + large) if not args.quick else (1, 50):
                yield Case(strategy, case, n)


def set_up(ports):
    sh(f"modprobe swsim nics={ports}")
    # Its wire is up, so that frames really leave; nobody listens there.
    sh("modprobe pktgen 2>/dev/null; for w in sim0w sim0; do ip link set $w up; done")
    sh("ip link add link sim0 name sim0.10 type vlan id 10; ip link set sim0.10 up;"
       "ip link add link sim0 name sim0.20 type vlan id 20; ip link set sim0.20 up;"
       "ip addr add 10.1.0.1/24 dev sim0.10; ip addr add 10.2.0.1/24 dev sim0.20;"
       "ip neigh add 10.2.0.9 lladdr 02:00:00:00:00:09 dev sim0.20 nud permanent;"
       "echo 1 > /proc/sys/net/ipv4/ip_forward")
    mac = Path("/sys/class/net/sim0/address").read_text().strip()
    return Injector("sim0", ["pkt_size 60", "dst 10.2.0.9", "src_min 10.1.0.9", "src_max 10.1.0.9",
                             f"dst_mac {mac}", "vlan_id 10"])


def forwarded():
    return int(Path("/sys/class/net/sim0/statistics/tx_packets").read_text())


def main():
    todo = list(cases())
    injector = set_up(len(todo) + 1)
    before = forwarded()
    injector.run(1000)
    sent = forwarded() - before     # a few more: the stack says hello on its new links
    if sent < 1000:
        sys.exit(f"only {sent} of 1000 frames were forwarded: nothing to measure")
    block = 0
    for case in todo:
        if case.case != "no-qdisc":
            block += 1
            case.build(block)
    for case in todo:               # finds each case's number of frames, and warms up
        case.run(injector)
        case.run(injector)
    for _ in range(args.runs):
        for case in todo:
            case.samples.append(round(case.run(injector), 2))
    for case in todo:
        print(json.dumps({"strategy": case.strategy, "case": case.case, "rules": case.rules,
                          "samples": case.samples}), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--strategies", required=True, help="none, shortcut, kernel: which to measure")
    parser.add_argument("--bypasses", action="store_true",
                        help="the kernel has a bypass: `none` has to spoil it")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    main()
