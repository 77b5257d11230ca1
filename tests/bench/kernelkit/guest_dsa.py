#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of part_dsa.py that runs in the guest: prints one JSON line a case, with its samples in ns.

A tree of DSA switches; tagged frames for the first user port in the tree's list and for the last one come in
at the conduit and are of a protocol that nobody wants. With the index and without it, in turns. Three measures
of the same frame:

    receive     from the driver to the end of the receive path
    tagger      the tagger alone, as it is called for each frame
    cold        the same after something else has used the caches

With --steps the tagger is called for each case until steps.py has counted; a kernel that has no index has no
cases with it.
"""
import argparse
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "lab")]

from dsalab import SWITCH, tag_dsa, tagged          # noqa: E402
from inject import Injector                         # noqa: E402
from kernelkit.frame import alternate, until_counted    # noqa: E402
from swsimlab import no_helper, run, wait                 # noqa: E402

RUN_NS = 20e6           # how long one run of `receive` should take
CALLS = 20000           # of the tagger in a run
COLD_CALLS = 500
COLD_KIB = 2048         # more than the two inner caches hold
TAGGER = Path("/sys/kernel/debug/tagger")


class Port:
    def __init__(self, name, place, switch):
        self.name, self.place = name, place
        number = int(Path(f"/sys/class/net/{name}/phys_port_name").read_text().strip()[1:])
        self.frame = tagged(tag_dsa(switch, number), 0)
        self.frames = 1000

    def receive(self):
        injector = Injector("cpu0", self.frame)
        injector.run(max(1, self.frames // 10))     # caches
        ns = injector.run(self.frames)
        self.frames = max(1000, min(1000000, int(RUN_NS / ns)))
        return ns

    def tagger(self, calls=CALLS, kib=0):
        (TAGGER / "frame").write_bytes(self.frame)
        (TAGGER / "run").write_text(f"cpu0 {calls} {kib}")
        return int((TAGGER / "run").read_text()) / 1000

    def cold(self):
        return self.tagger(COLD_CALLS, COLD_KIB)


def received(name):
    return int(Path(f"/sys/class/net/{name}/statistics/rx_nohandler").read_text()) + \
        int(Path(f"/sys/class/net/{name}/statistics/rx_dropped").read_text())


def check(port):
    """The frame reaches its port, with the index and without it, or there is nothing to measure."""
    before = received(port.name)
    Injector("cpu0", port.frame).run(100)
    wait(lambda: received(port.name) - before == 100, f"100 frames at {port.name}")


def switched(on, measure):
    def call():
        SWITCH.write_text("NY"[on])
        return measure()
    return call


def measure_all(port, runs, ports):
    for on in (True, False):
        switched(on, lambda: check(port))()
    for measure in (port.receive, port.tagger, port.cold):
        for _ in range(3):
            measure()
        before, after = alternate(switched(False, measure), switched(True, measure), runs)
        print(json.dumps({"port": port.place, "measure": measure.__name__, "ports": ports,
                          "before": before, "after": after}), flush=True)


def step_all(todo):
    cases = [(port, on) for port in todo for on in ((False, True) if SWITCH.exists() else (None,))]
    for number, (port, on) in enumerate(cases):
        if on is not None:
            SWITCH.write_text("NY"[on])
        check(port)
        port.tagger()
        until_counted(number, port.tagger, port=port.place, index=bool(on))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--ports", type=int, required=True)
    parser.add_argument("--steps", action="store_true")
    args = parser.parse_args()
    for scope in ("all", "default"):
        Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6").write_text("1")
    no_helper()
    for module in ("swsim", "inject", "tagger"):
        run("modprobe", module)
    last = f"lan{args.ports}"
    run("ip", "-batch", "-", text="\n".join(f"link set {name} up" for name in ("cpu0", "lan1", last)))
    switches = len(list(Path("/sys/bus/platform/drivers/swsim-switch").glob("switch*")))
    todo = Port("lan1", "first", 0), Port(last, "last", switches - 1)
    if args.steps:
        step_all(todo)
    else:
        for port in todo:
            measure_all(port, args.runs, args.ports)


if __name__ == "__main__":
    main()
