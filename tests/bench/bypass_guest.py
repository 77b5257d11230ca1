#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of `bypass` that runs in the guest: prints one JSON line a case, with its samples.

A router on a stick: frames for VLAN 10 are received on sim0 and routed out of its VLAN 20. Each case is a
block of its own, held by a port of its own, so that its rules stay; a run binds one block to sim0.

A virtual machine's speed drifts by more than what is looked for here. So each run of a case has a run of
what it is compared with right beside it, before or behind it by chance; runs are short and many; and in
each round the cases take turns in another order. What a bypass costs is a matter of one percent, what
none costs is not: cases without one are in every third round only.
"""
import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lab")]

from inject import Injector        # noqa: E402
from frames import UDP, ETH_P_IP, eth, ipv4, udp     # noqa: E402

SIZES = (1, 5, 10, 25, 50)
LARGE = (1000, 10000)
RUN_NS = 20e6           # how long one run should take
FEWEST = 16             # frames of a run, however slow the case
RARELY = 3              # of how many rounds a case without bypass is in one, if it gets 5 runs so
CHAIN = 7               # the chain that no-chain's first rule goes to, and that has no rules
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
             "no-chain": rule(block, 2, "dst_ip 10.2.0.9/32", f"goto chain {CHAIN}")}[case]
    batch = [first]
    for i in range(1, n):
        batch.append(rule(block, i + 2, f"dst_ip 10.{100 + (i >> 16)}.{i >> 8 & 255}.{i & 255}/"
                          f"{32 - i % 8 if i & 255 == 0 else 32}", "drop"))
    return "".join(batch)


class Case:
    def __init__(self, strategy, case, count, chain=0):
        self.strategy, self.case, self.rules, self.chain = strategy, case, count, chain
        self.block = None
        self.frames = FEWEST
        self.samples = []
        self.beside = None      # the case that it is compared with, and that one's samples
        self.beside_samples = []

    def build(self, block):
        self.block = block
        batch = f"qdisc add dev sim{block} ingress_block {block} clsact\n"
        if self.case == "software":
            batch += (f"filter add block {block} pref 2 protocol 802.1q flower skip_hw vlan_id 10 "
                      "action vlan modify id 20 pipe action mirred egress redirect dev sim0\n")
        elif self.case != "empty":
            spoiled = self.strategy == "none" and args.bypasses
            # The spoiler is one of the rules that are asked; frames in another chain ask none of them.
            count = self.rules - (spoiled and self.case != "no-chain")
            batch += rules(self.case, count, block) if count else ""
            if spoiled:
                batch += SPOILER.format(block=block)
            if self.strategy == "shortcut":
                batch += SHORTCUT.format(block=block)
        tc(batch)

    def run(self, injector):
        """kpps of one run."""
        if self.block:
            tc(f"qdisc add dev sim0 ingress_block {self.block} clsact\n")
        try:
            injector.run(max(1, self.frames // 10), "chain", self.chain)     # caches
            ns = injector.run(self.frames, "chain", self.chain)
        finally:
            if self.block:
                tc("qdisc del dev sim0 clsact\n")
        self.frames = max(FEWEST, min(1000000, int(RUN_NS / ns)))
        return round(1e6 / ns, 2)

    def run_pair(self, injector, chance):
        if chance.random() < 0.5:
            self.beside_samples.append(self.beside.run(injector))
            self.samples.append(self.run(injector))
        else:
            self.samples.append(self.run(injector))
            self.beside_samples.append(self.beside.run(injector))


def cases():
    """All that is measured. no-qdisc is compared with itself: that shows what chance alone does. The
    shortcut is to be as good as an empty clsact; all else is compared with no qdisc at the port, for the
    same frames."""
    bare, empty, bare_chain = (Case("none", "no-qdisc", 0), Case("none", "empty", 0),
                               Case("none", "no-qdisc", 0, CHAIN))
    yield bare, bare
    yield empty, bare
    if not args.quick:
        yield Case("none", "software", 1), bare
    for strategy in args.strategies.split(","):
        for case in ("none-match", "trap", "no-chain"):
            large = LARGE if case != "no-chain" and not args.quick else ()
            for n in (SIZES + large) if not args.quick else (1, 50):
                if case == "no-chain":
                    yield Case(strategy, case, n, CHAIN), bare_chain
                else:
                    yield Case(strategy, case, n), empty if strategy == "shortcut" else bare


def set_up(ports):
    sh(f"modprobe swsim nics={ports} && modprobe inject")
    # Its wire is up, so that frames really leave; nobody listens there.
    sh("for w in sim0w sim0; do ip link set $w up; done")
    sh("ip link add link sim0 name sim0.10 type vlan id 10; ip link set sim0.10 up;"
       "ip link add link sim0 name sim0.20 type vlan id 20; ip link set sim0.20 up;"
       "ip addr add 10.1.0.1/24 dev sim0.10; ip addr add 10.2.0.1/24 dev sim0.20;"
       "ip neigh add 10.2.0.9 lladdr 02:00:00:00:00:09 dev sim0.20 nud permanent;"
       "echo 1 > /proc/sys/net/ipv4/ip_forward")
    port = Path("/sys/class/net/sim0/address").read_text().strip()
    packet = ipv4("10.1.0.9", "10.2.0.9", UDP, udp("10.1.0.9", "10.2.0.9", 9, 9, bytes(18)))
    return Injector("sim0", eth(port, "02:00:00:00:00:10", ETH_P_IP, packet, vlans=(10,)))


def forwarded():
    return int(Path("/sys/class/net/sim0/statistics/tx_packets").read_text())


def check_forwarding(injector, case):
    """All frames go through the box, or there is nothing to measure."""
    before = forwarded()
    if case.block:
        tc(f"qdisc add dev sim0 ingress_block {case.block} clsact\n")
    injector.run(FEWEST, "chain", case.chain)
    if case.block:
        tc("qdisc del dev sim0 clsact\n")
    sent = forwarded() - before     # maybe a few more: the stack says hello on its new links
    if sent < FEWEST:
        sys.exit(f"{case.strategy} {case.case} {case.rules}: only {sent} of {FEWEST} frames were forwarded")


def main():
    todo = list(cases())
    injector = set_up(len(todo) + 1)
    for number, (case, beside) in enumerate(todo):
        case.beside = beside
        if case.case != "no-qdisc":
            case.build(number)
        check_forwarding(injector, case)
    todo = [case for case, _ in todo]
    for case in todo:               # finds each case's number of frames
        for _ in range(3):
            case.run_pair(injector, random.Random(0))
        case.samples.clear()
        case.beside_samples.clear()
    chance = random.Random(1)       # the same orders in each boot
    rarely = RARELY if args.runs >= 5 * RARELY else 1
    for turn in range(args.runs):
        for case in chance.sample(todo, len(todo)):
            if turn % rarely == 0 or case.strategy != "none" or case.beside is case:
                case.run_pair(injector, chance)
    for case in todo:
        print(json.dumps({"strategy": case.strategy, "case": case.case, "rules": case.rules,
                          "samples": case.samples, "beside": case.beside.case,
                          "beside_samples": case.beside_samples}), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--strategies", required=True, help="none, shortcut, kernel: which to measure")
    parser.add_argument("--bypasses", action="store_true",
                        help="the kernel has a bypass: `none` has to spoil it")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    main()
