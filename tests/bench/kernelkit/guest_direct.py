#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of part_direct.py that runs in each of two guests: prints {"n", "off", "on"} for each number of
filters, kpps of runs with direct calls off and on; all took turns, with those of the other guest, too.

A dummy device for each number has that many matchall filters at clsact's egress, none of which decides: so
each packet that is sent asks all of them, and each of them makes two calls.
"""
import argparse
import json
import random
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchkit.pktgen import Injector        # noqa: E402
from benchkit.turns import Turns             # noqa: E402

SWITCH = Path("/sys/module/net_sched/parameters/direct_calls")
RUN_US = 20e3           # how long one run should take
UDP_64 = ("min_pkt_size 60", "max_pkt_size 60", "dst 10.1.0.9", "dst_mac 02:00:00:00:00:09")


def batch(tool, lines):
    subprocess.run([tool, "-batch", "-"], input="\n".join(lines) + "\n", text=True, check=True)


class Device:
    def __init__(self, filters):
        self.filters = filters
        name = f"dummy{filters}"
        batch("ip", [f"link add {name} type dummy", f"link set {name} up"])
        batch("tc", [f"qdisc add dev {name} clsact",
                     *(f"filter add dev {name} egress pref {i + 1} protocol ip matchall action continue"
                       for i in range(filters))])
        self.injector = Injector(name, UDP_64, "queue_xmit")
        self.frames = 1000
        for _ in range(3):
            self.frames = max(1000, int(RUN_US * 1000 / self.injector.run(self.frames)[1]))

    def run(self, on):
        SWITCH.write_text(f"{on:d}")
        return round(self.injector.run(self.frames)[0], 1)

    def both(self, chance):
        """{"off", "on"}: kpps of a run of each."""
        return {switch: self.run(switch == "on") for switch in chance.sample(("off", "on"), 2)}

    def check(self):
        """All filters are asked, or there is nothing to measure."""
        shown = subprocess.run(["tc", "-s", "filter", "show", "dev", f"dummy{self.filters}", "egress"],
                               capture_output=True, text=True, check=True).stdout
        counted = {line for line in shown.splitlines() if "Sent " in line}
        if len(counted) != 1 or shown.count("Sent ") != self.filters or " 0 pkt" in shown:
            sys.exit(f"{self.filters} filters counted {counted}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--place", type=int, required=True, help="0 or 1, of the two guests")
    parser.add_argument("filters", type=int, nargs="+")
    args = parser.parse_args()
    devices = [Device(n) for n in args.filters]
    turns, chance = Turns(args.place), random.Random(1)
    for device in devices:
        found = [turns.take(lambda d=device: d.both(chance)) for _ in range(args.runs + 1)][1:]
        device.check()
        print(json.dumps({"n": device.filters, **{switch: [run[switch] for run in found] for switch in ("off", "on")}}),
              flush=True)


if __name__ == "__main__":
    main()
