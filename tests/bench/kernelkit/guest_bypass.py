#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of part_bypass.py that runs in the guest: prints one JSON line a block, with its samples in kpps.

Blocks of as many skip_sw rules, none of which matches, that differ by their history: no software filter ever
was there, one is, or one was and has gone. Each has a port of its own that keeps its rules; a run binds it to
the port that receives. In each round all of them take turns, and so does the port without a qdisc. What must
not differ by a percent, a block that never had one and one that has none any more, takes turns in pairs.
"""
import argparse
import json
import random
import sys
from functools import partial
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bypass_guest import Case, check_forwarding, set_up, tc     # noqa: E402
from kernelkit.frame import alternate                           # noqa: E402

PAIRS = 8       # times as many as there are rounds
HISTORIES = ("never", "is there", "has gone")
# In the pref of a skip_sw rule, and no frame of ours ever matches it.
JOINS = "chain 0 pref 2 protocol 802.1q handle 0x999 flower"


class Block(Case):
    def __init__(self, layout, history, count):
        super().__init__("kernel", layout, count)
        self.history = history

    def rule(self, block, i):
        """A pref for each, all with one mask; or all in one pref, each with a mask of its own. Either
        way a packet costs a look-up for each."""
        pref, mask = (2 + i, "10.99.0.{}/32") if self.case == "prefs" else (2, "10.99.{}.0/{}")
        dst = mask.format(i, 32) if self.case == "prefs" else mask.format(0, 24 + i % 8)
        src = f"src_ip 10.98.0.0/{8 + i // 8} " if self.case == "masks" else ""
        return (f"filter add block {block} chain 0 pref {pref} protocol 802.1q flower skip_sw "
                f"vlan_ethtype ip dst_ip {dst} {src}action drop\n")

    def build(self, block):
        self.block = block
        batch = f"qdisc add dev sim{block} ingress_block {block} clsact\n"
        batch += "".join(self.rule(block, i) for i in range(self.rules))
        if self.history != "never":
            batch += (f"filter add block {block} {JOINS} skip_hw vlan_ethtype ip dst_ip 203.0.113.9 "
                      "action drop\n")
        if self.history == "has gone":
            batch += f"filter del block {block} {JOINS}\n"
        tc(batch)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    args = parser.parse_args()
    bare = Case("none", "no-qdisc", 0)
    bare.history = "never"
    todo = [bare] + [Block(layout, history, args.count) for layout in ("prefs", "masks")
                     for history in HISTORIES]
    injector = set_up(len(todo))
    for number, case in enumerate(todo):
        if case is not bare:
            case.build(number)
        check_forwarding(injector, case)
        for _ in range(3):      # finds its number of frames
            case.run(injector)
    chance = random.Random(1)
    for _ in range(args.runs):
        for case in chance.sample(todo, len(todo)):
            case.samples.append(case.run(injector))
    for case in todo:
        print(json.dumps({"layout": case.case, "history": case.history, "samples": case.samples}))
    for layout in ("prefs", "masks"):
        pair = [partial(case.run, injector) for history in ("never", "has gone") for case in todo
                if (case.case, case.history) == (layout, history)]
        never, gone = alternate(*pair, PAIRS * args.runs)
        print(json.dumps({"layout": layout, "history": "pairs", "never": never, "has gone": gone}))


if __name__ == "__main__":
    main()
